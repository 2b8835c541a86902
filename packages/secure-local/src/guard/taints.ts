// Remembers of each session which calls brought in private data and which texts of strangers: together they can do harm.
import type { Call } from "@secure-local/mcp/server";
import type { Policy } from "../policy/policy.js";
import type { CallerMemory } from "./caller-memory.js";
import type { Rule } from "../policy/faults.js";
import type { Subject } from "./compiled-policy.js";
import type { GuardedRequest, RequestEnd } from "./audit-recorder.js";

/** What goes through something, as far as the policy lets it. */
export interface Flow {
  /** It brings in texts that strangers wrote. */
  readonly untrusted: boolean;
  /** It reads what is not meant for strangers. */
  readonly private: boolean;
  /** It can carry something to somebody else. */
  readonly sends: boolean;
}

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
const READS: ReadonlySet<string> = new Set(["tools/call", "resources/read", "prompts/get"]);
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

export class Taints {
  readonly #now: () => number;
  readonly #flow: FlowOf | undefined;
  readonly #memory: CallerMemory | undefined;
  readonly #sessions = new WeakMap<Call["caller"], Marks>();
  /** By principal: requests of the stateless era belong to no session. */
  readonly #callers = new Map<string, Marks>();

  /** `now` is monotonic, in milliseconds. */
  constructor(now: () => number, flow?: FlowOf, memory?: CallerMemory) {
    this.#now = now;
    this.#flow = flow;
    this.#memory = memory;
  }

  /**
   * Notes what a request has brought in, once it has run. Resolves with false when the other processes of this server could not be
   * told; undefined where nobody had to be.
   */
  noteRead({ call, subject, terms }: GuardedRequest, { outcome }: RequestEnd): Promise<boolean> | undefined {
    if (!READS.has(call.method) || outcome === "denied" || outcome === "input_required") return undefined;
    const { kind, name } = subject;
    const flow = this.#flow?.(terms.policy, { kind, name, arguments: call.params["arguments"] });
    return flow && this.note(call, name, flow);
  }

  /** What the caller has read, if this call of a tool can send it out. */
  before(
    asked: { readonly tool: string; readonly arguments: unknown },
    { call, terms }: GuardedRequest,
  ): Taint | undefined | Promise<Taint | undefined> {
    const subject = { kind: "tool" as const, name: asked.tool, arguments: asked.arguments };
    return this.#flow?.(terms.policy, subject).sends === true ? this.of(call) : undefined;
  }

  /** Notes what a call that has run brought in; the first of each kind is kept. See `noteRead`. */
  note(call: Call, from: string, flow: Flow): Promise<boolean> | undefined {
    if (!flow.private && !flow.untrusted) return undefined;
    const marks = this.#marksOf(call) ?? this.#begun(call);
    if (marks === undefined) return undefined;
    const mark = { from, id: call.id };
    if (flow.private) marks.private ??= mark;
    if (flow.untrusted) marks.untrusted ??= mark;
    marks.at = this.#now();
    const key = this.#memory && sharedKeyOf(call);
    return key === undefined ? undefined : this.#tell(key, marks, flow);
  }

  /** Undefined while the caller has not read both. Others are asked only where this process does not know of both. */
  of(call: Call): Taint | undefined | Promise<Taint | undefined> {
    const marks = this.#marksOf(call);
    if (marks === undefined && !hasSession(call) && this.#callers.size >= MAX_CALLERS)
      return { private: UNKNOWN, untrusted: UNKNOWN };
    const known = bothOf(marks);
    if (known !== undefined || this.#memory === undefined) return known;
    const key = sharedKeyOf(call);
    return key === undefined ? undefined : this.#ask(this.#memory, key, marks);
  }

  /** Each kind is a record of its own, so that what two processes tell at the same time both counts. */
  async #tell(key: string, marks: Marks, flow: Flow): Promise<boolean> {
    const now = this.#now();
    const due = KINDS.filter((kind) => flow[kind] && now - (marks.told[kind] ?? -Infinity) >= TELL_AGAIN_MS);
    const told = due.map(async (kind) => {
      await this.#memory?.keep("taint", `${kind} ${key}`, JSON.stringify(marks[kind]), CALLER_MS);
      marks.told[kind] = now;
    });
    return (await Promise.allSettled(told)).every(({ status }) => status === "fulfilled");
  }

  async #ask(memory: CallerMemory, key: string, marks: Marks | undefined): Promise<Taint | undefined> {
    const find = async (kind: (typeof KINDS)[number]): Promise<TaintMark | undefined> => {
      const text = marks?.[kind] === undefined ? await memory.find("taint", `${kind} ${key}`) : undefined;
      return text === undefined ? marks?.[kind] : (JSON.parse(text) as TaintMark);
    };
    try {
      const [own, untrusted] = await Promise.all([find("private"), find("untrusted")]);
      return own && untrusted && { private: own, untrusted };
    } catch {
      return { private: marks?.private ?? NOT_ASKED, untrusted: marks?.untrusted ?? NOT_ASKED };
    }
  }

  #marksOf(call: Call): Marks | undefined {
    if (hasSession(call)) return this.#sessions.get(call.caller);
    const marks = this.#callers.get(keyOf(call));
    if (marks === undefined || this.#now() - marks.at < CALLER_MS) return marks;
    this.#callers.delete(keyOf(call));
    return undefined;
  }

  #begun(call: Call): Marks | undefined {
    const marks: Marks = { at: this.#now(), told: {} };
    if (hasSession(call)) this.#sessions.set(call.caller, marks);
    else if (this.#hasRoom()) this.#callers.set(keyOf(call), marks);
    else return undefined;
    return marks;
  }

  #hasRoom(): boolean {
    if (this.#callers.size < MAX_CALLERS) return true;
    const now = this.#now();
    for (const [key, { at }] of this.#callers) if (now - at >= CALLER_MS) this.#callers.delete(key);
    return this.#callers.size < MAX_CALLERS;
  }
}

function bothOf(marks: Marks | undefined): Taint | undefined {
  if (marks?.private === undefined || marks.untrusted === undefined) return undefined;
  return { private: marks.private, untrusted: marks.untrusted };
}

/** Under what other processes know the one who calls; undefined for a session that ends with this process. */
function sharedKeyOf(call: Call): string | undefined {
  if (!hasSession(call)) return `principal ${keyOf(call)}`;
  const { sessionId } = call.carrier;
  return sessionId === undefined ? undefined : `session ${sessionId}`;
}

function hasSession({ caller }: Call): boolean {
  return caller.codec.revision.era === "handshake";
}

function keyOf({ carrier }: Call): string {
  return carrier.principal ?? "";
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
