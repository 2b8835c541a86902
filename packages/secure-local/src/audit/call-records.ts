// What the records of one call say together: which of them belong to one call, and what it was about. The command line
// and the console make their lists of calls with this alone, so that both show the same ones.

/** A record of the log as it was read: nothing in it is certain. */
export type LogRecord = Readonly<Record<string, unknown>>;

/** What a record says of its call. */
export type CallStep = "begun" | "asked" | "agreed" | "refused" | "ended";

/** A record and the call it is of. */
export interface JoinedRecord<Call> {
  readonly call: Call;
  readonly step: CallStep;
}

/** Calls under way at once whose end is waited for; of more the oldest are given up. */
const MAX_OPEN = 10_000;

/** What the record of a refusal gives as its reason where the time for an answer was over. */
export const NOBODY_ANSWERED = "nobody answered in time";
/** The same where a person refused. */
export const PERSON_REFUSED = "the person who was asked said no";

const STEPS: ReadonlyMap<unknown, CallStep> = new Map<unknown, CallStep>([
  ["call.intent", "begun"],
  ["approval.asked", "asked"],
  ["approval.given", "agreed"],
  ["approval.denied", "refused"],
  ["call.result", "ended"],
  ["denied", "ended"],
]);

/** Finds the call of each record, over any number of logs whose records come in the order of each. */
export class CallJoiner<Call> {
  readonly #lost: (call: Call) => void;
  readonly #open = new Map<string, { readonly log: string; readonly call: Call }>();

  /** @param lost told of a call whose end will never be on record: its server began anew, or was given up. */
  constructor(lost: (call: Call) => void) {
    this.#lost = lost;
  }

  /**
   * Undefined for a record of no call. A question, an answer to one or a record without a method belongs to none that
   * has not begun; an end without a beginning is a call of its own.
   *
   * @param log names the log the record stands in
   * @param begin makes the call of its first record
   */
  join(record: LogRecord, log: string, begin: () => Call): JoinedRecord<Call> | undefined {
    const { kind, id, connection, method } = record;
    // Ids begin anew with each server: what the one before had not ended was cut off.
    if (kind === "start") this.lose(log);
    const step = STEPS.get(kind);
    if (step === undefined || typeof method !== "string") return undefined;
    const key = JSON.stringify([log, connection, id]);
    const known = id === undefined ? undefined : this.#open.get(key);
    if (step === "begun") return { call: this.#begin(key, log, begin), step };
    if (step !== "ended") return known && { call: known.call, step };
    this.#open.delete(key);
    return { call: known === undefined ? begin() : known.call, step };
  }

  /** Gives up what is open in a log: whoever wrote it has ended. */
  lose(log: string): void {
    for (const [key, open] of this.#open) if (open.log === log) this.#giveUp(key);
  }

  #begin(key: string, log: string, begin: () => Call): Call {
    this.#giveUp(key);
    const [oldest] = this.#open.keys();
    if (this.#open.size >= MAX_OPEN && oldest !== undefined) this.#giveUp(oldest);
    const call = begin();
    this.#open.set(key, { log, call });
    return call;
  }

  #giveUp(key: string): void {
    const open = this.#open.get(key);
    this.#open.delete(key);
    if (open !== undefined) this.#lost(open.call);
  }
}

/** Arguments by which tools name what they reach for, the most telling first. */
export const TELLING: readonly string[] = [
  "path",
  "file",
  "url",
  "uri",
  "host",
  "query",
  "sql",
  "pattern",
  "expression",
  "name",
  "text",
];

/** What a call was about: a path, URL, query, command or URI; its arguments where none of them is known. */
export function objectOf(record: LogRecord): string {
  const { method, tool, arguments: args, detail } = record;
  if (typeof tool === "string" && typeof method === "string" && method.startsWith("resources/")) return tool;
  const told = membersOf(detail);
  const about = ["endpoint", "files", "command"].map((name) => told[name]).find((each) => typeof each === "string");
  if (typeof about === "string") return about;
  if (typeof args !== "object" || args === null) return typeof method === "string" ? "" : subjectOf(record);
  const values = args as Readonly<Record<string, unknown>>;
  if (typeof values["command"] === "string") {
    const rest = Array.isArray(values["arguments"]) ? values["arguments"] : [];
    return [values["command"], ...rest.map(argumentText)].join(" ") + othersOf(record, "command");
  }
  const found = TELLING.find((name) => typeof values[name] === "string" && values[name] !== "");
  if (found !== undefined) return (values[found] as string) + othersOf(record, found);
  return Object.keys(values).length === 0 ? "" : JSON.stringify(values);
}

/** As a shell would want it: where one argument ends and the next begins is to be seen. */
function argumentText(argument: unknown): string {
  const text = textOf(argument);
  return /^$|[\s"'\\]/.test(text) ? JSON.stringify(text) : text;
}

/** A stranger's tool may take any of them for what it does, and a caller may write one that says nothing. */
function othersOf({ server, arguments: args }: LogRecord, shown: string): string {
  if (server === undefined) return "";
  const values = membersOf(args);
  const others = ["command", ...TELLING].filter((name) => name !== shown && textOf(values[name] ?? "") !== "");
  return others.length === 0 ? "" : ` +${others.length} more`;
}

/** What an event that is no call was about: a server, plugins with their states, people, the file of a policy, a path. */
function subjectOf({ server, tool, detail }: LogRecord): string {
  const { plugins, path } = membersOf(detail);
  if (Array.isArray(plugins))
    return plugins.map((each) => `${textOf(membersOf(each)["name"])} ${textOf(membersOf(each)["state"])}`).join(", ");
  const people = peopleIn(membersOf(detail));
  return people === "" ? textOf(server ?? policyLoaded(detail)?.file ?? path ?? tool) : people;
}

/** `came: ada, gone: bob cho, another token: eve`. */
function peopleIn({ came, gone, changed }: Readonly<Record<string, unknown>>): string {
  const said = [
    [came, "came"],
    [gone, "gone"],
    [changed, "another token"],
  ] as const;
  return said
    .filter(([names]) => Array.isArray(names) && names.length > 0)
    .map(([names, what]) => `${what}: ${(names as readonly unknown[]).map(textOf).join(" ")}`)
    .join(", ");
}

/** A policy that was in force somewhere. */
export interface PolicyLoaded {
  /** Absent for the built-in one. */
  readonly file?: string | undefined;
  readonly hash: string;
}

/** Which policy a start or a reload took up, by its `detail`. */
export function policyLoaded(detail: unknown): PolicyLoaded | undefined {
  const told = membersOf(detail);
  const { file, hash } = membersOf(told["policy"] ?? told);
  if (typeof hash !== "string") return undefined;
  return typeof file === "string" ? { file, hash } : { hash };
}

/** The rule that decided, and its line where it is the policy's own; what else the record gives as the reason where there is none. */
export function ruleOf({ decision, detail }: LogRecord): { readonly rule: string; readonly line: number | undefined } {
  const [own, told] = [membersOf(decision), membersOf(detail)];
  // What refused an allowed call on its way says more than what allowed it.
  const { rule, line } = told["rule"] === undefined ? own : told;
  const text = textOf(rule ?? told["reason"]);
  if (typeof line === "number") return { rule: text, line };
  const [, named, inFile, atEnd] = LINED.exec(text) ?? [];
  return named === undefined ? { rule: text, line: undefined } : { rule: named, line: Number(inFile ?? atEnd) };
}

/** Rules of files and hosts have their line in their text, where a refusal is told. */
const LINED = /^(.*)(?: \(line (\d{1,7}) of the policy\)|, line (\d{1,7}))$/s;

/** Whoever runs the server: handlers and the audit log know by this name who has its own token. */
export const OWNER = "owner";

/** Who asked: by the name the client gives itself, with the person it came for where that is another than the owner. */
export function callerOf({ client, principal }: LogRecord): string {
  if (client === undefined || principal === undefined || principal === OWNER) return textOf(client ?? principal);
  return `${textOf(principal)}: ${textOf(client)}`;
}

/** A text as it is, anything else as JSON; nothing for what is absent. */
export function textOf(value: unknown): string {
  return value === undefined || value === null ? "" : typeof value === "string" ? value : JSON.stringify(value);
}

/** The members of an object; none of anything else. */
export function membersOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
}

/** The record on a line; undefined for what is none. */
export function recordOf(line: string): LogRecord | undefined {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === "object" && value !== null ? (value as LogRecord) : undefined;
  } catch {
    return undefined;
  }
}
