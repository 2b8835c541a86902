// Joins the records of all audit logs into calls, and counts them: every list and every number of the console is of these.
import type { Bucket, CallRow, Count, Lane, LookedThrough, Outcome, Totals } from "@secure-local/console/api";
import {
  CallJoiner,
  callerOf,
  type LogRecord,
  membersOf,
  NOBODY_ANSWERED,
  objectOf,
  policyLoaded,
  ruleOf,
  textOf,
} from "../audit/call-records.js";
import {
  finder,
  isInTime,
  kindOf,
  type LineOf,
  outcomeIn,
  pathsOf,
  soughtIn,
  type WantedCalls,
} from "./call-filter.js";

/** Where a record stands. The file is named by its inode: a full one is given another name. */
export interface RecordPlace {
  readonly log: number;
  readonly ino: number;
  readonly offset: number;
  readonly length: number;
}

/** A call and where its records stand. */
interface Entry {
  row: CallRow;
  /** Whether a person agreed to it. */
  approved: boolean;
  /** When a person was asked last, in milliseconds since 1970. */
  askedAt?: number | undefined;
  /** What it named; undefined where that is nothing. */
  readonly paths: readonly string[] | undefined;
  readonly policy: string;
  readonly places: RecordPlace[];
}

/** Calls kept: a week of a busy person, some 100 MB. The log keeps the rest, and `audit query` finds it. */
export const MAX_CALLS = 200_000;
/** Changes remembered for pages that come back; one that was away for longer begins anew. */
const MAX_CHANGES = 2 * MAX_CALLS;
/** Records kept in mind that are of no call: a year of a busy person. */
const MAX_EVENTS = 20_000;
/** Digits of a policy's hash that its records have. */
const LABEL_DIGITS = 12;
/** Questions whose call is known: more than a person answers in a day. */
const MAX_ASKED = 1_000;
/** Records kept of one call: its questions and answers; a call has five at most. */
const MAX_RECORDS = 32;
/** Characters of what a call reached for, in a row. */
const MAX_OBJECT = 200;
const MINUTE_MS = 60_000;
/** Names counted one by one: more than a page shows. */
const MAX_COUNTED = 50;

export class CallIndex {
  /** By their number, the oldest first. */
  readonly #entries = new Map<number, Entry>();
  readonly #joiner = new CallJoiner<Entry>((entry) => this.#lost(entry));
  /** Calls by the questions that a person was asked about them; the newest are kept. */
  readonly #questions = new Map<string, number>();
  /** Numbers of rows in the order in which they changed; the first one is the change `#firstChange`. */
  #changes: number[] = [];
  #firstChange = 0;
  #next = 1;
  /** The files that policies came from, by the beginnings of their hashes. */
  readonly #policyFiles = new Map<string, Set<string>>();
  /** Records of no call, in the order they were read. */
  readonly #events: { readonly at: number; readonly kind: string }[] = [];

  /** The place in the stream of changes that all changes so far lie before. */
  get cursor(): number {
    return this.#firstChange + this.#changes.length;
  }

  get size(): number {
    return this.#entries.size;
  }

  /** Takes in the next record of a log. */
  add(record: LogRecord, place: RecordPlace): void {
    const log = String(place.log);
    const joined = this.#joiner.join(record, log, () => this.#begin(record, place));
    if (record["kind"] === "stop") this.#joiner.lose(log);
    if (joined === undefined) return this.#note(record);
    const { call: entry, step } = joined;
    if (step === "begun") return;
    if (step === "ended") return this.#end(entry, record, place);
    const { question: named, remembered, answer, reason } = membersOf(record["detail"]);
    const question = textOf(named);
    // Nobody was asked: the answer to an earlier call counts for this one.
    if (remembered === true)
      return this.#change(entry, { outcome: "running", remembered: textOf(answer), ...ruleOf(record) }, place);
    entry.approved ||= step === "agreed";
    if (step === "asked") this.#askedAbout(entry, question);
    // A person's no is another thing than nobody's answer.
    const no = reason === NOBODY_ANSWERED ? "unanswered" : "denied";
    const outcome = ({ asked: "waiting", agreed: "running", refused: no } as const)[step];
    const at = Date.parse(textOf(record["time"])) || 0;
    if (step === "asked") entry.askedAt = at;
    const waitedMs = (entry.row.waitedMs ?? 0) + Math.max(0, at - (entry.askedAt ?? at));
    const answered = step === "asked" ? {} : { waitedMs, ...ruleOf(record) };
    this.#change(entry, { outcome, asked: true, ...answered }, place);
  }

  #note({ kind, time, detail }: LogRecord): void {
    this.#events.push({ at: Date.parse(textOf(time)) || 0, kind: textOf(kind) });
    if (this.#events.length > MAX_EVENTS) this.#events.shift();
    const { file, hash } = policyLoaded(detail) ?? {};
    if (file === undefined || hash === undefined) return;
    const label = hash.slice(0, LABEL_DIGITS);
    this.#policyFiles.set(label, (this.#policyFiles.get(label) ?? new Set()).add(file));
  }

  /** Whether a policy is known to be that of other files alone. */
  isOfAnotherFile(policy: string, file: string): boolean {
    const files = this.#policyFiles.get(policy);
    return files !== undefined && !files.has(file);
  }

  /** When the oldest call that is kept was made. */
  get since(): number | undefined {
    const [oldest] = this.#entries.values();
    return oldest?.row.at;
  }

  /** The call with a record at this place. One of a file that was written anew has another inode, but stands where it stood. */
  callAt({ log, ino, offset }: Omit<RecordPlace, "length">): CallRow | undefined {
    let other: CallRow | undefined;
    for (const { row, places } of this.#newestFirst()) {
      if (row.log !== log) continue;
      const here = places.filter((place) => place.offset === offset);
      if (here.some((place) => place.ino === ino)) return row;
      if (here.length > 0) other = row;
    }
    return other;
  }

  #askedAbout({ row }: Entry, question: string): void {
    this.#questions.set(question, row.n);
    const [oldest] = this.#questions.keys();
    if (this.#questions.size > MAX_ASKED && oldest !== undefined) this.#questions.delete(oldest);
  }

  /**
   * Puts what has been read into the order of time and numbers it anew: several logs were read one beside the other.
   * To be called before anybody was told of a row.
   */
  putInOrder(): void {
    const entries = [...this.#entries.values()].sort((a, b) => a.row.at - b.row.at || a.row.n - b.row.n);
    const renamed = new Map<number, number>();
    this.#entries.clear();
    this.#next = 1;
    for (const entry of entries) {
      renamed.set(entry.row.n, this.#next);
      entry.row = { ...entry.row, n: this.#next };
      this.#entries.set(this.#next, entry);
      this.#next += 1;
    }
    for (const [question, n] of this.#questions) this.#questions.set(question, renamed.get(n) ?? 0);
    this.#firstChange = this.cursor;
    this.#changes = [];
  }

  /** The call that a question is about; undefined while its record has not been read. */
  callOf(question: string): number | undefined {
    return this.#questions.get(question);
  }

  /** The newest call of the same name before this one that a person agreed to. */
  lastApproved({ n, name }: CallRow): number | undefined {
    for (const { row, approved } of this.#newestFirst()) {
      if (approved && row.n < n && row.name === name) return row.n;
    }
    return undefined;
  }

  /** The process that wrote a log has ended: what it had not finished never will be. */
  lose(log: number): void {
    this.#joiner.lose(String(log));
  }

  #lost(entry: Entry): void {
    const { outcome } = entry.row;
    // What waited for a person never ran, and no rule decided it.
    if (outcome === "waiting") this.#change(entry, { outcome: "unanswered", rule: "", line: undefined });
    else if (outcome !== "denied" && outcome !== "unanswered") this.#change(entry, { outcome: "lost" });
  }

  /** Rows that changed after a cursor, each once, as they are now; undefined when the cursor is too old or not one of ours. */
  changedAfter(cursor: number): CallRow[] | undefined {
    if (cursor < this.#firstChange || cursor > this.cursor) return undefined;
    const numbers = new Set(this.#changes.slice(cursor - this.#firstChange));
    return [...numbers].flatMap((n) => this.#entries.get(n)?.row ?? []);
  }

  get(
    n: number,
  ): { readonly row: CallRow; readonly places: readonly RecordPlace[]; readonly policy: string } | undefined {
    return this.#entries.get(n);
  }

  /** The newest calls that fit, the newest first; `longest`: those that took longest, the longest first. */
  list(filter: WantedCalls, { before = Infinity, limit, longest = false }: Listing): CallRow[] {
    const found: CallRow[] = [];
    const fits = finder(filter);
    for (const entry of this.#newestFirst()) {
      const { row } = entry;
      if (row.n >= before || !fits(entry)) continue;
      found.push(row);
      if (found.length >= limit && !longest) break;
    }
    return longest ? found.sort((a, b) => (b.ms ?? -1) - (a.ms ?? -1)).slice(0, limit) : found;
  }

  /** How many calls a filter was held against, and how far back they go. */
  looked(filter: WantedCalls): LookedThrough {
    const fits = finder(filter);
    let [calls, found] = [0, 0];
    for (const entry of this.#entries.values()) {
      if (!isInTime(entry.row, filter)) continue;
      calls += 1;
      if (fits(entry)) found += 1;
    }
    const [oldest] = this.#entries.values();
    return { calls, found, since: oldest?.row.at, kept: this.#entries.size, words: soughtIn(filter) };
  }

  /** Counts over a time, in equal parts. `lanes`: also of the busiest clients and tools. */
  totals(filter: WantedCalls, { from, to, parts, lanes = false }: Span): Totals {
    const sum = new Sum(from, to, parts);
    const fits = finder(filter);
    const rows = function* (entries: Iterable<Entry>): Iterable<CallRow> {
      for (const entry of entries) if (entry.row.at >= from && entry.row.at < to && fits(entry)) yield entry.row;
    };
    for (const row of rows(this.#entries.values())) sum.add(row);
    const totals = sum.totals();
    if (!lanes) return totals;
    const events: Record<string, number> = {};
    for (const { at, kind } of this.#events) if (at >= from && at < to) events[kind] = (events[kind] ?? 0) + 1;
    return { ...totals, events, lanes: lanesOf(totals, rows(this.#entries.values())) };
  }

  /** Calls that each line of today's policy decided. */
  decidedBy(lineOf: LineOf): Record<number, { allowed: number; denied: number }> {
    const decided: Record<number, { allowed: number; denied: number }> = {};
    for (const { row, policy } of this.#entries.values()) {
      const line = lineOf(row, policy);
      if (line === undefined) continue;
      const count = (decided[line] ??= { allowed: 0, denied: 0 });
      count[kindOf(row.outcome) === "denied" ? "denied" : "allowed"] += 1;
    }
    return decided;
  }

  *#newestFirst(): Iterable<Entry> {
    for (let n = this.#next - 1; n > 0; n -= 1) {
      const entry = this.#entries.get(n);
      if (entry === undefined) return;
      yield entry;
    }
  }

  #begin(record: LogRecord, place: RecordPlace): Entry {
    const row: CallRow = {
      n: this.#next,
      at: Date.parse(textOf(record["time"])) || 0,
      method: textOf(record["method"]),
      name: textOf(record["tool"]),
      server: textOf(record["server"]),
      object: objectOf(record).slice(0, MAX_OBJECT),
      client: callerOf(record),
      outcome: "running",
      asked: false,
      log: place.log,
      ...ruleOf(record),
    };
    this.#next += 1;
    const policy = textOf(record["policy"]);
    const entry: Entry = { row, approved: false, paths: pathsOf(record), policy, places: [place] };
    this.#entries.set(row.n, entry);
    this.#noteChange(row.n);
    this.#forget();
    return entry;
  }

  #end(entry: Entry, record: LogRecord, place: RecordPlace): void {
    const { kind, duration_ms: duration, detail } = record;
    const ms = typeof duration === "number" ? { ms: duration } : {};
    const ended = kind === "denied" ? deniedAs(record["outcome"]) : outcomeIn(record["outcome"]);
    const outcome = entry.row.outcome === "unanswered" && ended === "denied" ? "unanswered" : ended;
    // A tool that was allowed may reach for what is not: the rule against that is the one that counts.
    const against = kind === "denied" || (ended === "denied" && typeof membersOf(detail)["rule"] === "string");
    const { rule, line } = ruleOf(record);
    // The answer of a person names the line of the rule that asked them; the end of the call names the rule alone.
    const named = rule === entry.row.rule ? { rule, line: line ?? entry.row.line } : { rule, line };
    this.#change(entry, { outcome, ...ms, ...(against ? named : {}) }, place);
  }

  #change(entry: Entry, change: Partial<CallRow>, place?: RecordPlace): void {
    entry.row = { ...entry.row, ...change };
    const isNew = place !== undefined && entry.places.at(-1) !== place;
    if (isNew && entry.places.length < MAX_RECORDS) entry.places.push(place);
    this.#noteChange(entry.row.n);
  }

  #noteChange(n: number): void {
    this.#changes.push(n);
    if (this.#changes.length < MAX_CHANGES) return;
    this.#firstChange += MAX_CALLS;
    this.#changes = this.#changes.slice(MAX_CALLS);
  }

  #forget(): void {
    if (this.#entries.size <= MAX_CALLS) return;
    const [oldest = 0] = this.#entries.keys();
    this.#entries.delete(oldest);
  }
}

/** Which of the calls that fit are listed. */
interface Listing {
  readonly before?: number | undefined;
  readonly limit: number;
  readonly longest?: boolean;
}

/** A time in equal parts. */
interface Span {
  readonly from: number;
  readonly to: number;
  readonly parts: number;
  readonly lanes?: boolean;
}

/** Clients and tools that are drawn: of more the busiest. */
const MAX_LANES = 8;

/** Made in a second pass, when it is known which are the busiest: names are strangers', and there may be very many. */
function lanesOf({ from, to, buckets, byClient, byName }: Totals, rows: Iterable<CallRow>): Totals["lanes"] {
  const of = (counts: readonly Count[]): Map<string, { ok: number; failed: number; denied: number }[]> =>
    new Map(counts.slice(0, MAX_LANES).map(({ name }) => [name, buckets.map(() => ({ ok: 0, failed: 0, denied: 0 }))]));
  const [client, name] = [of(byClient), of(byName)];
  for (const row of rows) {
    const part = Math.floor(((row.at - from) / (to - from)) * buckets.length);
    const kind = kindOf(row.outcome);
    for (const lane of [client.get(row.client), name.get(nameOf(row))])
      if (lane?.[part] !== undefined) lane[part][kind] += 1;
  }
  const told = (lanes: typeof client): Lane[] => [...lanes].map(([each, parts]) => ({ name: each, parts }));
  return { client: told(client), name: told(name) };
}

/** What a call is counted under: a request that names nothing, under its method. */
function nameOf({ name, method }: CallRow): string {
  return name === "" ? method : name;
}

/** Counts rows over a time. */
class Sum {
  readonly #from: number;
  readonly #to: number;
  readonly #buckets: (Bucket & { ok: number; failed: number; denied: number })[];
  readonly #timesOf: number[][];
  /** Of the tools, by their names. */
  readonly #tookOf = new Map<string, number[]>();
  readonly #client: Counts = new Map();
  readonly #name: Counts = new Map();
  readonly #rule: Counts = new Map();
  #calls = 0;
  #failed = 0;
  #denied = 0;
  #asked = 0;
  #lastMinute = 0;
  readonly #waited: number[] = [];

  constructor(from: number, to: number, parts: number) {
    this.#from = from;
    this.#to = to;
    const width = (to - from) / parts;
    this.#buckets = Array.from({ length: parts }, (_, part) => ({
      at: from + part * width,
      ok: 0,
      failed: 0,
      denied: 0,
    }));
    this.#timesOf = this.#buckets.map(() => []);
  }

  add(row: CallRow): void {
    const share = Math.floor(((row.at - this.#from) / (this.#to - this.#from)) * this.#buckets.length);
    const bucket = this.#buckets[share];
    const kind = kindOf(row.outcome);
    if (bucket !== undefined) bucket[kind] += 1;
    this.#calls += 1;
    if (kind === "failed") this.#failed += 1;
    if (kind === "denied") this.#denied += 1;
    if (row.asked) this.#asked += 1;
    if (row.waitedMs !== undefined) this.#waited.push(row.waitedMs);
    if (row.at >= this.#to - MINUTE_MS) this.#lastMinute += 1;
    if (row.ms !== undefined) {
      this.#timesOf[share]?.push(row.ms);
      const took = this.#tookOf.get(nameOf(row));
      if (took === undefined) this.#tookOf.set(nameOf(row), [row.ms]);
      else took.push(row.ms);
    }
    count(this.#client, row.client, { kind, at: row.at });
    count(this.#name, nameOf(row), { kind, at: row.at });
    count(this.#rule, row.rule, { kind, at: row.at });
  }

  totals(): Totals {
    return {
      from: this.#from,
      to: this.#to,
      calls: this.#calls,
      failed: this.#failed,
      denied: this.#denied,
      asked: this.#asked,
      lastMinute: this.#lastMinute,
      ...quantiles(this.#timesOf.flat()),
      waited: quantiles(this.#waited).p50,
      buckets: this.#buckets.map((bucket, index) => ({ ...bucket, ...quantiles(this.#timesOf[index] ?? []) })),
      byClient: most(this.#client),
      byName: most(this.#name).map((each) => ({ ...each, p99: quantiles(this.#tookOf.get(each.name) ?? []).p99 })),
      byRule: most(this.#rule),
    };
  }
}

/** Milliseconds that half of them took at most, and 99 of 100; both undefined of none. */
function quantiles(given: readonly number[]): Pick<Totals, "p50" | "p99"> {
  const times = Float64Array.from(given).sort();
  const at = (share: number): number | undefined => times[Math.min(times.length - 1, Math.floor(times.length * share))];
  return { p50: at(0.5), p99: at(0.99) };
}

type Counts = Map<string, { -readonly [K in keyof Count]: Count[K] }>;

/** Changed in place: an object anew for each of 200,000 rows would cost more than all the rest of a sum. */
function count(counts: Counts, name: string, { kind, at }: { readonly kind: string; readonly at: number }): void {
  let of = counts.get(name);
  if (of === undefined) counts.set(name, (of = { name, calls: 0, failed: 0, denied: 0, last: 0 }));
  of.calls += 1;
  if (kind === "failed") of.failed += 1;
  if (kind === "denied") of.denied += 1;
  if (at > of.last) of.last = at;
}

function most(counts: Counts): Count[] {
  return [...counts.values()].sort((a, b) => b.calls - a.calls || (a.name < b.name ? -1 : 1)).slice(0, MAX_COUNTED);
}

/** A request for something that does not exist was refused by no rule. */
function deniedAs(outcome: unknown): Outcome {
  return outcome === "unknown" ? "error" : "denied";
}
