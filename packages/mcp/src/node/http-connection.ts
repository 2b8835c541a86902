// One connection of the listener: what was sent behind a request waits for its turn, and is not served while nobody reads the replies.
import type { Socket } from "node:net";

/** Requests that may wait: what shares a packet with others is here before reading can be stopped. */
const MOST_WAITING = 512;
/** How long what is in service may hold up what comes behind it on its connection, which may be what it waits for. */
const OVERDUE_MS = 250;

export interface ConnectionLimits {
  /** Requests in service at once, the ones whose replies have not been read among them. */
  readonly pipelined: number;
  /** Bytes of replies not read yet from which nothing more is begun. */
  readonly bufferedBytes: number;
  /** Milliseconds a reader may take nothing. */
  readonly stallMs: number;
}

/** A request and its reply. */
export interface Pipelined {
  /** Bytes of the reply that were written and not taken yet. */
  readonly buffered: number;
  /** Nobody will read its reply. */
  closed(): void;
}

/**
 * Replies leave in the order of their requests, so serving more than a few at once helps nobody and lets a client that does not
 * read pile up answers. Most clients send one request at a time: for them this only counts to one.
 */
export class HttpConnection<T extends Pipelined> {
  readonly socket: Socket;
  readonly #limits: ConnectionLimits;
  readonly #serve: (request: T) => void;
  #inService: T[] = [];
  #waiting: T[] = [];
  #overdue: NodeJS.Timeout | undefined;
  #allowance: number;
  #scheduled = false;
  #paused = false;

  /** `serve` begins a request. */
  constructor(socket: Socket, limits: ConnectionLimits, serve: (request: T) => void) {
    this.socket = socket;
    this.#serve = serve;
    this.#limits = limits;
    this.#allowance = limits.pipelined;
    // Reading the body of a request goes on with the connection, whatever this one thinks of it.
    socket.on("resume", () => this.#paused && socket.pause());
  }

  /** Serves a request now or in its turn. */
  enter(request: T): void {
    if (this.#waiting.length === 0 && this.#hasRoom) return this.#begin(request);
    this.#waiting.push(request);
    this.#overdue ??= setTimeout(this.#letMoreIn, OVERDUE_MS).unref();
    if (this.#waiting.length >= MOST_WAITING || this.#behind) this.#pause();
  }

  /** A reply was read to its end, or nobody will read it. */
  done(request: T): void {
    const at = this.#inService.indexOf(request);
    if (at < 0) return;
    if (this.#inService.length === 1) this.#inService.pop();
    else this.#inService.splice(at, 1);
    this.#allowance = Math.max(this.#limits.pipelined, this.#allowance - 1);
    // What timed the reading of that reply must not end a request that takes longer.
    if (this.#inService[0]?.buffered === 0) this.socket.setTimeout(0);
    this.#readOn();
  }

  /** A reply was written: a reader that is behind is not listened to, and cut when it takes nothing. */
  replied(request: T): void {
    if (request.buffered === 0) return;
    this.socket.setTimeout(this.#limits.stallMs);
    if (this.#behind) this.#pause();
  }

  /** The connection has ended: what waited is never begun, and what is in service has nobody to answer. */
  ended(): void {
    clearTimeout(this.#overdue);
    this.#waiting = [];
    const left = this.#inService;
    this.#inService = [];
    for (const each of left) each.closed();
  }

  get #hasRoom(): boolean {
    const { length } = this.#inService;
    return length === 0 || (length < this.#allowance && !this.#behind);
  }

  get #behind(): boolean {
    let unread = 0;
    for (const { buffered } of this.#inService) unread += buffered;
    return unread >= this.#limits.bufferedBytes;
  }

  #begin(request: T): void {
    this.#inService.push(request);
    this.#serve(request);
  }

  #readOn(): void {
    if (this.#waiting.length > 0) this.#schedule();
    if (!this.#paused || this.#behind || this.#waiting.length * 2 > MOST_WAITING) return;
    this.#paused = false;
    this.socket.resume();
  }

  #pause(): void {
    if (this.#paused) return;
    this.#paused = true;
    this.socket.pause();
  }

  /** One in a turn of the event loop, so that the other connections have theirs. */
  #schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    setImmediate(this.#next);
  }

  readonly #next = (): void => {
    this.#scheduled = false;
    clearTimeout(this.#overdue);
    this.#overdue = undefined;
    if (!this.#hasRoom) return this.#wait();
    const request = this.#waiting.shift();
    if (request !== undefined) this.#begin(request);
    if (this.#waiting.length > 0) this.#schedule();
    else this.#readOn();
  };

  #wait(): void {
    if (this.#waiting.length > 0) this.#overdue ??= setTimeout(this.#letMoreIn, OVERDUE_MS).unref();
  }

  /** Nothing was finished for a while: perhaps what is in service waits for a message that is still to be served. */
  readonly #letMoreIn = (): void => {
    this.#overdue = undefined;
    if (!this.#behind) this.#allowance = this.#inService.length + this.#limits.pipelined;
    this.#next();
  };
}
