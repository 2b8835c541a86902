// Clients: who is connected, with which revision, token and limits used; who called, how much, and how it ended.
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { JSX } from "preact";
import type { RunningClient, Totals } from "../api.js";
import { now, servers } from "../live.js";
import { Counts } from "../counts.js";
import { Brief, Command, Empty, Fault, Moment } from "../parts.js";
import { get } from "../request.js";

const WEEK_MS = 604_800_000;

export function Clients(): JSX.Element {
  const totals = useSignal<Totals | undefined>(undefined);
  const fault = useSignal<unknown>(undefined);
  useEffect(() => {
    const until = now.peek();
    get<Totals>("/api/totals", { since: until - WEEK_MS, until }).then(
      (read) => (totals.value = read),
      (error: unknown) => (fault.value = error),
    );
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
          <Counts title="Client" field="client" of={totals.value.byClient} none={NAMELESS} since={undefined} />
        )}
      </section>
    </>
  );
}

const NAMELESS = "a client that did not say its name";

/** Who has called the servers that run now. */
function Connected(): JSX.Element {
  const running = servers.value.filter(({ state }) => state === "running");
  const heard = running.flatMap(({ pid, transport, clients = [] }) =>
    clients.map((client) => ({ pid, transport, client })),
  );
  return (
    <section aria-labelledby="clients-connected">
      <h2 id="clients-connected">Connected</h2>
      {heard.length === 0 ? (
        <p class="calm">
          {running.length === 0 ? "No server of yours runs at the moment." : "Nobody has called what runs now."}
        </p>
      ) : (
        <table>
          <thead>
            <tr>
              <th scope="col">Client</th>
              <th scope="col">Revision</th>
              <th scope="col">Token</th>
              <th scope="col">Process</th>
              <th scope="col">Requests</th>
              <th scope="col">Last</th>
              <th scope="col">Limits used in the last minute</th>
            </tr>
          </thead>
          <tbody>
            {heard.map(({ pid, transport, client }, index) => (
              <tr key={index}>
                <th scope="row">
                  <Brief text={client.name === "" ? NAMELESS : client.name} />
                </th>
                <td>
                  <Brief text={client.revision} />
                </td>
                <td>{client.principal === "" ? tokenless(transport) : <Brief text={client.principal} />}</td>
                <td>{pid}</td>
                <td>{client.requests}</td>
                <td>
                  <Moment at={client.last} />
                </td>
                <td>
                  <Limits of={client.limits} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </section>
  );
}

function tokenless(transport: "stdio" | "http"): string {
  return transport === "stdio" ? "none: it started the server itself" : "none";
}

/** What is almost used up is coloured. */
function Limits({ of }: { readonly of: RunningClient["limits"] }): JSX.Element {
  if (of.length === 0) return <>none</>;
  return (
    <ul class="limits">
      {of.map(({ name, used, limit }) => (
        <li key={name} class={used * 10 >= limit * 9 ? "bad" : ""}>
          <Brief text={name} />: {used} of {limit}
        </li>
      ))}
    </ul>
  );
}
