// The connections to one upstream: never shared between principals, nor between callers that can be asked different things.
import type { Client } from "../client/client.js";
import type { Answers, ClientOptions, QuestionContext } from "../client/options.js";
import type { OwnRoots } from "../client/questions.js";
import { offAbort, onAbort, pause, startTimer } from "../jsonrpc/outgoing.js";
import type { Call } from "../endpoint/call.js";
import { ErrorCode, LocalError, RpcError } from "../jsonrpc/errors.js";
import type { ClientCapabilities, Implementation } from "../protocol/capabilities.js";
import type { Root } from "../protocol/features/elicitation.js";
import { levelIndex, LOGGING_LEVELS, type LoggingLevel } from "../protocol/features/lifecycle.js";
import { Session } from "../server/session.js";
import { abilitiesOf, AskingCalls, comesAlone, latestOf, NONE, partyOf, conversationOf } from "./offer.js";
import { type MountState, OWN_HOP, UpstreamBreaker } from "./told.js";

/** Opens a connection with these options added to one's own: they say what it can be asked, and who answers. */
export type OpenUpstream = (options: ClientOptions) => Promise<Client>;

/** Which calls share a connection: all of one principal (of nobody known: those of one session), those of one session, or none. */
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
  /** Aborted when a session is over. */
  over(session: Session): AbortSignal | undefined;
  /** Told the first time that a log message reached nobody, since nothing said whose it was. */
  onUnclaimed(): void;
}

/** Connections of one upstream: one for each user and set of abilities. The one longest unused makes room. */
const MOST_CONNECTIONS = 256;
/** Milliseconds that a connection which is given up may take to end what it had started. */
const CLOSE_PATIENCE_MS = 5_000;
/** Milliseconds a question waits to be known for one call's: most calls take less, and a server asks for longer. */
const HELD_MS = 30_000;

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
  /** Whether a log message is this call's, though it names none. */
  hears(level: LoggingLevel): boolean;
  /** `error`: how the call failed, if it did: what says that the connection is gone ends it for everybody. */
  release(error?: unknown): void;
}

export class Connections {
  readonly #options: ConnectionsOptions;
  readonly #open = new Map<string, Connection>();
  /** Sessions have no names of their own: their numbers tell their connections apart. */
  readonly #sessions = new WeakMap<object, number>();
  readonly #breaker = new UpstreamBreaker();
  #numbers = 0;
  /** Set once a question came of which nothing said which caller's it was: each has a connection of their own from then on. */
  #apart = false;
  /** Set once nothing said which call's it was: those without a session are alone on their connections from then on. */
  #alone = false;
  /** Whether it was said that a log message reached nobody. */
  #unclaimed = false;
  #closed = false;
  /** Those on their way out, whoever closed them: a program that ends before them would kill what it started. */
  readonly #closing = new Set<Promise<void>>();

  constructor(options: ConnectionsOptions) {
    this.#options = options;
  }

  /** Connections open, or being opened. */
  get size(): number {
    return this.#open.size;
  }

  /** How the server is, as far as its connections show it. */
  get state(): MountState {
    const { broken, failures, retryMs, cause, brief, code } = this.#breaker;
    const known = { failures, retryMs, cause, brief, code };
    if (broken && this.#open.size === 0) return { state: "broken", ...known };
    const open = [...this.#open.values()];
    if (open.length === 0) return { state: "stopped", ...known };
    if (!open.some(({ opened }) => opened)) return { state: "starting", ...known };
    return { state: failures > 0 ? "degraded" : "ready", ...known };
  }

  /** Closes what is open and forgets what failed: the next call connects anew. Calls under way end with CLOSED. Never rejects. */
  async restart(): Promise<void> {
    this.#breaker.succeeded();
    await this.#closeAll();
  }

  /** The connection for a call. Rejects with a LocalError: BROKEN while the server is left alone after failures. */
  lease(call: Call, answers: CallAnswers): Promise<Lease> {
    const capabilities = abilitiesOf(call);
    const written = capabilities === NONE ? "{}" : JSON.stringify(capabilities);
    const whose = this.#whose(call);
    const key = `${this.#sharer(call, whose)}\n${written}`;
    const free = capabilities !== NONE && comesAlone(call) ? this.#free(key) : key;
    return this.#lease(free, capabilities, { call, answers }, whose);
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
    await this.#closeAll();
  }

  async #closeAll(): Promise<void> {
    const open = [...this.#open.values()];
    this.#open.clear();
    for (const connection of open) void connection.close();
    await Promise.all(this.#closing);
  }

  #lease(key: string, capabilities: ClientCapabilities, user: User, whose?: Whose): Promise<Lease> {
    if (this.#closed) return Promise.reject(new LocalError("CLOSED", `${this.#options.name} is not mounted any more`));
    const known = this.#open.get(key);
    if (known !== undefined) {
      // The one used latest stands last.
      if (this.#open.size > 1) {
        this.#open.delete(key);
        this.#open.set(key, known);
      }
      return known.lease(user);
    }
    const refused = this.#breaker.refusal(this.#options.name);
    if (refused !== undefined) return Promise.reject(refused);
    return this.#connect(key, capabilities, user.call, whose).lease(user);
  }

  #connect(key: string, capabilities: ClientCapabilities, call: Call | undefined, whose: Whose): Connection {
    this.#makeRoom();
    const connection: Connection = new Connection(this.#options, capabilities, {
      ended: () => {
        over?.removeEventListener("abort", retire);
        if (this.#open.get(key) === connection) this.#open.delete(key);
      },
      closing: (gone) => {
        this.#closing.add(gone);
        void gone.finally(() => this.#closing.delete(gone));
      },
      answered: () => this.#breaker.succeeded(),
      failed: (error) => this.#breaker.failed(error),
      ambiguous: (several) => {
        this.#alone = true;
        if (several) this.#apart = true;
      },
      unclaimed: () => {
        if (!this.#unclaimed) this.#options.onUnclaimed();
        this.#unclaimed = true;
      },
    });
    // Nobody comes back to a session that is over, nor to a call.
    const over = whose instanceof Session ? this.#options.over(whose) : undefined;
    const retire = (): void => connection.retire();
    if (over?.aborted === true) retire();
    else over?.addEventListener("abort", retire, { once: true });
    connection.pipe = whose === call?.connection ? call?.carrier : undefined;
    connection.ofOneCall = call !== undefined && whose === call;
    connection.shared = call?.carrier.principal === undefined;
    this.#open.set(key, connection);
    connection.client.then(
      (client) => {
        this.#breaker.connected();
        if (connection.shared) this.#options.onOpened(client);
      },
      (error: unknown) => this.#breaker.failed(error),
    );
    return connection;
  }

  #makeRoom(): void {
    for (const connection of this.#open.values()) if (connection.pipe?.closed === true) connection.retire();
    for (const [key, connection] of this.#open) {
      if (this.#open.size < MOST_CONNECTIONS) return;
      if (connection.users > 0) continue;
      this.#open.delete(key);
      void connection.close();
    }
    if (this.#open.size < MOST_CONNECTIONS) return;
    const brief = `it has ${MOST_CONNECTIONS} connections in use already`;
    throw new LocalError("LIMIT", `${this.#options.name}: ${brief}`, { brief });
  }

  /** Whose calls alone a connection is for; undefined: those of a principal, or everybody's. */
  #whose(call: Call): Whose {
    const { sharing, upstream } = this.#options;
    if (typeof upstream !== "function") return undefined;
    if (sharing !== "user") return sharing === "call" ? call : conversationOf(call);
    // Callers whom nobody knows are not one user.
    return this.#apart || call.carrier.principal === undefined ? partyOf(call) : undefined;
  }

  #sharer(call: Call, whose: Whose): string {
    if (typeof this.#options.upstream !== "function") return "";
    const principal = call.carrier.principal ?? "";
    if (whose === undefined) return principal;
    if (typeof whose === "string") return `${principal}\nprogram ${whose}`;
    const number = this.#sessions.get(whose) ?? ++this.#numbers;
    this.#sessions.set(whose, number);
    return `${principal}\n${number}`;
  }

  /** Without a session a question goes with the answer of one call: none joins one that is asked, or any where that was not known once. */
  #free(key: string): string {
    let free = key;
    for (let number = 1; this.#open.get(free)?.isTaken(this.#alone) === true; number++) free = `${key}\n${number}`;
    return free;
  }
}

/** Who answers what a server asks within one call. */
export interface CallAnswers extends Answers {
  /** Who answers what it asks within one of these calls, of which this is one, where nothing says in which. */
  among(calls: AskingCalls): Answers;
}

/** One who uses a connection; without a call it is the gateway itself. */
interface User {
  readonly call?: Call;
  readonly answers?: CallAnswers;
}

/** A call that uses a connection. */
type CallingUser = Required<User>;

/** Whose calls alone a connection is for. */
type Whose = object | string | undefined;

/** What a connection tells of itself. */
interface ConnectionEvents {
  /** It is not to be used any more. */
  ended(): void;
  /** It is closed, and `gone` once nothing of it is left. */
  closing(gone: Promise<void>): void;
  /** The first time that it has answered a call. */
  answered(): void;
  /** It ended before it had answered anything. */
  failed(error: unknown): void;
  /** A question came of which nothing says whose it is: which of `several` callers', or which call's of one. */
  ambiguous(several: boolean): void;
  /** The same of a log message. */
  unclaimed(): void;
}

/** Refusals of HTTP by which a server says that it does not understand, as one does that was deployed anew in another era. */
const NOT_UNDERSTOOD: ReadonlySet<unknown> = new Set([400, 404, 405]);

function mayBeAnother(error: unknown): boolean {
  return error instanceof Error && "status" in error && NOT_UNDERSTOOD.has(error.status);
}

/** Whether a server says that this is not how it is spoken to any more: in another session, revision, or with other headers. */
function isAnother(error: unknown): boolean {
  if (error instanceof LocalError) return error.code === "SESSION_EXPIRED";
  return error instanceof RpcError && OWN_HOP.has(error.code);
}

/** More than one have called. */
const SEVERAL: object = {};

class ConnectionLease implements Lease {
  readonly client: Client;
  readonly #connection: Connection;
  readonly #user: User;

  constructor(client: Client, connection: Connection, user: User) {
    this.client = client;
    this.#connection = connection;
    this.#user = user;
  }

  hears(level: LoggingLevel): boolean {
    return this.#connection.hears(this.#user, level);
  }

  release(error?: unknown): void {
    this.#connection.released(this.#user, error);
  }
}

/** One connection and the calls on it. */
class Connection {
  readonly client: Promise<Client>;
  readonly capabilities: ClientCapabilities;
  /** Belongs to no principal. */
  shared = false;
  /** Made for one call: closed with it. */
  ofOneCall = false;
  /** What its calls come over, where they are those of one pipe. */
  pipe: Call["carrier"] | undefined;
  /** Whether it is there to be used. */
  opened = false;
  readonly #options: ConnectionsOptions;
  /** Aborted when it is closed: what is still being connected to is not waited for. */
  readonly #givenUp = new AbortController();
  readonly #users = new Set<User>();
  /** Whose calls it has had. */
  #owner: object | string | undefined;
  readonly #tell: ConnectionEvents;
  /** Whether it has answered anything: one that ends before that has failed. */
  #answered = false;
  /** Whether a call has gone well on it: a server that refuses everything is not connected to for each refusal. */
  #succeeded = false;
  #retired = false;
  /** Whether it has ended, or never began. */
  #isOver = false;
  #roots: readonly Root[] = [];
  #idle: ReturnType<typeof setTimeout> | undefined;
  #level = Number.POSITIVE_INFINITY;
  /** The latest call without a session that something was asked of: it is asked until it is over. */
  #asked: User | undefined;
  /** Of questions that may be of several calls and are not answered yet. */
  readonly #among = new Set<AskingCalls>();
  /** Calls that are listened to: once each, however much is asked while they go on. */
  readonly #listenedTo = new WeakSet<Call>();
  /** Questions that wait until it is known whose they are: each told once, with the refusal if it is none's. */
  #held: ((refusal: Error | undefined) => void)[] = [];

  constructor(options: ConnectionsOptions, capabilities: ClientCapabilities, tell: ConnectionEvents) {
    this.#options = options;
    this.capabilities = capabilities;
    this.#tell = tell;
    const { upstream } = options;
    this.client =
      typeof upstream === "function"
        ? connected(options.name, upstream, this.#clientOptions(capabilities))
        : Promise.resolve(upstream);
    this.client.then(
      ({ closed }) => {
        this.opened = true;
        void closed.then(() => this.#end());
      },
      () => this.#end(),
    );
  }

  get users(): number {
    return this.#users.size;
  }

  /** Whether what is asked could not be told from what is asked of a further call: of any where calls are to be `alone`. */
  isTaken(alone: boolean): boolean {
    if (alone) return this.#calls.length > 0;
    return this.#held.length > 0 || (this.#asked !== undefined && this.#users.has(this.#asked));
  }

  get #calls(): readonly Call[] {
    return [...this.#users].flatMap(({ call }) => (call === undefined ? [] : [call]));
  }

  async lease(user: User): Promise<Lease> {
    clearTimeout(this.#idle);
    this.#users.add(user);
    if (user.call !== undefined) {
      const party = partyOf(user.call);
      this.#owner = this.#owner === undefined || this.#owner === party ? party : SEVERAL;
    }
    try {
      const client = await this.client;
      if (user.call !== undefined && user.call.caller.logLevel < this.#level) await this.#setLevel(client, user.call);
      return new ConnectionLease(client, this, user);
    } catch (error) {
      this.#release(user);
      throw error;
    }
  }

  /** Never rejects. */
  close(): Promise<void> {
    const gone = this.#close();
    this.#tell.closing(gone);
    return gone;
  }

  async #close(): Promise<void> {
    this.#isOver = true;
    clearTimeout(this.#idle);
    if (typeof this.#options.upstream !== "function") return;
    this.#givenUp.abort();
    const over = new AbortController();
    const client = await Promise.race([this.client.catch(() => undefined), pause(CLOSE_PATIENCE_MS, over.signal)]);
    over.abort();
    await client?.close();
  }

  released(user: User, error: unknown): void {
    this.#release(user, error instanceof LocalError);
    const gone = error instanceof LocalError && GONE.has(error.code);
    if (!gone && !(error instanceof LocalError) && !this.#answered) {
      this.#answered = true;
      this.#tell.answered();
    }
    const another = isAnother(error);
    if (another && !this.#answered && !this.#retired) this.#tell.failed(error);
    if (!gone && (another || (this.#succeeded && mayBeAnother(error)))) return this.retire();
    if (error === undefined) this.#succeeded = true;
    if (!gone) return;
    if (!this.#answered) this.#tell.failed(error);
    // Its client may take a while to be rid of all that it started: the next call need not wait for that.
    this.#tell.ended();
    void this.close();
  }

  /** No call comes here any more, and nothing is kept until it would have been idle for long enough. */
  #end(): void {
    this.#isOver = true;
    clearTimeout(this.#idle);
    this.#tell.ended();
  }

  /** The next call opens another, and finds out anew what the server speaks; those under way end on this one. */
  retire(): void {
    this.#retired = true;
    this.#tell.ended();
    if (this.#users.size === 0) void this.close();
  }

  /** `unanswered`: its call was left, and may be asking still. */
  #release(user: User, unanswered = false): void {
    this.#users.delete(user);
    if (user.call !== undefined && this.#among.size > 0) this.#left(user.call);
    if (this.#held.length > 0) this.#sortHeld(unanswered);
    if (this.#users.size > 0 || this.#isOver) return;
    if (this.#retired) return void this.close();
    const wait = this.ofOneCall ? 0 : this.#options.idleMs;
    if (wait === undefined) return;
    this.#idle = startTimer(() => {
      this.#tell.ended();
      void this.close();
    }, wait);
    // What only waits to be closed must not keep a process alive; where timers are numbers there is no process.
    (this.#idle as { unref?(): void }).unref?.();
  }

  /**
   * Whether a log message that names no call is this one's: where all calls under way are of one caller, the first of them that wants it
   * has it. Of several callers nobody has it, nor of several calls that have no session, where it would stand in the answer of one.
   */
  hears(user: User, level: LoggingLevel): boolean {
    const calls = this.#calls;
    const parties = new Set(calls.map(partyOf));
    const everybodys = typeof this.#options.upstream !== "function" && this.#owner === SEVERAL;
    if (everybodys || parties.size > 1 || (calls.length > 1 && calls.some((call) => conversationOf(call) === call))) {
      this.#tell.unclaimed();
      return false;
    }
    return calls.find(({ caller }) => caller.logLevel <= levelIndex(level)) === user.call;
  }

  /** A session has one level: the lowest anybody on it asked for. Who asked for less is sent less. */
  async #setLevel(client: Client, { caller: { logLevel: wanted } }: Call): Promise<void> {
    if (client.era === "stateless" || client.capabilities.logging === undefined) return;
    this.#level = wanted;
    // A server that declares logging and sets no level sends what it likes.
    await client.setLogLevel(LOGGING_LEVELS[wanted] as LoggingLevel).catch(() => undefined);
  }

  #clientOptions(capabilities: ClientCapabilities): ClientOptions {
    const { elicitation, sampling, roots } = capabilities;
    return {
      clientInfo: this.#options.identity,
      signal: this.#givenUp.signal,
      capabilities,
      validateOutput: "off",
      cache: false,
      ...(elicitation === undefined
        ? {}
        : {
            elicit: (request, context) =>
              this.#asking(context, (from) => from?.elicit?.(request, context) ?? { action: "cancel" as const }),
          }),
      ...(sampling === undefined
        ? {}
        : { sample: (request, context) => this.#asking(context, (from) => from?.sample?.(request, context)) }),
      ...(roots === undefined ? {} : { roots: (about?: QuestionContext) => this.#askRoots(about) }),
    };
  }

  async #askRoots(about: QuestionContext | undefined): Promise<readonly Root[]> {
    const roots = await this.#asking(about, (from) => (from?.roots as OwnRoots | undefined)?.(about));
    if (roots !== undefined) this.#roots = roots;
    return this.#roots;
  }

  /**
   * Has a question that names no call answered by whoever alone has ever called here. A server may ask for a call that is over, so that
   * one call under way proves nothing: else nobody answers, and from now on everybody has a connection of their own, so that the next
   * such question has an owner. Without a session it would go with the answer of one call: of several it waits for one to be left.
   */
  #asking<T>(about: QuestionContext | undefined, ask: (from: Answers | undefined) => T): T | Promise<Awaited<T>> {
    if (this.#owner === SEVERAL) throw this.#ambiguous();
    const calling = [...this.#users].filter((user): user is CallingUser => user.call !== undefined);
    if (!calling.some(({ call }) => comesAlone(call))) return this.#askAmong(calling, ask);
    if (calling.length > 1)
      return this.#known(about?.signal).then(() => this.#asking(about, ask)) as Promise<Awaited<T>>;
    [this.#asked] = calling;
    return ask(this.#asked?.answers);
  }

  #ambiguous(): RpcError {
    this.#tell.ambiguous(this.#owner === SEVERAL);
    return new RpcError(ErrorCode.InternalError, NOT_PASSED_ON);
  }

  #askAmong<T>(calling: readonly CallingUser[], ask: (from: Answers | undefined) => T): T | Promise<Awaited<T>> {
    const going = calling.filter(({ call }) => call.cancellation === undefined);
    const asked = latestOf(going, ({ call }) => call);
    if (asked === undefined || going.length === 1) return ask(asked?.answers);
    const among = new AskingCalls(going.map(({ call }) => call));
    this.#among.add(among);
    for (const { call } of going) this.#listenTo(call);
    const answer = new Promise<T>((resolve) => resolve(ask(asked.answers.among(among))));
    return answer.finally(() => {
      this.#among.delete(among);
      among.end("the server that asked has its answer");
    }) as Promise<Awaited<T>>;
  }

  #listenTo(call: Call): void {
    if (this.#listenedTo.has(call)) return;
    this.#listenedTo.add(call);
    call.whenCancelled(this);
  }

  /** One of the calls was cancelled. */
  handleEvent(): void {
    for (const call of this.#calls) if (call.cancellation !== undefined) this.#left(call);
  }

  #left(call: Call): void {
    for (const among of this.#among) if (among.over(call)) this.#among.delete(among);
  }

  /** Resolves when a question must be of the only call that is left. */
  #known(signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      const settle = (refusal: Error | undefined): void => {
        clearTimeout(timer);
        if (signal) offAbort(signal, gone);
        this.#held = this.#held.filter((each) => each !== settle);
        if (refusal === undefined) resolve();
        else reject(refusal);
      };
      const gone = (): void => settle(new LocalError("CANCELLED", "The server took its question back"));
      const timer = setTimeout(() => settle(this.#ambiguous()), HELD_MS);
      if (signal) onAbort(signal, gone);
      this.#held.push(settle);
      this.#sortHeld(false);
    });
  }

  /**
   * What was held is for the only call that is left, but where one was left `unanswered`: it may be of that. Where every call may wait
   * for an answer none would end: the latest question gets none.
   */
  #sortHeld(unanswered: boolean): void {
    const { length } = this.#calls;
    if (length <= 1 && !unanswered) for (const settle of this.#held) settle(undefined);
    const most = unanswered ? 0 : length - 1;
    for (const settle of this.#held.slice(Math.max(most, 0))) settle(this.#ambiguous());
  }
}

/** What the function of a mount made. Rejects with INVALID_TARGET where that is no client. */
async function connected(name: string, upstream: OpenUpstream, options: ClientOptions): Promise<Client> {
  const made: unknown = await upstream(options);
  const { call, tool } = Object(made) as { readonly call?: unknown; readonly tool?: unknown };
  if (typeof call === "function") return made as Client;
  const gave = typeof tool === "function" ? "a server" : made === undefined ? "nothing" : typeof made;
  const what = `The function that was mounted as ${name} has to return a client, and returned ${gave}`;
  const text = `${what}: write (options) => connect(target, options), with no braces, or with return in them`;
  throw new LocalError("INVALID_TARGET", text, { brief: "it is mounted by a function that gives no client" });
}

const NOT_PASSED_ON =
  "Several calls came here, and nothing says which of them asks: the question was not passed on. Make the call again: from now on it has a connection of its own";
