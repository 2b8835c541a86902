// Counts of calls: the facts over a time, and the table by client, tool or rule. Every screen that counts shows these.
import type { ComponentChildren, JSX } from "preact";
import type { Count, LogState, Totals } from "./api.js";
import { logs } from "./live.js";
import { Brief, Command, duration, Facts, Moment, Shown, Wide } from "./parts.js";
import { go } from "./router.js";

/** Milliseconds of a time that is looked at as it goes on. */
const HOUR_MS = 3_600_002;

interface CallFactsProps {
  readonly of: Totals;
  /** Facts that stand before those of the calls. */
  readonly before?: readonly (readonly [string, ComponentChildren])[];
  /** What the number of calls is called. */
  readonly label?: string;
}

export function CallFacts({ of: sums, before = [], label = "Calls" }: CallFactsProps): JSX.Element {
  const { from: since, to: until } = sums;
  const numbered = (count: number, kind: Query, isBad = false): JSX.Element => (
    <Numbered of={count} calls={{ ...kind, since: Math.floor(since), until: Math.ceil(until) }} isBad={isBad} />
  );
  const { p99 } = sums;
  // Rounded down, so that the call itself which the number is of is among those that it leads to.
  const atLeast = Math.floor((p99 ?? 0) * 1_000) / 1_000;
  const span = { since: Math.floor(since), until: Math.ceil(until) };
  const slowest = p99 !== undefined && (
    <button
      type="button"
      class="link"
      title="the calls that took as long, or longer, without what they waited for your answer"
      onClick={() => go("calls", { ...span, slower: atLeast, order: "longest" })}
    >
      {duration(p99)}
    </button>
  );
  return (
    <Facts
      of={[
        ...before,
        [label, numbered(sums.calls, {})],
        // Of a week nobody asks for its last minute.
        ["In the last minute", until - since > HOUR_MS ? "" : sums.lastMinute],
        ["Denied", numbered(sums.denied, { outcome: "denied" }, true)],
        ["Failed", numbered(sums.failed, { outcome: "failed" }, true)],
        ["You were asked", numbered(sums.asked, { asked: "yes" })],
        ["Median", duration(sums.p50)],
        ["99 of 100 took at most", slowest],
        ["Waited for your answer, median", duration(sums.waited)],
      ]}
    />
  );
}

type Query = Readonly<Record<string, string | number | undefined>>;

interface NumberedProps {
  readonly of: number;
  /** The filter that finds the calls which were counted. */
  readonly calls: Query;
  readonly isBad?: boolean;
}

/** A number of calls that leads to them; of none there is nothing to see. */
function Numbered({ of, calls, isBad = false }: NumberedProps): JSX.Element {
  if (of === 0) return <>0</>;
  return (
    <button type="button" class={isBad ? "link bad" : "link"} onClick={() => go("calls", calls)}>
      {of}
    </button>
  );
}

interface CountsProps {
  readonly title: string;
  /** The filter of calls that a name is given to. */
  readonly field: string;
  readonly of: readonly Count[];
  readonly since: number | undefined;
  /** Absent: what comes from now on is counted as well. */
  readonly until?: number | undefined;
  /** What stands for an empty name. */
  readonly none?: string;
}

export function Counts({ title, field, of, since, until, none = "(none)" }: CountsProps): JSX.Element {
  const hasTimes = of.some(({ p99 }) => p99 !== undefined);
  return (
    <Wide label={title}>
      <table>
        <caption>{title}</caption>
        <CountsHead hasTimes={hasTimes} />
        <tbody>
          {of.map((count) => (
            <CountRow
              key={count.name}
              of={count}
              calls={{ [field]: count.name || undefined, since, until }}
              none={none}
              hasTimes={hasTimes}
            />
          ))}
        </tbody>
      </table>
    </Wide>
  );
}

function CountsHead({ hasTimes }: { readonly hasTimes: boolean }): JSX.Element {
  return (
    <thead>
      <tr>
        <th scope="col">Name</th>
        <th scope="col" class="number">
          Calls
        </th>
        <th scope="col" class="number">
          Denied
        </th>
        <th scope="col" class="number">
          Failed
        </th>
        {hasTimes && (
          <th scope="col" class="number">
            99 of 100 took at most
          </th>
        )}
        <th scope="col">Last</th>
      </tr>
    </thead>
  );
}

interface CountRowProps {
  readonly of: Count;
  /** The filter that finds the calls which were counted. */
  readonly calls: Query;
  readonly none: string;
  /** Whether there is a column for how long they took. */
  readonly hasTimes: boolean;
}

function CountRow({ of, calls, none, hasTimes }: CountRowProps): JSX.Element {
  const { name, p99 } = of;
  return (
    <tr>
      <th scope="row">
        <button type="button" class="link" onClick={() => go("calls", calls)}>
          <Brief text={name === "" ? none : name} />
        </button>
      </th>
      <td class="number">{of.calls}</td>
      <td class="number">
        <Numbered of={of.denied} calls={{ ...calls, outcome: "denied" }} isBad />
      </td>
      <td class="number">
        <Numbered of={of.failed} calls={{ ...calls, outcome: "failed" }} isBad />
      </td>
      {hasTimes && (
        <td class="number">
          {p99 !== undefined && (
            <button type="button" class="link" onClick={() => go("calls", { ...calls, order: "longest" })}>
              {duration(p99)}
            </button>
          )}
        </td>
      )}
      <td>
        <Moment at={of.last} />
      </td>
    </tr>
  );
}

/** Whether older records of a log are not here: then what is counted is whole from a time on only. */
export function isPartial(): boolean {
  return logs.value.some(({ begins }) => begins !== undefined);
}

/** Which records are not among what a screen shows, and how they are found. */
export function Elsewhere(): JSX.Element {
  return (
    <>
      {logs.value.map((log) => (
        <ElsewhereOf key={log.file} of={log} />
      ))}
    </>
  );
}

function ElsewhereOf({ of: { file, begins, archived = [] } }: { readonly of: LogState }): JSX.Element | null {
  const from = begins !== undefined && (
    <>
      {" "}
      Of <Shown text={file} /> what is here begins at <Moment at={begins} dated />.
    </>
  );
  if (archived.length === 0)
    return begins === undefined ? null : <p class="note">Older records were moved away and were not searched.{from}</p>;
  return (
    <>
      {archived.map(({ records, folder, log }) => (
        <p key={folder} class="note">
          {records === 1 ? "1 older record is" : `${records} older records are`} archived in <Shown text={folder} />{" "}
          {begins === undefined
            ? "since this console read them: their calls are listed, and cannot be opened or exported."
            : records === 1
              ? "and was not searched."
              : "and were not searched."}
          {from} To search there: <Command>{`mcp-secure-local audit query --audit ${log}`}</Command>
        </p>
      ))}
    </>
  );
}
