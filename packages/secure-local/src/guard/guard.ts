// The chain every request passes that reaches a tool, resource, prompt or completion: access, rate, intent on record,
// time limit, cleaning, result on record. Arguments are validated behind it, by the library.
import type { Answer, Call, Context, Middleware, Next } from "@secure-local/mcp/server";
import { requestValue, RpcError } from "@secure-local/mcp/server";
import { cleanAnswer, cleanError } from "./cleaning/clean-result.js";
import { type CallerMemory, RateLimits, type Rates, type UsedLimit } from "./rate-limits.js";
import type { AuditSink } from "../audit/audit-event.js";
import type { Decision } from "../policy/decide.js";
import { approvalNeed } from "../policy/decide-command.js";
import type { Policy } from "../policy/policy.js";
import { conclude, type Conclusion, type ServerWay } from "./conclusion.js";
import {
  Approvals,
  type ApprovalsOptions,
  type AskedCall,
  type AskedWithin,
  type NotApproved,
  type Redirect,
  redirected,
  type Underway,
} from "./approvals/approvals.js";
import { Callers, Consents, type FlowOf, type LifeOf, PRIVATE, type Taint, type TaintBook, Taints } from "./taints.js";
import {
  Admissions,
  type CompiledPolicy,
  compilePolicy,
  Deadline,
  type Ending,
  isOver,
  listenedSubjects,
  reachWithin,
  SLOW_SHARE,
  type Subject,
  subjectOf,
  timeLimitsOf,
} from "./compiled-policy.js";
import {
  type ActedFor,
  answerOf,
  AuditRecorder,
  ClientLog,
  denied,
  giveUp,
  type GuardedRequest,
  limited,
  logAdvice,
  NO_CALL,
  NOT_RECORDED,
  actedFor,
  PendingExceptions,
  type Refusal,
  refuse,
  type RequestEnd,
  unknown,
  UNKNOWN_CALL,
  UNTOLD,
  UNTOLD_QUESTION,
  WITHHELD,
} from "./audit-recorder.js";

/** What exists, allowed or not: a name that is denied is told apart from one that is wrong. */
type Exists = (subject: Pick<Subject, "kind" | "name">) => boolean;

/** What is decided of something beyond its name: `byName` is what the policy says of that, and stands where this is undefined. */
type Objection = (policy: Policy, subject: Pick<Subject, "kind" | "name">, byName: Decision) => Decision | undefined;

/** Something that is done for a call under way by what serves it, in the way that a tool would do it for its caller. */
interface Act {
  readonly ctx: Context;
  /** Who does it, as rules name it: `plugin:weather`. */
  readonly actor: string;
  /** The tool by whose rate and consent it is judged; absent: only rules that name the actor, and `tainted`, count. */
  readonly tool?: string | undefined;
  readonly arguments: unknown;
  readonly asks?: boolean | undefined;
}

export interface GuardOptions {
  readonly policy: Policy;
  readonly audit: AuditSink;
  readonly exists: Exists;
  /** Asked after the policy was asked about the name. Default: nothing stands against it. */
  readonly objection?: Objection;
  /** The tool that reads the same thing as a resource: reads count as its calls. Default: none. */
  readonly readBy?: (uri: string) => string | undefined;
  /** Whether the texts of this tool come from strangers. Default: they do not. */
  readonly outside?: (tool: string) => boolean;
  /** The server of the policy whose thing this is. Default: there are none. */
  readonly serverOf?: (subject: Pick<Subject, "kind" | "name">) => string | undefined;
  /** What became of a call on its way to that server, once it is over. Default: unknown. */
  readonly wayOf?: (call: Call) => ServerWay;
  /** What goes through something, with the arguments of a call where they are known. Default: nothing. */
  readonly flow?: FlowOf;
  /** Told of every request, before anything is decided about it. */
  readonly met?: ((call: Call) => void) | undefined;
  /** Where people are asked for consent whose client cannot ask them. Default: nowhere. */
  readonly channel?: ApprovalsOptions["channel"] | undefined;
  /** Where a path leads, for rules about arguments. Default: to itself. */
  readonly leads?: ApprovalsOptions["leads"];
  /** What other processes of this server know of callers. Default: this one is alone. */
  readonly memory?: CallerMemory | undefined;
  /** What callers without a session have read, where other guards of this process share it. Default: a book of its own. */
  readonly book?: TaintBook | undefined;
  /** Default: a name is always the same one's, until `end` says otherwise. */
  readonly lifeOf?: LifeOf | undefined;
  /** The program of others that does something. Default: there is none. */
  readonly executor?: ApprovalsOptions["executor"];
  /** Monotonic milliseconds; `performance.now` when absent. */
  readonly now?: () => number;
}

/** Why a request is over its rate, if it is: known at once by a process alone. */
type Over = Refusal | undefined | Promise<Refusal | undefined>;

/** What counts a request in a process alone, and what is told when there are too many. */
interface RateOf {
  readonly own: RateLimits;
  readonly name: string;
  readonly limit: number;
  readonly refusal: (waitMs: number) => Refusal;
}

export class Guard {
  readonly #now: () => number;
  readonly #exists: Exists;
  readonly #objection: Objection;
  readonly #readBy: NonNullable<GuardOptions["readBy"]>;
  readonly #outside: (tool: string) => boolean;
  readonly #serverOf: NonNullable<GuardOptions["serverOf"]>;
  readonly #wayOf: NonNullable<GuardOptions["wayOf"]>;
  readonly #met: GuardOptions["met"];
  readonly #leads: GuardOptions["leads"];
  readonly #taints: Taints;
  readonly #callers: Callers;
  readonly #memory: CallerMemory | undefined;
  readonly #requests: RateLimits;
  readonly #tools: RateLimits;
  readonly #trail: AuditRecorder;
  readonly #log: ClientLog;
  readonly #admissions = new Admissions();
  readonly #faults = new PendingExceptions();
  readonly approvals: Approvals;
  /** Calls under way. Kept from the first policy on that has approvals or plugins. */
  readonly #underway = requestValue<Underway | undefined>();
  readonly #consents = new Consents<AskedCall>();
  #approving = false;
  #acting = false;
  #terms: CompiledPolicy;

  constructor(options: GuardOptions) {
    this.#now = options.now ?? (() => performance.now());
    this.#exists = options.exists;
    this.#objection = options.objection ?? (() => undefined);
    this.#readBy = options.readBy ?? (() => undefined);
    this.#outside = options.outside ?? (() => false);
    this.#serverOf = options.serverOf ?? (() => undefined);
    this.#wayOf = options.wayOf ?? (() => ({}));
    this.#memory = options.memory;
    this.#callers = new Callers(options.lifeOf);
    this.#taints = new Taints(this.#now, { ...options, callers: this.#callers });
    this.#met = options.met;
    this.#leads = options.leads;
    this.#requests = new RateLimits(this.#now);
    this.#tools = new RateLimits(this.#now);
    this.#trail = new AuditRecorder(options.audit);
    this.#log = new ClientLog(this.#now);
    this.approvals = new Approvals({
      trail: this.#trail,
      channel: options.channel,
      now: this.#now,
      current: () => this.#terms,
      leads: options.leads,
      memory: options.memory,
      callers: this.#callers,
      executor: options.executor,
    });
    this.#terms = this.#adopt(options.policy);
  }

  /** The policy in force. */
  get policy(): Policy {
    return this.#terms.policy;
  }

  /** What a caller has used of its limits in the last minute: of all its requests, and of each tool it called. */
  limits(principal: string | undefined): UsedLimit[] {
    const { rates } = this.#terms;
    const caller = this.#callers.key(principal);
    return [
      ...[...this.#requests.used(caller)].map(([name, taken]) => ({ name, ...taken, ...rates.other(name) })),
      ...[...this.#tools.used(caller)].map(([name, taken]) => ({ name, ...taken, ...rates.ruleOf(name) })),
    ];
  }

  /** Puts another policy in force for every request from now on; those under way keep theirs. */
  swap(policy: Policy): void {
    this.#terms = this.#adopt(policy);
    this.approvals.reloaded();
  }

  /** Forgets all that is kept of a principal that is gone: whoever has the name from now on is somebody else. */
  end(principal: string): void {
    this.#callers.end(principal);
    this.approvals.endOf(principal);
  }

  /** Takes away what is no longer on offer, once every call that was admitted has begun. */
  withdraw(take: () => void): void {
    this.#admissions.withdraw(take);
  }

  #adopt(policy: Policy): CompiledPolicy {
    this.#approving ||= policy.approvals.length > 0;
    this.#acting ||= policy.plugins.load.size > 0;
    return compilePolicy(policy);
  }

  /**
   * Asks a person about a call, if its policy wants that. To be called right before the handler is run, with the
   * arguments it is run with. Undefined, or resolves with undefined, when it may run.
   */
  consent(call: AskedWithin): Promise<NotApproved | undefined> | undefined {
    return this.#approving ? this.#consent(call, this.#underway.get(call.ctx)) : undefined;
  }

  #consent(call: AskedCall, underway: Underway | undefined): Promise<NotApproved | undefined> | undefined {
    // Admitted before there were approvals, or not at all: nobody knows by which policy it should be judged.
    if (underway === undefined) return Promise.resolve(UNKNOWN_CALL);
    const taint = this.#taints.before(call, underway.guarded);
    if (taint instanceof Promise) return taint.then((known) => this.#consentTo(call, underway, known));
    return this.#consentTo(call, underway, taint);
  }

  #consentTo(
    call: AskedCall,
    underway: Underway,
    taint: Taint | undefined,
  ): Promise<NotApproved | undefined> | undefined {
    this.#consents.note(call, underway.guarded, taint !== undefined);
    const taintNow = () => this.#taints.before(call, underway.guarded);
    return this.approvals.consent({ ...call, taint, taintNow }, underway);
  }

  /** Whether a person would be asked about it within a request where nobody is asked, such as a completion. */
  wouldAsk(call: AskedWithin): boolean {
    if (!this.#approving) return false;
    const underway = this.#underway.get(call.ctx);
    return underway === undefined || this.approvals.needOf(call, underway) !== undefined;
  }

  /** Notes that a call under way has read something private, whatever its tool says of itself. */
  reads(ctx: Context): void {
    const underway = this.#approving ? this.#underway.get(ctx) : undefined;
    if (underway === undefined) return;
    const { call, subject } = underway.guarded;
    underway.hasRead = true;
    // The other processes are told of it before its answer leaves, with all that it has brought in.
    void this.#taints.note(call, subject.name, PRIVATE);
    this.#endSending();
  }

  /** Leave for a call under way to send something out now: what its session has read since it was asked about counts too. */
  async sends(ctx: Context, hop?: Redirect): Promise<NotApproved | undefined> {
    if (!this.#approving) return undefined;
    const [underway, consented] = [this.#underway.get(ctx), this.#consents.of(ctx)];
    if (underway === undefined || consented === undefined) return UNKNOWN_CALL;
    const { asked } = consented;
    if (hop !== undefined) {
      const step = { ...asked, arguments: redirected(asked.arguments, hop) };
      const stopped = await this.approvals.step(step, asked, underway);
      if (stopped !== undefined) return stopped;
    }
    const taint = await this.#taintSince(ctx, underway);
    if (taint === undefined || !this.approvals.wantsForTaint(asked, underway)) return undefined;
    const known = { ...asked, taint, taintNow: () => this.#taints.of(underway.guarded.call) };
    const refused = await this.approvals.consent(known, underway);
    consented.tainted = refused === undefined;
    return refused;
  }

  /** Aborted when a call under way may no longer send without being asked about again; undefined where it cannot send. */
  sendingOver(ctx: Context): AbortSignal | undefined {
    const consented = this.#approving ? this.#consents.of(ctx) : undefined;
    if (consented === undefined || !this.#taints.canSend(consented.guarded, consented.asked)) return undefined;
    const over = this.#consents.send(consented);
    this.#endSending();
    return over;
  }

  /** Ends what is sent by calls whose session has read both since they were asked about. */
  #endSending(): void {
    this.#consents.end(
      ({ asked, guarded, tainted }) =>
        !tainted && this.#taints.known(guarded.call) !== undefined && this.approvals.wantsForTaint(asked, { guarded }),
    );
  }

  /**
   * Leave to do something for a call under way, under its terms: by the rate of the tool that does the same, and with a person's
   * consent where the policy wants it. To be called right before it is done.
   */
  async acts({ ctx, actor, tool, arguments: args, asks = true }: Act): Promise<NotApproved | ActedFor> {
    const underway = this.#underway.get(ctx);
    if (underway === undefined || ctx.signal.aborted) return NO_CALL;
    const { call, terms } = underway.guarded;
    if (!asks) return actedFor(underway.guarded);
    if (tool !== undefined) {
      const over = await this.#overTool(call, terms.rates, {}, tool);
      if (over !== undefined) return over;
    }
    const asked = { ctx, tool: tool ?? actor, actor, isPart: tool === undefined, arguments: args };
    const does = tool === undefined ? undefined : { tool, arguments: args };
    const taintNow = () => (does ? this.#taints.before(does, underway.guarded) : this.#taintSince(ctx, underway));
    const taint = await taintNow();
    const refused = await this.approvals.consent({ ...asked, destructive: true, taint, taintNow }, underway);
    if (refused !== undefined) return refused;
    return ctx.signal.aborted ? NO_CALL : actedFor(underway.guarded);
  }

  /** What the session has read since a call was asked about; before that, the person knew. */
  #taintSince(ctx: Context, { guarded }: Underway): ReturnType<Taints["of"]> {
    return this.#consents.of(ctx)?.tainted === true ? undefined : this.#taints.of(guarded.call);
  }

  /** What a server tells of a call may be what it reads. */
  #notedNotice(guarded: GuardedRequest): (params: object) => object {
    return (params) => {
      if (!this.#log.isOwn(params)) {
        // The other processes are told of it before its answer leaves.
        void this.#taints.noteReading(guarded);
        this.#endSending();
      }
      return guarded.terms.cleanNotice(params);
    };
  }

  /**
   * A question of a server, asked within a call: from now on it may say something of what it reads. Resolves when it may be passed on.
   * @throws Error where other processes do not know of it
   */
  async mayAsk(call: Call): Promise<void> {
    const terms = this.#terms;
    const subject = subjectOf(call);
    const noted = subject && this.#taints.noteReading({ call, subject, terms });
    this.#endSending();
    if ((await noted) === false && this.#withholds(terms)) throw new Error(UNTOLD_QUESTION);
  }

  #withholds({ policy }: CompiledPolicy): boolean {
    return policy.approvals.some(({ approve }) => approve === "tainted");
  }

  /** Takes the text of an exception whose id a client was given, for that call's record. */
  noteFault(errorId: string, error: unknown): void {
    this.#faults.note(errorId, error);
  }

  /** Add it to the server before any other middleware. */
  readonly middleware: Middleware = (call, next) => {
    const terms = this.#terms;
    this.#met?.(call);
    const wait = this.#requests.take(this.#callers.of(call), "requests", terms.rates.requests);
    if (wait > 0) throw limited("requests", terms.rates.requests, { waitMs: wait }).error;
    const subject = subjectOf(call);
    if (subject !== undefined) return this.#guard(this.#begin(call, subject, terms), next);
    const along = this.#trail.along(call, { terms, next, serverOf: this.#serverOf });
    const go = call.method === "subscriptions/listen" ? () => this.#listen(call, terms, next) : along;
    return this.#memory === undefined ? go() : this.#countForAll(this.#memory, call, terms).then(go);
  };

  /** A request that reaches for nothing, such as a list. @throws RpcError */
  async #countForAll(memory: CallerMemory, { carrier }: Call, { rates: { requests } }: CompiledPolicy): Promise<void> {
    const waitMs = await memory.take(carrier.principal, { requests });
    if (waitMs > 0) throw limited("requests", requests, { waitMs }).error;
  }

  #begin(call: Call, subject: Subject, terms: CompiledPolicy): GuardedRequest {
    return this.#trail.begin(call, subject, { terms, server: this.#serverOf(subject) });
  }

  async #guard(guarded: GuardedRequest, next: Next): Promise<Answer> {
    const { call, subject, terms } = guarded;
    if (!this.#exists(subject)) return this.#refuse(guarded, unknown(subject));
    const decision = this.#decide(terms, subject);
    const over = decision.allowed ? this.#overRate(guarded) : denied(subject, decision);
    const refused = over instanceof Promise ? await over : over;
    if (refused !== undefined) return this.#refuse(guarded, refused);
    const admission = this.#admissions.enter();
    try {
      await this.#trail.intent(guarded, decision.rule);
    } catch (error) {
      this.#admissions.leave(admission);
      return answerOf(giveUp(subject, `${NOT_RECORDED} ${logAdvice(error)}`));
    }
    const started = this.#now();
    call.cleanNotifications(guarded.server === undefined ? terms.cleanNotice : this.#notedNotice(guarded));
    const deadline = new Deadline(call, terms.time(subject));
    const underway: Underway | undefined = this.#acting || this.#approving ? { guarded, deadline } : undefined;
    if (underway !== undefined) this.#underway.set(call, underway);
    // Cancelled while its intent was written: then it is not begun.
    const running = isOver(call) ? undefined : deadline.run(this.#asking(guarded, underway, next));
    this.#admissions.leave(admission);
    const ending = running === undefined ? NOT_BEGUN : await running;
    // Nothing more is done for it.
    if (this.#acting) this.#underway.set(call, undefined);
    this.#consents.over(call);
    const way = guarded.server === undefined ? {} : this.#wayOf(call);
    const durationMs = Math.max(0, this.#now() - started - deadline.heldMs);
    const { told, result } = await this.#conclude(guarded, ending, { durationMs, held: way.held });
    const noted = this.#taints.noteRead(guarded, result, underway?.hasRead);
    this.#endSending();
    // What nobody else knows of could be sent out by a call that another process gets.
    if (noted !== undefined && !(await noted) && this.#withholds(terms)) return this.#withhold(guarded, result);
    try {
      await this.#trail.result(guarded, result, told, way);
    } catch (error) {
      return answerOf(giveUp(subject, `${WITHHELD} ${logAdvice(error)}`));
    }
    return answerOf(told);
  }

  /** What reaches a mounted server and has no handler of ours is asked about here. */
  #asking(guarded: GuardedRequest, underway: Underway | undefined, next: Next): Next {
    const reach =
      this.#approving && guarded.server !== undefined ? reachWithin(guarded.call, guarded.subject) : undefined;
    const asked = reach && { ...reach, ctx: guarded.call };
    if (asked === undefined) return next;
    if (guarded.call.method === "completion/complete")
      return async () => ((await this.#wouldAskOf(asked, guarded)) ? { completion: { values: [] } } : next());
    return async () => {
      const refused = await this.#consent(asked, underway);
      if (refused !== undefined) throw new RpcError(INVALID_PARAMS, refused.text, { rule: refused.rule });
      return next();
    };
  }

  /** Nobody is asked while somebody types. */
  async #wouldAskOf(asked: AskedCall, guarded: GuardedRequest): Promise<boolean> {
    const taint = await this.#taints.before(asked, guarded);
    return this.approvals.needOf({ ...asked, taint }, { guarded }) !== undefined;
  }

  async #withhold(guarded: GuardedRequest, result: RequestEnd): Promise<Answer> {
    const detail = { ...result.detail, withheld: UNTOLD };
    await this.#trail.result(guarded, { ...result, detail }).catch(() => undefined);
    return answerOf(giveUp(guarded.subject, UNTOLD));
  }

  #decide(terms: CompiledPolicy, subject: Subject): Decision {
    const decision = terms.decide(subject);
    return this.#objection(terms.policy, subject, decision) ?? decision;
  }

  /** Where there are several processes, a request is counted under all its names with one question to what they share. */
  #overRate({ call, subject, terms }: GuardedRequest): Over {
    const { rates } = terms;
    const { requests } = rates;
    if (subject.kind === "tool") return this.#overTool(call, rates, { requests }, subject.name);
    if (call.method === "completion/complete") {
      const refusal = (waitMs: number): Refusal => limited("completions", rates.completions, { waitMs });
      const names = () => ({ requests, completions: rates.completions });
      return this.#over(call, names, { own: this.#requests, name: "completions", limit: rates.completions, refusal });
    }
    const reader = call.method === "resources/read" ? this.#readBy(subject.name) : undefined;
    if (reader !== undefined) return this.#overTool(call, rates, { requests }, reader);
    return this.#memory && this.#overRequests(call, terms);
  }

  #overTool(call: Call, rates: Rates, others: Readonly<Record<string, number>>, tool: string): Over {
    const limit = rates.tool(tool);
    const refusal = (waitMs: number): Refusal =>
      limited(`calls of ${tool}`, limit, { waitMs, ...rates.raisedBy(tool) });
    const names = () => ({ ...others, [`tool ${tool}`]: limit });
    return this.#over(call, names, { own: this.#tools, name: tool, limit, refusal });
  }

  #over(call: Call, names: () => Readonly<Record<string, number>>, { own, name, limit, refusal }: RateOf): Over {
    const judged = (waitMs: number): Refusal | undefined => (waitMs > 0 ? refusal(waitMs) : undefined);
    if (this.#memory !== undefined) return this.#memory.take(call.carrier.principal, names()).then(judged);
    return judged(own.take(this.#callers.of(call), name, limit));
  }

  async #refuse(guarded: GuardedRequest, refused: Refusal): Promise<Answer> {
    const { call, subject, terms } = guarded;
    // Nothing is run, so the answer is the same whether or not the log can take the record.
    await this.#trail.refused(guarded, refused).catch(() => undefined);
    this.#log.send(call, "warning", { event: refused.outcome, [subject.kind]: subject.name, rule: refused.rule });
    const told = refuse(subject, refused);
    return answerOf(
      told instanceof RpcError ? cleanError(told, terms.cleaning) : await cleanAnswer(told, terms.cleaning),
    );
  }

  async #conclude(
    guarded: GuardedRequest,
    ending: Ending,
    { durationMs, held }: Pick<ServerWay, "held"> & { readonly durationMs: number },
  ): Promise<Conclusion> {
    const { call, subject, terms } = guarded;
    const timeoutMs = timeLimitsOf(call, terms.time(subject));
    if (durationMs > timeoutMs * SLOW_SHARE) {
      const data = { event: "slow", [subject.kind]: subject.name, durationMs: Math.round(durationMs) };
      this.#log.send(call, "notice", data);
    }
    const outside = subject.kind === "tool" && this.#outside(subject.name);
    const conclusion = await conclude(guarded, ending, { durationMs, timeoutMs, outside, held, faults: this.#faults });
    const { outcome, detail } = conclusion.result;
    // What an allowed tool was refused on the way, such as a file or a host.
    if (outcome === "denied")
      this.#log.send(call, "warning", { event: outcome, [subject.kind]: subject.name, rule: detail?.["rule"] });
    return conclusion;
  }

  /**
   * One request that subscribes to several resources is judged, counted and recorded as a subscription to each: the intents before
   * anybody hears of it, the results when it is over. It may last for days, so that it has no time limit.
   */
  async #listen(call: Call, terms: CompiledPolicy, next: Next): Promise<Answer> {
    const begun: GuardedRequest[] = [];
    for (const subject of listenedSubjects(call).filter((each) => this.#exists(each))) {
      const decision = this.#decide(terms, subject);
      const guarded = this.#begin(call, subject, terms);
      // The request itself was counted when it came.
      const over = begun.length === 0 ? undefined : await this.#overRequests(call, terms);
      const refused = decision.allowed ? over : denied(subject, decision);
      if (refused !== undefined) return this.#refuse(guarded, refused);
      begun.push(guarded);
    }
    if (begun.length === 0) return next();
    const started = this.#now();
    const recorded: GuardedRequest[] = [];
    const ending = await this.#listening(begun, { recorded, next });
    let told: Answer | RpcError = {};
    for (const guarded of recorded) {
      const at = {
        durationMs: this.#now() - started,
        timeoutMs: 0,
        outside: false,
        held: undefined,
        faults: this.#faults,
      };
      const conclusion = await conclude(guarded, ending, at);
      told = conclusion.told;
      try {
        await this.#trail.result(guarded, conclusion.result, told);
      } catch (error) {
        told = giveUp(guarded.subject, `${WITHHELD} ${logAdvice(error)}`);
      }
    }
    return answerOf(recorded.length > 0 ? told : (ending.error as RpcError));
  }

  /** How it ended. What is on record as meant is put into `recorded`: a result follows, whatever becomes of it. */
  async #listening(
    begun: readonly GuardedRequest[],
    { recorded, next }: { readonly recorded: GuardedRequest[]; readonly next: Next },
  ): Promise<Ending> {
    for (const guarded of begun) {
      const { call, subject, terms } = guarded;
      try {
        await this.#trail.intent(guarded, this.#decide(terms, subject).rule);
      } catch (error) {
        return { error: giveUp(subject, `${NOT_RECORDED} ${logAdvice(error)}`) };
      }
      recorded.push(guarded);
      // The server hears of its URI, as when it is read.
      if (!this.#approving || guarded.server === undefined) continue;
      const deadline = new Deadline(call, terms.time(subject));
      const underway = { guarded, deadline };
      const asked = await deadline.run(this.#asking(guarded, underway, () => Promise.resolve({})));
      if (asked.answer === undefined) return asked;
    }
    // For whoever went away meanwhile nothing begins.
    return next().then(
      (answer) => ({ answer }),
      (error: unknown) => ({ error }),
    );
  }

  #overRequests(call: Call, { rates: { requests } }: CompiledPolicy): Over {
    const refusal = (waitMs: number): Refusal => limited("requests", requests, { waitMs });
    return this.#over(call, () => ({ requests }), { own: this.#requests, name: "requests", limit: requests, refusal });
  }

  /** Whether news of a resource may still be told, by the policy in force; `anew`: it is another one, and no consent by an older one counts. */
  mayHear(uri: string, anew: boolean): boolean {
    const subject: Subject = { kind: "resource", name: uri, path: "/uri" };
    const { policy } = this.#terms;
    if (!this.#exists(subject) || !this.#decide(this.#terms, subject).allowed) return false;
    if (!anew || policy.approvals.length === 0 || this.#serverOf(subject) === undefined) return true;
    const asked = { tool: uri, read: { kind: "resource" as const, name: uri }, destructive: false, arguments: {} };
    return approvalNeed(policy, { ...asked, tainted: true, leads: this.#leads }) === undefined;
  }
}

const INVALID_PARAMS = -32602;

const NOT_BEGUN: Ending = Object.freeze({});
