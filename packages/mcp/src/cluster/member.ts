// One process among many: it keeps its lease, knows who has which session, and sends each request where it has to be served.
import { hkdfSync } from "node:crypto";
import { ErrorCode, LocalError, RpcError } from "../jsonrpc/errors.js";
import { exactJson, exactValue } from "../jsonrpc/exact-numbers.js";
import { aesSeal } from "../server/lean-server.js";
import type { Seal } from "../server/sealing.js";
import { type News, nodeOf, type TaskErrand } from "../server/subscription.js";
import type { TaskRecord, TaskStore } from "../server/tasks/task-store.js";
import type {
  ClusterMember,
  HandedOn,
  HttpExchange,
  KeptStream,
  LocalEnd,
  Named,
  SessionFacts,
  Share,
  StreamBounds,
  StreamPiece,
} from "../http/server/exchange.js";
import {
  BEAT_MS,
  FairLimits,
  LEASE_MS,
  type LimitRule,
  SESSION_TEXT,
  type SharedSession,
  type SharedStores,
} from "./stores.js";
import { HeldAnswers, isAnswer, lost, mayPass, repeatable, unavailable } from "../http/server/resumable-stream.js";
import { type ForwardOutcome, NodeRelay } from "./relay.js";
import {
  addressOf,
  allStores,
  Detours,
  LeasedTasks,
  Presence,
  remember,
  StreamKeep,
  type WayChange,
  wayWords,
  SessionPlaces,
} from "./detours.js";
import { badShare, checkShare, fleetOf, keysOf, newName, NO_OPTIONS, type ShareOptions } from "./relay-link.js";

/** A session that its process has ended may be taken up this long after it was last used. */
const SESSION_MS = 45 * 60_000;
/** How often records of sessions get their whole time again. */
const TOUCH_MS = 10 * 60_000;
/** Sessions in one round trip. */
const TOUCH_PIECE = 500;
/** Milliseconds between two tries to reach whoever has something. */
const RETRY_MS = 100;
const rest = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, RETRY_MS));
/** Milliseconds after which a process that is there and cannot be reached is given up: its lease, and a little. */
const PATIENCE_MS: number = LEASE_MS + 1_000;
/** Processes a request is tried at before time counts: each has taken the session from the one before. */
const STEPS = 8;

/** Shares what stores of one's own keep. Throws BAD_SHARE for options that make no sense. */
export function shareOver(given: SharedStores, options: ShareOptions = NO_OPTIONS): Share {
  checkShare(given, options);
  const stores = allStores(given);
  const keys = keysOf(options.key);
  const { node = newName(), address = "tcp://127.0.0.1:0", policy, parts } = options;
  if (!/^[a-z0-9]{1,32}$/.test(node)) throw badShare(`node "${node}" must be 1 to 32 small letters and digits`);
  const listen = addressOf(address);
  return {
    async join() {
      await stores.open(node, fleetOf(options.key, policy, parts));
      return new Member(stores, { node, keys, listen });
    },
  };
}

const ENDING = "This process is shutting down and has not served this: send it again in a moment";
const SILENT = "The process that has to serve this cannot be reached now: try again";

/** What comes next for a request: nothing, it is served here, or it is tried at another process. */
type Step = "done" | "here" | { readonly at: string };

/** A process cannot connect to another, and asks it to read its letters; or it is ending; or it holds nothing any more. */
type Notice =
  | { readonly kind: "knock"; readonly at: string; readonly by: string }
  | { readonly kind: "ending" }
  | { readonly kind: "left" };

/** A session of this process, as it was kept last. */
interface Mine {
  readonly fence: number;
  /** Whether the others can read it: until then nobody else could go on with it. */
  kept: boolean;
}

class Member implements ClusterMember {
  readonly node: string;
  readonly seal: Seal;
  readonly tasks: TaskStore;
  readonly #stores: SharedStores;
  readonly #relay: NodeRelay;
  #local: LocalEnd | undefined;
  #address = "";
  #nodes: ReadonlyMap<string, string> = new Map();
  /** Processes that have said that they are ending, and those of them that hold nothing any more. */
  readonly #ending = new Set<string>();
  readonly #left = new Set<string>();
  #timer: ReturnType<typeof setInterval> | undefined;
  #beating: Promise<void> | undefined;
  /** When the directory last took our sign of life, by `performance.now()`. */
  #beaten = 0;
  /** Since when the directory has been heard without a gap. */
  #since = Number.POSITIVE_INFINITY;
  #touched = performance.now();
  /** Something could not be told: the others have to look at everything. */
  #untold = false;
  #retires = false;
  #leaving = false;
  #stopListening: () => void = () => undefined;
  readonly #sessions = new Map<string, Mine>();
  /** Sessions that are being taken over: until that is settled nobody can say that they are not here. */
  readonly #taking = new Map<string, Promise<unknown>>();
  readonly #places = new SessionPlaces();
  /** Requests for which a process is looked for. */
  #looking = 0;
  readonly #held = new HeldAnswers();
  readonly #limits: FairLimits;
  readonly #streams: StreamKeep;
  readonly #presence: Presence;

  constructor(
    stores: SharedStores,
    about: { readonly node: string; readonly keys: readonly Buffer[]; readonly listen: URL },
  ) {
    const { node, keys, listen } = about;
    this.node = node;
    this.#stores = stores;
    this.#limits = new FairLimits(stores.limits, () => this.#nodes.size);
    this.#streams = new StreamKeep(stores.streams);
    this.#presence = new Presence(stores.name, (text) => this.#local?.report("warning", text));
    this.tasks = new LeasedTasks(
      stores.tasks,
      (owner) => this.#isGone(owner),
      (record) => this.#gaveUp(record),
    );
    this.seal = aesSeal(...keys.map((key) => new Uint8Array(hkdfSync("sha256", key, "", "states", 32))));
    this.#relay = new NodeRelay({
      node,
      keys,
      listen,
      find: (other) => this.#find(other),
      holds: (session, from, ending) =>
        ending || this.#left.has(from) ? this.#taken(session, from) : this.#holds(session),
      ending: () => this.#retires,
      serve: (exchange) => this.#local?.serve(exchange),
      answer: (text) => this.#answer(text),
      // In one line: whoever connects is no fault of this program, and a process that was stopped for a while does so too.
      onStranger: (error, from) =>
        this.#local?.report(
          "warning",
          `A connection to the relay from ${from} was refused: ${(error as Error).message}`,
        ),
      onLeft: (other) => this.#forget(other),
      onWay: (change) => this.#wayChanged(change),
      detours: (accept) =>
        new Detours({ node, mail: stores.mail, accept, knock: (at) => this.#notify({ kind: "knock", at, by: node }) }),
    });
  }

  /** Whether a session is here, once the process that is ending and sends for it has lost it to this one. */
  async #taken(id: string, from: string): Promise<boolean> {
    if (!(await this.#holds(id))) await this.#takeOver(id, from);
    return this.#holds(id);
  }

  /** Tells everybody of a task whose process does not answer any more; that one too, should it come back. */
  #gaveUp(record: TaskRecord): void {
    const news = { kind: "task", record, questions: [] } as const;
    this.tell(news);
    this.#local?.hear(news);
  }

  #wayChanged({ node, way, address, byLetters }: WayChange): void {
    const level = way === "none" ? "debug" : "warning";
    this.#local?.report(level, wayWords({ node, way, address }, this.#stores.name), { peer: node, byLetters });
  }

  get lapsed(): boolean {
    return performance.now() - this.#beaten > LEASE_MS;
  }

  async open(local: LocalEnd): Promise<void> {
    this.#local = local;
    this.#address = await this.#relay.open();
    this.#stopListening = await this.#stores.bus.listen({
      hear: (from, text) => this.#hear(from, text),
      missed: () => this.#heardAll(),
    });
    await this.#beat();
    this.#timer = setInterval(() => void this.#beat().catch(() => undefined), BEAT_MS);
    this.#timer.unref();
  }

  async retire(): Promise<boolean> {
    await this.#beat().catch(() => undefined);
    this.#retires = true;
    await this.#notify({ kind: "ending" }).catch(() => undefined);
    return this.#nodes.size > (this.#nodes.has(this.node) ? 1 : 0);
  }

  get alone(): boolean {
    return this.#anyOther() === undefined;
  }

  mayLetGo(id: string): boolean {
    // Where nobody can say whose it is now, nobody could take it over.
    const away = this.#since === Number.POSITIVE_INFINITY;
    return this.#retires && !away && this.#sessions.get(id)?.kept === true && this.#anyOther() !== undefined;
  }

  async drain(): Promise<void> {
    this.#leaving = true;
    clearInterval(this.#timer);
    await this.#stores.leave(this.node).catch(() => undefined);
    await this.#notify({ kind: "left" }).catch(() => undefined);
  }

  async leave(): Promise<void> {
    clearInterval(this.#timer);
    this.#stopListening();
    await this.#relay.part();
    await this.#relay.close();
    await this.#stores.close();
  }

  handOn(exchange: HttpExchange, { named, body }: HandedOn, here: () => void): void {
    const stay = (): void => {
      exchange.stays = true;
      here();
    };
    // One that has left meanwhile did not take it.
    const give = (steps: number): void => {
      const other = steps > 0 ? this.#anyOther() : undefined;
      if (other === undefined) return stay();
      this.bring(exchange, { kind: "call", id: `${other}.`, body }, () => give(steps - 1));
    };
    if (named === undefined) give(STEPS);
    else this.bring(exchange, { ...named, body }, nodeOf(named.id) === this.node ? here : () => give(STEPS));
  }

  #anyOther(): string | undefined {
    const others = [...this.#nodes.keys()].filter((each) => each !== this.node && !this.#ending.has(each));
    return others[Math.floor(Math.random() * others.length)];
  }

  async handedOn(mostMs: number): Promise<void> {
    const until = performance.now() + mostMs;
    while ((this.#looking > 0 || this.#relay.isAwaited) && performance.now() < until)
      await new Promise((resolve) => setTimeout(resolve, RETRY_MS / 2));
  }

  bring(exchange: HttpExchange, named: Named, here: () => void): void {
    this.#looking++;
    this.#bring(exchange, named, here)
      .catch((error: unknown) => {
        const passes = (each: unknown): boolean => mayPass(each) && !this.#leaving && !exchange.over;
        if (!passes(error) || !isAnswer(named)) throw error;
        return this.#held.until(named.body ?? "", () => this.#bring(exchange, named, here), { cause: error, passes });
      })
      .catch((error: unknown) => {
        if (!unavailable(exchange, named, error))
          this.#local?.report("error", "A request could not be handed on", { error });
      })
      .finally(() => this.#looking--);
  }

  keepSession(id: string, principal: string | undefined, facts: SessionFacts): void {
    const text = JSON.stringify({ principal, facts });
    if (text.length > SESSION_TEXT) return;
    const known = this.#sessions.get(id);
    const mine: Mine = { fence: known?.fence ?? 0, kept: false };
    this.#sessions.set(id, mine);
    this.#stores.sessions.put(id, { owner: this.node, fence: mine.fence, text }, SESSION_MS).then(
      (kept) => {
        mine.kept = kept;
        if (!kept) this.#release(id);
        else if (known !== undefined) this.tell({ kind: "session", session: id, ended: false });
      },
      () => undefined,
    );
  }

  dropSession(id: string): void {
    if (!this.#sessions.delete(id)) return;
    this.#places.end(id);
    const ended = { kind: "session", session: id, ended: true } as const;
    // This process may have served it for another one before, and would go on to.
    this.#local?.hear(ended);
    void this.#stores.sessions.delete(id, this.node).catch(() => undefined);
    this.tell(ended);
  }

  keepEvents(stream: string, piece: StreamPiece, bounds: StreamBounds): Promise<boolean> | undefined {
    return this.#streams.keep(stream, piece, bounds);
  }

  eventsOf(stream: string, after: number): Promise<KeptStream | undefined> {
    return this.#stores.streams.read(stream, after);
  }

  async factsOf(id: string): ReturnType<ClusterMember["factsOf"]> {
    const session = await this.#session(id);
    if (session === undefined || session.owner === this.node || !this.#nodes.has(session.owner)) return undefined;
    return JSON.parse(session.text) as { principal?: string; facts: SessionFacts };
  }

  async take(sender: string, { perSecond, burst }: LimitRule): Promise<number> {
    return Math.ceil((await this.#limits.take({ [sender]: { perSecond, burst } })) / 1_000);
  }

  tell(news: News): void {
    this.#stores.bus.publish(this.node, JSON.stringify(news)).catch(() => {
      this.#untold = true;
    });
  }

  mark(name: string, lifeMs: number): Promise<boolean> {
    return this.#stores.marks.once(name, lifeMs);
  }

  async errand(errand: TaskErrand): Promise<TaskRecord | undefined> {
    const owner = nodeOf(errand.taskId);
    if (owner === undefined || owner === this.node) return undefined;
    // Asked twice it does no harm. Once the lease of a process that is lost has ended, the record says what is known of the task.
    for (const until = performance.now() + PATIENCE_MS; ; await rest()) {
      try {
        return exactValue(await this.#relay.ask(owner, JSON.stringify(errand))) as TaskRecord;
      } catch (error) {
        if (!(error instanceof LocalError)) throw error;
        const isGone = await this.#isGone(owner).catch(() => undefined);
        if (isGone === true) return undefined;
        if (isGone === undefined || performance.now() > until) throw new RpcError(ErrorCode.InternalError, SILENT);
      }
    }
  }

  async #answer(text: string): Promise<string> {
    return exactJson(await this.#local?.errand(JSON.parse(text) as TaskErrand));
  }

  #notify(notice: Notice): Promise<void> {
    return this.#stores.bus.publish(this.node, JSON.stringify(notice));
  }

  #hear(from: string, text: string): void {
    if (from === this.node) return;
    const news = JSON.parse(text) as News | Notice;
    if (news.kind === "all") return this.#heardAll();
    if (news.kind === "session") this.#heardOf(news);
    if (news.kind === "left") return this.#forget(from);
    if (news.kind === "ending") return remember(this.#ending, from);
    if (news.kind !== "knock") this.#local?.hear(news);
    // Who cannot be answered asks again.
    else if (news.at === this.node) this.#relay.knocked(news.by).catch(() => undefined);
  }

  /** Something was missed: whatever was said may have been it. */
  #heardAll(): void {
    this.#touched = Number.NEGATIVE_INFINITY;
    this.#local?.hear({ kind: "all" });
  }

  /** A session has ended, or another process has it. One of ours that was taken over while we seemed to be gone is let go of. */
  #heardOf({ session, ended }: Extract<News, { readonly kind: "session" }>): void {
    if (ended) return this.#places.end(session);
    if (!this.#sessions.has(session)) return;
    this.#ownerOf(session).then(
      (owner) => owner !== undefined && owner !== this.node && this.#release(session),
      () => (this.#touched = Number.NEGATIVE_INFINITY),
    );
  }

  /** Another process is ending: it goes on with nothing, and whoever is asked for its sessions takes them over. */
  #forget(node: string): void {
    this.#nodes = new Map([...this.#nodes].filter(([each]) => each !== node));
    remember(this.#left, node);
  }

  /** Says that this process is there, and learns who else is. Calls at the same time share one. */
  #beat(): Promise<void> {
    this.#beating ??= this.#beatOnce().finally(() => {
      this.#beating = undefined;
    });
    return this.#beating;
  }

  async #beatOnce(): Promise<void> {
    if (this.#leaving) return;
    const before = performance.now();
    try {
      const { nodes, lapsed, steadyMs } = await this.#stores.beat(this.node, this.#address);
      this.#relay.directory(this.#nodes, nodes);
      this.#nodes = nodes;
      for (const node of this.#left) if (nodes.has(node)) this.#left.delete(node);
      this.#streams.away = false;
      const first = this.#since === Number.POSITIVE_INFINITY;
      // A process that was held up itself, with its whole machine perhaps, gives the others time to come back too.
      // One that has just begun knows from the others that nobody was kept from the store.
      if (first || lapsed) this.#since = first && this.#beaten === 0 ? before - steadyMs : before;
      // Our own clock counts too: the reply that said so may have been lost, or what followed from it have failed.
      if ((lapsed || this.lapsed) && this.#beaten > 0) await this.#touchAll();
      else if (before - this.#touched > TOUCH_MS) await this.#touchAll();
      this.#beaten = before;
      this.#relay.tidy((node) => nodes.has(node) || !this.#sure);
      this.#presence.back();
    } catch (error) {
      // Of one that was never there whoever begins is told by the error itself.
      if (this.#beaten > 0) this.#presence.gone(error as Error);
      this.#since = Number.POSITIVE_INFINITY;
      this.#streams.away = true;
      throw error;
    }
    if (!this.#untold) return;
    this.#untold = false;
    this.tell({ kind: "all" });
  }

  /** Gives the records of our sessions their time again, lets go of those that others took, and keeps those that the store has lost. */
  async #touchAll(): Promise<void> {
    this.#touched = performance.now();
    const ids = [...this.#sessions.keys()];
    for (let at = 0; at < ids.length; at += TOUCH_PIECE) {
      const lost = await this.#stores.sessions.touch(ids.slice(at, at + TOUCH_PIECE), this.node, SESSION_MS);
      // All at once: whoever waits for this sign of life waits for them too.
      const found = await Promise.all(lost.map((id) => this.#stores.sessions.get(id)));
      for (const [which, id] of lost.entries())
        if (found[which] === undefined) this.#local?.keep(id);
        else this.#release(id);
    }
  }

  #release(id: string): void {
    this.#sessions.delete(id);
    this.#local?.release(id);
  }

  /** The address of a process, by the directory as it is now where the one of a moment ago does not name it. */
  async #find(node: string): Promise<string | undefined> {
    if (!this.#nodes.has(node)) await this.#beat();
    return this.#nodes.get(node);
  }

  /** Whether a process that the directory does not name has ended: others may not have come back to a store that was away. */
  get #sure(): boolean {
    return performance.now() - this.#since > LEASE_MS;
  }

  /** Whether a process has ended for sure: it is not in the directory, and nothing connects us to it. */
  async #isGone(node: string): Promise<boolean> {
    if (node === this.node || (await this.#relay.reaches(node))) return false;
    return (await this.#find(node)) === undefined && this.#sure;
  }

  async #bring(exchange: HttpExchange, named: Named, here: () => void): Promise<void> {
    const { id, kind } = named;
    if (kind === "session" && (await this.#holds(id))) return here();
    let owner = kind === "session" ? this.#places.ownerOf(id) : nodeOf(id);
    let until = performance.now() + PATIENCE_MS;
    for (let step = 0; step < STEPS || performance.now() < until; step++) {
      // Where all are ending each may say that another one has it: they are not asked as fast as they answer.
      if (step > 1) await rest();
      if (exchange.over) return;
      if (owner === undefined) return here();
      if (owner === this.node) {
        if (kind === "session" && (await this.#holds(id))) return here();
        const now = kind === "session" ? await this.#ownerOf(id) : owner;
        // What this process, which is ending, has let go of is another's to take over.
        const other = now === owner && kind === "session" && this.#retires ? this.#anyOther() : undefined;
        if (other === undefined && kind === "session" && now === owner) {
          // Kept as this one's and not here: there was no room for it, or it was let go of for one that has ended.
          const next = await this.#takeOver(id, owner);
          if (typeof next === "string") return here();
          owner = next.at;
          continue;
        }
        if (other === undefined && (now === owner || now === undefined)) return here();
        owner = other ?? now;
        continue;
      }
      const began = performance.now();
      const session = kind === "session" ? id : undefined;
      const about = { exchange, session, body: named.body, mostMs: Math.max(until - began, RETRY_MS) };
      const outcome = this.#left.has(owner) ? "left" : await this.#relay.forward(owner, about);
      // While another process had it nobody was looked for.
      if (outcome === "broken") until += performance.now() - began;
      const next = await this.#after(outcome, { exchange, named, owner });
      if (next === "done") return;
      if (next === "here") return here();
      // Where nobody else has taken it there is only time to wait for.
      if (next.at === owner && performance.now() >= until) break;
      owner = next.at;
    }
    throw new LocalError("SILENT", SILENT);
  }

  /** What to do with a request after it could, or could not, be sent to its owner: the process to try next, or the end. */
  async #after(
    outcome: ForwardOutcome,
    { exchange, named, owner }: { readonly exchange: HttpExchange; readonly named: Named; readonly owner: string },
  ): Promise<Step> {
    const isSession = named.kind === "session";
    switch (outcome) {
      case "taken":
        return "done";
      case "absent": {
        const now = await this.#ownerOf(named.id);
        return now !== undefined && (now !== owner || this.#left.has(now)) ? { at: now } : "here";
      }
      case "left":
        return isSession ? this.#takeOver(named.id, owner) : "here";
      case "gone":
      case "unreachable":
        if (outcome === "unreachable" || !this.#sure) {
          await this.#beat();
          return { at: owner };
        }
        if (isSession) return this.#takeOver(named.id, owner);
        // Who has asked may go on, and then needs the answer, which is sent once.
        if (isAnswer(named) && (await this.#relay.mayGoOn(owner))) throw new LocalError("SILENT", SILENT);
        return "here";
      case "broken":
        if (exchange.over) return "done";
        if (repeatable(exchange, named)) return { at: owner };
        lost(exchange, named, "process");
        return "done";
      case "parted":
        lost(exchange, named, "way");
        return "done";
    }
  }

  /** Whether a session is here, and is not another process's by now where that may be. */
  #holds(id: string): boolean | Promise<boolean> {
    const taking = this.#taking.get(id);
    if (taking !== undefined) return taking.then(() => this.#holds(id));
    if (this.#local?.holds(id) !== true) return false;
    // The last sign of life was not taken: asking would only be waited for.
    if (!this.lapsed || this.#since === Number.POSITIVE_INFINITY) return true;
    // Where nobody can be asked, nobody can have taken it either, unless we alone are cut off: then it goes on in two places.
    return this.#stores.sessions.get(id).then(
      (session) => session === undefined || session.owner === this.node,
      () => true,
    );
  }

  async #session(id: string): Promise<SharedSession | undefined> {
    return this.#places.hasEnded(id) ? undefined : this.#stores.sessions.get(id);
  }

  async #ownerOf(id: string): Promise<string | undefined> {
    const session = await this.#session(id);
    if (session === undefined) return undefined;
    this.#places.moved(id, session.owner);
    return session.owner;
  }

  /** Goes on with a session whose process has ended, unless another process does already. */
  async #takeOver(id: string, gone: string): Promise<Step> {
    const session = await this.#session(id);
    if (session === undefined) return "here";
    if (session.owner !== gone) {
      this.#places.moved(id, session.owner);
      return { at: session.owner };
    }
    // It would end with this process: whoever asks again reaches another.
    if (this.#leaving) throw new LocalError("ENDING", ENDING);
    const taking = (this.#taking.get(id) ?? Promise.resolve()).then(() => this.#take(id, session.fence));
    const settled = taking
      .catch(() => undefined)
      .finally(() => this.#taking.get(id) === settled && this.#taking.delete(id));
    this.#taking.set(id, settled);
    if (await taking) return "here";
    const now = await this.#ownerOf(id);
    return now === undefined || now === this.node ? "here" : { at: now };
  }

  /** Resolves with whether this process has the session from now on. */
  async #take(id: string, fence: number): Promise<boolean> {
    const claimed = await this.#stores.sessions.claim(id, this.node, fence, SESSION_MS);
    if (claimed === undefined) return false;
    const { principal, facts } = JSON.parse(claimed.text) as { principal?: string; facts: SessionFacts };
    this.#places.forget(id);
    this.#sessions.set(id, { fence: claimed.fence, kept: true });
    if (this.#local?.adopt(id, principal, { ...facts, moved: claimed.fence }) === false)
      throw new LocalError("FULL", "There are too many sessions: try again later");
    // The process that had it may be there after all, and have come back in this very moment.
    this.tell({ kind: "session", session: id, ended: false });
    return true;
  }
}
