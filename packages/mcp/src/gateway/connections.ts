// The connections to one upstream: never shared between principals, nor between callers that can be asked different things.
import type { Client } from "../client/client.js";
import type { Answers, ClientOptions, QuestionContext } from "../client/options.js";
import { pause, startTimer } from "../jsonrpc/outgoing.js";
import type { Call } from "../endpoint/call.js";
import { LocalError, type RpcError } from "../jsonrpc/errors.js";
import type { ClientCapabilities, Implementation } from "../protocol/capabilities.js";
import type { Root } from "../protocol/features/elicitation.js";
import { levelIndex, LOGGING_LEVELS, type LoggingLevel } from "../protocol/features/lifecycle.js";
import { type LiveSession, Session } from "../server/session.js";
import {
  type MayAsk,
  abilitiesOf,
  AskingCalls,
  comesAlone,
  conversationOf,
  EVERYTHING,
  HeldQuestions,
} from "./offer.js";
import { latestOf, NONE, notPassedOn, partyOf, sameOf, ToldRoots, whileUnderWay } from "./offer.js";
import type { CallAnswers, CallingUser, Lease, User } from "./offer.js";
import { isAnother, mayBeAnother, type MountState, UpstreamBreaker } from "./told.js";

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
  readonly asks: MayAsk;
  /** Milliseconds after which a connection nobody uses is closed; undefined: never. */
  readonly idleMs: number | undefined;
  /** Told of each connection that belongs to no principal: it may speak of changes. */
  onOpened(client: Client): void;
  live(session: Session): LiveSession | undefined;
  /** Whether somebody judges what is asked of a caller, which takes a call: then nothing is told outside of one. */
  readonly judged: boolean;
  /** Told the first time that a log message reached nobody, since nothing said whose it was. */
  onUnclaimed(): void;
}

/** Connections of one upstream: one for each user and set of abilities. The one longest unused makes room. */
const MOST_CONNECTIONS = 256;
/** Milliseconds that a connection which is given up may take to end what it had started. */
const CLOSE_PATIENCE_MS = 5_000;

/** Errors after which nothing more can be sent. */
const GONE: ReadonlySet<string> = new Set(["EXITED", "CLOSED"]);

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
    if (open.every(({ opened }) => opened === undefined)) return { state: "starting", ...known };
    return { state: failures > 0 ? "degraded" : "ready", ...known };
  }

  /** Closes what is open and forgets what failed: the next call connects anew. Calls under way end with CLOSED. Never rejects. */
  async restart(): Promise<void> {
    this.#breaker.succeeded();
    await this.#closeAll();
  }

  /** The connection for a call. Rejects with a LocalError: BROKEN while the server is left alone after failures. */
  lease(call: Call, answers: CallAnswers): Promise<Lease> {
    const capabilities = abilitiesOf(call, this.#options.asks);
    const written = capabilities === NONE ? "{}" : JSON.stringify(capabilities);
    const whose = this.#whose(call, capabilities);
    const key = `${this.#sharer(call, whose)}\n${written}`;
    const free = capabilities !== NONE && comesAlone(call) ? this.#free(key, call) : key;
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
        unheard?.();
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
    const caller = whose === undefined ? undefined : call?.caller;
    const session = caller instanceof Session ? this.#options.live(caller) : undefined;
    const unheard = capabilities.roots && session?.onRootsChanged(() => connection.rootsChanged());
    connection.session = session;
    // Nobody comes back to a session that is over, nor to a call.
    const over = session?.signal;
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
  #whose(call: Call, { roots }: ClientCapabilities): Whose {
    const { sharing, upstream } = this.#options;
    if (typeof upstream !== "function") return undefined;
    if (sharing !== "user") return sharing === "call" ? call : conversationOf(call);
    // Callers whom nobody knows are not one user. A session keeps its client's roots, and a user has several clients.
    const isOwn = this.#apart || call.carrier.principal === undefined || roots !== undefined;
    return isOwn ? partyOf(call) : undefined;
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
  #free(key: string, call: Call): string {
    let free = key;
    for (let number = 1; this.#open.get(free)?.isTaken(call, this.#alone) === true; number++)
      free = `${key}\n${number}`;
    return free;
  }
}

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

  roots(about?: QuestionContext): Promise<readonly Root[]> {
    return this.#connection.rootsOf(this.#user as CallingUser, about);
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
  /** Whose calls it has, where those are of one session. */
  session: LiveSession | undefined;
  /** What its calls come over, where they are those of one pipe. */
  pipe: Call["carrier"] | undefined;
  /** Its client, once it is there to be used. */
  opened: Client | undefined;
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
  readonly #roots: ToldRoots;
  #idle: ReturnType<typeof setTimeout> | undefined;
  #level = Number.POSITIVE_INFINITY;
  /** The latest call without a session that something was asked of: it is asked until it is over. */
  #asked: User | undefined;
  /** Of questions that may be of several calls and are not answered yet. */
  readonly #among = new Set<AskingCalls>();
  /** Calls that are listened to: once each, however much is asked while they go on. */
  readonly #listenedTo = new WeakSet<Call>();
  /** Questions that wait until it is known whose they are: each told once, with the refusal if it is none's. */
  readonly #held = new HeldQuestions(() => this.#ambiguous());

  constructor(options: ConnectionsOptions, capabilities: ClientCapabilities, tell: ConnectionEvents) {
    this.#options = options;
    this.#roots = new ToldRoots(options.judged);
    this.capabilities = capabilities;
    this.#tell = tell;
    const { upstream } = options;
    this.client =
      typeof upstream === "function" ? upstream(this.#clientOptions(capabilities)) : Promise.resolve(upstream);
    this.client.then(
      (client) => {
        this.opened = client;
        void client.closed.then(() => this.#end());
      },
      () => this.#end(),
    );
  }

  get users(): number {
    return this.#users.size;
  }

  /** Whether what is asked could not be told from what is asked of a further call: of any where calls are to be `alone`. */
  isTaken(call: Call, alone: boolean): boolean {
    if (alone) return this.#calls.length > 0;
    // It may have the roots of another caller until that one's call is over: nothing proves that two calls are of one.
    const isKept = this.#keepsRoots && this.#calling.some(({ answers }) => answers.toldRoots);
    if (isKept && conversationOf(call) === call) return true;
    return this.#held.any || (this.#asked !== undefined && this.#users.has(this.#asked));
  }

  /** Whether the server may keep the roots that it is told: until it has said what it speaks, any may. */
  get #keepsRoots(): boolean {
    return this.capabilities.roots !== undefined && this.opened?.era !== "stateless";
  }

  get #calling(): readonly CallingUser[] {
    return [...this.#users].filter((user): user is CallingUser => user.call !== undefined);
  }

  get #going(): readonly CallingUser[] {
    return this.#calling.filter(({ call }) => call.cancellation === undefined);
  }

  get #calls(): readonly Call[] {
    return this.#calling.map(({ call }) => call);
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
      if (this.#keepsRoots) await this.#roots.tell(client);
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
    // A session says when its roots change. What comes alone never does, and the next may be another client's.
    if (user.answers?.toldRoots === true && comesAlone(user.call as Call)) this.#roots.outdated = true;
    if (user.call !== undefined && this.#among.size > 0) this.#left(user.call);
    this.#held.sort(this.#calls.length, unanswered);
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

  /** Of a question that names no call. They are a client's: where the call that is asked is over before, another is. */
  async #askRoots(about: QuestionContext | undefined): Promise<readonly Root[]> {
    const going = this.#going;
    const asked = latestOf(going, ({ call }) => call);
    if (asked === undefined) return this.#roots.outside(this.session, this.#owner !== undefined);
    if (this.#owner === SEVERAL) throw this.#ambiguous();
    try {
      return await this.#askAmong(going, (from) => this.#rootsOf(going, from ?? asked.answers, about));
    } catch (error) {
      if (this.#going.includes(asked) || about?.signal.aborted === true) throw error;
      return this.#askRoots(about);
    }
  }

  /** Of a question within this call. */
  async rootsOf({ answers }: CallingUser, about: QuestionContext | undefined): Promise<readonly Root[]> {
    if (!this.#keepsRoots) return answers.ownRoots(about);
    if (typeof this.#options.upstream === "function") return this.#rootsOf(this.#going, answers, about);
    throw new LocalError("FORBIDDEN", "The roots of one caller are not for all who share a client");
  }

  /** A server tells those whose calls it serves the same roots: where there are several callers, each has to say so. */
  #rootsOf(going: readonly CallingUser[], answers: CallAnswers, about?: QuestionContext): Promise<readonly Root[]> {
    const isOne = new Set(going.map(({ call }) => conversationOf(call))).size <= 1;
    const isAlone = going.some(({ call }) => conversationOf(call) === call);
    return this.#roots.asked(isOne ? answers.ownRoots(about) : this.#agreed(going, about), !isAlone);
  }

  async #agreed(going: readonly CallingUser[], about: QuestionContext | undefined): Promise<readonly Root[]> {
    const asked = going.map((user) => whileUnderWay(user.answers.ownRoots(about), () => this.#going.includes(user)));
    return sameOf(await Promise.all(asked)) ?? Promise.reject(this.#ambiguous());
  }

  /** Its session says that its roots are others. */
  rootsChanged(): void {
    if (this.#keepsRoots) this.#roots.changed(this.opened, this.#calls.length > 0);
  }

  /**
   * Has a question that names no call answered by whoever alone has ever called here. A server may ask for a call that is over, so that
   * one call under way proves nothing: else nobody answers, and from now on everybody has a connection of their own, so that the next
   * such question has an owner. Without a session it would go with the answer of one call: of several it waits for one to be left.
   */
  #asking<T>(about: QuestionContext | undefined, ask: (from: Answers | undefined) => T): T | Promise<Awaited<T>> {
    if (this.#owner === SEVERAL) throw this.#ambiguous();
    const calling = this.#calling;
    if (!calling.some(({ call }) => comesAlone(call))) return this.#askAmong(this.#going, ask);
    if (calling.length > 1)
      return this.#held.wait(about?.signal, calling.length).then(() => this.#asking(about, ask)) as Promise<Awaited<T>>;
    [this.#asked] = calling;
    return ask(this.#asked?.answers);
  }

  #ambiguous(): RpcError {
    this.#tell.ambiguous(this.#owner === SEVERAL);
    return notPassedOn();
  }

  #askAmong<T>(going: readonly CallingUser[], ask: (from: CallAnswers | undefined) => T): T | Promise<Awaited<T>> {
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
}
