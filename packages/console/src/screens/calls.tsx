// Calls, live and past: filters, and one call opened with everything that is known of it.
import { type Signal, useSignal, useSignalEffect } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import type { JSX } from "preact";
import type { CallDetail, CallRow, Hop, LookedThrough } from "../api.js";
import { Steps } from "../charts.js";
import { CallsTable, narrow } from "../calls-table.js";
import { newest } from "../live.js";
import { Brief, duration, Empty, exactTime, Facts, Fault, Moment, Shown, State, took, Wide } from "../parts.js";
import { exportCalls } from "../export.js";
import { changeOf, isChanged } from "../proof.js";
import { get } from "../request.js";
import { Difference } from "../difference.js";
import { go, place } from "../router.js";
import { asked, Chosen, Filters, Looked, NAMES, type Query } from "./call-filters.js";

/** Milliseconds between two looks for new calls that fit: the process looks through all that it keeps. */
const AGAIN_MS = 2_000;

export function Calls(): JSX.Element {
  const query = Object.fromEntries(NAMES.map((name) => [name, place.value.query.get(name) ?? undefined])) as Query;
  const chosen = Number(place.value.query.get("n") ?? Number.NaN);
  const filtered = NAMES.some((name) => query[name] !== undefined);
  const longestFirst = query["order"] === "longest";
  const { found, looked, fault, ended, more } = useFound(query, filtered);
  const rows = filtered ? found.value : joined(newest.value, found.value);
  return (
    <div class="split">
      <section aria-labelledby="calls-title">
        <h2 id="calls-title">Calls</h2>
        <Filters query={query} filtered={filtered} save={() => exportCalls(asked(query))} />
        <Chosen query={query} />
        <Fault error={fault.value} />
        {isChanged() && (
          <p class="bad">
            A log was changed: calls of it may not be what happened. Each says so when it is opened.{" "}
            <button type="button" class="link" onClick={() => go("audit")}>
              See which log
            </button>
          </p>
        )}
        {looked.value !== undefined && (filtered || rows.length > 0) && <Looked of={looked.value} />}
        {rows.length === 0 ? (
          <Empty
            next={
              filtered
                ? "Take a filter away, or choose another time."
                : "Ask your AI client to use a tool: its call appears here."
            }
          >
            {filtered ? "No call fits." : "No call was recorded yet."}
          </Empty>
        ) : (
          <CallsTable
            rows={rows}
            chosen={chosen}
            choose={(n) => go("calls", { ...query, n })}
            onEnd={() => more(rows)}
            hasMore={!ended.value}
            longestFirst={longestFirst}
            sort={(longest) => go("calls", { ...query, order: longest ? "longest" : undefined })}
          />
        )}
      </section>
      {Number.isFinite(chosen) && <CallPanel key={chosen} n={chosen} close={() => go("calls", query)} />}
    </div>
  );
}

/** Rows the process gives at once. */
const PAGE = 500;

interface Found {
  readonly found: Signal<readonly CallRow[]>;
  readonly looked: Signal<LookedThrough | undefined>;
  readonly fault: Signal<unknown>;
  /** Whether nothing older fits. */
  readonly ended: Signal<boolean>;
  readonly more: (rows: readonly CallRow[]) => void;
}

/** The calls that fit, looked for anew while new ones come. */
function useFound(query: Query, filtered: boolean): Found {
  const found = useSignal<readonly CallRow[]>([]);
  const looked = useSignal<LookedThrough | undefined>(undefined);
  const fault = useSignal<unknown>(undefined);
  const ended = useSignal(false);
  const isSorted = query["order"] !== undefined;
  const key = JSON.stringify(query);
  const current = useRef(key);
  current.current = key;
  const load = async (before?: number, again = false): Promise<void> => {
    try {
      const wanted = asked(query);
      const [rows, through] = await Promise.all([
        // Without a filter the stream tells what is new.
        again && !filtered ? found.peek() : get<CallRow[]>("/api/calls", { ...wanted, before }),
        get<LookedThrough>("/api/looked", wanted),
      ]);
      // Another filter was chosen meanwhile.
      if (current.current !== key) return;
      const kept =
        before === undefined ? (again && !isSorted ? joined(rows, found.value) : rows) : [...found.value, ...rows];
      [found.value, looked.value, fault.value] = [kept, through, undefined];
      if (!again) ended.value = rows.length < PAGE || isSorted;
    } catch (error) {
      fault.value = error;
    }
  };
  useEffect(() => {
    void load();
    if (query["until"] !== undefined) return undefined;
    let seen = newest.peek();
    const look = (): void => {
      if (newest.peek() !== seen) void load(undefined, true);
      seen = newest.peek();
    };
    const timer = setInterval(look, AGAIN_MS);
    return () => clearInterval(timer);
  }, [key, filtered]);
  const more = (rows: readonly CallRow[]): void => {
    const last = rows.at(-1);
    if (!ended.value && last !== undefined && rows.length >= PAGE) void load(last.n);
  };
  return { found, looked, fault, ended, more };
}

function joined(live: readonly CallRow[], older: readonly CallRow[]): readonly CallRow[] {
  const last = live.at(-1)?.n ?? Infinity;
  const rest = older.filter(({ n }) => n < last);
  return rest.length === 0 ? live : [...live, ...rest];
}

/** One call with all its records. It is read anew when its row changes. */
export function CallPanel({ n, close }: { readonly n: number; readonly close: () => void }): JSX.Element {
  const detail = useSignal<CallDetail | undefined>(undefined);
  const fault = useSignal<unknown>(undefined);
  useSignalEffect(() => {
    const live = newest.value.find((row) => row.n === n);
    if (live !== undefined && live === detail.peek()?.row) return;
    if (detail.peek() !== undefined && live?.outcome === detail.peek()?.row.outcome) return;
    get<CallDetail>("/api/call", { n }).then(
      (read) => (detail.value = read),
      (error: unknown) => (fault.value = error),
    );
  });
  const call = detail.value;
  const panel = useRef<HTMLElement>(null);
  // Where it stands below the list nobody would see that it was opened.
  useEffect(() => {
    if (narrow.peek()) panel.current?.scrollIntoView({ block: "start" });
  }, []);
  return (
    <aside ref={panel} class="panel" aria-label="The call">
      <button type="button" class="close" onClick={close}>
        Close
      </button>
      <Fault error={fault.value} />
      {call !== undefined && <CallFacts call={call} />}
    </aside>
  );
}

function CallFacts({ call }: { readonly call: CallDetail }): JSX.Element {
  const { row, reason, result, records, steps, hops, difference, file } = call;
  const changed = changeOf(file);
  return (
    <>
      <h3>
        <Shown text={row.name === "" ? row.method : row.name} /> <State of={row.outcome} />
      </h3>
      {reason !== "" && (
        <p class="why">
          <Shown text={reason} />
        </p>
      )}
      <Facts
        of={[
          ["Object", row.object && <Shown text={row.object} />],
          ["When", <Moment key="when" at={row.at} dated />],
          ["Took", took(row)],
          ["Waited for an answer", duration(row.waitedMs)],
          ["Client", row.client && <Shown text={row.client} />],
          ["Server", row.server && <Shown text={row.server} />],
          ["Method", row.method],
          ["Rule", row.rule && <Shown text={row.rule} />],
          ["Line of the policy", (row.line ?? call.lineNow) && <PolicyLine key="line" of={call} />],
          ["Audit log", file],
        ]}
      />
      {changed !== undefined && <Doubtful how={changed} />}
      {row.outcome === "lost" && (
        <p class="note">Its server ended before it said how the call ended. Whether it took effect is not known.</p>
      )}
      {row.asked && difference !== undefined && <Difference of={difference} isPartly={call.isPartly === true} />}
      <h4>Steps</h4>
      <Steps of={steps} />
      {steps.length > 1 && <p class="note">By the times of the records: writing one down takes a moment, too.</p>}
      {hops.length > 1 && <Hops of={hops} />}
      <h4>Result</h4>
      {result === "" ? <NoResult outcome={row.outcome} /> : <Shown text={result} block />}
      <h4>Records</h4>
      {records.map((record, index) => (
        <Shown key={index} text={indented(record)} block />
      ))}
    </>
  );
}

/** The log of a call is another than it was written. */
function Doubtful({ how }: { readonly how: string }): JSX.Element {
  return (
    <p class="bad" role="alert">
      The log of this call was changed (<Shown text={how} />
      ): what stands here may not be what happened.{" "}
      <button type="button" class="link" onClick={() => go("audit")}>
        See where
      </button>
    </p>
  );
}

/** Why a call has no result on record. */
function NoResult({ outcome }: { readonly outcome: CallRow["outcome"] }): JSX.Element {
  const why = NO_RESULT[outcome];
  if (why !== undefined) return <p class="note">{why}</p>;
  return (
    <p class="note">
      The log has none. It has the result of each later call, cleaned, if the policy says{" "}
      <code>audit.results: true</code>.
    </p>
  );
}

const NO_RESULT: Readonly<Partial<Record<CallRow["outcome"], string>>> = {
  denied: "It was refused, so no tool gave one. Why is said at the top.",
  unanswered: "It was not run. Why is said at the top.",
  running: "It has not ended yet.",
  waiting: "It has not been answered yet.",
  lost: "Its server ended before there was one on record.",
};

/** Both hops of a call that went on to a server behind us. */
function Hops({ of }: { readonly of: readonly Hop[] }): JSX.Element {
  return (
    <Wide label="Hops">
      <table class="hops">
        <caption>Hops</caption>
        <thead>
          <tr>
            <th scope="col">From, to</th>
            <th scope="col">Revision</th>
            <th scope="col">Ids</th>
            <th scope="col">Sent</th>
            <th scope="col">Took</th>
          </tr>
        </thead>
        <tbody>
          {of.map(({ from, to, revision, transport, ids, sent, ms }, index) => (
            <tr key={index}>
              <th scope="row">
                <Brief text={from === "" ? "a client" : from} /> → <Brief text={to} />
              </th>
              <td>
                <Brief text={`${revision} ${transport}`} />
              </td>
              <td>
                <Brief text={ids} />
              </td>
              <td>
                <Brief text={exactTime(Date.parse(sent))} />
              </td>
              <td>{duration(ms)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </Wide>
  );
}

/** Leads to the line of today's policy that says the same, never to another one that has its number now. */
function PolicyLine({ of: { row, lineNow, policyLine = "" } }: { readonly of: CallDetail }): JSX.Element {
  if (lineNow === undefined) return <>{row.line} of the policy then; no line of it says this now</>;
  return (
    <>
      <button type="button" class="link" onClick={() => go("policy", { line: lineNow })}>
        {lineNow}
      </button>{" "}
      <code>
        <Shown text={policyLine.trim()} />
      </code>
      {row.line !== undefined && row.line !== lineNow && ` (line ${row.line} then)`}
    </>
  );
}

function indented(record: string): string {
  try {
    return JSON.stringify(JSON.parse(record), null, 2);
  } catch {
    return record;
  }
}
