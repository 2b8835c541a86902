// Servers and plugins: how each process is, why, and what to do.
import type { JSX } from "preact";
import type { PolicyServer, RunningPlugin, RunningServer } from "../api.js";
import { servers } from "../live.js";
import { Action, Command, Empty, Facts, megabytes, Moment, Shown, State } from "../parts.js";
import { post } from "../request.js";
import { go } from "../router.js";

export function Servers(): JSX.Element {
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
        <Process key={`${server.pid} ${server.since}`} server={server} />
      ))}
    </section>
  );
}

function Process({ server }: { readonly server: RunningServer }): JSX.Element {
  const {
    pid,
    state,
    transport,
    url,
    version,
    since,
    policy,
    auditFile,
    memoryBytes,
    cpuSeconds,
    tools,
    plugins,
    servers: mounted = [],
    log,
  } = server;
  return (
    <article class={`process process-${state}`}>
      <h3>
        {transport === "http" ? `Over HTTP at ${url ?? "a socket"}` : "Started by its client (stdio)"}{" "}
        <State of={state} />
      </h3>
      {state === "gone" && (
        <p class="note">
          This process ended without saying so. Its client starts a new one when it reconnects; its rows stay, marked
          lost where they had not ended.
        </p>
      )}
      <Facts
        of={[
          ["Process", pid],
          ["Since", <Moment key="since" at={since} />],
          ["Version", version],
          ["Policy", policy.file ?? "the built-in one"],
          ["Audit log", auditFile],
          ["Memory", megabytes(memoryBytes)],
          ["Processor time", `${cpuSeconds.toFixed(1)} s`],
          ["Tools", tools.length === 0 ? "none: the policy allows none" : tools.join(", ")],
        ]}
      />
      <button type="button" class="link" onClick={() => go("calls", { log })}>
        Its calls
      </button>
      {plugins.map((plugin) => (
        <Plugin key={plugin.name} plugin={plugin} />
      ))}
      {mounted.map((each) => (
        <Mounted key={each.name} server={each} policy={state === "running" ? policy.file : undefined} />
      ))}
    </article>
  );
}

/** Another server, behind the policy of this process. Starting it anew is offered where it may help. */
function Mounted({
  server: { name, state, tools, cause, remedy },
  policy,
}: {
  readonly server: PolicyServer;
  readonly policy: string | undefined;
}): JSX.Element {
  const runs = !["disabled", "withheld", "needs login"].includes(state);
  return (
    <article class="plugin">
      <h4>
        Server <Shown text={name} /> <State of={state} />
      </h4>
      {cause !== "" && <Shown text={cause} block />}
      {remedy !== "" && (
        <p class="note">
          <Shown text={remedy} />
        </p>
      )}
      <Facts of={[["Tools", tools]]} />
      {runs && policy !== undefined && (
        <Action
          label={`Start ${name} anew`}
          act={async () => void (await post("/api/restart", { policy, server: name }))}
        />
      )}
      <button type="button" class="link" onClick={() => go("calls", { text: name })}>
        Its calls
      </button>
    </article>
  );
}

function Plugin({ plugin }: { readonly plugin: RunningPlugin }): JSX.Element {
  const { name, state, version = "", tools, starts, note, output, wall = "", withheld } = plugin;
  const held = Object.entries(withheld);
  return (
    <article class="plugin">
      <h4>
        Plugin <Shown text={name} /> <State of={state} />
      </h4>
      {note !== "" && <Shown text={note} block />}
      {state === "refused" && (
        <button type="button" class="link" onClick={() => go("definitions")}>
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
          <button type="button" class="link" onClick={() => go("definitions")}>
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
