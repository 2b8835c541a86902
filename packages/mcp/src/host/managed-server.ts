// One server of a host, from consent to its end: starts it, starts it again when it fails, and never troubles the others.
import { Client } from "../client/client.js";
import type { ClientOptions, Dialer } from "../client/connect-options.js";
import type { JsonRpcLimits } from "../jsonrpc/limits.js";
import type { Link } from "../jsonrpc/link.js";
import { LocalError } from "../jsonrpc/local-error.js";
import { Breaker, type BreakerOptions } from "./breaker.js";
import type { Consent } from "./consent.js";
import { messageOf } from "./decision.js";
import type { Launch } from "./launch.js";
import type { ServerState, ServerStatus } from "./server-status.js";
import type { Slots } from "./slots.js";

export interface ManagedServerOptions {
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
      state: this.#state,
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
    const links: Link[] = [];
    const late = new AbortController();
    const timer = setTimeout(() => late.abort(), startTimeoutMs);
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

  async #dialled(links: Link[], signal: AbortSignal): Promise<Client> {
    const { dial, client: options, startTimeoutMs: connectTimeoutMs } = this.#options;
    const dialer = dial();
    const link = (limits: JsonRpcLimits): Link => {
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
    this.#timer = setTimeout(() => {
      this.#attempt = this.#try(signal);
    }, delayMs);
    this.#failure = messageOf(error);
    this.#is(open ? "broken" : "waiting", this.#failure);
  }

  #tooSlow(links: readonly Link[], cause: unknown): LocalError {
    const link = links.at(-1);
    const who = link === undefined ? "It" : link.describe();
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
function allClosed(links: readonly Link[], signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    const close = (): void => {
      const closing = Promise.all(links.map((link) => link.close()));
      void closing.finally(() => reject(new LocalError("CANCELLED", "It was stopped while it started.")));
    };
    signal.addEventListener("abort", close, { once: true });
  });
}
