// Sessions of other processes that are served here, for what needs no more than their facts: calls, lists and reads.
//
// What such a call asks its client carries this process's name in its id, and so do the events of its stream: whichever process
// gets the answer, or the reader that comes back, hands it on.
import { ErrorCode, RpcError } from "../../jsonrpc/errors.js";
import { isJsonObject } from "../../jsonrpc/message.js";
import type { ServerCore } from "../../server/core.js";
import type { News } from "../../server/subscription.js";
import { ServerConversation } from "../../server/conversation.js";
import type { HttpCluster, HttpExchange, Named, SessionFacts } from "./exchange.js";
import { answeredNode, HttpSession, type SessionSettings, type Whose } from "./http-session.js";
import { ofStatelessEra } from "./http-site.js";
import { readsStreams, refuseMessage } from "./reply.js";
import type { Read } from "./streamable-http.js";

/** Milliseconds after which a request goes to the session's own process, which so learns that the session is in use. */
const GUEST_MS = 60_000;
/** Guests nobody has used for longer are forgotten; looked at this often. */
const IDLE_MS: number = 2 * GUEST_MS;
const SWEEP_MS = 10_000;

/** What changes nothing of a session. */
const ANYWHERE: ReadonlySet<unknown> = new Set([
  "ping",
  "tools/list",
  "tools/call",
  "resources/list",
  "resources/templates/list",
  "resources/read",
  "prompts/list",
  "prompts/get",
  "completion/complete",
]);

const ROOTS = "notifications/roots/list_changed";

/** What a client says that concerns whichever processes serve its session. */
type Said = "notifications/cancelled" | "$/cancelRequest" | typeof ROOTS;

function isSaid(method: unknown): method is Said {
  return method === "notifications/cancelled" || method === "$/cancelRequest" || method === ROOTS;
}

interface Guest {
  readonly session: HttpSession;
  readonly conversation: ServerConversation;
  /** Until when its requests are served here, by `performance.now()`. */
  until: number;
  /** Its facts are others by now. */
  changed: boolean;
}

/** What to do with a request. */
interface Ways {
  readonly here: () => void;
  readonly there: () => void;
}

export class GuestSessions {
  readonly #core: ServerCore;
  readonly #cluster: HttpCluster;
  readonly #settings: SessionSettings;
  readonly #guests = new Map<string, Guest>();
  #timer: ReturnType<typeof setInterval> | undefined;

  constructor(core: ServerCore, cluster: HttpCluster, settings: SessionSettings) {
    this.#core = core;
    this.#cluster = cluster;
    this.#settings = settings;
  }

  /** Whether a message can be served by any process: what its handler may want to ask has to find a way. */
  serves(exchange: HttpExchange, value: unknown): boolean {
    if (!isJsonObject(value) || value["id"] === undefined || !ANYWHERE.has(value["method"])) return false;
    const { params } = value;
    if (isJsonObject(params) && params["task"] !== undefined) return false;
    return this.#settings.answers !== "json" && readsStreams(exchange);
  }

  /** Calls `here` once the session is a guest, `there` where it has to be served by its own process. */
  open(exchange: HttpExchange, id: string, { here, there }: Ways): void {
    const guest = this.#guests.get(id);
    const now = performance.now();
    if (guest !== undefined && !guest.changed) {
      if (now < guest.until) return guest.session.principal === exchange.principal ? here() : there();
      guest.until = now + GUEST_MS;
      return there();
    }
    this.#cluster.factsOf(id).then(
      (found) => {
        if (found === undefined || found.principal !== exchange.principal) return there();
        return this.#take(id, found) ? here() : there();
      },
      () => there(),
    );
  }

  find(id: string, principal: string | undefined): HttpSession | undefined {
    const session = this.#guests.get(id)?.session;
    return session === undefined || session.principal !== principal ? undefined : session;
  }

  /** The client of a session gives a request up, or has other roots, and nobody knows which processes that concerns. */
  said(exchange: HttpExchange, session: string, value: unknown): void {
    if (!isJsonObject(value) || !isSaid(value["method"])) return;
    const { method: kind, params = {} } = value;
    if (!isJsonObject(params)) return;
    const news = { kind, session, principal: exchange.principal, params };
    this.hear(news);
    this.#cluster.tell(news);
  }

  hear(news: News): void {
    if (news.kind === "all") for (const guest of this.#guests.values()) guest.changed = true;
    if (!("session" in news)) return;
    const guest = this.#guests.get(news.session);
    if (guest === undefined) return;
    if (news.kind !== "session") {
      if (guest.session.principal !== news.principal) return;
      // The session's own process hears it too, and alone tells the program.
      if (news.kind === ROOTS) return guest.conversation.forgetRoots();
      const message = { jsonrpc: "2.0", method: news.kind, params: news.params };
      guest.conversation.connection.deliver(message, guest.session);
    } else if (news.ended) {
      this.#guests.delete(news.session);
      void guest.session.close(0);
    } else guest.changed = true;
  }

  /** Ends those of some principals at once. */
  async endOf(whose: Whose): Promise<void> {
    const theirs = [...this.#guests].filter(([, { session }]) => whose(session.principal));
    for (const [id] of theirs) this.#guests.delete(id);
    await Promise.all(theirs.map(([, { session }]) => session.close(0)));
  }

  /** Ends them all: what runs may finish within `graceMs`. */
  async close(graceMs: number): Promise<void> {
    clearInterval(this.#timer);
    const all = [...this.#guests.values()];
    this.#guests.clear();
    await Promise.all(all.map(({ session }) => session.close(graceMs)));
  }

  #take(id: string, { principal, facts }: { readonly principal?: string; readonly facts: SessionFacts }): boolean {
    const until = performance.now() + GUEST_MS;
    const known = this.#guests.get(id);
    if (known !== undefined) {
      known.conversation.relevel(facts.level);
      known.changed = false;
      known.until = until;
      return true;
    }
    if (this.#guests.size >= this.#settings.limits.max) return false;
    const session = new HttpSession(id, principal, this.#settings, {
      guest: this.#cluster.node,
      cluster: this.#cluster,
    });
    const conversation = new ServerConversation(this.#core, session);
    session.conversation = conversation;
    if (!conversation.lodge(facts, `${this.#cluster.node}.`)) return false;
    this.#guests.set(id, { session, conversation, until, changed: false });
    this.#timer ??= setInterval(() => this.#sweep(), SWEEP_MS);
    (this.#timer as { unref?(): void }).unref?.();
    return true;
  }

  #sweep(): void {
    const now = performance.now();
    for (const [id, { session }] of this.#guests) {
      if (session.busy) session.used = now;
      if (now - session.used <= IDLE_MS) continue;
      this.#guests.delete(id);
      void session.close(0);
    }
    if (this.#guests.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
}

// Finds the process that a message is for.

/** Whoever seems to have ended may be cut off from the others, and still wait for the answer. */
const NOBODY_ASKS =
  "The process that asked this has ended, or cannot be reached now: answer again if the call that needs it is still open";

function find(read: Read, cluster: HttpCluster): void {
  const { exchange, value, text, sessions, here } = read;
  const session = exchange.header("mcp-session-id");
  if (session !== undefined) {
    sessions.guests?.said(exchange, session, value);
    const node = answeredNode(value);
    if (node === cluster.node) return here();
    if (node !== undefined) {
      const lost = (): void => refuseMessage(exchange, 503, new RpcError(ErrorCode.InternalError, NOBODY_ASKS));
      return cluster.bring(exchange, { kind: "call", id: `${node}.`, body: text }, lost);
    }
  }
  if (sessions.holdsBack(exchange, value, () => find(read, cluster))) return;
  const id = sessions.elsewhere(exchange);
  const named = (): void => serveNamed(read, cluster);
  if (id === undefined) return named();
  const there = (): void => cluster.bring(exchange, { kind: "session", id, body: text }, named);
  sessions.serveGuest(read, id, there);
}

function serveNamed({ exchange, value, text, sessions, here }: Read, cluster: HttpCluster): void {
  const named = ofStatelessEra(exchange, value) ? namedIn(value) : undefined;
  if (sessions.handsOn(exchange, value)) cluster.handOn(exchange, { named, body: text }, here);
  else if (named === undefined) here();
  else cluster.bring(exchange, { ...named, body: text }, here);
}

/** What a message of the stateless era names that lives in one process: a call that waits for its retry, or a task. */
function namedIn(value: unknown): Named | undefined {
  const params = isJsonObject(value) ? value["params"] : undefined;
  if (!isJsonObject(params)) return undefined;
  const { requestState, taskId } = params;
  if (typeof requestState === "string") return { kind: "call", id: requestState };
  return typeof taskId === "string" ? { kind: "task", id: taskId } : undefined;
}

/** What an endpoint with other processes needs besides. */
export interface OtherProcesses {
  /** Makes what serves their sessions. */
  makeGuests(core: ServerCore, cluster: HttpCluster, settings: SessionSettings): GuestSessions;
  /** What has a message served by the process that has its session, or what else it names. */
  serveWhere(cluster: HttpCluster): (read: Read) => void;
}

export const OTHER_PROCESSES: OtherProcesses = {
  makeGuests: (core, cluster, settings) => new GuestSessions(core, cluster, settings),
  serveWhere: (cluster) => (read) => {
    if (read.exchange.relayed === true) read.sessions.handedOn(read);
    else find(read, cluster);
  },
};
