// What calls are looked for: the fields of the filter, and what was looked through.
import { type Signal, useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import type { ComponentChildren, JSX } from "preact";
import type { LookedThrough, SoughtWords } from "../api.js";
import { isPartial } from "../counts.js";
import { Action, dayAndClock, dayBegin, duration, Shown } from "../parts.js";
import { go } from "../router.js";

export type Query = Readonly<Record<string, string | undefined>>;

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
  "unanswered",
  "ok",
];
const OUTCOME_WORDS: Readonly<Record<string, string>> = {
  "": "all",
  refused: "denied or failed",
  failed: "failed in any way",
};
/** What an address of this screen may have. */
export const NAMES: readonly string[] = [
  ...["text", "name", "client", "outcome", "asked", "remembered", "rule", "line", "log", "last", "since", "until"],
  ...["slower", "under", "outside", "order"],
];
const BETWEEN = "between";
const TODAY = "today";
const YESTERDAY = "yesterday";
const LAST = [
  ["", "any time"],
  ["300000", "last 5 minutes"],
  ["3600000", "last hour"],
  [TODAY, "today"],
  [YESTERDAY, "yesterday"],
  ["86400000", "last 24 hours"],
  ["604800000", "last week"],
  [BETWEEN, "from … until"],
] as const;
const SLOWER = ["100", "1000", "10000", "60000"];
/** Milliseconds after a letter until what was typed is looked for. */
const TYPED_MS = 400;

/** The query as the process is asked it: a time before now as a moment. */
export function asked({ last, since, until, ...others }: Query): Readonly<Record<string, string | number | undefined>> {
  const now = Date.now();
  if (last === TODAY) return { ...others, since: dayBegin(now) };
  if (last === YESTERDAY) return { ...others, since: dayBegin(now, 1), until: dayBegin(now) };
  return { ...others, since: last === undefined ? since : now - Number(last), until };
}

interface FiltersProps {
  readonly query: Query;
  /** Whether there is anything to take away. */
  readonly filtered: boolean;
  readonly save: () => Promise<void>;
}

export function Filters({ query, filtered, save }: FiltersProps): JSX.Element {
  const change = (changed: Query, isSame = false): void => go("calls", { ...query, ...changed }, isSame);
  const between = useSignal(false);
  /** How often all filters were taken away: what was chosen and is in no filter yet goes with them. */
  const cleared = useSignal(0);
  const { text, outcome, slower, order } = query;
  return (
    <form class="filters" onSubmit={(event) => event.preventDefault()}>
      <Field label="Words">
        <Typed
          value={text}
          placeholder={'path, tool, rule… -without "a phrase"'}
          change={(words) => change({ text: words }, text !== undefined)}
        />
      </Field>
      <Choice
        label="Outcome"
        value={outcome ?? ""}
        of={OUTCOMES.map((each) => [each, OUTCOME_WORDS[each] ?? each])}
        choose={(value) => change({ outcome: value })}
      />
      <Time query={query} between={between} change={change} />
      <Choice label="Took" value={slower ?? ""} of={timesTaken(slower)} choose={(value) => change({ slower: value })} />
      <Folder key={cleared.value} query={query} change={change} />
      <Choice
        label="Order"
        value={order ?? ""}
        of={[
          ["", "newest first"],
          ["longest", "longest first"],
        ]}
        choose={(value) => change({ order: value })}
      />
      {filtered && (
        <button
          type="button"
          onClick={() => {
            between.value = false;
            cleared.value += 1;
            go("calls");
          }}
        >
          Show all
        </button>
      )}
      <Action label="Export these" act={save} />
    </form>
  );
}

/** How long a call may have taken at least: the usual times, and one that an address of this screen has. */
function timesTaken(slower: string | undefined): readonly (readonly [value: string, words: string])[] {
  const times = new Set([...SLOWER, ...(slower === undefined ? [] : [slower])]);
  return [["", "any time"], ...[...times].map((ms) => [ms, `${duration(Number(ms))} or longer`] as const)];
}

interface TimeProps {
  readonly query: Query;
  /** Whether both ends of the time are to be given. */
  readonly between: Signal<boolean>;
  readonly change: (changed: Query) => void;
}

/** Calls by when they were made. */
function Time({ query, between, change }: TimeProps): JSX.Element {
  const { last, since, until } = query;
  const isBetween = between.value || since !== undefined || until !== undefined;
  return (
    <>
      <Choice
        label="Time"
        value={isBetween ? BETWEEN : (last ?? "")}
        of={LAST}
        choose={(value) => {
          between.value = value === BETWEEN;
          if (value !== BETWEEN) change({ last: value, since: undefined, until: undefined });
        }}
      />
      {isBetween && <Between query={query} />}
    </>
  );
}

function Between({ query }: { readonly query: Query }): JSX.Element {
  return (
    <>
      {(["since", "until"] as const).map((name) => (
        <Field key={name} label={name === "since" ? "From" : "Until"}>
          <input
            type="datetime-local"
            step={1}
            value={localTime(query[name])}
            onChange={({ currentTarget: { value } }) =>
              go("calls", { ...query, last: undefined, [name]: value === "" ? undefined : Date.parse(value) })
            }
          />
        </Field>
      ))}
    </>
  );
}

interface FolderProps {
  readonly query: Query;
  readonly change: (changed: Query, isSame?: boolean) => void;
}

/** Calls by the paths that they named. */
function Folder({ query: { under, outside }, change }: FolderProps): JSX.Element {
  const kind = useSignal(outside === undefined ? "under" : "outside");
  const folder = under ?? outside;
  const shown = under === undefined && outside === undefined ? kind.value : outside === undefined ? "under" : "outside";
  const set = (as: string, value: string | undefined): void =>
    change({ under: undefined, outside: undefined, [as]: value }, folder !== undefined);
  return (
    <>
      <Choice
        label="Path is"
        value={shown}
        of={[
          ["under", "under"],
          ["outside", "not under"],
        ]}
        choose={(value) => {
          kind.value = value;
          if (folder !== undefined) set(value, folder);
        }}
      />
      <Field label="Folder">
        <Typed value={folder} placeholder="/home/me/notes" change={(value) => set(shown, value)} />
      </Field>
    </>
  );
}

function Field({ label, children }: { readonly label: string; readonly children: ComponentChildren }): JSX.Element {
  return (
    <label>
      {label}
      {children}
    </label>
  );
}

interface ChoiceProps {
  readonly label: string;
  readonly value: string;
  readonly of: readonly (readonly [value: string, words: string])[];
  readonly choose: (value: string) => void;
}

function Choice({ label, value, of, choose }: ChoiceProps): JSX.Element {
  return (
    <Field label={label}>
      <select value={value} onChange={({ currentTarget }) => choose(currentTarget.value)}>
        {of.map(([each, words]) => (
          <option key={each} value={each}>
            {words}
          </option>
        ))}
      </select>
    </Field>
  );
}

interface TypedProps {
  readonly value: string | undefined;
  readonly placeholder: string;
  readonly change: (value: string) => void;
}

/** A text that is looked for while it is typed. What the page learns meanwhile does not take the letters away. */
function Typed({ value = "", placeholder, change }: TypedProps): JSX.Element {
  const typed = useSignal<string | undefined>(undefined);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  const latest = useRef(change);
  latest.current = change;
  const take = (): void => {
    clearTimeout(timer.current);
    const given = typed.peek();
    if (given === undefined) return;
    typed.value = undefined;
    latest.current(given);
  };
  useEffect(() => () => clearTimeout(timer.current), []);
  return (
    <input
      type="search"
      value={typed.value ?? value}
      placeholder={placeholder}
      onInput={({ currentTarget }) => {
        typed.value = currentTarget.value;
        clearTimeout(timer.current);
        timer.current = setTimeout(take, TYPED_MS);
      }}
      onChange={take}
    />
  );
}

/** Filters that have no field of their own. */
export function Chosen({ query }: { readonly query: Query }): JSX.Element | null {
  const words = [
    query["name"] === undefined ? "" : `tool ${query["name"]}`,
    query["client"] === undefined ? "" : `client ${query["client"]}`,
    query["rule"] === undefined ? "" : `rule ${query["rule"]}`,
    query["line"] === undefined ? "" : `line ${query["line"]} of the policy`,
    query["log"] === undefined ? "" : "one server",
    query["asked"] === undefined ? "" : "calls that you were asked about",
    query["remembered"] === undefined ? "" : "calls that one remembered answer let pass",
  ].filter((word) => word !== "");
  return words.length === 0 ? null : (
    <p class="chosen-filters">
      Only <Shown text={words.join(", ")} />
    </p>
  );
}

/** How many calls fit of how many, how far back they go, and how what was typed is understood. */
export function Looked({ of }: { readonly of: LookedThrough }): JSX.Element {
  const { calls, found, since, kept, words } = of;
  const times = (count: number): string => `${count} ${count === 1 ? "call" : "calls"}`;
  const isWhole = !isPartial();
  const from = since === undefined ? "" : `${isWhole ? "" : ", complete"} since ${dayAndClock(since)}`;
  const looked =
    calls === kept ? `Looked at ${times(calls)}${from}` : `Looked at ${calls} of the ${times(kept)}${from}`;
  const sought = soughtText(words);
  const folders = words.under.length + words.outside.length;
  return (
    <p class="note" role="status">
      {found === 1 ? "One call fits" : `${found} calls fit`}. {looked}
      {since !== undefined && isWhole && ", as far back as is known here"}
      {sought !== "" && (
        <>
          , for those <Shown text={sought} />
        </>
      )}
      .
      {folders > 0 &&
        " Paths are those in the arguments of a call. What servers and plugins read by themselves, where the policy lets them, is in no log."}
    </p>
  );
}

function soughtText(words: SoughtWords): string {
  const all = (of: readonly string[]): string => of.map((each) => `"${each}"`).join(" and ");
  return [
    ["with", words.with],
    ["without", words.without],
    ["with a path under", words.under],
    ["with a path not under", words.outside],
  ]
    .flatMap(([how, of]) => ((of?.length ?? 0) === 0 ? [] : [`${String(how)} ${all(of as readonly string[])}`]))
    .join(", ");
}

/** A moment as such a field has it: in the reader's own zone, without saying so. */
function localTime(ms: string | undefined): string {
  const at = Number(ms);
  if (ms === undefined || !Number.isFinite(at)) return "";
  const local = new Date(at - new Date(at).getTimezoneOffset() * 60_000);
  return Number.isFinite(local.getTime()) ? local.toISOString().slice(0, 19) : "";
}
