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
import { discover, type Discovery, saysNothingElse } from "./discover.js";
import type { Established, ServerFacts } from "./established.js";
import { handshake } from "./handshake.js";
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
      const established = (await this.#asRemembered(verdict)) ?? (await this.#probed());
      await this.#remember(established);
      return established;
    } catch (error) {
      await this.#conversation?.close();
      throw this.#failure(error);
    }
  }

  // An older verdict that no longer holds costs one attempt; a newer one is found out by the question itself.
  async #asRemembered(verdict: Verdict | undefined): Promise<Established | undefined> {
    if (verdict?.era !== "handshake") return undefined;
    try {
      return await this.#openSession(verdict.fallback ? this.#dialer.fallback?.() : undefined, [verdict.version]);
    } catch (error) {
      if (error instanceof LocalError && saysNothing(error)) throw error;
      await this.#hangUp();
      return undefined;
    }
  }

  async #probed(): Promise<Established> {
    const { versions } = this.#options;
    if (versions.newest("stateless") === undefined) return this.#sessionOrFallback([]);
    const conversation = await this.#dial(this.#dialer.link());
    const found = await this.#discovered(conversation);
    if (found.era === "stateless") return this.#modern(conversation, found.revision, found.facts);
    this.#attempts.push({ what: `server/discover over ${conversation.link.kind}`, outcome: found.because });
    if (versions.newest("handshake") === undefined) throw this.#notModern(found.because);
    return this.#sessionOrFallback(found.offered, found.late);
  }

  /** A process that does not answer in time may be an old one: it is asked the old way, and the answer still taken. */
  async #discovered(conversation: Conversation): Promise<Discovery & { late?: Promise<Discovery | undefined> }> {
    const { connectTimeoutMs, probeTimeoutMs, versions } = this.#options;
    const asked = discover(conversation, { ...this.#options, timeoutMs: connectTimeoutMs });
    const patient = conversation.link.kind === "http" || versions.newest("handshake") === undefined;
    if (patient) return asked;
    const late = asked.catch(() => undefined);
    let timer: ReturnType<typeof setTimeout> | undefined;
    const patience = new Promise<"silent">((resolve) => {
      timer = setTimeout(resolve, probeTimeoutMs, "silent");
    });
    try {
      const first = await Promise.race([asked, patience]);
      if (first !== "silent") return first;
      return { era: "handshake", because: `not answered within ${probeTimeoutMs} ms`, offered: [], late };
    } finally {
      clearTimeout(timer);
    }
  }

  async #sessionOrFallback(offered: readonly string[], late?: Promise<Discovery | undefined>): Promise<Established> {
    try {
      return await this.#openSession(undefined, offered);
    } catch (error) {
      const conversation = this.#conversation;
      const found = conversation === undefined || conversation.ended ? undefined : await atOnce(late);
      if (found?.era === "stateless") {
        return this.#modern(conversation as Conversation, found.revision, found.facts);
      }
      const status = statusOf(error);
      const { fallback } = this.#dialer;
      if (fallback === undefined || status === undefined || status < 400 || !saysNothingElse(status)) throw error;
      this.#attempts.push({ what: `initialize over ${conversation?.link.kind}`, outcome: outcomeText(error) });
      await this.#hangUp();
      return await this.#overFallback(fallback(), offered, error);
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
    let conversation = asked ? standing : await this.#dial(link ?? this.#dialer.link());
    try {
      return await this.#initialize(conversation, offered);
    } catch (error) {
      // A process may end at the question a little after it has answered it, or been taken for silent.
      if (!asked || !conversation.ended || conversation.link.kind !== "stdio") throw error;
      this.#attempts.push({ what: "initialize over stdio", outcome: outcomeText(error) });
      conversation = await this.#dial(this.#dialer.link());
      return this.#initialize(conversation, offered);
    }
  }

  async #initialize(conversation: Conversation, offered: readonly string[]): Promise<Established> {
    const { connectTimeoutMs: timeoutMs } = this.#options;
    const { revision, facts } = await handshake(conversation, { ...this.#options, timeoutMs, offered });
    return { ...facts, offered, conversation, revision };
  }

  #modern(conversation: Conversation, revision: Revision, facts: ServerFacts): Established {
    conversation.speak(clientCodec(revision, this.#options.identity));
    conversation.established();
    return { ...facts, conversation, revision };
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

/** What a promise is settled with already, or within a turn. */
async function atOnce<T>(promise: Promise<T> | undefined): Promise<T | undefined> {
  if (promise === undefined) return undefined;
  const turn = new Promise<undefined>((resolve) => {
    setTimeout(resolve, 0);
  });
  return Promise.race([promise, turn]);
}

/** Errors after which asking in another way would tell no more. */
function saysNothing(error: LocalError): boolean {
  const status = statusOf(error);
  if (status !== undefined) return !saysNothingElse(status);
  return error.code !== "INVALID_RESPONSE" && error.code !== "INCOMPATIBLE";
}
