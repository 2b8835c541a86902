// What one policy means for every call, worked out once when it comes into force; what a request reaches for; which version a call
// that waits belongs to; and the clock of a call, which stands still while a person is asked.
import type { Answer, Call, Next } from "@secure-local/mcp/server";
import { decide, type Decision } from "../policy/decide.js";
import { otherNames } from "../policy/host-matcher.js";
import { type AuditField, forTool, type Policy } from "../policy/policy.js";
import { cleanNotice } from "./cleaning/clean-result.js";
import type { CleanLimits } from "./cleaning/clean-text.js";
import { type Rates, ratesOf } from "./rate-limits.js";

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

/** One object for each limit, since there is a call of a tool every few microseconds. */
function timer({ tools: { timeoutsMs, taskTimeoutMs: taskMs } }: Policy): (subject: Subject) => TimeLimits {
  const usual: TimeLimits = { callMs: timeoutsMs.default, taskMs };
  const own = new Map(
    [...timeoutsMs.byName.values()].map((callMs): [number, TimeLimits] => [callMs, { callMs, taskMs }]),
  );
  return ({ kind, name }) => (kind === "tool" ? (own.get(forTool(timeoutsMs, name)) ?? usual) : usual);
}

/** Tools are called again and again, and there are few of them, so each is decided once. */
function decider(policy: Policy): (subject: Subject) => Decision {
  const tools = new Map<string, { readonly decision: Decision; readonly names: readonly string[] }>();
  return ({ kind, name }) => {
    if (kind === "resource") return decide(policy, { kind, uri: name });
    if (kind === "prompt") return decide(policy, { kind, name });
    const known = tools.get(name);
    const names = otherNames(name);
    // Its other name may have been unknown then.
    if (known?.names === names) return known.decision;
    const decision = decide(policy, { kind, name });
    tools.set(name, { decision, names });
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

export const SET_LEVEL = "logging/setLevel";

/**
 * What is told to mounted servers though it is no reading and no rule is about it: the end of a subscription, and how much of
 * their logs a client wants, which is about none of their things and has no name.
 */
export function passedOn({ method, params }: Call): Subject | undefined {
  if (method === "resources/unsubscribe") return resource(params);
  return method === SET_LEVEL ? { kind: "resource", name: "", path: "/level" } : undefined;
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

// Runs the rest of a request for as long as its time lasts; the clock stands still while a person is asked.

/** A call that takes longer than this share of its time is told to its caller. */
export const SLOW_SHARE = 0.5;

/** How a request ended: with an answer, with an error, or not in time. */
export interface Ending {
  readonly answer?: Answer;
  readonly error?: unknown;
  readonly timedOut?: true;
}

const TIMED_OUT: Ending = Object.freeze({ timedOut: true });

/** Milliseconds a request may take: one that is waited for, and one that became a task meanwhile. */
interface TimeLimits {
  readonly callMs: number;
  readonly taskMs: number;
}

/** What a request may take as it is now. A task never has less time than the call it came from. */
export function timeLimitsOf({ task }: Call, { callMs, taskMs }: TimeLimits): number {
  return task === undefined ? callMs : Math.max(callMs, taskMs);
}

/** By the signal of a handler: what it knows of why there is no answer. */
const KNOWN_WHY = new WeakMap<AbortSignal, () => string | undefined>();

/** `why` is asked once the time of the request is over, in words after "timed out: ". */
export function explainLateness(signal: AbortSignal, why: () => string | undefined): void {
  KNOWN_WHY.set(signal, why);
}

/** Why a request whose time is over was not answered, as far as its handler knows. */
export function latenessOf(call: Call): string | undefined {
  return KNOWN_WHY.get(handlerSignal(call))?.();
}

/** What the handler of a call has for its signal, from its start to its end. */
export function handlerSignal(call: Pick<Call, "handling" | "signal">): AbortSignal {
  return (call.handling ?? call).signal;
}

/** Whether nobody waits for it any more. A task is given up, and ends when its handler does. */
export function isOver({ ended, cancellation }: Call): boolean {
  return ended || cancellation !== undefined;
}

/** Cancellations of those whose time is over. */
const TIME_OVER = new WeakSet<object>();
/** Of requests that may wait for a handler together with others. */
const SHARING = new WeakMap<Call, Deadline>();

/**
 * The time of one request. A handler that several wait for, since they brought the same answers, has that of the first of them: it is
 * over for all, whichever of them are still there.
 */
export class Deadline {
  readonly #call: Call;
  readonly #time: TimeLimits;
  #resolve: ((ending: Ending) => void) | undefined;
  #timer: NodeJS.Timeout | undefined;
  /** Whether the time of a call is over and that of a task runs. */
  #late = false;
  #leftMs = 0;
  #since = 0;
  #heldSince: number | undefined;
  #heldMs = 0;
  #over = false;

  constructor(call: Call, time: TimeLimits) {
    this.#call = call;
    this.#time = time;
  }

  /** Milliseconds the clock has stood still. */
  get heldMs(): number {
    return this.#heldMs;
  }

  /**
   * Goes on with the request and resolves with how it ended, never rejects. When its time is over the handler's signal is
   * aborted, it can send nothing more, and what it may still return is dropped.
   */
  run(next: Next): Promise<Ending> {
    return new Promise((resolve) => {
      this.#resolve = resolve;
      if (this.#call.record.interactive) SHARING.set(this.#call, this);
      this.#call.whenCancelled(this);
      this.#start(this.#time.callMs);
      next().then(
        (answer) => this.#end({ answer }),
        (error: unknown) => this.#end({ error }),
      );
    });
  }

  /** Its call was cancelled, by the time of another perhaps that waits for the same handler. */
  handleEvent(): void {
    const { cancellation } = this.#call;
    if (cancellation !== undefined && TIME_OVER.has(cancellation)) this.#end(TIMED_OUT);
  }

  /** Stops the clock until `release`. Both do nothing once the request has ended. */
  hold(): void {
    const first = this.#first;
    if (first !== undefined && first !== this) return first.hold();
    if (this.#over || this.#heldSince !== undefined) return;
    clearTimeout(this.#timer);
    this.#heldSince = performance.now();
    this.#leftMs = Math.max(0, this.#leftMs - (this.#heldSince - this.#since));
  }

  release(): void {
    const first = this.#first;
    if (first !== undefined && first !== this) return first.release();
    if (this.#over || this.#heldSince === undefined) return;
    this.#heldMs += performance.now() - this.#heldSince;
    this.#heldSince = undefined;
    this.#start(this.#leftMs);
  }

  #start(ms: number): void {
    this.#leftMs = ms;
    this.#since = performance.now();
    this.#timer = setTimeout(this.#timeUp, ms).unref();
  }

  /** The one whose time is that of the handler that its call waits for. */
  get #first(): Deadline | undefined {
    const lead = this.#call.handling?.leadOf(this.#call);
    return lead && SHARING.get(lead);
  }

  readonly #timeUp = (): void => {
    const { callMs } = this.#time;
    const first = this.#first;
    // It ends with its handler, and counts for itself again should that be over before what is left to do for it.
    if (first !== undefined && first !== this) return this.#start(callMs);
    const ms = timeLimitsOf(this.#call, this.#time);
    const wasLate = this.#late;
    this.#late = true;
    // Nobody waits for a task: it goes on for as long as tasks may.
    if (ms > callMs && !wasLate) {
      this.#start(ms - callMs);
      return;
    }
    const late = { reason: `timed out after ${seconds(ms)}`, answered: false };
    TIME_OVER.add(late);
    this.#end(TIMED_OUT);
    if (first === undefined) this.#call.cancel(late);
    else this.#call.handling?.cancel(late);
  };

  #end(ending: Ending): void {
    // Its handler keeps to its time where it goes on for others.
    this.#over = ending === TIMED_OUT || this.#first !== this;
    if (this.#over) clearTimeout(this.#timer);
    this.#resolve?.(ending);
    this.#resolve = undefined;
  }
}

/** `30 s`, `0.25 s`. */
export function seconds(ms: number): string {
  return `${Number((ms / 1_000).toPrecision(3))} s`;
}
