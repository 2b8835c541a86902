// What one policy means for every call, worked out once when it comes into force.
import type { Call } from "@secure-local/mcp/server";
import { decide, type Decision } from "../policy/decide.js";
import type { AuditField, Policy } from "../policy/policy.js";
import type { CleanLimits } from "./cleaning/clean-text.js";
import type { TimeLimits } from "./deadline.js";
import { type Rates, ratesOf } from "./rate-limits.js";
import { cleanNotice } from "./cleaning/clean-result.js";

/** Digits of the policy's hash that name it in the log: enough to tell versions apart, short enough to read. */
const LABEL_DIGITS = 12;

/** One version of the policy. A call keeps the terms it was admitted under. */
export interface CompiledPolicy {
  readonly policy: Policy;
  /** Names the version in the audit log. */
  readonly label: string;
  readonly rates: Rates;
  readonly cleaning: CleanLimits;
  /** Cleans the params of what a call sends before its answer. */
  readonly cleanNotice: (params: object) => object;
  readonly records: Readonly<
    Record<"id" | "tool" | "arguments" | "outcome" | "duration" | "decision" | "result", boolean>
  >;
  time(subject: Subject): TimeLimits;
  /** What the policy says of something that exists. */
  decide(subject: Subject): Decision;
}

/** What stands around texts that were cut to the limit: names of members, marks, notes of what was cut. An eighth of a long one. */
const FRAME_BYTES = 4_096;

export function compilePolicy(policy: Policy): CompiledPolicy {
  const { maxBytes, hiddenUnicode: hidden, redactSecrets: secrets } = policy.output;
  const wholeBytes = maxBytes + Math.max(FRAME_BYTES, maxBytes / 8);
  const cleaning: CleanLimits = { textBytes: maxBytes, resultBytes: maxBytes, wholeBytes, hidden, secrets };
  const has = (field: AuditField): boolean => policy.audit.include.has(field);
  return {
    policy,
    label: policy.hash.slice(0, LABEL_DIGITS),
    rates: ratesOf(policy),
    cleaning,
    cleanNotice: noticeCleaner(cleaning),
    records: {
      id: has("request_id"),
      tool: has("tool_name"),
      arguments: has("arguments"),
      outcome: has("result_status"),
      duration: has("execution_time"),
      decision: has("security_events"),
      result: policy.audit.results,
    },
    decide: decider(policy),
    time: timer(policy),
  };
}

/** One object for each tool, since there is a call of one every few microseconds. */
function timer({ tools: { timeoutsMs, taskTimeoutMs: taskMs } }: Policy): (subject: Subject) => TimeLimits {
  const usual: TimeLimits = { callMs: timeoutsMs.default, taskMs };
  const own = new Map([...timeoutsMs.byName].map(([name, callMs]): [string, TimeLimits] => [name, { callMs, taskMs }]));
  return ({ kind, name }) => (kind === "tool" ? (own.get(name) ?? usual) : usual);
}

/** Tools are called again and again, and there are few of them, so each is decided once. */
function decider(policy: Policy): (subject: Subject) => Decision {
  const tools = new Map<string, Decision>();
  return ({ kind, name }) => {
    if (kind === "resource") return decide(policy, { kind, uri: name });
    if (kind === "prompt") return decide(policy, { kind, name });
    const known = tools.get(name);
    if (known !== undefined) return known;
    const decision = decide(policy, { kind, name });
    tools.set(name, decision);
    return decision;
  };
}

// Cleans what a handler sends while it runs: progress and log messages.

/** What cleans the params of all that a call sends. Nothing is refused: a hidden character is removed instead. */
function noticeCleaner({ hidden, ...limits }: CleanLimits): (params: object) => object {
  const rules: CleanLimits = hidden === "show" ? { ...limits, hidden } : limits;
  return (params) => cleanNotice(params, rules);
}

// Says what a request reaches for: the one thing of it that the policy is asked about.

export type SubjectKind = "tool" | "prompt" | "resource";

/** The tool, prompt or resource behind a request. */
export interface Subject {
  readonly kind: SubjectKind;
  /** Name of the tool or prompt, URI (or template) of the resource. */
  readonly name: string;
  /** Where in the request it is named. */
  readonly path: string;
}

type Params = Call["params"];

const READERS: ReadonlyMap<string, (params: Params) => Subject> = new Map([
  ["tools/call", (params) => ({ kind: "tool", name: params["name"] as string, path: "/name" })],
  ["prompts/get", (params) => ({ kind: "prompt", name: params["name"] as string, path: "/name" })],
  ["resources/read", resource],
  ["resources/subscribe", resource],
  ["completion/complete", completed],
]);

/** The subject of a request whose params are known to be sound; undefined when it reaches for nothing. */
export function subjectOf(call: Call): Subject | undefined {
  return READERS.get(call.method)?.(call.params);
}

/** The resources a `subscriptions/listen` request wants to hear of, each once. */
export function listenedSubjects(call: Call): Subject[] {
  const wanted = call.params["notifications"] as { readonly resourceSubscriptions?: readonly string[] };
  const path = "/notifications/resourceSubscriptions";
  return [...new Set(wanted.resourceSubscriptions)].map((name) => ({ kind: "resource", name, path }));
}

function resource(params: Params): Subject {
  return { kind: "resource", name: params["uri"] as string, path: "/uri" };
}

function completed(params: Params): Subject {
  const ref = params["ref"] as { readonly type: string; readonly name: string; readonly uri: string };
  return ref.type === "ref/prompt"
    ? { kind: "prompt", name: ref.name, path: "/ref/name" }
    : { kind: "resource", name: ref.uri, path: "/ref/uri" };
}

/** What asks a person about a thing of a mounted server, as the read of the same thing would. */
interface ReachedThing {
  readonly tool: string;
  readonly read: { readonly kind: "prompt" | "resource"; readonly name: string };
  readonly destructive: false;
  readonly arguments: Readonly<Record<string, string>>;
}

/** What a subscription or completion tells a mounted server; undefined for other requests, whose handlers ask. */
export function reachWithin({ method, params }: Call, { kind, name }: Subject): ReachedThing | undefined {
  if (kind === "tool") return undefined;
  const about = { tool: name, read: { kind, name }, destructive: false as const };
  if (method === "resources/subscribe" || method === "subscriptions/listen") return { ...about, arguments: {} };
  if (method !== "completion/complete") return undefined;
  const { argument, context } = params as {
    readonly argument: { readonly name: string; readonly value: string };
    readonly context?: { readonly arguments?: Readonly<Record<string, string>> };
  };
  return { ...about, arguments: { ...context?.arguments, [argument.name]: argument.value } };
}

// Calls that have been admitted and have not begun yet keep what they need of an older version.

interface Withdrawal {
  /** The number of the last call it waits for, and how many of them have not begun. */
  readonly upTo: number;
  left: number;
  readonly take: () => void;
}

/** What an admitted call needs must stay until the call has begun, though the policy in force no longer has it. */
export class Admissions {
  #numbers = 0;
  #waiting = 0;
  #withdrawals: Withdrawal[] = [];

  /** A call is admitted. Returns its number, for `leave`. */
  enter(): number {
    this.#waiting += 1;
    return (this.#numbers += 1);
  }

  /** It has begun, or never will. To be called once. */
  leave(number: number): void {
    this.#waiting -= 1;
    if (this.#withdrawals.length === 0) return;
    for (const withdrawal of this.#withdrawals) if (number <= withdrawal.upTo) withdrawal.left -= 1;
    const due = this.#withdrawals.filter(({ left }) => left === 0);
    this.#withdrawals = this.#withdrawals.filter(({ left }) => left > 0);
    for (const { take } of due) take();
  }

  /** Calls `take` once every call admitted so far has begun: at once, when there is none. */
  withdraw(take: () => void): void {
    if (this.#waiting === 0) take();
    else this.#withdrawals.push({ upTo: this.#numbers, left: this.#waiting, take });
  }
}
