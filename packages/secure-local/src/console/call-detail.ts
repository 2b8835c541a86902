// One call opened: its records, what happened when, each hop of the request, and what differs from the last one a person agreed to.
import type { CallDetail, CallRow, DifferentArgument, Hop } from "@secure-local/console/api";
import {
  callerOf,
  type LogRecord,
  membersOf,
  NOBODY_ANSWERED,
  PERSON_REFUSED,
  recordOf,
  textOf,
} from "../audit/call-records.js";
import { SERVER_GONE } from "../control/control-client.js";
import { escapeUnseen } from "@secure-local/inspection/escape-unseen";

/** What is known of a call before it is opened. */
export interface CallSources {
  readonly row: CallRow;
  /** The log it is in. */
  readonly file: string;
  /** Its records in their order. */
  readonly texts: readonly string[];
  /** The line of today's policy that says what decided, and its text; undefined where none does. */
  readonly lineNow: number | undefined;
  readonly policyLine: string | undefined;
  /** The first record of the last call of the same name that a person agreed to; absent where nobody was asked, or ever agreed. */
  readonly approvedBefore: string | undefined;
  /** The number of the call that a question was about; undefined where the console does not have it. */
  readonly callOf: (question: string) => number | undefined;
}

const STEPS: Readonly<Record<string, string>> = {
  "call.intent": "asked for and let in",
  "approval.asked": "a person is asked",
  "approval.given": "a person said yes",
  "approval.denied": "nobody said yes",
  "call.result": "ended",
  denied: "refused",
};

/** Milliseconds from which on the time before a call was sent on is a step of its own. */
const READY_MS = 20;

export function callDetail(sources: CallSources): CallDetail {
  const { row, file, texts, lineNow, policyLine, approvedBefore, callOf } = sources;
  const records = texts.map((text) => recordOf(text) ?? {});
  const args = membersOf(records[0])["arguments"];
  const before = approvedBefore === undefined ? undefined : recordOf(approvedBefore);
  return {
    row,
    file,
    records: texts.map(escapeUnseen),
    reason: reasonOf(row, records, lineNow),
    result: resultOf(records),
    steps: stepsOf(row, records, callOf),
    hops: hopsOf(row, records),
    lineNow,
    policyLine,
    difference: before === undefined ? undefined : differences(before["arguments"], args),
    isPartly: before !== undefined && [before["arguments"], args].some(isPartly),
  };
}

/** What the call was answered with, where the policy has it recorded: its texts as they are, anything else as JSON. */
function resultOf(records: readonly LogRecord[]): string {
  const { content, error, ...rest } = membersOf(records.findLast(({ result }) => result !== undefined)?.["result"]);
  const parts = (Array.isArray(content) ? content : []).map((part: unknown) => {
    const { type, text } = membersOf(part);
    return type === "text" && typeof text === "string" ? text : JSON.stringify(part);
  });
  if (error !== undefined) parts.push(textOf(error));
  if (Object.keys(rest).length > 0) parts.push(JSON.stringify(rest));
  return escapeUnseen(parts.join("\n"));
}

/** The last record that says why; nothing of a call that went well or is under way. */
function reasonOf(row: CallRow, records: readonly LogRecord[], lineNow: number | undefined): string {
  const { outcome, rule } = row;
  if (["ok", "running", "waiting"].includes(outcome)) return "";
  if (outcome === "unanswered") {
    const isOver = records.some(({ kind }) => kind === "approval.denied");
    return `It was not run: ${isOver ? NOBODY_ANSWERED : SERVER_GONE}.`;
  }
  for (const { error, detail } of records.toReversed()) {
    const { withheld, reason, code } = membersOf(detail);
    const said = error ?? withheld ?? reason ?? (code === undefined ? undefined : `the error ${textOf(code)}`);
    if (said !== undefined) return escapeUnseen(textOf(said));
  }
  if (outcome === "denied" && rule === "default deny") return unnamed(row, records);
  if (outcome === "denied" && rule !== "")
    return `Refused by the rule "${escapeUnseen(rule)}"${lineNow === undefined ? "" : `, line ${lineNow} of the policy`}.`;
  return outcome === "error" ? "The answer was an error; what it said is in no record. So ends a failed tool." : "";
}

/** Of what no line of the policy names, where it would be named. */
function unnamed({ method, name, object }: CallRow, records: readonly LogRecord[]): string {
  const of = (what: string, list: string): string =>
    escapeUnseen(`Refused, since the policy names ${what} nowhere: ${list} would allow it.`);
  if (method === "prompts/get") return of(`the prompt ${name}`, "prompts.allowed");
  if (method === "resources/read") return of(`the resource ${name}`, "resources.allowed, with its file or host,");
  // One that was let in was refused at what it reached for.
  if (records[0]?.["kind"] === "denied") return of(`the tool ${name}`, "tools.allowed");
  const args = membersOf(records[0]?.["arguments"]);
  if (typeof args["command"] === "string") return of(`the command ${object}`, "commands.allowed");
  const isAddress = ["url", "host"].some((each) => typeof args[each] === "string");
  return isAddress
    ? of(`the address ${object}`, "network.allowed_endpoints")
    : of(`the path ${object}`, "filesystem.allowed_paths, or for reading alone filesystem.readable_paths,");
}

/** Whose refusal it was. */
function refusalIn({ kind, detail }: LogRecord): string | undefined {
  if (kind !== "approval.denied") return undefined;
  const { reason } = membersOf(detail);
  return reason === PERSON_REFUSED ? "a person said no" : reason === NOBODY_ANSWERED ? reason : "nobody said yes";
}

/** In the order of time, the hop to a server behind us among them. */
function stepsOf(
  { server }: CallRow,
  records: readonly LogRecord[],
  callOf: CallSources["callOf"],
): CallDetail["steps"] {
  const first = timeOf(records[0]);
  const last = records.at(-1);
  const steps = records.map((record, index) => {
    const next = records[index + 1];
    const label = refusalIn(record) ?? STEPS[textOf(record["kind"])] ?? textOf(record["kind"]);
    const took = next === undefined ? undefined : timeOf(next) - timeOf(record);
    const step = { label, ms: timeOf(record) - first, ...(record["kind"] === "approval.asked" ? { took } : {}) };
    const { remembered, answer, answered, by } = membersOf(record["detail"]);
    if (remembered !== true) return step;
    const at = typeof answered === "string" ? { at: Date.parse(answered) } : {};
    return { ...step, label: "allowed", answer: { ...at, by: textOf(by), n: callOf(textOf(answer)) } };
  });
  const { sent, ms } = membersOf(last?.["upstream"]);
  if (sent === undefined) return steps;
  const took = typeof ms === "number" ? { took: ms } : {};
  const hop = { label: `sent to the server ${server}`, ms: Date.parse(textOf(sent)) - first, ...took };
  const after = steps.findIndex((step, index) => index > 0 && step.ms > hop.ms);
  const at = after < 0 ? Math.max(1, steps.length - 1) : after;
  const before = steps[at - 1]?.ms ?? 0;
  const waited = hop.ms - before;
  // One that runs already is there at once; one that is started takes most of the call.
  const start = { label: `the server ${server} gets ready`, ms: before, took: waited };
  return steps.toSpliced(at, 0, ...(waited >= READY_MS ? [start] : []), hop);
}

function hopsOf({ client, server, ms }: CallRow, records: readonly LogRecord[]): Hop[] {
  const [first = {}] = records;
  const ours = {
    from: client === "" ? callerOf(first) : client,
    to: "mcp-secure-local",
    revision: textOf(first["revision"]),
    transport: "",
    ids: textOf(first["id"]),
    sent: textOf(first["time"]),
    ms,
  };
  const upstream = membersOf(records.at(-1)?.["upstream"]);
  if (server === "" || upstream["sent"] === undefined) return [ours];
  const { revision, transport, ids, sent, ms: took } = upstream;
  return [
    ours,
    {
      from: "mcp-secure-local",
      to: server,
      revision: textOf(revision),
      transport: textOf(transport),
      ids: Array.isArray(ids) ? ids.map(textOf).join(", ") : textOf(ids),
      sent: textOf(sent),
      ms: typeof took === "number" ? took : undefined,
    },
  ];
}

function timeOf(record: LogRecord | undefined): number {
  return Date.parse(textOf(record?.["time"]));
}

/** What the log writes in the place of what it leaves out: secrets, and what is long. */
const LEFT_OUT = /\[(?:\d+ characters cut|\d+ more|too deep|unreadable|REDACTED|secret )/;

/** Whether the log left something out; a text that says so itself is taken for one as well. */
function isPartly(args: unknown): boolean {
  return LEFT_OUT.test(JSON.stringify(args) ?? "");
}

function differences(before: unknown, now: unknown): DifferentArgument[] {
  const [old, fresh] = [membersOf(before), membersOf(now)];
  const names = [...new Set([...Object.keys(old), ...Object.keys(fresh)])].sort();
  return names.flatMap((name) => {
    const [was, is] = [old[name], fresh[name]];
    if (JSON.stringify(was) === JSON.stringify(is)) return [];
    // A text is shown with its lines; as JSON where it would pass for something else.
    const areTexts = [was, is].every((value) => value === undefined || typeof value === "string");
    const shown = (value: unknown): string | undefined =>
      value === undefined ? undefined : areTexts ? (value as string) : JSON.stringify(value);
    return [{ name, before: shown(was), now: shown(is) }];
  });
}
