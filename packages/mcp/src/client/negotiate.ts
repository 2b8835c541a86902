// Finds out how to speak to a server, and leaves one conversation open that does.
import { clientCodec } from "./versions.js";
import type { ClientDescription } from "../era/codec.js";
import type { JsonRpcLimits } from "../jsonrpc/limits.js";
import type { Transport } from "../jsonrpc/transport.js";
import { LocalError, RpcError, statusOf, invalidResponse } from "../jsonrpc/errors.js";
import { settles } from "../jsonrpc/outgoing.js";
import type { Revision } from "../protocol/revisions/revision.js";
import {
  type Attempt,
  codeOf,
  ConnectError,
  discoveredFacts,
  type Established,
  initializedFacts,
  outcomeText,
  type ServerFacts,
  supportedVersions,
  Conversation,
  type ConversationEvents,
} from "./conversation.js";
import type { Dialer } from "./options.js";
import type { Verdict, VerdictStore, Versions } from "./versions.js";
import type { JsonObject, RequestId } from "../jsonrpc/message.js";
import { McpErrorCode } from "../protocol/meta.js";

interface EstablishOptions {
  readonly identity: ClientDescription;
  readonly versions: Versions;
  readonly events: ConversationEvents;
  readonly limits: JsonRpcLimits;
  readonly probeTimeoutMs: number;
  readonly connectTimeoutMs: number;
  readonly verdicts: VerdictStore | undefined;
  readonly signal?: AbortSignal | undefined;
}

/**
 * How long a verdict is believed. A server that was updated fails loudly when it is taken for a newer one and works on
 * for ever when it is taken for an older one: so the latter is asked again soon.
 */
const MODERN_VERDICT_MS = 24 * 60 * 60 * 1_000;
const OLDER_VERDICT_MS = 10 * 60 * 1_000;

/** One attempt to connect. Use once. */
export class Establishing {
  readonly #dialer: Dialer;
  readonly #options: EstablishOptions;
  readonly #attempts: Attempt[] = [];
  #conversation: Conversation | undefined;

  constructor(dialer: Dialer, options: EstablishOptions) {
    this.#dialer = dialer;
    this.#options = options;
  }

  /** Rejects with a ConnectError; then nothing is left open. */
  async run(): Promise<Established> {
    try {
      const verdict = await this.#remembered();
      const known = await this.#asRemembered(verdict);
      if (known !== undefined) return known;
      const established = await this.#probed();
      await this.#remember(established);
      return established;
    } catch (error) {
      await this.#conversation?.close();
      throw this.#failure(error);
    }
  }

  // An older verdict that no longer holds costs one attempt; a newer one is found out by the question itself. One that
  // holds is not kept for longer: an update would never be noticed.
  async #asRemembered(verdict: Verdict | undefined): Promise<Established | undefined> {
    if (verdict?.era !== "handshake") return undefined;
    const conversation = await this.#dial(this.#transportOf(verdict));
    try {
      const established = await this.#openedOrDiscovered(conversation, [verdict.version]);
      if (established.revision.era !== verdict.era) await this.#remember(established);
      return established;
    } catch (error) {
      if (error instanceof LocalError && saysNothing(error)) throw error;
      await this.#hangUp();
      return undefined;
    }
  }

  #transportOf({ fallback }: Verdict): Transport {
    const older = fallback ? this.#dialer.fallback?.(this.#options.limits) : undefined;
    return older ?? this.#newTransport();
  }

  // A server that was updated may leave the older question without an answer: after a silence it is asked the newer one too.
  async #openedOrDiscovered(conversation: Conversation, offered: readonly string[]): Promise<Established> {
    const { connectTimeoutMs: timeoutMs, versions } = this.#options;
    const opening = this.#handshaken(conversation, offered);
    opening.catch(() => undefined);
    if (
      versions.newest("stateless") === undefined ||
      (await settles(opening, silenceMs({ ...this.#options, timeoutMs })))
    ) {
      return this.#session(conversation, await opening, offered);
    }
    const question = new Question(conversation, { ...this.#options, timeoutMs });
    return this.#answered(conversation, await question.orSession(opening));
  }

  async #probed(): Promise<Established> {
    const { versions, connectTimeoutMs: timeoutMs } = this.#options;
    if (versions.newest("stateless") === undefined) return this.#sessionOrFallback([]);
    const conversation = await this.#dial(this.#newTransport());
    const patient = conversation.transport.kind === "http" || versions.newest("handshake") === undefined;
    const about = { ...this.#options, timeoutMs };
    if (patient) return this.#answered(conversation, await discover(conversation, about));
    const opening = (): Promise<Opened> => {
      this.#asked(conversation, "it has said nothing so far");
      return this.#handshaken(conversation, []);
    };
    let found: Answered;
    try {
      found = await discoverProcess(conversation, { ...about, open: opening });
    } catch (error) {
      return this.#anew(error, []);
    }
    return this.#answered(conversation, found);
  }

  /** What asking told is acted upon. */
  async #answered(conversation: Conversation, found: Answered): Promise<Established> {
    if (found.era === "session") return this.#session(conversation, found.opened, []);
    if (found.era === "stateless") {
      // What it was also told may have made a session of it.
      const spent = "spent" in found && found.spent;
      return this.#modern(spent ? await this.#dial(this.#newTransport()) : conversation, found.revision, found.facts);
    }
    this.#asked(conversation, found.because);
    if (this.#options.versions.newest("handshake") === undefined) throw this.#notModern(found.because);
    return this.#sessionOrFallback(found.offered);
  }

  async #sessionOrFallback(offered: readonly string[]): Promise<Established> {
    try {
      return await this.#openSession(undefined, offered);
    } catch (error) {
      const status = statusOf(error);
      const { fallback } = this.#dialer;
      if (fallback === undefined || status === undefined || status < 400 || !saysNothingElse(status)) throw error;
      this.#attempts.push({
        what: `initialize over ${this.#conversation?.transport.kind}`,
        outcome: outcomeText(error),
      });
      await this.#hangUp();
      return await this.#overFallback(fallback(this.#options.limits), offered, error);
    }
  }

  // A server that answered in JSON-RPC has the newer transport: its own words say more than the lack of the older one.
  async #overFallback(transport: Transport, offered: readonly string[], before: unknown): Promise<Established> {
    try {
      return await this.#openSession(transport, offered);
    } catch (error) {
      throw before instanceof RpcError ? before : error;
    }
  }

  async #openSession(transport: Transport | undefined, offered: readonly string[]): Promise<Established> {
    const standing = this.#conversation;
    const asked = transport === undefined && standing !== undefined && !standing.ended;
    const conversation = asked ? standing : await this.#dial(transport ?? this.#newTransport());
    try {
      return await this.#initialize(conversation, offered);
    } catch (error) {
      if (asked) return this.#anew(error, offered);
      throw error;
    }
  }

  /**
   * A process may end at the question a little after it has answered it. A bridge may have spent its one connection on it, and
   * refuse what comes then. Either is asked once more in a process that has heard nothing else.
   */
  async #anew(error: unknown, offered: readonly string[]): Promise<Established> {
    const { ended, transport } = this.#conversation as Conversation;
    const spoilt = ended || error instanceof RpcError || codeOf(error) === "INVALID_RESPONSE";
    if (!spoilt || transport.kind !== "stdio") throw error;
    this.#attempts.push({ what: "initialize over stdio", outcome: outcomeText(error) });
    return this.#initialize(await this.#dial(this.#newTransport()), offered);
  }

  async #initialize(conversation: Conversation, offered: readonly string[]): Promise<Established> {
    return this.#session(conversation, await this.#handshaken(conversation, offered), offered);
  }

  #handshaken(conversation: Conversation, offered: readonly string[]): Promise<Opened> {
    return handshake(conversation, { ...this.#options, timeoutMs: this.#options.connectTimeoutMs, offered });
  }

  #session(conversation: Conversation, { revision, facts }: Opened, offered: readonly string[]): Established {
    return { ...facts, offered, conversation, revision };
  }

  #modern(conversation: Conversation, revision: Revision, facts: ServerFacts): Established {
    conversation.speak(clientCodec(revision, this.#options.identity));
    conversation.established();
    return { ...facts, conversation, revision };
  }

  #asked({ transport }: Conversation, because: string): void {
    this.#attempts.push({ what: `server/discover over ${transport.kind}`, outcome: because });
  }

  #newTransport(): Transport {
    return this.#dialer.link(this.#options.limits);
  }

  async #dial(transport: Transport): Promise<Conversation> {
    await this.#hangUp();
    const { versions, identity, events, limits } = this.#options;
    const [newest] = versions.allowed;
    const conversation = new Conversation(transport, clientCodec(newest as Revision, identity), { events, limits });
    this.#conversation = conversation;
    await conversation.open();
    return conversation;
  }

  async #hangUp(): Promise<void> {
    const conversation = this.#conversation;
    this.#conversation = undefined;
    await conversation?.close();
  }

  #notModern(because: string): LocalError {
    const newest = this.#options.versions.newest("stateless")?.date;
    const text = `The server does not speak ${newest}: asked server/discover, ${because}. Drop the pin to speak an older revision.`;
    return new LocalError("INCOMPATIBLE", text);
  }

  async #remembered(): Promise<Verdict | undefined> {
    const { key } = this.#dialer;
    const { verdicts, versions } = this.#options;
    if (key === undefined || verdicts === undefined) return undefined;
    const verdict = await verdicts.get(key);
    const holds = verdict !== undefined && verdict.expiresAt > Date.now();
    return holds && versions.find(verdict.version) !== undefined ? verdict : undefined;
  }

  async #remember({ revision, conversation }: Established): Promise<void> {
    const { key } = this.#dialer;
    const { era, date: version } = revision;
    const expiresAt = Date.now() + (era === "stateless" ? MODERN_VERDICT_MS : OLDER_VERDICT_MS);
    const fallback = conversation.transport.kind === "sse";
    if (key !== undefined) await this.#options.verdicts?.set(key, { era, version, fallback, expiresAt });
  }

  #failure(error: unknown): ConnectError {
    const conversation = this.#conversation;
    const where = conversation === undefined ? "the server" : conversation.describe();
    const tried = this.#attempts.map(({ what, outcome }) => `${what}: ${outcome.replace(/\.$/, "")}`).join("; ");
    const before = tried === "" ? "" : ` Before that: ${tried}.`;
    const troubles = conversation?.transport.troubles?.() ?? "";
    const text = `Could not connect to ${where}: ${outcomeText(error)}${before}${troubles}`;
    const about = { attempts: this.#attempts, cause: error, status: statusOf(error) };
    return new ConnectError(codeOf(error), text, about);
  }
}

/** Errors after which asking in another way would tell no more. */
function saysNothing(error: LocalError): boolean {
  const status = statusOf(error);
  if (status !== undefined) return !saysNothingElse(status);
  return error.code !== "INVALID_RESPONSE" && error.code !== "INCOMPATIBLE";
}

// Asks a server which era it speaks, and judges whatever comes of it.

/** What asking told. */
type Discovery =
  | { readonly era: "stateless"; readonly revision: Revision; readonly facts: ServerFacts }
  /** `offered`: what the server says it speaks, where it says so. */
  | { readonly era: "handshake"; readonly because: string; readonly offered: readonly string[] };

interface DiscoverOptions {
  readonly versions: Versions;
  readonly identity: ClientDescription;
  /** Milliseconds until the question itself is given up. */
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
}

/** What a process told that was asked both ways, because it had said nothing for long. */
type Answered =
  | Discovery
  /** It opened a session before it answered the question. */
  | { readonly era: "session"; readonly opened: Opened }
  /** It answered the question, though `initialize` is in its pipe: what it makes of both is its own affair. */
  | (Discovery & { readonly era: "stateless"; readonly spent: boolean });

interface ProcessOptions extends DiscoverOptions {
  /** Milliseconds of silence until a process is asked whether it is there at all. */
  readonly probeTimeoutMs: number;
}

/**
 * How many times `probeTimeoutMs` a process may be wholly silent until it is asked the old way too. No clock decides: a
 * slow start answers in the order it was asked, and what is answered first counts.
 */
const SILENT_TIMES = 4;
/** Answers to pings behind which a question that came before them would have been answered. */
const ROUND_TRIPS = 2;

/** How long a server that has said nothing is left alone, in milliseconds: half the time there is at most. */
function silenceMs({ probeTimeoutMs, timeoutMs }: Pick<ProcessOptions, "probeTimeoutMs" | "timeoutMs">): number {
  return Math.min(SILENT_TIMES * probeTimeoutMs, timeoutMs / 2);
}

/**
 * Asks a process, whose silence may mean that it is starting, or that it answers nothing it does not know. Its start is waited
 * for; once it answers pings and not the question, or has said nothing for long, `open` asks it the old way as well. Rejects as
 * `discover` does, and with what `open` rejects with.
 */
async function discoverProcess(
  conversation: Conversation,
  options: ProcessOptions & { readonly open: () => Promise<Opened> },
): Promise<Answered> {
  const silence = silenceMs(options);
  const patience = Math.min(options.probeTimeoutMs, silence / 2);
  const question = new Question(conversation, options);
  const { asked } = question;
  if (await settles(asked, patience)) return asked;
  const ping = new Pings(conversation, options);
  const sign = Promise.race([asked.then(ignore, ignore), ping.answered]);
  await settles(sign, silence - patience);
  ping.end();
  // What is known by now is known within a turn.
  if (await settles(asked, 0)) return asked;
  return question.orSession(options.open());
}

/** The question, as long as somebody waits for its answer. */
class Question {
  readonly asked: Promise<Discovery>;
  readonly #conversation: Conversation;
  readonly #over = new AbortController();

  constructor(conversation: Conversation, options: DiscoverOptions) {
    const { signal } = options;
    const either = signal === undefined ? this.#over.signal : AbortSignal.any([signal, this.#over.signal]);
    this.#conversation = conversation;
    this.asked = discover(conversation, { ...options, signal: either });
    this.asked.catch(ignore);
  }

  /** Whichever of the two questions the server answers first; one that it refuses leaves the other to wait for. */
  async orSession(opening: Promise<Opened>): Promise<Answered> {
    const found = await firstAnswer(this.#conversation, this.asked, opening);
    // Asked again, it would change how a session is spoken in.
    if (found.era === "session") this.#over.abort();
    return found;
  }
}

async function firstAnswer(
  conversation: Conversation,
  asked: Promise<Discovery>,
  opening: Promise<Opened>,
): Promise<Answered> {
  let refused = false;
  const session = opening.then(
    (opened): Answered => ({ era: "session", opened }),
    (error: unknown) => {
      // A server of the newer era alone refuses the older question: its answer to the other is waited for.
      const isRefusal = error instanceof RpcError || (error instanceof LocalError && error.code === "INCOMPATIBLE");
      if (conversation.ended || !isRefusal) throw error;
      refused = true;
      return asked.then((found) => {
        if (found.era === "stateless") return found;
        throw error;
      });
    },
  );
  const modern = asked.then(
    (found): Answered | Promise<Answered> => (found.era === "stateless" ? { ...found, spent: !refused } : session),
    () => session,
  );
  session.catch(ignore);
  return Promise.race([modern, session]);
}

/** Pings until a server has answered often enough. In the envelope of the newer era, so that no server takes them for a session's. */
class Pings {
  /** Resolves when it has answered, with an error even; never when it does not. */
  readonly answered: Promise<void>;
  readonly #conversation: Conversation;
  readonly #options: ProcessOptions;
  #id: RequestId | undefined;
  #ended = false;

  constructor(conversation: Conversation, options: ProcessOptions) {
    this.#conversation = conversation;
    this.#options = options;
    this.answered = this.#round(ROUND_TRIPS);
  }

  /** Waits for no answer any more, and tells nobody. */
  end(): void {
    this.#ended = true;
    if (this.#id !== undefined) this.#conversation.giveUp(this.#id, new LocalError("CANCELLED", "The ping is over"));
  }

  async #round(left: number): Promise<void> {
    const { timeoutMs } = this.#options;
    const onSent = (id: RequestId): void => void (this.#id = id);
    try {
      await this.#conversation.request({ method: "ping", timeoutMs, maxTimeoutMs: timeoutMs, onSent });
    } catch (error) {
      if (!(error instanceof RpcError)) return new Promise(ignore);
    }
    return left === 1 || this.#ended ? undefined : this.#round(left - 1);
  }
}

function ignore(): void {
  // What a promise nobody waits for comes to is of no interest.
}

/**
 * Rejects with INCOMPATIBLE when no revision is common, and with the transport's error when that says nothing about the era
 * (401, 403, 5xx, refused, TIMEOUT).
 */
async function discover(conversation: Conversation, options: DiscoverOptions): Promise<Discovery> {
  const { versions } = options;
  let revision = versions.newest("stateless") as Revision;
  for (let retried = false; ; retried = true) {
    try {
      return judged(await ask(conversation, revision, options), versions);
    } catch (error) {
      const offered = offeredBy(error);
      if (offered === undefined) return fallback(error, conversation);
      const mutual = versions.mutual("stateless", offered);
      // A server that names what was asked for may have refused the first request by rule: it is asked once more.
      if (mutual !== undefined && !retried) revision = mutual;
      else if (versions.mutual("handshake", offered) !== undefined) return legacy("it names older revisions", offered);
      else throw versions.incompatible(offered);
    }
  }
}

async function ask(
  conversation: Conversation,
  revision: Revision,
  { identity, timeoutMs, signal }: DiscoverOptions,
): Promise<{ revision: Revision; facts: ServerFacts }> {
  conversation.speak(clientCodec(revision, identity));
  const times = { timeoutMs, maxTimeoutMs: timeoutMs, timeOption: "connectTimeoutMs" };
  const result = await conversation.request({ method: "server/discover", ...times, signal });
  return { revision, facts: discoveredFacts(result) };
}

function judged({ revision, facts }: { revision: Revision; facts: ServerFacts }, versions: Versions): Discovery {
  const { offered } = facts;
  if (offered.includes(revision.date)) return { era: "stateless", revision, facts };
  const mutual = versions.mutual("stateless", offered);
  if (mutual !== undefined) return { era: "stateless", revision: mutual, facts };
  if (versions.mutual("handshake", offered) !== undefined) return legacy("it lists older revisions only", offered);
  throw versions.incompatible(offered);
}

/** Only -32022 with a list is evidence of the stateless era: a server of that era cannot answer this question otherwise. */
function offeredBy(error: unknown): readonly string[] | undefined {
  const isIt = error instanceof RpcError && error.code === McpErrorCode.UnsupportedProtocolVersion;
  return isIt ? supportedVersions(error.data) : undefined;
}

function fallback(error: unknown, conversation: Conversation): Discovery {
  const status = statusOf(error);
  if (status !== undefined && !saysNothingElse(status)) throw error;
  if (error instanceof RpcError) return legacy(`it answered with error ${error.code}`);
  if (!(error instanceof LocalError)) throw error;
  if (status !== undefined) return legacy(`it answered with HTTP status ${status}`);
  if (error.code === "INVALID_RESPONSE") return legacy("its answer was none");
  // Where the process is the server, one that ends at a method it does not know is an old one.
  if (conversation.transport.kind === "stdio" && conversation.ended) return legacy("it ended at the question");
  throw error;
}

/** Whether a status may come from a server that does not know the method; all others say nothing about the era. */
function saysNothingElse(status: number): boolean {
  if (status < 400) return true;
  return status < 500 && ![401, 403, 407, 408, 425, 429].includes(status);
}

function legacy(because: string, offered: readonly string[] = []): Discovery {
  return { era: "handshake", because, offered };
}

// Opens a session: `initialize`, the version both speak, `notifications/initialized`.

interface HandshakeOptions {
  readonly versions: Versions;
  readonly identity: ClientDescription;
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
  /** Revisions the server is known to speak; empty when nothing is known. */
  readonly offered: readonly string[];
}

interface Opened {
  readonly revision: Revision;
  readonly facts: ServerFacts;
}

/** Rejects with INCOMPATIBLE, with what the server answered (RpcError), or with the transport's error. */
export async function handshake(conversation: Conversation, options: HandshakeOptions): Promise<Opened> {
  const { versions, offered } = options;
  const newest = versions.mutual("handshake", offered) ?? versions.newest("handshake");
  if (newest === undefined) throw versions.incompatible(offered);
  const result = await initialize(conversation, newest, options);
  const revision = versions.find(result["protocolVersion"]);
  if (revision?.era !== "handshake") {
    const version = result["protocolVersion"];
    if (typeof version !== "string") throw invalidResponse("initialize", "it names no protocolVersion");
    throw versions.incompatible([version]);
  }
  const facts = initializedFacts(result);
  conversation.speak(clientCodec(revision, options.identity));
  conversation.notify("notifications/initialized");
  conversation.established();
  return { revision, facts };
}

// Some servers refuse a version they do not speak instead of answering with their own; they name those they do.
async function initialize(
  conversation: Conversation,
  newest: Revision,
  options: HandshakeOptions,
): Promise<JsonObject> {
  const { versions } = options;
  try {
    return await askInitialize(conversation, newest, options);
  } catch (error) {
    const supported = error instanceof RpcError ? supportedVersions(error.data) : undefined;
    if (supported === undefined) throw error;
    const mutual = versions.mutual("handshake", supported);
    if (mutual === undefined) throw versions.incompatible(supported);
    return askInitialize(conversation, mutual, options);
  }
}

function askInitialize(
  conversation: Conversation,
  revision: Revision,
  { identity, timeoutMs, signal }: HandshakeOptions,
): Promise<JsonObject> {
  const codec = clientCodec(revision, identity);
  conversation.speak(codec);
  const { capabilities, clientInfo } = codec;
  const params = { protocolVersion: revision.date, capabilities, clientInfo };
  const times = { timeoutMs, maxTimeoutMs: timeoutMs, timeOption: "connectTimeoutMs" };
  return conversation.request({ method: "initialize", params, ...times, signal });
}
