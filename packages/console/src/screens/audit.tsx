// Audit: what happened over a time as a picture, by client and by tool, and the proof that no record was changed.
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { JSX } from "preact";
import type { Totals } from "../api.js";
import { Bars, Lanes } from "../charts.js";
import { CallFacts, Counts } from "../counts.js";
import { exportCalls, exportRecords } from "../export.js";
import { now } from "../live.js";
import { Action, dayBegin, Empty, Fault, Shown } from "../parts.js";
import { isChanged, Proof, ProofInBrief } from "../proof.js";
import { get } from "../request.js";
import { go, place } from "../router.js";

/** Each by its word in the address, and when it began. */
const SPANS = [
  ["hour", "the last hour", (until: number) => until - 3_600_000],
  ["today", "today", (until: number) => dayBegin(until)],
  ["yesterday", "yesterday", (until: number) => dayBegin(until, 1)],
  ["day", "the last 24 hours", (until: number) => until - 86_400_000],
  ["week", "the last week", (until: number) => until - 604_800_000],
  ["month", "the last month", (until: number) => until - 2_592_000_000],
] as const;
const USUAL = SPANS[3];

export function Audit(): JSX.Element {
  const [span, , begin] = SPANS.find(([each]) => each === place.value.query.get("time")) ?? USUAL;
  const totals = useSignal<Totals | undefined>(undefined);
  const fault = useSignal<unknown>(undefined);
  const isBad = isChanged();
  useEffect(() => {
    const until = span === "yesterday" ? dayBegin(now.peek()) : now.peek();
    const from = begin(now.peek());
    get<Totals>("/api/totals", { since: from, until, lanes: "yes" }).then(
      (read) => (totals.value = read),
      (error: unknown) => (fault.value = error),
    );
  }, [span]);
  const words = useSignal("");
  const sums = totals.value;
  const since = sums?.from;
  const until = span === "yesterday" ? sums?.to : undefined;
  return (
    <>
      {isBad && <Proof />}
      <section aria-labelledby="audit-title">
        <h2 id="audit-title">Audit</h2>
        {!isBad && <ProofInBrief />}
        <div class="spans" role="group" aria-label="Time">
          {SPANS.map(([each, name]) => (
            <button key={name} type="button" aria-pressed={span === each} onClick={() => go("audit", { time: each })}>
              {name}
            </button>
          ))}
        </div>
        <form
          class="filters"
          onSubmit={(event) => {
            event.preventDefault();
            go("calls", { text: words.value, since, until: span === "yesterday" ? sums?.to : undefined });
          }}
        >
          <label>
            Search in this time
            <input
              type="search"
              value={words.value}
              placeholder="path, host, tool, rule, client…"
              onInput={({ currentTarget }) => (words.value = currentTarget.value)}
            />
          </label>
          <button type="submit">Search</button>
        </form>
        {sums !== undefined && <Export of={sums} />}
        <Fault error={fault.value} />
        {sums?.calls === 0 && (
          <Empty next="Choose a longer time, or ask your AI client to use a tool.">
            Nothing was recorded in this time.
          </Empty>
        )}
        {sums !== undefined && sums.calls > 0 && (
          <>
            <CallFacts of={sums} />
            <Bars
              buckets={sums.buckets}
              label="calls; choose a bar to see them"
              choose={(from, until) => go("calls", { since: Math.floor(from), until: Math.ceil(until) })}
            />
            {(["client", "name"] as const).map((field) => (
              <Lanes
                key={field}
                title={field === "client" ? "By client" : "By tool"}
                of={sums.lanes?.[field] ?? []}
                buckets={sums.buckets}
                none="(none)"
                choose={(name, from, until) =>
                  go("calls", { [field]: name, since: Math.floor(from), until: Math.ceil(until) })
                }
              />
            ))}
            {Math.max(sums.byClient.length, sums.byName.length) > (sums.lanes?.name.length ?? 0) && (
              <p class="note">Drawn are those that called, or were called, most. All are in the lists below.</p>
            )}
            <div class="counts">
              <Counts title="Clients" key="client" field="client" of={sums.byClient} since={since} until={until} />
              <Counts title="Tools" key="name" field="name" of={sums.byName} since={since} until={until} />
              <Counts title="Rules" key="rule" field="rule" of={sums.byRule} since={since} until={until} />
            </div>
          </>
        )}
      </section>
      {!isBad && <Proof />}
    </>
  );
}

/** What may be exported of a time, and what is in it. */
function Export({ of: { from: since, to: until, calls, events = {} } }: { readonly of: Totals }): JSX.Element {
  const others = Object.entries(events).sort(([, one], [, other]) => other - one);
  const count = others.reduce((sum, [, each]) => sum + each, 0);
  const time = { since: Math.floor(since), until: Math.ceil(until) };
  return (
    <>
      <div class="answers">
        <Action label="Export the calls" act={() => exportCalls(time)} disabled={calls === 0} />
        <Action label="Export all records" act={() => exportRecords(time)} disabled={calls + count === 0} />
      </div>
      <p class="note">
        The calls: every record of {calls === 1 ? "one call" : `${calls} calls`}. All records: those, and{" "}
        {count === 0 ? "no other" : <Shown text={others.map(([kind, each]) => `${each} ${kind}`).join(", ")} />}. Both
        are a copy: only the log itself can be verified.
      </p>
    </>
  );
}
