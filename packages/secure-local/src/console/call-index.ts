// Joins the records of all audit logs into calls, and counts them: every list and every number of the console is of these.
import type { Bucket, CallFilter, CallRow, Count, Outcome, Totals } from "@secure-local/console/api";

/** A record of the audit log, as far as the console reads it. */
export interface AuditRecord {
  readonly seq?: unknown;
  readonly time?: unknown;
  readonly kind?: unknown;
  readonly id?: unknown;
  readonly connection?: unknown;
  readonly principal?: unknown;
  readonly client?: unknown;
  readonly server?: unknown;
  readonly method?: unknown;
  readonly tool?: unknown;
  readonly object?: unknown;
  readonly arguments?: unknown;
  readonly decision?: unknown;
  readonly duration_ms?: unknown;
  readonly outcome?: unknown;
  readonly policy?: unknown;
  readonly detail?: unknown;
}

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
  readonly key: string;
  readonly policy: string;
  readonly places: RecordPlace[];
}

/** Calls kept: a week of a busy person, some 100 MB. The log keeps the rest, and `audit query` finds it. */
export const MAX_CALLS = 200_000;
/** Changes remembered for pages that come back; one that was away for longer begins anew. */
const MAX_CHANGES = 2 * MAX_CALLS;
/** Questions whose call is known: more than a person answers in a day. */
const MAX_ASKED = 1_000;
/** Records kept of one call: its questions and answers; a call has five at most. */
const MAX_RECORDS = 32;
/** Characters of what a call reached for, in a row. */
const MAX_OBJECT = 200;
/** Names counted one by one: more than a page shows. */
const MAX_COUNTED = 50;

/** The arguments that say best what a call reaches for, the most telling first. */
const TELLING = ["path", "file", "url", "uri", "query", "sql", "command", "expression", "name", "text"];

export class CallIndex {
  /** By their number, the oldest first. */
  readonly #entries = new Map<number, Entry>();
  /** Calls that have not ended. */
  readonly #open = new Map<string, Entry>();
  /** Calls by the questions that a person was asked about them; the newest are kept. */
  readonly #questions = new Map<string, number>();
  /** Numbers of rows in the order in which they changed; the first one is the change `#firstChange`. */
  #changes: number[] = [];
  #firstChange = 0;
  #next = 1;

  /** The place in the stream of changes that all changes so far lie before. */
  get cursor(): number {
    return this.#firstChange + this.#changes.length;
  }

  get size(): number {
    return this.#entries.size;
  }

  /** Takes in the next record of a log. */
  add(record: AuditRecord, place: RecordPlace): void {
    const { kind } = record;
    if (kind === "start" || kind === "stop") return this.lose(place.log);
    if (typeof record.method !== "string") return;
    const key = `${place.log} ${text(record.connection)} ${text(record.id)}`;
    const known = this.#open.get(key);
    if (kind === "call.intent") this.#begin(record, { key, place });
    else if (kind === "call.result") this.#end(known ?? this.#begin(record, { key, place }), record, place);
    else if (kind === "denied") this.#end(known ?? this.#begin(record, { key, place }), record, place);
    else if (known !== undefined) this.#askedAbout(known, record, place);
  }

  #askedAbout(entry: Entry, record: AuditRecord, place: RecordPlace): void {
    const question = text((record.detail as { question?: unknown } | undefined)?.question);
    if (record.kind === "approval.asked") {
      this.#questions.set(question, entry.row.n);
      const [oldest] = this.#questions.keys();
      if (this.#questions.size > MAX_ASKED && oldest !== undefined) this.#questions.delete(oldest);
      this.#change(entry, { outcome: "waiting", asked: true }, place);
    } else if (record.kind === "approval.given" || record.kind === "approval.denied") {
      entry.approved = record.kind === "approval.given";
      const outcome = entry.approved ? "running" : "denied";
      this.#change(entry, { outcome, asked: true, ...ruleOf(record) }, place);
    }
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
    for (const entry of this.#open.values()) {
      if (entry.row.log !== log) continue;
      this.#open.delete(entry.key);
      this.#change(entry, { outcome: entry.row.outcome === "denied" ? "denied" : "lost" });
    }
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

  /** The newest calls that fit, the newest first. */
  list(
    filter: CallFilter,
    { before = Infinity, limit }: { readonly before?: number | undefined; readonly limit: number },
  ): CallRow[] {
    const found: CallRow[] = [];
    for (const { row } of this.#newestFirst()) {
      if (row.n >= before || !fits(row, filter)) continue;
      found.push(row);
      if (found.length >= limit) break;
    }
    return found;
  }

  /** Counts over a time, in equal parts. */
  totals(
    filter: CallFilter,
    { from, to, parts }: { readonly from: number; readonly to: number; readonly parts: number },
  ): Totals {
    const sum = new Sum(from, to, parts);
    for (const { row } of this.#entries.values()) {
      if (row.at >= from && row.at < to && fits(row, filter)) sum.add(row);
    }
    return sum.totals();
  }

  /** Calls that each line of the policy of this hash decided; records have the beginning of the hash. */
  decidedBy(policy: string): Record<number, { allowed: number; denied: number }> {
    const decided: Record<number, { allowed: number; denied: number }> = {};
    for (const { row, policy: under } of this.#entries.values()) {
      if (row.line === undefined || under === "" || !policy.startsWith(under)) continue;
      const count = (decided[row.line] ??= { allowed: 0, denied: 0 });
      count[row.outcome === "denied" ? "denied" : "allowed"] += 1;
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

  #begin(record: AuditRecord, { key, place }: { readonly key: string; readonly place: RecordPlace }): Entry {
    const name = text(record.tool);
    const row: CallRow = {
      n: this.#next,
      at: Date.parse(text(record.time)) || 0,
      method: text(record.method),
      name,
      server: text(record.server),
      object: objectOf(record),
      client: clientOf(record),
      outcome: "running",
      asked: false,
      log: place.log,
      ...ruleOf(record),
    };
    this.#next += 1;
    const entry: Entry = { row, approved: false, key, policy: text(record.policy), places: [place] };
    this.#entries.set(row.n, entry);
    this.#open.set(key, entry);
    this.#noteChange(row.n);
    this.#forget();
    return entry;
  }

  #end(entry: Entry, record: AuditRecord, place: RecordPlace): void {
    this.#open.delete(entry.key);
    const ms = typeof record.duration_ms === "number" ? { ms: record.duration_ms } : {};
    const atOnce = record.kind === "denied";
    const outcome = atOnce ? deniedAs(record.outcome) : outcomeOf(record.outcome);
    this.#change(entry, { outcome, ...ms, ...(atOnce ? ruleOf(record) : laterRuleOf(record)) }, place);
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
    const [n, entry] = this.#entries.entries().next().value as [number, Entry];
    this.#entries.delete(n);
    if (this.#open.get(entry.key) === entry) this.#open.delete(entry.key);
  }
}

/** Counts rows over a time. */
class Sum {
  readonly #from: number;
  readonly #to: number;
  readonly #buckets: (Bucket & { ok: number; failed: number; denied: number })[];
  readonly #times: number[] = [];
  readonly #client = new Map<string, Count>();
  readonly #name = new Map<string, Count>();
  readonly #rule = new Map<string, Count>();
  #calls = 0;
  #failed = 0;
  #denied = 0;
  #asked = 0;

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
    if (row.ms !== undefined) this.#times.push(row.ms);
    count(this.#client, row.client, row);
    count(this.#name, row.name === "" ? row.method : row.name, row);
    count(this.#rule, row.rule, row);
  }

  totals(): Totals {
    const times = Float64Array.from(this.#times).sort();
    return {
      from: this.#from,
      to: this.#to,
      calls: this.#calls,
      failed: this.#failed,
      denied: this.#denied,
      asked: this.#asked,
      p50: times[Math.floor(times.length / 2)],
      p99: times[Math.min(times.length - 1, Math.floor(times.length * 0.99))],
      buckets: this.#buckets,
      byClient: most(this.#client),
      byName: most(this.#name),
      byRule: most(this.#rule),
    };
  }
}

/** What is coloured alike: `denied` was refused, `failed` did not do what was asked for, all else is well. */
function kindOf(outcome: Outcome): "ok" | "failed" | "denied" {
  if (outcome === "denied") return "denied";
  return outcome === "error" || outcome === "timeout" || outcome === "lost" ? "failed" : "ok";
}

function count(counts: Map<string, Count>, name: string, row: CallRow): void {
  const { calls, failed, denied, last } = counts.get(name) ?? { calls: 0, failed: 0, denied: 0, last: 0 };
  const kind = kindOf(row.outcome);
  counts.set(name, {
    name,
    calls: calls + 1,
    failed: failed + (kind === "failed" ? 1 : 0),
    denied: denied + (kind === "denied" ? 1 : 0),
    last: Math.max(last, row.at),
  });
}

function most(counts: ReadonlyMap<string, Count>): Count[] {
  return [...counts.values()].sort((a, b) => b.calls - a.calls || (a.name < b.name ? -1 : 1)).slice(0, MAX_COUNTED);
}

/** Whether a row is looked for. */
export function fits(row: CallRow, filter: CallFilter): boolean {
  const { text: wanted, name, client, outcome, rule, line, log, since, until } = filter;
  if (since !== undefined && row.at < since) return false;
  if (until !== undefined && row.at >= until) return false;
  if (outcome === "refused" ? kindOf(row.outcome) === "ok" : outcome !== undefined && row.outcome !== outcome)
    return false;
  if (line !== undefined && row.line !== line) return false;
  if (log !== undefined && row.log !== log) return false;
  if (name !== undefined && row.name !== name) return false;
  if (client !== undefined && row.client !== client) return false;
  if (rule !== undefined && row.rule !== rule) return false;
  if (wanted === undefined || wanted === "") return true;
  const low = wanted.toLowerCase();
  return [row.name, row.object, row.client, row.rule, row.method, row.server].some((each) =>
    each.toLowerCase().includes(low),
  );
}

const OUTCOMES: ReadonlySet<string> = new Set(["ok", "error", "denied", "timeout", "cancelled"]);

function outcomeOf(outcome: unknown): Outcome {
  if (outcome === "input_required") return "waiting";
  return OUTCOMES.has(text(outcome)) ? (outcome as Outcome) : "error";
}

/** A request for something that does not exist was refused by no rule. */
function deniedAs(outcome: unknown): Outcome {
  return outcome === "unknown" ? "error" : "denied";
}

function ruleOf({ decision }: AuditRecord): Pick<CallRow, "rule" | "line"> {
  const { rule, line } = (decision ?? {}) as { rule?: unknown; line?: unknown };
  return { rule: text(rule), ...(typeof line === "number" ? { line } : {}) };
}

/** A tool that was allowed may reach for what is not: the rule against that is the one that counts. */
function laterRuleOf({ outcome, detail }: AuditRecord): Partial<CallRow> {
  const { rule, line } = (detail ?? {}) as { rule?: unknown; line?: unknown };
  if (outcome !== "denied" || typeof rule !== "string") return {};
  return { rule, line: typeof line === "number" ? line : undefined };
}

function clientOf({ client, principal }: AuditRecord): string {
  if (typeof client === "string") return client;
  const { name, version } = (client ?? {}) as { name?: unknown; version?: unknown };
  if (typeof name === "string") return typeof version === "string" ? `${name} ${version}` : name;
  return text(principal);
}

function objectOf({ object, arguments: given, method, tool }: AuditRecord): string {
  if (typeof object === "string") return object.slice(0, MAX_OBJECT);
  if (method === "resources/read") return text(tool).slice(0, MAX_OBJECT);
  if (typeof given !== "object" || given === null) return "";
  const members = given as Readonly<Record<string, unknown>>;
  const telling = TELLING.find((name) => typeof members[name] === "string");
  const shown = telling === undefined ? JSON.stringify(given) : String(members[telling]);
  return shown === "{}" ? "" : shown.slice(0, MAX_OBJECT);
}

function text(value: unknown): string {
  return typeof value === "string" || typeof value === "number" ? `${value}` : "";
}
