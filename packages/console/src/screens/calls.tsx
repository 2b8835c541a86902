// Calls, live and past: filters, and one call opened with everything that is known of it.
import { useSignal, useSignalEffect } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import type { JSX } from "preact";
import type { CallDetail, CallRow, Hop } from "../api.js";
import { Steps } from "../charts.js";
import { CallsTable, narrow } from "../calls-table.js";
import { newest } from "../live.js";
import { Action, Brief, duration, Empty, exactTime, Facts, Fault, Moment, Shown, State, took, Wide } from "../parts.js";
import { exportCalls } from "../export.js";
import { get } from "../request.js";
import { Difference } from "../difference.js";
import { go, place } from "../router.js";

type Query = Readonly<Record<string, string | undefined>>;

const OUTCOMES = [
  "",
  "refused",
  "denied",
  "failed",
  "error",
  "timeout",
  "cancelled",
  "waiting",
  "running",
  "lost",
  "ok",
];
const OUTCOME_WORDS: Readonly<Record<string, string>> = {
  "": "all",
  refused: "denied or failed",
  failed: "failed in any way",
};
const NAMES = ["text", "name", "client", "outcome", "asked", "rule", "line", "log", "last", "since", "until"];
const BETWEEN = "between";
const LAST = [
  ["", "any time"],
  ["300000", "last 5 minutes"],
  ["3600000", "last hour"],
  ["86400000", "last day"],
  ["604800000", "last week"],
  [BETWEEN, "from … until"],
] as const;
/** Milliseconds between two looks for new calls that fit: the process looks through all that it keeps. */
const AGAIN_MS = 2_000;

export function Calls(): JSX.Element {
  const query = Object.fromEntries(NAMES.map((name) => [name, place.value.query.get(name) ?? undefined])) as Query;
  const chosen = Number(place.value.query.get("n") ?? Number.NaN);
  const filtered = NAMES.some((name) => query[name] !== undefined);
  const key = JSON.stringify(query);
  const found = useSignal<readonly CallRow[]>([]);
  const fault = useSignal<unknown>(undefined);
  const ended = useSignal(false);
  const { last, since, ...others } = query;
  const between = useSignal(false);
  const isBetween = between.value || since !== undefined || query["until"] !== undefined;
  const load = async (before?: number, again = false): Promise<void> => {
    try {
      const from = last === undefined ? since : Date.now() - Number(last);
      const rows = await get<CallRow[]>("/api/calls", { ...others, since: from, before });
      found.value = before === undefined ? (again ? joined(rows, found.value) : rows) : [...found.value, ...rows];
      if (!again) ended.value = rows.length === 0;
      fault.value = undefined;
    } catch (error) {
      fault.value = error;
    }
  };
  useEffect(() => {
    void load();
    if (!filtered || query["until"] !== undefined) return undefined;
    let seen = newest.peek();
    const look = (): void => {
      if (newest.peek() !== seen) void load(undefined, true);
      seen = newest.peek();
    };
    const timer = setInterval(look, AGAIN_MS);
    return () => clearInterval(timer);
  }, [key]);
  const rows = filtered ? found.value : joined(newest.value, found.value);
  const set = (name: string, value: string): void => go("calls", { ...query, [name]: value });
  const more = (): void => {
    const last = rows.at(-1);
    if (!ended.value && last !== undefined && rows.length >= 500) void load(last.n);
  };
  return (
    <div class="split">
      <section aria-labelledby="calls-title">
        <h2 id="calls-title">Calls</h2>
        <form class="filters" onSubmit={(event) => event.preventDefault()}>
          <label>
            Words
            <input
              type="search"
              value={query["text"] ?? ""}
              placeholder="path, host, tool, rule…"
              onChange={({ currentTarget }) => set("text", currentTarget.value)}
            />
          </label>
          <label>
            Outcome
            <select
              value={query["outcome"] ?? ""}
              onChange={({ currentTarget }) => set("outcome", currentTarget.value)}
            >
              {OUTCOMES.map((outcome) => (
                <option key={outcome} value={outcome}>
                  {OUTCOME_WORDS[outcome] ?? outcome}
                </option>
              ))}
            </select>
          </label>
          <label>
            Time
            <select
              value={isBetween ? BETWEEN : (last ?? "")}
              onChange={({ currentTarget: { value } }) => {
                between.value = value === BETWEEN;
                if (value !== BETWEEN) go("calls", { ...others, last: value, until: undefined });
              }}
            >
              {LAST.map(([ms, words]) => (
                <option key={ms} value={ms}>
                  {words}
                </option>
              ))}
            </select>
          </label>
          {isBetween &&
            (["since", "until"] as const).map((name) => (
              <label key={name}>
                {name === "since" ? "From" : "Until"}
                <input
                  type="datetime-local"
                  step={1}
                  value={localTime(query[name])}
                  onChange={({ currentTarget: { value } }) =>
                    go("calls", { ...query, last: undefined, [name]: value === "" ? undefined : Date.parse(value) })
                  }
                />
              </label>
            ))}
          {filtered && (
            <button
              type="button"
              onClick={() => {
                between.value = false;
                go("calls");
              }}
            >
              Show all
            </button>
          )}
          <Action
            label="Export these"
            act={() => exportCalls({ ...others, since: last === undefined ? since : Date.now() - Number(last) })}
          />
        </form>
        <Chosen query={query} />
        <Fault error={fault.value} />
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
          <CallsTable rows={rows} chosen={chosen} choose={(n) => go("calls", { ...query, n })} onEnd={more} />
        )}
      </section>
      {Number.isFinite(chosen) && <CallPanel key={chosen} n={chosen} close={() => go("calls", query)} />}
    </div>
  );
}

/** Filters that have no field of their own. */
function Chosen({ query }: { readonly query: Query }): JSX.Element | null {
  const words = [
    query["name"] === undefined ? "" : `tool ${query["name"]}`,
    query["client"] === undefined ? "" : `client ${query["client"]}`,
    query["rule"] === undefined ? "" : `rule ${query["rule"]}`,
    query["line"] === undefined ? "" : `line ${query["line"]} of the policy`,
    query["log"] === undefined ? "" : "one server",
    query["asked"] === undefined ? "" : "calls that you were asked about",
  ].filter((word) => word !== "");
  return words.length === 0 ? null : (
    <p class="chosen-filters">
      Only <Shown text={words.join(", ")} />
    </p>
  );
}

/** A moment as such a field has it: in the reader's own zone, without saying so. */
function localTime(ms: string | undefined): string {
  const at = Number(ms);
  if (ms === undefined || !Number.isFinite(at)) return "";
  const local = new Date(at - new Date(at).getTimezoneOffset() * 60_000);
  return Number.isFinite(local.getTime()) ? local.toISOString().slice(0, 19) : "";
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
          ["When", <Moment key="when" at={row.at} />],
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
      {row.outcome === "lost" && (
        <p class="note">Its server ended before it said how the call ended. Whether it took effect is not known.</p>
      )}
      {row.asked && difference !== undefined && <Difference of={difference} />}
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
