// Clients: who is connected, with which revision, token and limits used; who called, how much, and how it ended.
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { JSX } from "preact";
import type { RunningClient, RunningServer, Totals } from "../api.js";
import { newest, now, servers } from "../live.js";
import { Counts } from "../counts.js";
import { ProfileOf } from "../for-whom.js";
import { Brief, Command, Empty, Facts, Fault, Moment, Wide } from "../parts.js";
import { get } from "../request.js";
import { go } from "../router.js";

const WEEK_MS = 604_800_000;
/** Milliseconds between two looks at who calls, while there are calls. */
const AGAIN_MS = 1_000;

export function Clients(): JSX.Element {
  const totals = useSignal<Totals | undefined>(undefined);
  const fault = useSignal<unknown>(undefined);
  useEffect(() => {
    let seen: unknown;
    const look = async (): Promise<void> => {
      if (newest.peek() === seen) return;
      seen = newest.peek();
      try {
        const until = now.peek();
        servers.value = await get<RunningServer[]>("/api/servers");
        totals.value = await get<Totals>("/api/totals", { since: until - WEEK_MS, until: until + AGAIN_MS });
        fault.value = undefined;
      } catch (error) {
        fault.value = error;
      }
    };
    void look();
    const timer = setInterval(() => void look(), AGAIN_MS);
    return () => clearInterval(timer);
  }, []);
  return (
    <>
      <Connected />
      <section aria-labelledby="clients-title">
        <h2 id="clients-title">Clients of the last week</h2>
        <Fault error={fault.value} />
        {totals.value?.byClient.length === 0 && (
          <Empty
            next={
              <>
                <Command>mcp-secure-local serve</Command> prints the configuration for each client.
              </>
            }
          >
            No client has called in the last week.
          </Empty>
        )}
        {totals.value !== undefined && totals.value.byClient.length > 0 && (
          <Counts title="Client" field="client" of={totals.value.byClient} none={NAMELESS} since={totals.value.from} />
        )}
      </section>
    </>
  );
}

const NAMELESS = "a client that did not say its name";

/** Who has called the servers that run now. */
function Connected(): JSX.Element {
  const running = servers.value.filter(({ state }) => state === "running");
  const heard = running.flatMap(({ pid, transport, policy, clients = [] }) =>
    clients.map((client) => ({ pid, transport, policy, client })),
  );
  return (
    <section aria-labelledby="clients-connected">
      <h2 id="clients-connected">Connected</h2>
      {heard.length === 0 && <NobodyYet isServing={running.length > 0} />}
      {heard.map((each, index) => (
        <ConnectedClient key={index} of={each} />
      ))}
    </section>
  );
}

function NobodyYet({ isServing }: { readonly isServing: boolean }): JSX.Element {
  if (isServing)
    return (
      <Empty next="Ask your AI client to use a tool: it appears here with its first request.">
        Nobody has called what runs now.
      </Empty>
    );
  return (
    <Empty
      next={
        <>
          Connect a client: <Command>mcp-secure-local serve</Command> prints what to paste.
        </>
      }
    >
      No server of yours runs at the moment.
    </Empty>
  );
}

/** A client, and of the server that it has called what concerns it. */
type Heard = Pick<RunningServer, "pid" | "transport" | "policy"> & { readonly client: RunningClient };

function ConnectedClient({ of: { pid, transport, policy, client } }: { readonly of: Heard }): JSX.Element {
  return (
    <article class="process">
      <h3>
        <Brief text={client.name === "" ? NAMELESS : client.name} />
      </h3>
      <Facts
        of={[
          ["Revision", client.revision],
          ["Transport", transport],
          ["Token", client.principal === "" ? tokenless(transport) : client.principal],
          ["Scopes", client.scopes?.length === 0 ? "none" : client.scopes?.join(" ")],
          ["Token ends", client.expiresAt === undefined ? "" : <Moment key="ends" at={client.expiresAt} />],
          ["Profile", <ProfileOf key="profile" of={client} file={policy.file} />],
          ["Process", pid],
          ["Since", <Moment key="since" at={client.since} />],
          ["Last request", <Moment key="last" at={client.last} />],
          ["Requests since then", client.requests],
        ]}
      />
      <Limits of={client.limits} />
      <p class="answers">
        <button type="button" class="link" onClick={() => go("calls", { client: callerOf(client) })}>
          Its calls
        </button>
        <button
          type="button"
          class="link"
          onClick={() => go("calls", { client: callerOf(client), text: "rate limit:" })}
        >
          Those over a limit, at any time
        </button>
      </p>
    </article>
  );
}

/** As calls have it. */
function callerOf({ name, principal }: RunningClient): string {
  return ["", "owner"].includes(principal) ? name : `${principal}: ${name}`;
}

function tokenless(transport: "stdio" | "http"): string {
  return transport === "stdio" ? "none: it started the server itself" : "none";
}

function Limits({ of }: { readonly of: RunningClient["limits"] }): JSX.Element {
  if (of.length === 0) return <p class="calm">In the last minute it made no call that a limit counts.</p>;
  return (
    <Wide label="Limits used in the last minute">
      <table class="limits">
        <caption>Limits used in the last minute</caption>
        <thead>
          <tr>
            <th scope="col">Calls of</th>
            <th scope="col" class="number">
              Used
            </th>
            <th scope="col" class="number">
              Left
            </th>
            <th scope="col">May call again</th>
            <th scope="col">Set by</th>
          </tr>
        </thead>
        <tbody>
          {of.map((limit) => (
            <LimitRow key={limit.name} of={limit} />
          ))}
        </tbody>
      </table>
      <p class="note">
        What it did not call in the last minute is not listed. All limits:{" "}
        <button type="button" class="link" onClick={() => go("policy")}>
          tools.rate_limits of the policy
        </button>
      </p>
    </Wide>
  );
}

/** What is almost used up is coloured. */
function LimitRow({ of }: { readonly of: RunningClient["limits"][number] }): JSX.Element {
  const { name, used, limit, rule = "", firstMs, allMs } = of;
  return (
    <tr class={used * 10 >= limit * 9 ? "bad" : ""}>
      <th scope="row">
        <Brief text={name} />
      </th>
      <td class="number">
        {used} of {limit}
      </td>
      <td class="number">{Math.max(0, limit - used)}</td>
      <td>
        {used < limit
          ? "now"
          : firstMs === undefined
            ? ""
            : `once in ${seconds(firstMs)}, ${limit} times in ${seconds(allMs ?? firstMs)}`}
      </td>
      <td>
        <Brief text={rule} />
      </td>
    </tr>
  );
}

function seconds(ms: number): string {
  return `${Math.ceil(ms / 1_000)} s`;
}
