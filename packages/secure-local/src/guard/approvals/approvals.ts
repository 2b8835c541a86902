// Asks a person before a call that the policy wants asked about, and lets nothing but that very call pass.
import { randomBytes } from "node:crypto";
import { exactly } from "@secure-local/mcp/jsonrpc";
import { type Context, McpErrorCode, RpcError } from "@secure-local/mcp/server";
import {
  type ApprovalNeed,
  approvalNeed,
  boundPlaces,
  type LeadsTo,
  ledElsewhere,
  MOST_PATHS,
  pathsOfCall,
} from "../../policy/decide-command.js";
import { NOBODY_ANSWERED, PERSON_REFUSED } from "../../audit/call-records.js";
import type { Policy, Remember } from "../../policy/policy.js";
import type { Rule } from "../../policy/faults.js";
import type { CompiledPolicy, Deadline } from "../compiled-policy.js";
import { type CallerMemory, RateLimits } from "../rate-limits.js";
import { Callers, type Taint, withTaint } from "../taints.js";
import { clientOf, type GuardedRequest, type AuditRecorder } from "../audit-recorder.js";
import {
  type AskedConsent,
  type BoundCall,
  callDigest,
  type ConsentOrigin,
  covers,
  type KeptConsent,
  shownCall,
} from "./shown-call.js";
import { type RememberedCase, type RememberedConsent, RememberedConsents } from "./remembered.js";

/** One question. */
export interface ApprovalQuestion {
  /** Names it; random, so that nobody answers a question that was never put. */
  readonly id: string;
  /** The whole text, safe for a terminal. */
  readonly text: string;
  /** How long a remembered consent would last, in words; undefined where consents are not remembered. */
  readonly remember: string | undefined;
  readonly timeoutMs: number;
  /** Where people at other processes see it too: what became of it, once it was answered here. Never rejects. */
  readonly settled?: (() => Promise<SettledElsewhere>) | undefined;
}

/** What became of a question that several processes show, and whether by an answer that was given here. */
export interface SettledElsewhere {
  readonly reply: ApprovalReply;
  readonly byUs: boolean;
}

/** What became of a question: an answer, or why there is none. */
export type ApprovalReply =
  | {
      readonly answer: "approve" | "remember" | "deny";
      /** Where the person sat, if not at the terminal that the question was put to. */
      readonly by?: "terminal" | "console" | undefined;
    }
  | { readonly answer: undefined; readonly reason: string };

/** Where questions are put when the client cannot ask its user. */
export interface ApprovalChannel {
  /** Puts a question until it is answered or `signal` is aborted; a text as its reason says why. Never rejects. */
  ask(question: ApprovalQuestion, signal: AbortSignal): Promise<ApprovalReply>;
}

/** A call whose arguments are known to be sound, just before its handler runs. */
export interface AskedCall {
  /** Where there is no more of it than its signal, the client cannot be asked within it. */
  readonly ctx: Context | Pick<Context, "signal">;
  readonly tool: string;
  readonly destructive: boolean;
  /** Who does it for the call; absent where it is the call itself. See `ApprovalCall`. */
  readonly actor?: string | undefined;
  readonly isPart?: boolean | undefined;
  /** Where a resource or prompt is asked for: what. `tool` is then the tool that reads the same thing. */
  readonly read?: { readonly kind: "resource" | "prompt"; readonly name: string } | undefined;
  /** Names beside `tool` that a rule may have. */
  readonly also?: readonly string[] | undefined;
  /** What the handler will get. */
  readonly arguments: unknown;
  /** Arguments that the tool finds by itself where they are absent. */
  readonly open?: ReadonlySet<string> | undefined;
  /** What the session has read, where the tool can send it out. */
  readonly taint?: Taint | undefined;
  /** The same at the moment it is called. Default: what it had read when it was asked about. */
  readonly taintNow?: (() => Taint | undefined | Promise<Taint | undefined>) | undefined;
}

/** The same, where its handler is there: it may be served by several requests. */
export interface AskedWithin extends AskedCall {
  readonly ctx: Context;
}

/** Why a call may not run, for the model and for the record. */
export interface NotApproved {
  readonly text: string;
  readonly rule: string;
}

/** A request the guard has let through, and its time. */
export interface Underway {
  readonly guarded: GuardedRequest;
  readonly deadline: Deadline;
  /** It has read something private. */
  hasRead?: boolean;
}

export interface ApprovalsOptions {
  readonly trail: AuditRecorder;
  /** Where people are asked whose client cannot; undefined: nowhere. */
  readonly channel: ApprovalChannel | undefined;
  /** Monotonic milliseconds. */
  readonly now: () => number;
  /** The policy in force. */
  readonly current: () => CompiledPolicy;
  /** Where a path leads at this moment; when absent, to itself. */
  readonly leads?: LeadsTo | undefined;
  /** Where consents are remembered for the other processes of this server; absent where it is alone. */
  readonly memory?: CallerMemory | undefined;
  /** Default: a name is always the same one's. */
  readonly callers?: Callers | undefined;
  /** The program of others that will do it, as it is at this moment. Default: all is done by our own. */
  readonly executor?: ExecutorOf | undefined;
}

/** Names the program of others that does what is asked for, with all that makes it this one; undefined where it is our own. */
export type ExecutorOf = (
  policy: Policy,
  does: Pick<AskedCall, "tool" | "actor" | "read" | "arguments">,
) => string | undefined;

/** Questions a minute for one caller: more than a person reads, and who is asked too often stops reading. */
const QUESTIONS = 20;
/** Questions open at once: for one caller, and for all together. */
const OPEN_EACH = 8;
const OPEN = 64;

export const NO_MEMORY =
  "what the processes of this server share cannot be reached: without it nobody knows what people have said (UNREACHABLE); try again once it is back";
const READ_SINCE = "its session has read since then what it may not send out on the word that was given; make it again";
const NO_OTHERS = "nobody can be asked: the client shows no forms, and the rules let nobody else answer (answer_by)";
/** A command of a script has none, and ends with its call: nobody could answer in time. */
const NO_TERMINAL =
  "nobody can be asked: there is no form and no terminal here. Call it in a terminal, or through a server that runs: its questions are answered by mcp-secure-local approve, or in the console";
const NO_RECORD = "the audit log is unavailable, and consents that cannot be recorded do not count";

/** The one place where consents are made and used up. */
export class Approvals {
  readonly #options: ApprovalsOptions;
  readonly #remembered: RememberedConsents;
  readonly #callers: Callers;
  readonly #rate: RateLimits;
  readonly #open = new Map<string, number>();
  #openCount = 0;

  constructor(options: ApprovalsOptions) {
    this.#options = options;
    this.#callers = options.callers ?? new Callers();
    this.#remembered = new RememberedConsents(options.now, options.memory);
    this.#rate = new RateLimits(options.now);
  }

  /** Undefined when the call may run now, once. Never rejects. */
  consent(call: AskedCall, { guarded, deadline }: Underway): Promise<NotApproved | undefined> | undefined {
    const { leads } = this.#options;
    const need = this.needOf(call, { guarded });
    const bound = (): BoundCall["bound"] => this.#boundTo(call, guarded);
    return need === undefined ? undefined : this.#decide(new Case({ call, guarded, need, leads, bound }), deadline);
  }

  /** Forgets what people have agreed to for a principal that is gone. */
  endOf(principal: string): void {
    this.#remembered.endOf(principal);
  }

  /** Another policy came into force: what was agreed to under the one before counts no more, also where that comes back. */
  reloaded(): void {
    void this.#remembered.outlive(this.#inForce());
  }

  #inForce(): { readonly hash: string; readonly profile: string } {
    const { hash, profile } = this.#options.current().policy;
    return { hash, profile: profile?.name ?? "" };
  }

  /** Which of those it is who had the name of its caller, and what will do it. */
  #boundTo(call: AskedCall, { call: asked, terms: { policy } }: GuardedRequest): BoundCall["bound"] {
    return [this.#callers.of(asked), this.#options.executor?.(policy, call)];
  }

  /** Why a person has to be asked, if one has. */
  needOf(call: AskedCall, { guarded }: Pick<Underway, "guarded">): ApprovalNeed | undefined {
    const { leads } = this.#options;
    return approvalNeed(guarded.terms.policy, { ...call, tainted: call.taint !== undefined, leads });
  }

  /** Whether a person has to be asked about a call for what its session has read. */
  wantsForTaint(call: AskedCall, { guarded }: Pick<Underway, "guarded">): boolean {
    const { policy } = guarded.terms;
    const approvals = policy.approvals.filter(({ approve }) => approve === "tainted");
    return approvalNeed({ ...policy, approvals }, { ...call, tainted: true, leads: this.#options.leads }) !== undefined;
  }

  /**
   * Asks about a further step of a call that was let through, with arguments that are its own, where a rule fits it that did not fit
   * the call.
   */
  step(call: AskedCall, of: AskedCall, underway: Underway): Promise<NotApproved | undefined> | undefined {
    const { policy } = underway.guarded.terms;
    const { leads } = this.#options;
    const known = new Set(approvalNeed(policy, { ...of, tainted: of.taint !== undefined, leads })?.rules);
    const need = approvalNeed(policy, { ...call, tainted: call.taint !== undefined, leads });
    return need?.rules.some((rule) => !known.has(rule)) === true ? this.consent(call, underway) : undefined;
  }

  /** The consents that are remembered for the policy in force. Rejects where the other processes cannot be asked. */
  remembered(): Promise<RememberedConsent[]> {
    return this.#remembered.all(this.#inForce());
  }

  /**
   * Takes back one of them, or all: the next such call is asked about again. Rejects where the other processes cannot be told: then
   * the rest stays. Rejects too where it cannot be put on record; that one is taken back all the same, since all it does is ask again.
   *
   * @returns what was taken back
   */
  async takeBack(id: string | undefined, by: "terminal" | "console"): Promise<RememberedConsent[]> {
    const taken = (await this.remembered()).filter((each) => id === undefined || each.id === id);
    const { current, trail } = this.#options;
    for (const each of taken) {
      await this.#remembered.forget(each.id);
      await trail.takenBack(each, { ...current(), by });
    }
    return taken;
  }

  async #decide(asked: Case, deadline: Deadline): Promise<NotApproved | undefined> {
    const { trail } = this.#options;
    const { guarded } = asked;
    const remembered = await this.#remembered.find(asked.remembering);
    if (remembered === "unknown") {
      await recorded(trail.approval(guarded, "approval.denied", asked.detail({ reason: NO_MEMORY })));
      return asked.refused(NO_MEMORY);
    }
    if (remembered !== undefined) return this.#give(asked, { how: rememberedHow(remembered), from: remembered });
    const reply = await this.#ask(asked, deadline);
    if (reply.answer !== undefined) asked.by = reply.by ?? asked.by;
    const isYes = reply.answer === "approve" || reply.answer === "remember";
    const doubt = reply.answer === undefined ? reply.reason : await this.#doubt(asked, isYes);
    if (doubt === undefined && reply.answer !== "deny") {
      return this.#give(asked, { how: { by: asked.by }, isKept: reply.answer === "remember" });
    }
    const reason = doubt ?? PERSON_REFUSED;
    await recorded(trail.approval(guarded, "approval.denied", asked.detail({ by: asked.by, reason })));
    return asked.refused(reason);
  }

  /** Puts a consent on record, and remembers it where the person said so. Undefined when the call may run. */
  async #give(asked: Case, { how, isKept = false, from }: Giving): Promise<NotApproved | undefined> {
    const { guarded } = asked;
    const given = await recorded(this.#options.trail.approval(guarded, "approval.given", asked.detail(how)));
    if (!given) return asked.refused(NO_RECORD);
    if (isKept) await this.#remembered.add(asked.remembering, asked.origin());
    if (from !== undefined) this.#remembered.used(from);
    // Writing takes time too: what was true a moment ago is asked once more.
    const late = await this.#doubt(asked, from === undefined);
    return late === undefined ? undefined : asked.refused(late);
  }

  /** What has changed since the question was put, or the consent was found. `isYes`: a person has said yes just now. */
  async #doubt(asked: Case, isYes: boolean): Promise<string | undefined> {
    const { call, guarded, consent } = asked;
    if (isYes && !(await this.#remembered.isKnown(asked.remembering))) return NO_MEMORY;
    const taint = call.taintNow === undefined ? call.taint : await call.taintNow();
    if (call.ctx.signal.aborted) return "the call was cancelled";
    // Not by its words: one that was in force in between may have forbidden it.
    if (this.#options.current() !== guarded.terms) return "the policy has changed since it was asked";
    if (!asked.isUnchanged()) return "the call, where its paths lead, or what would do it, is not what was asked about";
    const need = this.needOf({ ...call, taint }, { guarded });
    return need === undefined || covers(consent.rules, rulesOf(need, taint, guarded)) ? undefined : READ_SINCE;
  }

  async #ask(asked: Case, deadline: Deadline): Promise<ApprovalReply> {
    const { guarded, need } = asked;
    const caller = this.#callers.of(guarded.call) ?? "";
    const none = this.#reasonNotToAsk(asked, caller);
    if (none !== undefined) return { answer: undefined, reason: none };
    this.#count(caller, 1);
    deadline.hold();
    const over = new AbortController();
    let settle!: (reply: ApprovalReply) => void;
    const reply = new Promise<ApprovalReply>((resolve) => (settle = resolve));
    let why: string | undefined;
    const end = (reason: string) => (): void => {
      why ??= reason;
      settle({ answer: undefined, reason });
    };
    const timer = setTimeout(end(NOBODY_ANSWERED), need.timeoutMs).unref();
    const gone = end("the call was cancelled, or its client went away");
    const { signal } = asked.call.ctx;
    signal.addEventListener("abort", gone);
    try {
      if (!(await recorded(this.#options.trail.approval(guarded, "approval.asked", asked.detail({})))))
        return { answer: undefined, reason: NO_RECORD };
      this.#put(asked, over.signal).then(settle, end("the question could not be put"));
      return await reply;
    } finally {
      clearTimeout(timer);
      signal.removeEventListener("abort", gone);
      over.abort(why);
      deadline.release();
      this.#count(caller, -1);
    }
  }

  #reasonNotToAsk({ need, shown, paths }: Case, caller: string): string | undefined {
    if (need.answerBy.size === 0) return "the rules that ask for consent agree on nobody to give it";
    if (paths === undefined) return `it names more than ${MOST_PATHS} paths, which nobody can be shown`;
    if (shown === undefined) return "its arguments are too long to be read by the person who would be asked";
    const full = this.#openCount >= OPEN || (this.#open.get(caller) ?? 0) >= OPEN_EACH;
    if (full) return "too many questions are open already";
    const wait = this.#rate.take(caller, "approvals", QUESTIONS);
    return wait > 0 ? `more than ${QUESTIONS} questions a minute are not asked` : undefined;
  }

  async #put(asked: Case, signal: AbortSignal): Promise<ApprovalReply> {
    const { need, call, question } = asked;
    if (need.answerBy.has("client") && "elicit" in call.ctx && canAskClient(call.ctx)) {
      asked.by = "client";
      const reply = await askClient(call.ctx, question, signal);
      if (reply !== undefined) return reply;
    }
    const { channel } = this.#options;
    if (!need.answerBy.has("terminal") || channel === undefined)
      return { answer: undefined, reason: need.answerBy.has("terminal") ? NO_TERMINAL : NO_OTHERS };
    asked.by = "terminal";
    return channel.ask(question, signal);
  }

  #count(caller: string, change: 1 | -1): void {
    this.#openCount += change;
    const open = (this.#open.get(caller) ?? 0) + change;
    if (open > 0) this.#open.set(caller, open);
    else this.#open.delete(caller);
  }
}

interface Giving {
  /** What the record says of it. */
  readonly how: Readonly<Record<string, unknown>>;
  readonly isKept?: boolean;
  /** What was remembered, where nobody was asked. */
  readonly from?: KeptConsent;
}

/** Whose word it is that lets a call pass of which nobody was asked. */
function rememberedHow({ origin }: KeptConsent): Giving["how"] {
  if (origin === undefined) return { remembered: true };
  return { remembered: true, answer: origin.id, answered: new Date(origin.at).toISOString(), by: origin.by };
}

interface AboutCase {
  readonly call: AskedCall;
  readonly guarded: GuardedRequest;
  readonly need: ApprovalNeed;
  readonly leads: LeadsTo | undefined;
  readonly bound: () => BoundCall["bound"];
}

/** One call and the question about it. */
class Case {
  readonly call: AskedCall;
  readonly guarded: GuardedRequest;
  readonly need: ApprovalNeed;
  /** How long a consent would be remembered. */
  readonly remember: Remember;
  /** What a person would agree to. */
  readonly consent: AskedConsent;
  readonly shown: string | undefined;
  readonly question: ApprovalQuestion;
  /** Undefined where there are too many to show. */
  readonly paths: ReturnType<typeof pathsOfCall>;
  readonly #leads: LeadsTo | undefined;
  readonly #boundTo: () => BoundCall["bound"];
  by: "client" | "terminal" | "console" | undefined;

  constructor({ call, guarded, need, leads, bound }: AboutCase) {
    const id = randomBytes(8).toString("hex");
    const { rules, timeoutMs } = need;
    const { principal } = guarded.call.carrier;
    this.call = call;
    this.guarded = guarded;
    this.need = need;
    this.#leads = leads;
    this.#boundTo = bound;
    this.paths = pathsOfCall(guarded.terms.policy, call);
    const led = this.#led();
    this.consent = { digest: this.#digest(), rules: rulesOf(need, call.taint, guarded) };
    this.remember = this.paths !== undefined && canRemember(need.remember, guarded, led) ? need.remember : NOT_AT_ALL;
    const shown = {
      tool: call.tool,
      read: call.read,
      arguments: exactly(call.arguments),
      led,
      principal,
      client: clientOf(guarded.call),
      timeoutMs,
      id,
    };
    this.shown = shownCall({ ...shown, rules: rules.map((rule) => withTaint(rule, call.taint)) });
    this.question = { id, text: this.shown ?? "", remember: inWords(this.remember), timeoutMs };
  }

  get remembering(): RememberedCase {
    const { consent, remember } = this;
    return { consent, remember, caller: this.guarded.call.caller, sharedKey: this.#sharedKey };
  }

  /** Where a consent to it comes from, for who may take it back. */
  origin(): ConsentOrigin {
    const { call } = this.guarded;
    const { policy } = this.guarded.terms;
    const { shown = "" } = this;
    return {
      id: this.question.id,
      tool: this.call.read?.name ?? this.call.tool,
      about: shown.slice(shown.indexOf("\n") + 1, shown.lastIndexOf("\nAsked by ")),
      client: clientOf(call) ?? "",
      principal: call.carrier.principal ?? "",
      actor: this.call.actor ?? "",
      profile: policy.profile?.name ?? "",
      by: this.by ?? "client",
      at: Date.now(),
      policy: policy.hash,
    };
  }

  /** Under what other processes remember a consent to it; undefined where none is remembered beyond this process. */
  get #sharedKey(): string | undefined {
    const { kind } = this.remember;
    const { digest } = this.consent;
    if (kind === "minutes") return `minutes ${digest}`;
    const { sessionId } = this.guarded.call.carrier;
    return kind === "session" && sessionId !== undefined ? `session ${sessionId} ${digest}` : undefined;
  }

  /** Whether it is still the call that was asked about, of the same caller, its paths lead to the same places, and the same does it. */
  isUnchanged(): boolean {
    return this.#digest() === this.consent.digest;
  }

  #led(): BoundCall["led"] {
    return this.#leads === undefined ? [] : ledElsewhere(this.paths ?? [], this.#leads);
  }

  #digest(): string {
    const led = this.#leads === undefined ? [] : boundPlaces(this.paths ?? [], this.#leads);
    return digestOf(this.call, this.guarded, { led, bound: this.#boundTo() });
  }

  /** What the record says beside what every record of a call says. */
  detail(more: Readonly<Record<string, unknown>>): { readonly rule: Rule; readonly detail: Record<string, unknown> } {
    const { taint, actor, tool, arguments: args } = this.call;
    const does = actor === undefined ? {} : { actor, does: { tool, arguments: exactly(args) } };
    const tainted = taint === undefined ? {} : { tainted: taint };
    return {
      rule: this.#rule,
      detail: { question: this.question.id, call: this.consent.digest, ...does, ...tainted, ...more },
    };
  }

  refused(reason: string): NotApproved {
    const { text, line } = this.#rule;
    const place = line === undefined ? "" : ` (line ${line} of the policy)`;
    return { text: `Denied. This call needs a person's consent, and ${reason}. Rule: ${text}${place}.`, rule: text };
  }

  get #rule(): Rule {
    return this.need.rules[0] as Rule;
  }
}

function digestOf(
  { tool: called, read, actor, arguments: args }: AskedCall,
  { call: { carrier, identity }, terms: { policy } }: GuardedRequest,
  { led, bound }: Pick<BoundCall, "led" | "bound">,
): string {
  // What no tool reads must not pass for a tool of that name.
  const tool = read?.name === called ? `${read.kind} ${called}` : called;
  return callDigest({
    tool,
    arguments: args,
    led,
    policy: [policy.hash, policy.profile?.name],
    asker: [carrier.principal, identity?.program, actor],
    bound,
  });
}

/** The rules that ask, each with its place in the policy, its terms and what a person is shown of it. */
function rulesOf({ fitting }: ApprovalNeed, taint: Taint | undefined, { terms }: GuardedRequest): string[] {
  return fitting.map((each) => {
    const { rule, answerBy, remember, timeoutMs } = each;
    const { text, line } = withTaint(rule, taint);
    const place = terms.policy.approvals.indexOf(each);
    return JSON.stringify([place, text, line, [...answerBy].sort(), remember, timeoutMs]);
  });
}

const NOT_AT_ALL: Remember = Object.freeze({ kind: "none" });

/** A session that nobody can tell from another never ends, and a path that leads nobody knows where may lead elsewhere next time. */
function canRemember({ kind }: Remember, { call: { carrier } }: GuardedRequest, led: BoundCall["led"]): boolean {
  if (led.some(([, real]) => real === undefined)) return false;
  return kind !== "session" || carrier.kind !== "http" || carrier.sessionId !== undefined;
}

function inWords(remember: Remember): string | undefined {
  if (remember.kind === "none") return undefined;
  if (remember.kind === "session") return "until this session ends";
  return `for ${remember.minutes} ${remember.minutes === 1 ? "minute" : "minutes"}`;
}

function recorded(record: Promise<void>): Promise<boolean> {
  return record.then(
    () => true,
    () => false,
  );
}

// Asks the person behind the client, by the client's own form.

const DENY = "deny";
const APPROVE = "approve this one call";

/** Whether the client says that it can show a form. */
function canAskClient({ clientCapabilities: { elicitation } }: Context): boolean {
  // `{}` means forms only; naming url alone means no forms.
  return elicitation !== undefined && (elicitation.form !== undefined || elicitation.url === undefined);
}

/** Resolves with the answer; undefined when the client cannot be asked after all. Never rejects. */
async function askClient(
  ctx: Context,
  question: ApprovalQuestion,
  signal: AbortSignal,
): Promise<ApprovalReply | undefined> {
  const keep = question.remember === undefined ? undefined : `approve this very call ${question.remember}`;
  const choices = [DENY, APPROVE, ...(keep === undefined ? [] : [keep])];
  const decision = { type: "string" as const, title: "Decision", enum: choices };
  try {
    const { timeoutMs } = question;
    const answer = await ctx.elicit({ message: question.text, schema: { decision } }, { timeoutMs, signal });
    if (answer.action !== "accept") return { answer: DENY };
    const chosen: unknown = answer.content.decision;
    if (chosen === APPROVE) return { answer: "approve" };
    return { answer: chosen !== undefined && chosen === keep ? "remember" : DENY };
  } catch (error) {
    if (error instanceof RpcError && error.code === McpErrorCode.MissingRequiredClientCapability) return undefined;
    const { code } = error as { readonly code?: unknown };
    const why = typeof code === "string" ? REASONS[code] : undefined;
    return { answer: undefined, reason: why ?? "the client went away or could not show the question" };
  }
}

const REASONS: Readonly<Record<string, string>> = {
  TIMEOUT: NOBODY_ANSWERED,
  EXPIRED: NOBODY_ANSWERED,
  REFUSED: "the client refused to show the question",
  BAD_ANSWER: "the client's answer is none of the choices",
  REPLAY: "the process that had asked has ended, and an answer counts for its own question alone: make the call again",
};

/** A server has answered that what was asked for is elsewhere. */
export interface Redirect {
  /** As the call gave it. */
  readonly from: string;
  readonly to: string;
}

/** The arguments with the place that a redirect leads to, as if the call had been made with it. */
export function redirected(given: unknown, { from, to }: Redirect): unknown {
  if (Array.isArray(given)) return given.map((each: unknown) => redirected(each, { from, to }));
  if (typeof given === "object" && given !== null)
    return Object.fromEntries(Object.entries(given).map(([key, each]) => [key, redirected(each, { from, to })]));
  return given === from ? to : given;
}
