// Asks a server which era it speaks, and judges whatever comes of it.
import { clientCodec } from "../era/client-codecs.js";
import type { ClientIdentity } from "../era/client-codec.js";
import { LocalError } from "../jsonrpc/local-error.js";
import type { RequestId } from "../jsonrpc/message.js";
import { RpcError } from "../jsonrpc/rpc-error.js";
import { McpErrorCode } from "../protocol/error-codes.js";
import type { Revision } from "../protocol/revisions/revision.js";
import type { Conversation } from "./conversation.js";
import type { ServerFacts } from "./established.js";
import type { Opened } from "./handshake.js";
import { discoveredFacts, supportedVersions } from "./facts.js";
import { statusOf } from "./status-error.js";
import type { Versions } from "./versions.js";

/** What asking told. */
export type Discovery =
  | { readonly era: "stateless"; readonly revision: Revision; readonly facts: ServerFacts }
  /** `offered`: what the server says it speaks, where it says so. */
  | { readonly era: "handshake"; readonly because: string; readonly offered: readonly string[] };

export interface DiscoverOptions {
  readonly versions: Versions;
  readonly identity: ClientIdentity;
  /** Milliseconds until the question itself is given up. */
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
}

/** What a process told that was asked both ways, because it had said nothing for long. */
export type Answered =
  | Discovery
  /** It opened a session before it answered the question. */
  | { readonly era: "session"; readonly opened: Opened }
  /** It answered the question, though `initialize` is in its pipe: what it makes of both is its own affair. */
  | (Discovery & { readonly era: "stateless"; readonly spent: boolean });

export interface ProcessOptions extends DiscoverOptions {
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
export function silenceMs({ probeTimeoutMs, timeoutMs }: Pick<ProcessOptions, "probeTimeoutMs" | "timeoutMs">): number {
  return Math.min(SILENT_TIMES * probeTimeoutMs, timeoutMs / 2);
}

/**
 * Asks a process, whose silence may mean that it is starting, or that it answers nothing it does not know. Its start is waited
 * for; once it answers pings and not the question, or has said nothing for long, `open` asks it the old way as well. Rejects as
 * `discover` does, and with what `open` rejects with.
 */
export async function discoverProcess(
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
export class Question {
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

/** Whether a promise is settled within this time. */
export async function settles(promise: Promise<unknown>, withinMs: number): Promise<boolean> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<false>((resolve) => {
    timer = setTimeout(resolve, withinMs, false);
  });
  const settled = promise.then(
    () => true,
    () => true,
  );
  try {
    return await Promise.race([settled, late]);
  } finally {
    clearTimeout(timer);
  }
}

function ignore(): void {
  // What a promise nobody waits for comes to is of no interest.
}

/**
 * Rejects with INCOMPATIBLE when no revision is common, and with the link's error when that says nothing about the era
 * (401, 403, 5xx, refused, TIMEOUT).
 */
export async function discover(conversation: Conversation, options: DiscoverOptions): Promise<Discovery> {
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
  if (conversation.link.kind === "stdio" && conversation.ended) return legacy("it ended at the question");
  throw error;
}

/** Whether a status may come from a server that does not know the method; all others say nothing about the era. */
export function saysNothingElse(status: number): boolean {
  if (status < 400) return true;
  return status < 500 && ![401, 403, 407, 408, 425, 429].includes(status);
}

function legacy(because: string, offered: readonly string[] = []): Discovery {
  return { era: "handshake", because, offered };
}
