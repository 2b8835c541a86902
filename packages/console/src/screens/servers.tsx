// Servers and plugins: how each process is, why, and what to do.
import { type Signal, useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import type { JSX, RefObject } from "preact";
import type { PolicyServer, RunningPlugin, RunningServer, ServerTest, UsedResources } from "../api.js";
import { servers } from "../live.js";
import { Action, Brief, Command, Empty, Facts, Fault, megabytes, Moment, Shown, State } from "../parts.js";
import { processName } from "../process-names.js";
import { get, post } from "../request.js";
import { go, place } from "../router.js";

/** Milliseconds between two looks at what processes use: nobody compares more often. */
const LOOK_MS = 5_000;

export function Servers(): JSX.Element {
  const used = useSignal<readonly UsedResources[]>([]);
  useEffect(() => {
    const look = (): void =>
      void get<UsedResources[]>("/api/resources").then(
        (read) => (used.value = read),
        // The line on top says that the console does not answer.
        () => undefined,
      );
    look();
    const timer = setInterval(look, LOOK_MS);
    return () => clearInterval(timer);
  }, []);
  return (
    <section aria-labelledby="servers-title">
      <h2 id="servers-title">Servers and plugins</h2>
      {servers.value.length === 0 && (
        <Empty
          next={
            <>
              Connect a client: <Command>mcp-secure-local serve</Command> prints what to paste for each.
            </>
          }
        >
          No server of yours runs at the moment.
        </Empty>
      )}
      {servers.value.map((server) => (
        <Process
          key={`${server.pid} ${server.since}`}
          server={server}
          used={used.value.filter(({ of }) => of === server.pid && server.state === "running")}
        />
      ))}
    </section>
  );
}

/** The heading of the very thing that another screen led to: it is in view, and the keyboard goes on from there. */
function useLanding(pid: number, kind = "", name = ""): RefObject<HTMLHeadingElement | null> {
  const heading = useRef<HTMLHeadingElement>(null);
  const at = place.value;
  useEffect(() => {
    const { query } = at;
    const isMeant =
      query.get("process") === `${pid}` && (query.get("kind") ?? "") === kind && (query.get("name") ?? "") === name;
    if (!isMeant) return;
    heading.current?.scrollIntoView({ block: "start" });
    heading.current?.focus({ preventScroll: true });
  }, [at]);
  return heading;
}

interface ProcessProps {
  readonly server: RunningServer;
  readonly used: readonly UsedResources[];
}

function Process({ server, used }: ProcessProps): JSX.Element {
  const { pid, state, policy, plugins, servers: mounted = [], log } = server;
  const heading = useLanding(pid);
  return (
    <article class={`process process-${state}`}>
      <h3 ref={heading} tabIndex={-1}>
        <Brief text={processName(server)} /> <State of={state} />
      </h3>
      {state === "gone" && (
        <p class="note">
          This process ended without saying so. Its client starts a new one when it reconnects; its rows stay, marked
          lost where they had not ended.
        </p>
      )}
      <ProcessFacts of={server} />
      <button type="button" class="link" onClick={() => go("calls", { log })}>
        Its calls
      </button>
      {used.length > 1 && <Used of={used} />}
      {plugins.map((plugin) => (
        <Plugin key={plugin.name} plugin={plugin} pid={pid} />
      ))}
      {mounted.map((each) => (
        <Mounted key={each.name} server={each} pid={pid} policy={state === "running" ? policy.file : undefined} />
      ))}
    </article>
  );
}

function ProcessFacts({ of }: { readonly of: RunningServer }): JSX.Element {
  const { pid, state, version, since, policy, auditFile, memoryBytes, cpuSeconds, tools } = of;
  return (
    <Facts
      of={[
        ["Process", pid],
        ["Since", <Moment key="since" at={since} />],
        ["Version", version],
        ["Policy", policy.file ?? "the built-in one"],
        ["Audit log", auditFile],
        ["Memory", state === "gone" ? "" : megabytes(memoryBytes)],
        ["Processor time", `${cpuSeconds.toFixed(1)} s`],
        ["Tools", tools.length === 0 ? "none: the policy allows none" : tools.join(", ")],
      ]}
    />
  );
}

/** The programs that a process has started, and what each uses. */
function Used({ of }: { readonly of: readonly UsedResources[] }): JSX.Element {
  const memory = of.reduce((sum, { memoryBytes }) => sum + memoryBytes, 0);
  return (
    <details>
      <summary>
        {of.length} processes, {megabytes(memory)} together
      </summary>
      <table>
        <thead>
          <tr>
            <th scope="col">Process</th>
            <th scope="col">What</th>
            <th scope="col">Memory</th>
            <th scope="col">Processor time</th>
          </tr>
        </thead>
        <tbody>
          {of.map(({ pid, what, memoryBytes, cpuSeconds }) => (
            <tr key={pid}>
              <th scope="row">{pid}</th>
              <td>
                <Shown text={what} />
              </td>
              <td>{megabytes(memoryBytes)}</td>
              <td>{cpuSeconds.toFixed(1)} s</td>
            </tr>
          ))}
        </tbody>
      </table>
    </details>
  );
}

interface MountedProps {
  readonly server: PolicyServer;
  /** The process that it is behind. */
  readonly pid: number;
  /** Undefined where nothing can be done: its process is gone. */
  readonly policy: string | undefined;
}

/** Another server, behind the policy of this process. */
function Mounted({ server, pid, policy }: MountedProps): JSX.Element {
  const { name, state, cause, brief } = server;
  const heading = useLanding(pid, "server", name);
  const page = useSignal<string | undefined>(undefined);
  const test = useSignal<ServerTest | "running" | undefined>(undefined);
  const isTried = typeof test.value === "object";
  return (
    <article class="plugin">
      <h4 ref={heading} tabIndex={-1}>
        Server <Shown text={name} /> <State of={isIdle(server) ? "idle" : state} />
      </h4>
      {brief !== undefined && (
        <p class="why">
          It failed: <Shown text={brief} />.
        </p>
      )}
      {cause !== "" && !isStopped(server) && <Shown text={cause} block />}
      <Rests server={server} isTried={isTried} />
      <WhatHelps server={server} />
      <ToolsOf server={server} />
      {policy !== undefined && <Steering server={server} pid={pid} policy={policy} test={test} page={page} />}
      {page.value !== undefined && (
        <p class="note" role="status">
          Your browser shows the page where you log in. If it does not, open <Shown text={page.value} />
        </p>
      )}
      {test.value === "running" && (
        <p class="note" role="status">
          It is started once more and asked what clients ask. This may take a minute. <progress aria-label="Testing" />
        </p>
      )}
      {test.value !== undefined && test.value !== "running" && <Examined of={test.value} />}
      {policy !== undefined && <Output policy={policy} server={name} />}
    </article>
  );
}

/** Whether a person has stopped it. */
function isStopped({ state, cause }: PolicyServer): boolean {
  return state === "stopped" && cause !== "";
}

/** Whether its next call starts it. */
function isIdle({ state, cause }: PolicyServer): boolean {
  return state === "idle" || (state === "stopped" && cause === "");
}

interface OfMounted {
  readonly server: PolicyServer;
}

/** Since when nothing of it runs, why, and what starts it. */
function Rests({ server, isTried }: OfMounted & { readonly isTried: boolean }): JSX.Element | null {
  const idle = isIdle(server);
  if (server.since === undefined) return null;
  return (
    <p class="note">
      {idle ? "Idle since " : "Stopped since "}
      <Moment at={server.since} />
      {idle
        ? `: nothing of it runs${isTried ? "; it was tried just now, see below" : ", and it was not tried since"}. One that nobody calls for 15 minutes is ended; its next call starts it.`
        : ", by a person: with the button here, or by mcp-secure-local servers stop. Its calls are refused until it is started."}
    </p>
  );
}

function WhatHelps({ server: { refused, remedy } }: OfMounted): JSX.Element | null {
  if (refused !== undefined)
    return (
      <p class="note">
        You have refused some of what it offers now, or all of it. That is withheld in every process, also where this
        server has not begun since and is listed as it was approved. Definitions shows it.
      </p>
    );
  if (remedy === "") return null;
  return (
    <p class="note">
      <Shown text={remedyHere(remedy)} />
    </p>
  );
}

function ToolsOf({ server }: OfMounted): JSX.Element {
  const { name, tools } = server;
  return (
    <p class="note">
      {isStopped(server) ? "None of its tools" : tools === 1 ? "One tool" : `${tools} tools`}
      {isIdle(server) && " as approved: what it offers is seen when it starts, by itself, with its next call"}.{" "}
      <button type="button" class="link" onClick={() => go("calls", { text: name })}>
        Its calls
      </button>
    </p>
  );
}

interface SteeringProps extends OfMounted {
  readonly pid: number;
  readonly policy: string;
  /** What its test found, or that it is under way. */
  readonly test: Signal<ServerTest | "running" | undefined>;
  /** Where a person logs in to it. */
  readonly page: Signal<string | undefined>;
}

/** What a person can do with it. What cannot help is not offered. */
function Steering({ server, pid, policy, test, page }: SteeringProps): JSX.Element {
  const { name, state, remedy, hasLogin = false } = server;
  const examine = async (): Promise<void> => {
    test.value = "running";
    try {
      test.value = await post<ServerTest>("/api/test", { policy, server: name });
    } finally {
      if (test.peek() === "running") test.value = undefined;
    }
  };
  const act = (path: string) => async (): Promise<void> => {
    // Other processes of this policy have a server of this name as well: each is started and stopped where it stands.
    await post(path, { policy, server: name, process: pid });
    // What was found before is of another start.
    test.value = undefined;
  };
  const logIn = async (): Promise<void> => {
    page.value = (await post<{ page?: string }>("/api/login", { policy, server: name })).page;
  };
  const runs = !["disabled", "withheld", "needs login"].includes(state);
  const [stopped, idle] = [isStopped(server), isIdle(server)];
  return (
    <div class="answers">
      {runs && <Action label={stopped || idle ? `Start ${name}` : `Start ${name} anew`} act={act("/api/restart")} />}
      {runs && !stopped && (
        <Action label={idle ? `Keep ${name} from starting` : `Stop ${name}`} act={act("/api/stop")} />
      )}
      {runs && <Action label={`Test ${name}`} act={examine} />}
      {state === "needs login" && <Action label={`Log in to ${name}`} kind="good" act={logIn} />}
      {hasLogin && state === "ready" && <Action label={`Log out of ${name}`} act={act("/api/logout")} />}
      {remedy !== "" && state === "withheld" && (
        <button type="button" class="link" onClick={() => go("definitions", { kind: "server", name })}>
          Read and decide
        </button>
      )}
    </div>
  );
}

/** What is done here in the place of a command. */
const HERE: readonly (readonly [command: string, words: string])[] = [
  [" servers logs ", "What it wrote last, below, says more; start it anew when that is mended."],
  [" servers restart ", "The button below starts it."],
  [" servers review ", "Definitions shows what it offers now, and takes your decision."],
  [" servers login ", "The button below logs in to it."],
];

function remedyHere(remedy: string): string {
  const [, words] = HERE.find(([command]) => `${remedy} `.includes(command)) ?? [];
  return remedy.startsWith("mcp-secure-local ") && words !== undefined ? words : remedy;
}

const VERDICTS: Readonly<Record<string, string>> = {
  fail: "a fault that clients feel",
  warn: "not as the protocol has it",
};

/** What `servers test` found: only what needs attention, and how many checks were well. */
function Examined({
  of: { server, revisions, startMs, counts, findings: all },
}: {
  readonly of: ServerTest;
}): JSX.Element {
  const { fail = 0, warn = 0, ok = 0 } = counts;
  // Notes are for who writes the server.
  const findings = all.filter(({ verdict }) => verdict === "fail" || verdict === "warn");
  return (
    <div role="status">
      <p>
        <Brief text={server === "" ? "It" : server} />{" "}
        <State
          of={fail > 0 ? "failed" : "ok"}
          word={fail > 0 ? "starts, with faults" : warn > 0 ? "works" : "is well"}
        />
        : it was started and asked, and answered first after {startMs} ms. {ok} checks are well
        {findings.length === 0
          ? "."
          : findings.length === 1
            ? ", one is not: it stands below, in the words of its protocol."
            : `, ${findings.length} are not: they stand below, in the words of its protocol.`}{" "}
        It speaks <Brief text={revisions.join(" and ")} />.
      </p>
      <ul class="findings">
        {findings.map(({ verdict, id, title, detail, advice }) => (
          <li key={id}>
            <State of={verdict === "fail" ? "failed" : "waiting"} word={VERDICTS[verdict] ?? verdict} />{" "}
            <Shown text={`A healthy server ${title} (${id})`} />
            <Shown text={detail} block />
            {advice !== "" && (
              <p class="note">
                <Shown text={advice} />
              </p>
            )}
          </li>
        ))}
      </ul>
    </div>
  );
}

/** What a server said last on its standard error; read when it is opened. */
function Output({ policy, server }: { readonly policy: string; readonly server: string }): JSX.Element {
  const text = useSignal<string | undefined>(undefined);
  const fault = useSignal<unknown>(undefined);
  const read = (open: boolean): void => {
    if (!open) return;
    get<{ text: string }>("/api/server-log", { policy, server }).then(
      (found) => (text.value = found.text),
      (error: unknown) => (fault.value = error),
    );
  };
  return (
    <details onToggle={({ currentTarget }) => read(currentTarget.open)}>
      <summary>What it wrote last</summary>
      <Fault error={fault.value} />
      {text.value === "" ? (
        <p class="calm">It has written nothing.</p>
      ) : (
        <>
          <p class="note">Its times are UTC.</p>
          <Shown text={text.value ?? ""} block />
        </>
      )}
    </details>
  );
}

function Plugin({ plugin, pid }: { readonly plugin: RunningPlugin; readonly pid: number }): JSX.Element {
  const { name, state, version = "", tools, starts, note, output, wall = "", withheld } = plugin;
  const held = Object.entries(withheld);
  const heading = useLanding(pid, "plugin", name);
  return (
    <article class="plugin">
      <h4 ref={heading} tabIndex={-1}>
        Plugin <Shown text={name} /> <State of={state} />
      </h4>
      {note !== "" && <Shown text={note} block />}
      {state === "refused" && (
        <button type="button" class="link" onClick={() => go("definitions", { kind: "plugin", name })}>
          Read what changed, and decide
        </button>
      )}
      <Facts
        of={[
          ["Version", version && <Shown text={version} />],
          ["Tools", tools],
          ["Started", starts === 1 ? "once" : `${starts} times`],
          ["Sandbox", wall === "none" ? "none: the policy says sandbox: none" : wall],
        ]}
      />
      {held.length > 0 && (
        <p class="note">
          {held.length} withheld.{" "}
          <button type="button" class="link" onClick={() => go("definitions", { kind: "plugin", name })}>
            Read and decide
          </button>
        </p>
      )}
      {output !== "" && (
        <details>
          <summary>What it wrote last</summary>
          <Shown text={output} block />
        </details>
      )}
    </article>
  );
}
