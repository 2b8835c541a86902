// The sessions of an endpoint: bounded in number, found only by whoever opened them, ended when idle or too old.
import type { SessionLimits } from "./http-limits.js";
import type { HttpSession } from "./http-session.js";
import type { KeepAlive } from "./event-stream.js";
import type { StandingCarrier } from "./standing-carrier.js";

/** Expiry is looked at this often: coarse beside the times it measures. */
const SWEEP_MS = 10_000;

/** Bytes of a session id: nobody guesses 256 bits. */
const ID_BYTES = 32;

export class SessionTable {
  readonly #limits: SessionLimits;
  readonly #pinger: KeepAlive | undefined;
  readonly #sessions = new Map<string, StandingCarrier>();
  /** Sessions being opened: they count as open, so that a burst cannot pass the bound. */
  #opening = 0;
  #timer: ReturnType<typeof setInterval> | undefined;

  /** With a pinger, sessions whose clients do not answer end too. */
  constructor(limits: SessionLimits, pinger?: KeepAlive) {
    this.#limits = limits;
    this.#pinger = pinger;
  }

  get size(): number {
    return this.#sessions.size;
  }

  /** Takes a place for a session being opened; false when there is none. */
  reserve(): boolean {
    if (this.#sessions.size + this.#opening >= this.#limits.max) return false;
    this.#opening++;
    return true;
  }

  /** Gives a reserved place back. */
  release(): void {
    this.#opening--;
  }

  /** Turns a reserved place into a session. */
  add(standing: StandingCarrier): void {
    this.#opening--;
    const { session } = standing;
    this.#sessions.set(session.id, standing);
    this.#pinger?.add(session, {
      reachable: () => standing.reachable,
      ping: (timeoutMs) => session.conversation.ping(timeoutMs),
      end: () => void this.end(session),
    });
    if (this.#timer !== undefined) return;
    this.#timer = setInterval(() => this.#sweep(), SWEEP_MS);
    (this.#timer as { unref?(): void }).unref?.();
  }

  /** The session of an id, if it is this principal's. Another's is not found, as if it did not exist. */
  find(id: string, principal: string | undefined): StandingCarrier | undefined {
    const standing = this.#sessions.get(id);
    return standing === undefined || standing.session.principal !== principal ? undefined : standing;
  }

  /** Ends a session at once: what it has running is cancelled. */
  async end(session: HttpSession): Promise<void> {
    this.#forget(session);
    await session.close(0);
  }

  /** Ends every session: what runs in them may finish within `graceMs`, and hears what it waits for until then. */
  async endAll(graceMs: number): Promise<void> {
    const all = [...this.#sessions.values()];
    await Promise.all(all.map(({ session }) => session.close(graceMs).then(() => this.#forget(session))));
  }

  #forget(session: HttpSession): void {
    this.#sessions.delete(session.id);
    this.#pinger?.remove(session);
    if (this.#sessions.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #sweep(): void {
    const now = performance.now();
    for (const { session } of this.#sessions.values()) {
      if (session.busy) session.used = now;
      const over = now - session.used > this.#limits.idleMs || now - session.born > this.#limits.absoluteMs;
      if (over) void this.end(session);
    }
  }
}

/** A new session id: visible ASCII, safe in a header and in a query. */
export function newSessionId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(ID_BYTES));
  return btoa(String.fromCharCode(...bytes))
    .replaceAll("+", "-")
    .replaceAll("/", "_")
    .replaceAll("=", "");
}
