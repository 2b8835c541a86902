// Clients: who called, how much, and how it ended.
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { JSX } from "preact";
import type { Totals } from "../api.js";
import { now } from "../live.js";
import { Counts } from "../counts.js";
import { Command, Empty, Fault } from "../parts.js";
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
        <Counts
          title="Client"
          field="client"
          of={totals.value.byClient}
          none="a client that did not say its name"
          since={undefined}
        />
      )}
    </section>
  );
}
