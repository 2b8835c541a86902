// One examination of a server: the conversations it takes, each opened when a check first wants it.
import type { HttpAuthorizer, HttpRequester, Transport } from "@secure-local/mcp/client";
import { LocalError, nodeRequester } from "@secure-local/mcp/client/node";
import type { Message } from "../remote/text-link.js";
import { envelope, HANDSHAKE, RawConversation, resultOf, Session, STATELESS } from "./session.js";

export interface ExaminationOptions {
  /** A new way to the server for each conversation. */
  readonly link: () => Transport;
  readonly kind: "stdio" | "http" | "sse" | "memory";
  /** Where HTTP is spoken, and what is sent with each request. */
  readonly url?: string | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Gives the headers of tokens that are kept for the URL. */
  readonly authorizer?: HttpAuthorizer | undefined;
  /** Makes requests that belong to no link. Default: Node's own. */
  readonly requester?: (() => HttpRequester) | undefined;
  /** Milliseconds a server may take for an answer. Default 5,000. */
  readonly answerMs?: number | undefined;
  /** Milliseconds it may take for the first one, installation included. Default 60,000. */
  readonly startMs?: number | undefined;
}

/** A server that speaks a revision of another era may not answer at all; so long is waited for it to say so. */
const PROBE_MS = 3_000;
/** Whatever starts anew may take this many times as long as the first start. */
const START_FACTOR = 3;
const CLIENT = { name: "mcp-secure-local doctor", version: "1" };

export class Examination {
  readonly kind: ExaminationOptions["kind"];
  readonly url: string | undefined;
  readonly extraHeaders: Readonly<Record<string, string>>;
  readonly authorizer: HttpAuthorizer | undefined;
  readonly requester: () => HttpRequester;
  readonly answerMs: number;
  readonly conversations: RawConversation[] = [];
  /** Milliseconds from the start to the first answer. */
  startMs = 0;
  handshake: Session | undefined;
  stateless: Session | undefined;
  /** The answer to `initialize`, refusals too. */
  initialized: Message | undefined;
  discovered: Message | undefined;
  readonly #options: ExaminationOptions;
  #closed: Promise<string[]> | undefined;

  constructor(options: ExaminationOptions) {
    this.#options = options;
    this.kind = options.kind;
    this.url = options.url;
    this.extraHeaders = options.headers ?? {};
    this.authorizer = options.authorizer;
    this.requester = options.requester ?? nodeRequester;
    this.answerMs = options.answerMs ?? 5_000;
  }

  /** Opens a session in each era the server speaks. Rejects with the link's error, or when it speaks none. */
  async begin(): Promise<void> {
    const startedAt = performance.now();
    const first = await this.open();
    const patience = this.#options.startMs ?? 60_000;
    this.initialized = await first.ask("initialize", initializeParams(HANDSHAKE), { id: "first", timeoutMs: patience });
    this.startMs = performance.now() - startedAt;
    this.handshake = handshakeSession(first, this.initialized);
    if (this.initialized === undefined && first.ended !== undefined) throw first.ended;
    await this.#discover();
    if (this.handshake !== undefined || this.stateless !== undefined) return;
    const lost = first.losses.get("first");
    if (lost !== undefined) throw lost;
    const said = JSON.stringify(this.initialized)?.slice(0, 300) ?? "nothing";
    throw new LocalError("INCOMPATIBLE", `The server answered initialize with ${said}. ${first.noise[0] ?? ""}`.trim());
  }

  /** The session that content is judged in. Only to be asked for after `begin`. */
  get session(): Session {
    return (this.handshake ?? this.stateless) as Session;
  }

  get sessions(): readonly Session[] {
    return [this.handshake, this.stateless].filter((each) => each !== undefined);
  }

  /** A conversation in which nothing has been said yet. */
  async open(): Promise<RawConversation> {
    const conversation = new RawConversation(this.#options.link(), this.#patience(this.answerMs));
    this.conversations.push(conversation);
    return conversation.open();
  }

  /** A further session; undefined when the server does not open one. */
  async fresh(version: string = HANDSHAKE): Promise<Session | undefined> {
    const raw = await this.open();
    return handshakeSession(raw, await raw.ask("initialize", initializeParams(version)));
  }

  /** Ends all conversations; what there is to say of each end. */
  close(): Promise<string[]> {
    this.#closed ??= Promise.all(this.conversations.map((each) => each.close()));
    return this.#closed;
  }

  /** A conversation may have to start the server, as slowly as before. */
  #patience(ms: number): number {
    return Math.max(ms, START_FACTOR * this.startMs);
  }

  async #discover(): Promise<void> {
    const raw = await this.open();
    const headers = { "mcp-protocol-version": STATELESS, "mcp-method": "server/discover" };
    const options = { headers, timeoutMs: this.#patience(Math.min(PROBE_MS, this.answerMs)) };
    this.discovered = await raw.ask("server/discover", { _meta: envelope() }, options);
    const result = resultOf(this.discovered);
    if (result === undefined) return void (await raw.close());
    raw.link.established?.({ era: "stateless", version: STATELESS });
    this.stateless = new Session(raw, "stateless", result);
  }
}

export function initializeParams(protocolVersion: string): Message {
  return { protocolVersion, capabilities: {}, clientInfo: CLIENT };
}

function handshakeSession(raw: RawConversation, answer: Message | undefined): Session | undefined {
  const result = resultOf(answer);
  if (result === undefined) return undefined;
  const session = new Session(raw, "handshake", result);
  raw.link.established?.({ era: "handshake", version: session.revision });
  raw.notify("notifications/initialized", undefined, session.headers("notifications/initialized"));
  return session;
}

// What one check is, and what it can come to.

/** How grave a finding is: for clients in use today, by the words of the specification alone, or neither. */
export type Tier = "breaks clients" | "breaks the letter" | "note";

/** `fail`, `warn` and `note` are of the three tiers, in order; `unchecked` is our own limit. */
export type Verdict = "ok" | "fail" | "warn" | "note" | "unchecked" | "skipped";

export const TIERS: Readonly<Record<"fail" | "warn" | "note", Tier>> = {
  fail: "breaks clients",
  warn: "breaks the letter",
  note: "note",
};

export interface Outcome {
  readonly verdict: Verdict;
  /** What was found, in one sentence; why, when it was skipped. */
  readonly detail: string;
}

/** What has to be there for a check to be run. */
export type Need = "session" | "handshake" | "stateless" | "stdio" | "http" | "tools" | "resources" | "prompts";

export interface Check {
  /** Names it for ever: for reports, and for people who look it up. */
  readonly id: string;
  /** What a healthy server does. */
  readonly title: string;
  /** The gravest that can come of it. */
  readonly tier: Tier;
  /** Where the rule stands. */
  readonly page: string;
  /** Number of the MUST in the list of easily missed ones, where it is among them. */
  readonly must?: number;
  readonly needs?: readonly Need[];
  /** What to do when it is not so. */
  readonly advice: string;
  run(exam: Examination): Outcome | Promise<Outcome>;
}

export const OK: Outcome = { verdict: "ok", detail: "" };

export function fail(detail: string): Outcome {
  return { verdict: "fail", detail };
}

export function warn(detail: string): Outcome {
  return { verdict: "warn", detail };
}

export function note(detail: string): Outcome {
  return { verdict: "note", detail };
}

/** It could not be found out, for a reason of ours. */
export function unchecked(why: string): Outcome {
  return { verdict: "unchecked", detail: `not checked: ${why}` };
}

export function skipped(detail: string): Outcome {
  return { verdict: "skipped", detail };
}

/** OK without faults; else the first ones, joined. */
export function unless(faults: readonly string[], verdict: "note" | "warn" | "fail" = "fail"): Outcome {
  if (faults.length === 0) return OK;
  const more = faults.length > SHOWN ? ` and ${faults.length - SHOWN} more` : "";
  return { verdict, detail: `${faults.slice(0, SHOWN).join("; ")}${more}` };
}

/** The page of the specification, of the newest revision that begins with `initialize` unless another is named. */
export function specification(page: string, revision: string = HANDSHAKE): string {
  return `https://modelcontextprotocol.io/specification/${revision}/${page}`;
}

/** Faults of one kind told before the rest is counted. */
const SHOWN = 4;

/** A value of a server's as words: a text as it is, all else as JSON. */
export function shown(value: unknown): string {
  return typeof value === "string" ? value : (JSON.stringify(value) ?? "nothing");
}
