// Finds out whether a call needs a person's consent, and on which terms. Pure.
import type { ApprovalRule, Approver, ArgumentCondition, Remember } from "./approvals-policy.js";
import { callSpellings } from "./call-spellings.js";
import { matchSegments, segments } from "./path-pattern.js";
import type { Policy } from "./policy.js";
import type { Rule } from "./rule.js";

/** Where a path leads, and its names below those of `folders` it lies in. Undefined when that cannot be told. */
export type LeadsTo = (
  path: string,
  folders: readonly string[],
) => { readonly real: string; readonly names: readonly string[] } | undefined;

export interface ApprovalCall {
  readonly tool: string;
  /** Who does it in the course of a call that was let through, as in `plugin:weather`. Rules may name it like a tool. */
  readonly actor?: string | undefined;
  /** Whether it is no more than a part of that call, which rules for `all` and `destructive` were asked about. Default: no. */
  readonly isPart?: boolean | undefined;
  /** Whether the tool may destroy: it does not say that it only reads, nor that it destroys nothing. */
  readonly destructive: boolean;
  /** Whether the tool can send something out, and the session has read private data and texts of strangers. Default: no. */
  readonly tainted?: boolean;
  readonly arguments: unknown;
  /** Default: paths lead to themselves. */
  readonly leads?: LeadsTo | undefined;
}

/** The strictest terms of every rule that fits. */
export interface ApprovalNeed {
  /** At least one, in the order of the file. */
  readonly rules: readonly Rule[];
  readonly timeoutMs: number;
  readonly remember: Remember;
  /** Empty when the rules agree on nobody: then the call is refused. */
  readonly answerBy: ReadonlySet<Approver>;
}

/** Values longer than this are not compared with a pattern: they count as fitting, so that they are asked for. */
const MAX_COMPARED = 4_096;
/** Values of one argument that are looked at; more count as fitting. */
const MAX_VALUES = 1_000;

/** Undefined when no rule fits. A value that cannot be judged fits: doubt leads to a question, never past one. */
export function approvalNeed(policy: Policy, call: ApprovalCall): ApprovalNeed | undefined {
  const fitting = policy.approvals.filter((rule) => names(rule, call) && rule.when.every((each) => holds(each, call)));
  if (fitting.length === 0) return undefined;
  return {
    rules: fitting.map(({ rule }) => rule),
    timeoutMs: Math.min(...fitting.map(({ timeoutMs }) => timeoutMs)),
    remember: fitting.map(({ remember }) => remember).reduce((a, b) => (span(b) < span(a) ? b : a)),
    answerBy: fitting.map(({ answerBy }) => answerBy).reduce((a, b) => new Set([...a].filter((who) => b.has(who)))),
  };
}

function span(remember: Remember): number {
  if (remember.kind === "minutes") return remember.minutes;
  return remember.kind === "none" ? 0 : Infinity;
}

function names({ approve }: ApprovalRule, { tool, actor, isPart, destructive, tainted }: ApprovalCall): boolean {
  if (approve === "tainted") return tainted === true;
  if (approve === "all") return isPart !== true;
  if (approve === "destructive") return destructive && isPart !== true;
  return approve.find(tool) !== undefined || (actor !== undefined && approve.find(actor) !== undefined);
}

/** An argument that is absent fits nothing. */
function holds(condition: ArgumentCondition, call: ApprovalCall): boolean {
  let value: unknown = call.arguments;
  for (const key of condition.argument.split(".")) {
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, key)) return false;
    value = (value as Readonly<Record<string, unknown>>)[key];
  }
  if (!Array.isArray(value)) return fits(condition, value, call.leads);
  return value.length > MAX_VALUES || value.some((each: unknown) => fits(condition, each, call.leads));
}

function fits({ pattern, isPath }: ArgumentCondition, value: unknown, leads: LeadsTo | undefined): boolean {
  if (typeof pattern !== "string") return isValue(pattern, value);
  if (value === null || value === undefined) return false;
  if (typeof value !== "string" && typeof value !== "number" && typeof value !== "boolean") return true;
  const text = `${value}`;
  if (text.length > MAX_COMPARED) return true;
  const isPlain = isPlainPath(text);
  if (isPath && !isPlain) return true;
  const names = isPlain ? namesOf(text, isPath ? [literalPart(pattern)] : [], leads) : callSpellings(text);
  if (names === undefined) return true;
  const folded = fold(pattern);
  if (isPath) return names.some((name) => matchSegments(segments(folded), segments(fold(name))));
  // A slash in the text must not divide it, so both are compared as one segment.
  return names.some((name) => matchSegments([folded], [fold(name)]));
}

/** As tools read it that take texts for numbers and for yes and no. */
function isValue(pattern: number | boolean, value: unknown): boolean {
  if (value === pattern) return true;
  if (typeof value !== "string" || value.trim() === "") return false;
  return typeof pattern === "number" ? Number(value) === pattern : value.trim().toLowerCase() === String(pattern);
}

/** A path as it was written, and where it leads. */
function namesOf(path: string, folders: readonly string[], leads: LeadsTo | undefined): readonly string[] | undefined {
  if (leads === undefined) return [path];
  const lead = leads(path, folders);
  return lead && [path, ...lead.names];
}

function literalPart(pattern: string): string {
  const names = segments(pattern);
  const wild = names.findIndex((name) => /[*?]/.test(name));
  const literal = (wild < 0 ? names : names.slice(0, wild)).join("/");
  return pattern.startsWith("/") || literal === "" ? `/${literal}` : literal;
}

/** Paths in the arguments of a call, and where each leads when that is elsewhere; undefined where it cannot be told. */
export function ledElsewhere(given: unknown, leads: LeadsTo): (readonly [path: string, real: string | undefined])[] {
  const found = new Map<string, string | undefined>();
  const waiting: unknown[] = [given];
  for (let seen = 0; waiting.length > 0 && seen < MAX_VALUES; seen += 1) {
    const value = waiting.pop();
    if (typeof value === "object" && value !== null) waiting.push(...Object.values(value));
    if (typeof value !== "string" || value.length > MAX_COMPARED || !/^(?:\/|[A-Za-z]:[/\\])/.test(value)) continue;
    const real = leads(value, [])?.real;
    if (real !== value) found.set(value, real);
  }
  return [...found];
}

/** Whether lexically equal paths are the same path; any other may lead into the pattern. */
function isPlainPath(path: string): boolean {
  const slashed = path.replaceAll("\\", "/");
  if (!/^(?:\/|[a-z]:\/)/i.test(slashed) || slashed !== path) return false;
  return !segments(path).some((segment) => segment === "." || segment === "..");
}

function fold(text: string): string {
  return text.normalize("NFC").toLowerCase();
}
