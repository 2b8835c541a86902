// The connections to one upstream: never shared between principals, nor between callers that can be asked different things.
import type { Client } from "../client/client.js";
import type { Answers, ClientOptions } from "../client/options.js";
import type { Call } from "../endpoint/call.js";
import { ErrorCode, LocalError, RpcError } from "../jsonrpc/errors.js";
import { restartDelay } from "../jsonrpc/restart-delay.js";
import type { ClientCapabilities, Implementation } from "../protocol/capabilities.js";
import type { Root } from "../protocol/features/input-required.js";
import { LOGGING_LEVELS, type LoggingLevel } from "../protocol/features/logging.js";
import { Session } from "../server/session.js";

/** Opens a connection with these options added to one's own: they say what it can be asked, and who answers. */
export type OpenUpstream = (options: ClientOptions) => Promise<Client>;

/** Which calls share a connection: all of one principal, those of one session, or none. */
export type Sharing = "user" | "session" | "call";

export interface ConnectionsOptions {
  readonly name: string;
  /** A client that is there already is used by everybody, and can be asked what its owner declared. */
  readonly upstream: OpenUpstream | Client;
  readonly identity: Implementation;
  readonly sharing: Sharing;
  /** Milliseconds after which a connection nobody uses is closed; undefined: never. */
  readonly idleMs: number | undefined;
  /** Told of each connection that belongs to no principal: it may speak of changes. */
  onOpened(client: Client): void;
}

/** Connections of one upstream: one for each user and set of abilities. The one longest unused makes room. */
const MOST_CONNECTIONS = 256;
/** Calls that wait for their turn at a server whose questions name no call. */
const MOST_WAITING = 256;
/** Failures in a row after which a server is left alone for a while. */
const FAILURES = 3;
const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 60_000;

/** Errors after which nothing more can be sent. */
const GONE: ReadonlySet<string> = new Set(["EXITED", "CLOSED"]);

/** Everything a caller could be asked: what the lists are read with, so that they depend on nobody. */
export const EVERYTHING: ClientCapabilities = {
  elicitation: { form: {}, url: {} },
  sampling: { tools: {}, context: {} },
  roots: {},
};

/**
 * Options for reading the lists of a server as the gateway reads them: everything is declared, and whatever is asked is declined. A
 * server may list other things to a client that can be asked less.
 */
export const EVERYTHING_ASKABLE: Pick<ClientOptions, "capabilities" | "elicit" | "sample" | "roots"> = {
  capabilities: EVERYTHING,
  elicit: () => ({ action: "cancel" }),
  sample: () => undefined,
  roots: [],
};

/** A connection in use by one call; give it back by `release`. */
export interface Lease {
  readonly client: Client;
  /** `error`: how the call failed, if it did: what says that the connection is gone ends it for everybody. */
  release(error?: unknown): void;
}

export class Connections {
  readonly #options: ConnectionsOptions;
  readonly #open = new Map<string, Connection>();
  /** Sessions have no names of their own: their numbers tell their connections apart. */
  readonly #sessions = new WeakMap<object, number>();
  #numbers = 0;
  #failures = 0;
  #restAgainAt = 0;
  #lastFailure: unknown;
  #probing = false;
  #closed = false;

  constructor(options: ConnectionsOptions) {
    this.#options = options;
  }

  /** Connections open, or being opened. */
  get size(): number {
    return this.#open.size;
  }

  /** The connection for a call. Rejects with a LocalError: BROKEN while the server is left alone after failures. */
  lease(call: Call, answers: Answers): Promise<Lease> {
    const capabilities = abilitiesOf(call);
    return this.#lease(`${this.#sharer(call)}\n${JSON.stringify(capabilities)}`, capabilities, { call, answers });
  }

  /**
   * A connection for lists, and for what is watched: the latest that callers without a principal use, since a process may know of
   * nothing but its own changes; else one of its own.
   */
  leaseOwn(): Promise<Lease> {
    const latest = [...this.#open].findLast(([, { shared }]) => shared);
    const [key, { capabilities }] = latest ?? ["", { capabilities: EVERYTHING }];
    return this.#lease(key, capabilities, {});
  }

  /** Closes all of them; calls under way end with CLOSED. Never rejects. */
  async close(): Promise<void> {
    this.#closed = true;
    const open = [...this.#open.values()];
    this.#open.clear();
    await Promise.all(open.map((connection) => connection.close()));
  }

  #lease(key: string, capabilities: ClientCapabilities, user: User): Promise<Lease> {
    if (this.#closed) return Promise.reject(new LocalError("CLOSED", `${this.#options.name} is not mounted any more`));
    const known = this.#open.get(key);
    if (known !== undefined) {
      this.#open.delete(key);
      this.#open.set(key, known);
      return known.lease(user);
    }
    const broken = this.#broken();
    if (broken !== undefined) return Promise.reject(broken);
    return this.#connect(key, capabilities, user).lease(user);
  }

  #connect(key: string, capabilities: ClientCapabilities, { call }: User): Connection {
    this.#makeRoom();
    const connection = new Connection(this.#options, capabilities, () => {
      if (this.#open.get(key) === connection) this.#open.delete(key);
    });
    connection.shared = call?.carrier.principal === undefined;
    this.#open.set(key, connection);
    connection.client.then(
      (client) => {
        this.#failures = 0;
        this.#probing = false;
        if (connection.shared) this.#options.onOpened(client);
      },
      (error: unknown) => this.#failed(error),
    );
    return connection;
  }

  #failed(error: unknown): void {
    this.#probing = false;
    this.#lastFailure = error;
    this.#failures++;
    if (this.#failures < FAILURES) return;
    const times = { firstMs: FIRST_PAUSE_MS, mostMs: LONGEST_PAUSE_MS };
    this.#restAgainAt = performance.now() + restartDelay(this.#failures - FAILURES + 1, times);
  }

  /** After a rest one call is let through to see; until it knows, the others are refused. */
  #broken(): LocalError | undefined {
    if (this.#failures < FAILURES) return undefined;
    const left = this.#restAgainAt - performance.now();
    if (left <= 0 && !this.#probing) {
      this.#probing = true;
      return undefined;
    }
    const { name } = this.#options;
    const cause = this.#lastFailure instanceof Error ? this.#lastFailure.message : String(this.#lastFailure);
    const when = `It is tried again in ${Math.max(1, Math.ceil(left / 1_000))} s`;
    const text = `${name} could not be reached ${this.#failures} times in a row: ${cause} ${when}.`;
    return new LocalError("BROKEN", text, { cause: this.#lastFailure });
  }

  #makeRoom(): void {
    for (const [key, connection] of this.#open) {
      if (this.#open.size < MOST_CONNECTIONS) return;
      if (connection.users > 0) continue;
      this.#open.delete(key);
      void connection.close();
    }
    if (this.#open.size < MOST_CONNECTIONS) return;
    throw new LocalError("LIMIT", `${this.#options.name} has ${MOST_CONNECTIONS} connections in use already`);
  }

  #sharer(call: Call): string {
    const { sharing, upstream } = this.#options;
    if (typeof upstream !== "function") return "";
    const principal = call.carrier.principal ?? "";
    if (sharing === "user") return principal;
    const whose = sharing === "session" ? sessionOf(call) : call;
    const number = this.#sessions.get(whose) ?? ++this.#numbers;
    this.#sessions.set(whose, number);
    return `${principal}\n${number}`;
  }
}

/** What one caller can be asked, which is all that may be declared in its name. */
function abilitiesOf({ caller, carrier }: Call): ClientCapabilities {
  const { revision } = caller.codec;
  // Where only the answer is read, questions of a session would reach nobody.
  if (revision.era === "handshake" && carrier.unheard === true) return {};
  const { elicitation, sampling, roots } = caller.capabilities;
  const can = (method: string): boolean => revision.serverRequests.has(method);
  const abilities: ClientCapabilities = {};
  if (elicitation !== undefined && can("elicitation/create")) {
    const url = revision.elicitation.url && elicitation.url !== undefined;
    const form = elicitation.form !== undefined || elicitation.url === undefined;
    if (form || url) abilities.elicitation = { ...(form ? { form: {} } : {}), ...(url ? { url: {} } : {}) };
  }
  if (sampling !== undefined && can("sampling/createMessage")) {
    const { tools, context } = sampling;
    abilities.sampling = {
      ...(tools === undefined ? {} : { tools: {} }),
      ...(context === undefined ? {} : { context: {} }),
    };
  }
  if (roots !== undefined && can("roots/list")) abilities.roots = {};
  return abilities;
}

/** Whose call it is: without sessions every call stands alone. */
function sessionOf(call: Call): object {
  return call.caller instanceof Session ? call.caller : call;
}

/** One who uses a connection; without a call it is the gateway itself. */
interface User {
  readonly call?: Call;
  readonly answers?: Answers;
}

/** One connection and the calls on it. */
class Connection {
  readonly client: Promise<Client>;
  readonly capabilities: ClientCapabilities;
  /** Belongs to no principal. */
  shared = false;
  readonly #options: ConnectionsOptions;
  readonly #users = new Set<User>();
  readonly #waiting: { readonly user: User; readonly go: () => void }[] = [];
  readonly #onEnd: () => void;
  #roots: readonly Root[] = [];
  /** Set once a question came of which nothing said whose it was: from then on one session's calls go at a time. */
  #inTurn = false;
  #idle: ReturnType<typeof setTimeout> | undefined;
  #level = Number.POSITIVE_INFINITY;

  constructor(options: ConnectionsOptions, capabilities: ClientCapabilities, onEnd: () => void) {
    this.#options = options;
    this.capabilities = capabilities;
    this.#onEnd = onEnd;
    const { upstream } = options;
    this.client =
      typeof upstream === "function" ? upstream(this.#clientOptions(capabilities)) : Promise.resolve(upstream);
    this.client.then(
      ({ closed }) => void closed.then(onEnd),
      () => onEnd(),
    );
  }

  get users(): number {
    return this.#users.size;
  }

  async lease(user: User): Promise<Lease> {
    clearTimeout(this.#idle);
    if (this.#mustWait(user)) await this.#turn(user);
    else this.#users.add(user);
    try {
      const client = await this.client;
      await this.#setLevel(client, user);
      return { client, release: (error) => this.#released(user, error) };
    } catch (error) {
      this.#release(user);
      throw error;
    }
  }

  async close(): Promise<void> {
    clearTimeout(this.#idle);
    if (typeof this.#options.upstream !== "function") return;
    const client = await this.client.catch(() => undefined);
    await client?.close();
  }

  #released(user: User, error: unknown): void {
    this.#release(user);
    if (!(error instanceof LocalError) || !GONE.has(error.code)) return;
    // Its client may take a while to be rid of all that it started: the next call need not wait for that.
    this.#onEnd();
    void this.close();
  }

  #release(user: User): void {
    this.#users.delete(user);
    while (this.#waiting.length > 0 && !this.#mustWait((this.#waiting[0] as { user: User }).user)) {
      const next = this.#waiting.shift() as { user: User; go: () => void };
      this.#users.add(next.user);
      next.go();
    }
    if (this.#users.size > 0) return;
    const { idleMs, sharing } = this.#options;
    const wait = sharing === "call" && user.call !== undefined ? 0 : idleMs;
    if (wait === undefined) return;
    this.#idle = setTimeout(() => {
      this.#onEnd();
      void this.close();
    }, wait);
    // What only waits to be closed must not keep a process alive; where timers are numbers there is no process.
    (this.#idle as { unref?(): void }).unref?.();
  }

  #mustWait({ call }: User): boolean {
    if (!this.#inTurn || call === undefined) return false;
    for (const { call: other } of this.#users) {
      if (other !== undefined && sessionOf(other) !== sessionOf(call)) return true;
    }
    return false;
  }

  #turn(user: User): Promise<void> {
    if (this.#waiting.length >= MOST_WAITING) {
      const text = `${MOST_WAITING} calls wait already: the server's questions name no call, so that one session is served at a time`;
      return Promise.reject(new LocalError("LIMIT", text));
    }
    return new Promise((resolve) => this.#waiting.push({ user, go: resolve }));
  }

  /** A session has one level: the lowest anybody on it asked for. Who asked for less is sent less. */
  async #setLevel(client: Client, { call }: User): Promise<void> {
    const wanted = call?.caller.logLevel ?? Number.POSITIVE_INFINITY;
    if (wanted >= this.#level || client.era === "stateless" || client.capabilities.logging === undefined) return;
    this.#level = wanted;
    // A server that declares logging and sets no level sends what it likes.
    await client.setLogLevel(LOGGING_LEVELS[wanted] as LoggingLevel).catch(() => undefined);
  }

  #clientOptions(capabilities: ClientCapabilities): ClientOptions {
    const { elicitation, sampling, roots } = capabilities;
    return {
      clientInfo: this.#options.identity,
      capabilities,
      validateOutput: "off",
      cache: false,
      ...(elicitation === undefined
        ? {}
        : {
            elicit: (request, context) => this.#asker()?.elicit?.(request, context) ?? { action: "cancel" as const },
          }),
      ...(sampling === undefined ? {} : { sample: (request, context) => this.#asker()?.sample?.(request, context) }),
      ...(roots === undefined ? {} : { roots: () => this.#askRoots() }),
    };
  }

  async #askRoots(): Promise<readonly Root[]> {
    const source = this.#asker()?.roots;
    if (typeof source === "function") this.#roots = await source();
    return this.#roots;
  }

  /**
   * Who answers a question that names no call: the oldest call, if all calls are of one session. Else nobody does, and from now
   * on one session is served at a time, so that the next such question has an owner.
   */
  #asker(): Answers | undefined {
    let oldest: User | undefined;
    for (const user of this.#users) {
      if (user.call === undefined) continue;
      oldest ??= user;
      if (sessionOf(oldest.call as Call) === sessionOf(user.call)) continue;
      this.#inTurn = true;
      throw new RpcError(
        ErrorCode.InternalError,
        "Calls of several sessions are under way, and nothing says which of them asks: the question was not passed on",
      );
    }
    return oldest?.answers;
  }
}
