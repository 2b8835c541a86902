// One server of a host, from consent to its end: starts it, starts it again when it fails, and never troubles the others.
import { Client } from "../client/client.js";
import type { ClientOptions, Dialer } from "../client/options.js";
import type { JsonRpcLimits } from "../jsonrpc/limits.js";
import type { Transport } from "../jsonrpc/transport.js";
import { LocalError } from "../jsonrpc/errors.js";
import { offAbort, onAbort, restartDelay, startTimer } from "../jsonrpc/outgoing.js";
import { type Consent, type Launch, messageOf } from "./launch.js";
import type { Implementation } from "../protocol/capabilities.js";

interface ManagedServerOptions {
  readonly name: string;
  readonly trusted: boolean;
  readonly launch: Promise<Launch>;
  /** Called for each attempt: what one connection used up is not used again. */
  readonly dial: () => Dialer;
  readonly client: ClientOptions;
  readonly startTimeoutMs: number;
  readonly restart: BreakerOptions;
  readonly consent: Consent;
  readonly slots: Slots;
  /** Told of each change of the status. */
  readonly changed: () => void;
}

export class ManagedServer {
  readonly name: string;
  readonly trusted: boolean;
  readonly #options: ManagedServerOptions;
  readonly #breaker: Breaker;
  #state: ServerState = "disabled";
  #reason: string | undefined;
  /** Why the last attempt failed: still to be seen while the next one is made. */
  #failure: string | undefined;
  #client: Client | undefined;
  #retryAt: number | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** Aborted when the server is stopped: of each run another one. */
  #run: AbortController | undefined;
  #attempt: Promise<void> = Promise.resolve();

  constructor(options: ManagedServerOptions) {
    this.name = options.name;
    this.trusted = options.trusted;
    this.#options = options;
    this.#breaker = new Breaker(options.restart);
  }

  /** The connection while there is one. */
  get client(): Client | undefined {
    return this.#client;
  }

  get status(): ServerStatus {
    const client = this.#client;
    return {
      name: this.name,
      // Nobody has been asked yet, but it is no longer one that is left alone.
      state: this.#state === "disabled" && this.#run !== undefined ? "starting" : this.#state,
      reason: this.#reason,
      trusted: this.trusted,
      failures: this.#breaker.failures,
      retryAt: this.#retryAt,
      server: client?.server,
      transport: client?.transport,
      revision: client?.revision,
      instructions: client?.instructions,
    };
  }

  /** Resolves when the first attempt has ended, however it did; one that waits is tried now. Never rejects. */
  start(): Promise<void> {
    const waits = this.#retryAt !== undefined;
    if (this.#run !== undefined && !waits) return this.#attempt;
    clearTimeout(this.#timer);
    this.#breaker.reset();
    this.#run ??= new AbortController();
    this.#attempt = this.#try(this.#run.signal);
    return this.#attempt;
  }

  /** Ends it, and waits for the end of its process. Never rejects. */
  async stop(): Promise<void> {
    this.#run?.abort();
    this.#run = undefined;
    clearTimeout(this.#timer);
    const client = this.#client;
    this.#client = undefined;
    this.#retryAt = undefined;
    this.#failure = undefined;
    this.#is("disabled", undefined);
    await client?.close();
    await this.#attempt;
  }

  async #try(signal: AbortSignal): Promise<void> {
    this.#retryAt = undefined;
    const refusal = await this.#refusal(signal);
    if (signal.aborted) return;
    if (refusal !== undefined) {
      // Asked again when somebody enables it again, and not before.
      this.#run = undefined;
      return this.#is("denied", refusal);
    }
    this.#is("starting", this.#failure);
    const release = await this.#options.slots.take(signal);
    try {
      if (!signal.aborted) await this.#connect(signal);
    } finally {
      release?.();
    }
  }

  async #refusal(signal: AbortSignal): Promise<string | undefined> {
    try {
      const { consent, launch } = this.#options;
      return await consent.refusal(await launch, { signal, asking: () => this.#is("asking", this.#failure) });
    } catch (error) {
      return `${this.name} was not started: ${messageOf(error)}`;
    }
  }

  async #connect(signal: AbortSignal): Promise<void> {
    const { startTimeoutMs } = this.#options;
    const links: Transport[] = [];
    const late = new AbortController();
    const timer = startTimer(() => late.abort(), startTimeoutMs);
    const over = AbortSignal.any([signal, late.signal]);
    const connecting = this.#dialled(links, over);
    try {
      const client = await Promise.race([connecting, allClosed(links, over)]);
      if (signal.aborted) return await client.close();
      this.#up(client, signal);
    } catch (error) {
      if (over.aborted) void connecting.then((client) => client.close()).catch(() => undefined);
      if (signal.aborted) return;
      this.#failed(late.signal.aborted ? this.#tooSlow(links, error) : error, { signal, starts: links.length });
    } finally {
      clearTimeout(timer);
    }
  }

  async #dialled(links: Transport[], signal: AbortSignal): Promise<Client> {
    const { dial, client: options, startTimeoutMs: connectTimeoutMs } = this.#options;
    const dialer = dial();
    const link = (limits: JsonRpcLimits): Transport => {
      const made = dialer.link(limits);
      links.push(made);
      return made;
    };
    return Client.connect({ ...dialer, link }, { ...options, connectTimeoutMs, reconnect: false, signal });
  }

  #up(client: Client, signal: AbortSignal): void {
    this.#client = client;
    this.#breaker.up(performance.now());
    this.#failure = undefined;
    this.#is("ready", undefined);
    void client.closed.then((reason) => {
      if (this.#client !== client) return;
      this.#client = undefined;
      this.#failed(reason ?? new LocalError("CLOSED", "The connection was closed"), { signal, starts: 1 });
    });
  }

  #failed(error: unknown, { signal, starts }: { signal: AbortSignal; starts: number }): void {
    const { delayMs, open } = this.#breaker.failed(performance.now(), starts);
    this.#retryAt = Date.now() + delayMs;
    this.#timer = startTimer(() => {
      this.#attempt = this.#try(signal);
    }, delayMs);
    this.#failure = messageOf(error);
    this.#is(open ? "broken" : "waiting", this.#failure);
  }

  #tooSlow(links: readonly Transport[], cause: unknown): LocalError {
    const link = links.at(-1);
    const who = link === undefined ? "It" : (link.describe?.() ?? link.kind);
    const text = `${who} did not start within ${this.#options.startTimeoutMs} ms.${link?.troubles?.() ?? ""}`;
    return new LocalError("TIMEOUT", text, { cause });
  }

  #is(state: ServerState, reason: string | undefined): void {
    if (state === this.#state && reason === this.#reason) return;
    this.#state = state;
    this.#reason = reason;
    this.#options.changed();
  }
}

/** Rejects once the signal is aborted and all links are closed: a link that never opens must not hold up the host. */
function allClosed(links: readonly Transport[], signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    const close = (): void => {
      const closing = Promise.all(links.map((link) => link.close()));
      void closing.finally(() => reject(new LocalError("CANCELLED", "It was stopped while it started.")));
    };
    signal.addEventListener("abort", close, { once: true });
  });
}

// Decides how long a server that failed is left alone: longer each time, and a good while when it fails all the time.

/** How soon a server that failed is tried again, in milliseconds, and when it is left alone. */
export interface BreakerOptions {
  /** Before the first restart, about. Default 500 ms. */
  readonly firstMs?: number;
  /** Before a restart at most, while the breaker is closed. Default 60,000 ms. */
  readonly mostMs?: number;
  /** Failed starts within a minute that open the breaker. Default 5. */
  readonly failures?: number;
  /** How long the breaker stays open the first time; doubled up to ten times that. Default 60,000 ms. */
  readonly coolDownMs?: number;
  /** Gives numbers from 0 up to 1. Default: `Math.random`. */
  readonly random?: () => number;
}

/** What to do after a failure. */
interface Pause {
  readonly delayMs: number;
  /** The breaker is open: the server is not even tried before the delay is over. */
  readonly open: boolean;
}

const FAILURES = 5;
const WINDOW_MS = 60_000;
const COOL_DOWN_MS = 60_000;
const MOST_COOL_DOWNS = 10;

export class Breaker {
  readonly #options: BreakerOptions;
  /** When each of the latest starts failed. */
  #recent: number[] = [];
  #inRow = 0;
  #openings = 0;
  #upSince: number | undefined;

  constructor(options: BreakerOptions) {
    this.#options = options;
  }

  /** Failures since it was last up for a minute. */
  get failures(): number {
    return this.#inRow;
  }

  /** It is up. */
  up(now: number): void {
    this.#upSince = now;
  }

  /** It failed at `now`, after `starts` processes (or connections) in one attempt. */
  failed(now: number, starts: number): Pause {
    if (this.#upSince !== undefined && now - this.#upSince >= WINDOW_MS) this.reset();
    this.#upSince = undefined;
    const { failures = FAILURES, coolDownMs = COOL_DOWN_MS, ...pace } = this.#options;
    this.#inRow++;
    this.#recent = this.#recent.filter((at) => now - at < WINDOW_MS);
    for (let start = 0; start < Math.max(1, Math.min(starts, failures)); start++) this.#recent.push(now);
    if (this.#openings === 0 && this.#recent.length < failures)
      return { delayMs: restartDelay(this.#inRow, pace), open: false };
    // Half open after each pause: one attempt, and the next failure opens it again for longer.
    const times = Math.min(2 ** Math.min(this.#openings, MOST_COOL_DOWNS), MOST_COOL_DOWNS);
    this.#openings++;
    return { delayMs: coolDownMs * times, open: true };
  }

  reset(): void {
    this.#recent = [];
    this.#inRow = 0;
    this.#openings = 0;
    this.#upSince = undefined;
  }
}

// What a host tells of one of its servers.

/**
 * `asking`: somebody is being asked whether it may start. `denied`: they said no, or nobody could be asked.
 * `waiting`: it failed and is tried again at `retryAt`. `broken`: it fails all the time and is left alone until `retryAt`.
 */
export type ServerState = "disabled" | "asking" | "denied" | "starting" | "ready" | "waiting" | "broken";

/** How one server of a host is. */
export interface ServerStatus {
  readonly name: string;
  readonly state: ServerState;
  /**
   * Why it is not ready, in sentences that name what was tried; undefined when there is nothing to say. While it is tried again:
   * why it failed before.
   */
  readonly reason: string | undefined;
  /** Whether what it says of its tools is believed. */
  readonly trusted: boolean;
  /** Times it failed since it was last up for a minute. */
  readonly failures: number;
  /** Milliseconds since the epoch when it is tried again; undefined when it is not waiting. */
  readonly retryAt: number | undefined;
  /** Who it is by its own account, how it is reached, and the date of the revision; only while it is ready. */
  readonly server: Implementation | undefined;
  readonly transport: string | undefined;
  readonly revision: string | undefined;
  /** What it wants models to know: words of a stranger. */
  readonly instructions: string | undefined;
}

// Lets a few at a time through, the others in the order they came.

export class Slots {
  readonly #waiting = new Set<() => void>();
  #free: number;

  constructor(atOnce: number) {
    this.#free = atOnce;
  }

  /** Resolves with the function that gives the place back; undefined when the signal was aborted before there was one. */
  async take(signal: AbortSignal): Promise<(() => void) | undefined> {
    if (signal.aborted) return undefined;
    if (this.#free > 0) this.#free--;
    else if (!(await this.#turn(signal))) return undefined;
    let given = false;
    return () => {
      if (given) return;
      given = true;
      const [next] = this.#waiting;
      if (next === undefined) this.#free++;
      else next();
    };
  }

  #turn(signal: AbortSignal): Promise<boolean> {
    return new Promise((resolve) => {
      const settle = (comes: boolean): void => {
        this.#waiting.delete(come);
        offAbort(signal, leave);
        resolve(comes);
      };
      const come = (): void => settle(true);
      const leave = (): void => settle(false);
      this.#waiting.add(come);
      onAbort(signal, leave);
    });
  }
}
