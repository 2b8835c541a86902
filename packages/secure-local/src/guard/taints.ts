// Remembers of each session which calls brought in private data and which texts of strangers: together they can do harm. Also tells
// the callers apart of whom that is remembered.
import type { Call } from "@secure-local/mcp/server";
import type { Rule } from "../policy/faults.js";
import type { Policy } from "../policy/policy.js";
import type { GuardedRequest, RequestEnd } from "./audit-recorder.js";
import { handlerSignal, type Subject } from "./compiled-policy.js";
import type { CallerMemory } from "./rate-limits.js";

// Tells callers apart of whom something is remembered: a name that somebody had and somebody else has now is two of them.

/** Tells those apart who have a name one after another: another text when it is somebody else's. Undefined: it is always the same one's. */
export type LifeOf = (principal: string) => string | undefined;

export class Callers {
  readonly #lifeOf: LifeOf;
  /** How often work under a name was ended for good. */
  readonly #ends = new Map<string, number>();

  constructor(lifeOf: LifeOf = () => undefined) {
    this.#lifeOf = lifeOf;
  }

  /** From now on whoever has the name is somebody else, whatever they are known by. */
  end(principal: string): void {
    this.#ends.set(principal, (this.#ends.get(principal) ?? 0) + 1);
  }

  /** Under what something is remembered of a name, as long as it is the same one's. */
  key(principal: string | undefined): string | undefined {
    const life = principal === undefined ? undefined : this.#lifeOf(principal);
    const ends = principal === undefined ? undefined : this.#ends.get(principal);
    // No name of several people's has a line break.
    return life === undefined && ends === undefined ? principal : `${principal}\n${life ?? ""}\n${ends ?? 0}`;
  }

  /** The same of whoever calls. */
  of({ carrier: { principal } }: Pick<Call, "carrier">): string | undefined {
    return this.key(principal);
  }
}

/** What something brings in, as far as the policy lets it. */
interface Read {
  /** Texts that strangers wrote. */
  readonly untrusted: boolean;
  /** What is not meant for strangers. */
  readonly private: boolean;
}

/** What goes through something, as far as the policy lets it. */
export interface Flow extends Read {
  /** It can carry something to somebody else. */
  readonly sends: boolean;
}

/** What reads private data, and says nothing of strangers. */
export const PRIVATE: Read = Object.freeze({ private: true, untrusted: false });

/** What goes through something under a policy, with the arguments of a call where they are known. */
export type FlowOf = (
  policy: Policy,
  subject: Pick<Subject, "kind" | "name"> & { readonly arguments?: unknown },
) => Flow;

/** The call that brought something in first. */
export interface TaintMark {
  /** Name of the tool or prompt, or URI of the resource. */
  readonly from: string;
  /** Id of the request, as the log has it. */
  readonly id: string | number;
}

/** Both kinds have been read: what is sent out now may be private, and a stranger may have asked for it. */
export interface Taint {
  readonly private: TaintMark;
  readonly untrusted: TaintMark;
}

interface Marks {
  private?: TaintMark;
  untrusted?: TaintMark;
  /** When something was marked last. */
  at: number;
  /** When the other processes were told of each kind. */
  readonly told: { private?: number; untrusted?: number };
}

/** By these a model is given something to read. */
const READS: ReadonlySet<string> = new Set([
  "tools/call",
  "resources/read",
  "prompts/get",
  // Names of files and tables.
  "completion/complete",
]);
/** Callers without a session that are remembered. Beyond, nobody knows what one has read, so it counts as both. */
const MAX_CALLERS = 10_000;
/** Where no session says when a conversation ends, it is over after so long without a read. */
const CALLER_MS = 60 * 60_000;
const UNKNOWN: TaintMark = { from: "(more callers than are remembered)", id: 0 };
/** What other processes know cannot be asked: it may be both. */
const NOT_ASKED: TaintMark = { from: "(what another process of this server may know)", id: 0 };
/** The other processes are told again of what is read again, long before they would forget. */
const TELL_AGAIN_MS: number = CALLER_MS / 4;
const KINDS = ["private", "untrusted"] as const;

/** Transports that have one client each. */
const PIPES: ReadonlySet<string> = new Set(["stdio", "memory"]);
/** What came before this process is not known: it may be both. */
const BEFORE: TaintMark = { from: "(what was read before the server was started anew)", id: 0 };

/**
 * What callers have read whom no session of one part tells apart. The parts of one policy that a process serves share it: who reads
 * by one of them and sends by another is the same caller.
 */
export class TaintBook {
  /** By principal, and which of those it is who had the name. @internal */
  readonly callers: Map<string, Marks> = new Map();
  readonly #attached = new Map<string, Marks>();

  /**
   * A connection of `attach` says something. One that is not new and not known goes on with what another process knew of it, so it
   * counts as having read both. So does one that comes back after more others than are remembered.
   */
  meet(id: string, isNew: boolean): void {
    const known = this.#attached.get(id);
    this.#attached.delete(id);
    this.#attached.set(id, known ?? { ...(isNew ? {} : { private: BEFORE, untrusted: BEFORE }), at: 0, told: {} });
    if (this.#attached.size <= MAX_CALLERS) return;
    for (const oldest of this.#attached.keys()) return void this.#attached.delete(oldest);
  }

  /** @internal */
  attached(id: string): Marks {
    if (!this.#attached.has(id)) this.meet(id, false);
    return this.#attached.get(id) as Marks;
  }
}

/** What is about to be done: a call of a tool, or what is read instead. */
interface Asked {
  readonly tool: string;
  readonly read?: Pick<Subject, "kind" | "name"> | undefined;
  readonly arguments: unknown;
}

function flowing({ tool, read, arguments: args }: Asked): Parameters<FlowOf>[1] {
  const { kind, name } = read ?? { kind: "tool" as const, name: tool };
  return { kind, name, arguments: args };
}

interface TaintsOptions {
  readonly flow?: FlowOf | undefined;
  readonly memory?: CallerMemory | undefined;
  readonly book?: TaintBook | undefined;
  /** Default: a name is always the same one's. */
  readonly callers?: Callers | undefined;
}

export class Taints {
  readonly #now: () => number;
  readonly #flow: FlowOf | undefined;
  readonly #memory: CallerMemory | undefined;
  /** By session, or by the pipe that all sessions of its one client come over, one after another and of any revision. */
  readonly #own = new WeakMap<object, Marks>();
  readonly #book: TaintBook;
  readonly #known: Callers;

  /** `now` is monotonic, in milliseconds. */
  constructor(
    now: () => number,
    { flow, memory, book = new TaintBook(), callers = new Callers() }: TaintsOptions = {},
  ) {
    this.#now = now;
    this.#known = callers;
    this.#flow = flow;
    this.#memory = memory;
    this.#book = book;
  }

  /**
   * Notes what a request has brought in, once it has run. Resolves with false when the other processes of this server could not be
   * told; undefined where nobody had to be. `hasRead`: it has used a power to read, whatever became of it.
   */
  noteRead(
    { call, subject, terms }: GuardedRequest,
    { outcome }: RequestEnd,
    hasRead = false,
  ): Promise<boolean> | undefined {
    if (!READS.has(call.method)) return undefined;
    const { kind, name } = subject;
    const flow = this.#flow?.(terms.policy, { kind, name, arguments: call.params["arguments"] });
    if (flow === undefined) return undefined;
    if (outcome !== "denied" && outcome !== "input_required")
      return this.note(call, name, hasRead ? { ...flow, private: true } : flow);
    return hasRead ? this.note(call, name, { ...flow, untrusted: false, private: true }) : undefined;
  }

  /** The same of a request under way, before anything that it brings in is passed on: a message, a question. */
  noteReading({
    call,
    subject,
    terms,
  }: Pick<GuardedRequest, "call" | "subject" | "terms">): Promise<boolean> | undefined {
    if (!READS.has(call.method)) return undefined;
    const { kind, name } = subject;
    const flow = this.#flow?.(terms.policy, { kind, name, arguments: call.params["arguments"] });
    return flow && this.note(call, name, flow);
  }

  /** Whether what goes out under this call now could be what strangers asked for, as far as this process knows. */
  known(call: Call): Taint | undefined {
    return bothOf(this.#read(call).map(({ marks }) => marks));
  }

  /** Whether the tool of a call can send something out. */
  canSend({ terms: { policy } }: GuardedRequest, asked: Asked): boolean {
    return this.#flow?.(policy, flowing(asked)).sends === true;
  }

  /** What the caller has read, if this call of a tool can send it out. */
  before(asked: Asked, { call, terms }: GuardedRequest): Taint | undefined | Promise<Taint | undefined> {
    return this.#flow?.(terms.policy, flowing(asked)).sends === true ? this.of(call) : undefined;
  }

  /** Notes what a call that has run brought in; the first of each kind is kept. See `noteRead`. */
  note(call: Call, from: string, flow: Read): Promise<boolean> | undefined {
    if (!flow.private && !flow.untrusted) return undefined;
    const mark = { from, id: call.id };
    const telling: Promise<boolean>[] = [];
    for (const { marks, shared } of this.#noted(call)) {
      if (flow.private) marks.private ??= mark;
      if (flow.untrusted) marks.untrusted ??= mark;
      marks.at = this.#now();
      if (this.#memory !== undefined && shared !== undefined) telling.push(this.#tell(shared, marks, flow));
    }
    if (telling.length === 0) return undefined;
    return Promise.all(telling).then((told) => told.every(Boolean));
  }

  /** Undefined while the caller has not read both. Others are asked only where this process does not know of both. */
  of(call: Call): Taint | undefined | Promise<Taint | undefined> {
    const pages = this.#read(call);
    const known = bothOf(pages.map(({ marks }) => marks));
    if (known !== undefined) return known;
    if (this.#callers.size >= MAX_CALLERS && pages.some(({ marks }) => marks === undefined))
      return { private: UNKNOWN, untrusted: UNKNOWN };
    const isShared = this.#memory !== undefined && pages.some(({ shared }) => shared !== undefined);
    return isShared ? this.#ask(this.#memory, pages) : undefined;
  }

  /** Each kind is a record of its own, so that what two processes tell at the same time both counts. */
  async #tell(key: string, marks: Marks, flow: Read): Promise<boolean> {
    const now = this.#now();
    const due = KINDS.filter((kind) => flow[kind] && now - (marks.told[kind] ?? -Infinity) >= TELL_AGAIN_MS);
    const told = due.map(async (kind) => {
      await this.#memory?.keep("taint", `${kind} ${key}`, JSON.stringify(marks[kind]), CALLER_MS);
      marks.told[kind] = now;
    });
    return (await Promise.allSettled(told)).every(({ status }) => status === "fulfilled");
  }

  async #ask(memory: CallerMemory, pages: readonly Page[]): Promise<Taint | undefined> {
    const here = (kind: (typeof KINDS)[number]): TaintMark | undefined =>
      pages.find(({ marks }) => marks?.[kind] !== undefined)?.marks?.[kind];
    const find = async (kind: (typeof KINDS)[number]): Promise<TaintMark | undefined> => {
      const known = here(kind);
      if (known !== undefined) return known;
      const names = pages.flatMap(({ shared }) => (shared === undefined ? [] : [`${kind} ${shared}`]));
      const texts = await Promise.all(names.map((name) => memory.find("taint", name)));
      const text = texts.find((each) => each !== undefined);
      return text === undefined ? undefined : (JSON.parse(text) as TaintMark);
    };
    try {
      const [own, untrusted] = await Promise.all([find("private"), find("untrusted")]);
      return own && untrusted && { private: own, untrusted };
    } catch {
      return { private: here("private") ?? NOT_ASKED, untrusted: here("untrusted") ?? NOT_ASKED };
    }
  }

  get #callers(): Map<string, Marks> {
    return this.#book.callers;
  }

  /** Where it stands what the one who calls has read. */
  #read(call: Call): Page[] {
    const names = namesOf(call).read.map((name) => ({ marks: this.#lasting(this.#nameOf(name, call)), shared: name }));
    const own = this.#ownOf(call);
    return own === undefined ? names : [{ marks: own, shared: sharedSession(call) }, ...names];
  }

  /** Where it is noted what a call brings in; begun where there is nothing yet. */
  #noted(call: Call): (Page & { readonly marks: Marks })[] {
    const own = this.#ownOf(call);
    const pages = namesOf(call).noted.flatMap((shared) => {
      const name = this.#nameOf(shared, call);
      const marks = this.#lasting(name) ?? this.#begun(name);
      return marks === undefined ? [] : [{ marks, shared }];
    });
    return own === undefined ? pages : [{ marks: own, shared: sharedSession(call) }, ...pages];
  }

  /** In this process. What all processes share goes by the name alone: whoever has it next is asked more, never less. */
  #nameOf(name: string, call: Call): string {
    return `${name}\n${this.#known.of(call) ?? ""}`;
  }

  /** What is known of the connection or session of a call; undefined for one that belongs to none. */
  #ownOf(call: Call): Marks | undefined {
    const { program } = call.identity ?? {};
    if (program !== undefined) return this.#book.attached(program);
    const key = isPiped(call) ? call.connection : hasSession(call) ? call.caller : undefined;
    if (key === undefined) return undefined;
    const known = this.#own.get(key);
    if (known !== undefined) return known;
    const marks: Marks = { at: 0, told: {} };
    this.#own.set(key, marks);
    return marks;
  }

  #lasting(name: string): Marks | undefined {
    const marks = this.#callers.get(name);
    if (marks === undefined || this.#now() - marks.at < CALLER_MS) return marks;
    this.#callers.delete(name);
    return undefined;
  }

  #begun(name: string): Marks | undefined {
    if (!this.#hasRoom()) return undefined;
    const marks: Marks = { at: this.#now(), told: {} };
    this.#callers.set(name, marks);
    return marks;
  }

  #hasRoom(): boolean {
    if (this.#callers.size < MAX_CALLERS) return true;
    const now = this.#now();
    for (const [key, { at }] of this.#callers) if (now - at >= CALLER_MS) this.#callers.delete(key);
    return this.#callers.size < MAX_CALLERS;
  }
}

/** One of the places in which something may stand of a caller. */
interface Page {
  readonly marks: Marks | undefined;
  /** Its name in what the processes of one server share; undefined where it is of this process alone. */
  readonly shared: string | undefined;
}

/**
 * The names under which callers are known whom nothing tells apart but a principal. What its sessions read counts for its requests
 * without one, and the other way round, as one program may send both; one session of it does not count for another.
 */
function namesOf(call: Call): { readonly noted: readonly string[]; readonly read: readonly string[] } {
  const { carrier, identity } = call;
  const principal = carrier.principal ?? "";
  if (identity?.program !== undefined || (isPiped(call) && hasSession(call))) return { noted: [], read: [] };
  const [requests, sessions] = [`principal ${principal}`, `sessions ${principal}`];
  return hasSession(call) ? { noted: [sessions], read: [requests] } : { noted: [requests], read: [requests, sessions] };
}

function bothOf(pages: readonly (Marks | undefined)[]): Taint | undefined {
  const own = pages.find((marks) => marks?.private !== undefined)?.private;
  const untrusted = pages.find((marks) => marks?.untrusted !== undefined)?.untrusted;
  return own && untrusted && { private: own, untrusted };
}

/** Under what other processes know a session over HTTP; undefined for what ends with this process. */
function sharedSession({ carrier, identity }: Call): string | undefined {
  if (identity?.program !== undefined || carrier.sessionId === undefined) return undefined;
  return `session ${carrier.sessionId}`;
}

function isPiped({ carrier }: Call): boolean {
  return PIPES.has(carrier.kind);
}

function hasSession({ caller }: Call): boolean {
  return caller.codec.revision.era === "handshake";
}

const TAINTED = "approvals: tainted";

/** The rule as a person is shown it: with what the session has read. */
export function withTaint(rule: Rule, taint: Taint | undefined): Rule {
  if (taint === undefined || rule.text !== TAINTED) return rule;
  const { private: own, untrusted } = taint;
  return {
    ...rule,
    text: `${rule.text}: it can send out what ${own.from} read, and ${untrusted.from} brought in texts of strangers`,
  };
}

// What was asked about, and what of it may still be sent: it holds for as long as a handler goes on, whichever requests serve it.

/** What a handler was let do. */
interface Consented<AskedCall> {
  asked: AskedCall;
  guarded: GuardedRequest;
  /** Whether it was tainted when it was asked about. */
  tainted: boolean;
  /** Ends what it sends by other means than are judged each time. */
  sendingOver?: AbortController | undefined;
}

export class Consents<AskedCall extends { readonly ctx: Pick<Call, "signal"> }> {
  /** By the signals of handlers. */
  readonly #given = new WeakMap<AbortSignal, Consented<AskedCall>>();
  /** Those that send. A handler that is given up while somebody thinks ends without a word. */
  readonly #sending = new Set<WeakRef<Consented<AskedCall>>>();

  of({ signal }: Pick<Call, "signal">): Consented<AskedCall> | undefined {
    return this.#given.get(signal);
  }

  /** Notes what is asked about now. */
  note(asked: AskedCall, guarded: GuardedRequest, tainted: boolean): void {
    const { signal } = asked.ctx;
    const known = this.#given.get(signal);
    if (known === undefined) this.#given.set(signal, { asked, guarded, tainted });
    else Object.assign(known, { asked, guarded, tainted });
  }

  /** From now on it may send. Aborted when it may no more. */
  send(consented: Consented<AskedCall>): AbortSignal {
    if (consented.sendingOver === undefined) this.#sending.add(new WeakRef(consented));
    return (consented.sendingOver ??= new AbortController()).signal;
  }

  /** A call is over; its handler may go on in another. */
  over(call: Call): void {
    if (this.#sending.size === 0 || call.handling?.finished === false) return;
    const consented = this.#given.get(handlerSignal(call));
    if (consented !== undefined) consented.sendingOver = undefined;
  }

  /** Ends the sending of those of which that is said. */
  end(mayNot: (consented: Consented<AskedCall>) => boolean): void {
    for (const each of this.#sending) {
      const consented = each.deref();
      if (consented?.sendingOver === undefined) this.#sending.delete(each);
      else if (mayNot(consented)) consented.sendingOver.abort();
    }
  }
}
