// Finds out how to speak to a server, and leaves one conversation open that does.
import { clientCodec } from "../era/client-codecs.js";
import type { ClientIdentity } from "../era/client-codec.js";
import type { JsonRpcLimits } from "../jsonrpc/limits.js";
import type { Link } from "../jsonrpc/link.js";
import { LocalError } from "../jsonrpc/local-error.js";
import type { Revision } from "../protocol/revisions/revision.js";
import { RpcError } from "../jsonrpc/rpc-error.js";
import { type Attempt, codeOf, ConnectError, outcomeText } from "./connect-error.js";
import type { Dialer } from "./connect-options.js";
import { Conversation, type ConversationEvents } from "./conversation.js";
import { type Answered, discover, discoverProcess, Question, saysNothingElse, settles, silenceMs } from "./discover.js";
import type { Established, ServerFacts } from "./established.js";
import { handshake, type Opened } from "./handshake.js";
import { statusOf } from "./status-error.js";
import type { Verdict, VerdictStore } from "./verdicts.js";
import type { Versions } from "./versions.js";

export interface EstablishOptions {
  readonly identity: ClientIdentity;
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
    const conversation = await this.#dial(this.#linkOf(verdict));
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

  #linkOf({ fallback }: Verdict): Link {
    const older = fallback ? this.#dialer.fallback?.(this.#options.limits) : undefined;
    return older ?? this.#newLink();
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
    const conversation = await this.#dial(this.#newLink());
    const patient = conversation.link.kind === "http" || versions.newest("handshake") === undefined;
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
      return this.#modern(spent ? await this.#dial(this.#newLink()) : conversation, found.revision, found.facts);
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
      this.#attempts.push({ what: `initialize over ${this.#conversation?.link.kind}`, outcome: outcomeText(error) });
      await this.#hangUp();
      return await this.#overFallback(fallback(this.#options.limits), offered, error);
    }
  }

  // A server that answered in JSON-RPC has the newer transport: its own words say more than the lack of the older one.
  async #overFallback(link: Link, offered: readonly string[], before: unknown): Promise<Established> {
    try {
      return await this.#openSession(link, offered);
    } catch (error) {
      throw before instanceof RpcError ? before : error;
    }
  }

  async #openSession(link: Link | undefined, offered: readonly string[]): Promise<Established> {
    const standing = this.#conversation;
    const asked = link === undefined && standing !== undefined && !standing.ended;
    const conversation = asked ? standing : await this.#dial(link ?? this.#newLink());
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
    const { ended, link } = this.#conversation as Conversation;
    const spoilt = ended || error instanceof RpcError || codeOf(error) === "INVALID_RESPONSE";
    if (!spoilt || link.kind !== "stdio") throw error;
    this.#attempts.push({ what: "initialize over stdio", outcome: outcomeText(error) });
    return this.#initialize(await this.#dial(this.#newLink()), offered);
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

  #asked({ link }: Conversation, because: string): void {
    this.#attempts.push({ what: `server/discover over ${link.kind}`, outcome: because });
  }

  #newLink(): Link {
    return this.#dialer.link(this.#options.limits);
  }

  async #dial(link: Link): Promise<Conversation> {
    await this.#hangUp();
    const { versions, identity, events, limits } = this.#options;
    const [newest] = versions.allowed;
    const conversation = new Conversation(link, clientCodec(newest as Revision, identity), { events, limits });
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
    const fallback = conversation.link.kind === "sse";
    if (key !== undefined) await this.#options.verdicts?.set(key, { era, version, fallback, expiresAt });
  }

  #failure(error: unknown): ConnectError {
    const conversation = this.#conversation;
    const where = conversation === undefined ? "the server" : conversation.link.describe();
    const tried = this.#attempts.map(({ what, outcome }) => `${what}: ${outcome.replace(/\.$/, "")}`).join("; ");
    const before = tried === "" ? "" : ` Before that: ${tried}.`;
    const troubles = conversation?.link.troubles?.() ?? "";
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
