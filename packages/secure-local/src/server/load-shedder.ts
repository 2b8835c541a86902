// Lets calls in as memory allows: begins no more at once than there is room for, and refuses for now while memory is short.
import { getHeapStatistics } from "node:v8";
import { readFileSync } from "node:fs";
import { totalmem } from "node:os";
import { ErrorCode } from "@secure-local/mcp/jsonrpc";
import { type Answer, type Middleware, type Next, RpcError } from "@secure-local/mcp/server";
import type { ServeHttpOptions } from "@secure-local/mcp/http";

// Knows how much memory is left to this process, looking only when it is asked and no more than ten times a second.

/** From this share of what there is on, memory is short: what is under way needs the rest. */
const SHORT_SHARE = 0.85;
/** A look costs some microseconds; what calls take shows within this time. */
export const LOOK_MS = 100;

/** Bytes. */
interface MemoryReading {
  readonly resident: number;
  readonly heap: number;
  /** What the engine gives up at. */
  readonly heapLimit: number;
}

interface MemoryWatchOptions {
  /** Bytes this process may use in all. */
  readonly limit: number;
  readonly read?: () => MemoryReading;
  /** Monotonic milliseconds. */
  readonly now?: () => number;
}

export class MemoryMonitor {
  readonly #limit: number;
  readonly #read: () => MemoryReading;
  readonly #now: () => number;
  #lookedAt = -Infinity;
  #room = 0;

  constructor({ limit, read = ofThisProcess, now = () => performance.now() }: MemoryWatchOptions) {
    this.#limit = limit;
    this.#read = read;
    this.#now = now;
  }

  /** Bytes until memory is short, by whichever bound is nearer; negative while it is. */
  get room(): number {
    const now = this.#now();
    if (now - this.#lookedAt >= LOOK_MS) {
      this.#lookedAt = now;
      const { resident, heap, heapLimit } = this.#read();
      this.#room = Math.min(this.#limit * SHORT_SHARE - resident, heapLimit * SHORT_SHARE - heap);
    }
    return this.#room;
  }

  get short(): boolean {
    return this.room < 0;
  }
}

function ofThisProcess(): MemoryReading {
  const { used_heap_size: heap, heap_size_limit: heapLimit } = getHeapStatistics();
  return { resident: process.memoryUsage.rss(), heap, heapLimit };
}

/** What one call may take: the longest file that is read, as bytes, as text and as lines. Most take a thousandth of it. */
const CALL_BYTES = 32 * 1024 * 1024;
/** Calls that may always be under way while memory is not short: one that lasts must not hold up all others. */
const FEW = 2;
/** So many times as many may be under way as would fit if each took all it might: most wait for something, or take little. */
const SPREAD = 16;
/** With room for so many it does no harm when a busy process has not got to what it has begun. */
const PLENTY = 64;
/** Calls that wait for others to end: as many as one conversation may have open. */
const MAX_WAITING = 1_024;
/** Whoever waited so long does better to ask again. */
const WAIT_MS = 5_000;
/** Seconds: what is being served now makes room within moments. */
const RETRY_SECONDS = 1;
/** A process that is busy for more than this share of the time between two looks may not have got to what it has begun. */
const BUSY_SHARE = 0.9;
/** So many looks at a busy process count as one: it must not stop taking calls for good because some of them last. */
const BUSY_LOOKS = 10;
/** Bodies up to here cost no more than the connection they come on. */
const SMALL_BODY = 64 * 1024;
const TOO_LITTLE = "The server is short of memory: try again in a second.";

/** What is called, as far as it takes memory worth speaking of. */
const CALLS: ReadonlySet<string> = new Set(["tools/call", "resources/read", "prompts/get"]);

/** The head of an HTTP request. */
interface Head {
  readonly method: string;
  header(name: string): string | undefined;
}

/** How a request is refused before its body is read. */
export interface BusyRefusal {
  readonly status: 503;
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
}

interface Waiting {
  readonly since: number;
  /** Undefined: it may not begin. */
  readonly settle: (span: number | undefined) => void;
}

interface MemoryGateOptions {
  readonly watch: Pick<MemoryMonitor, "room" | "short">;
  /** Told of every refusal. */
  readonly onRefused: () => void;
  /** Whether there was hardly a pause since it was asked last. */
  readonly busy?: () => boolean;
  /** Monotonic milliseconds. */
  readonly now?: () => number;
}

/**
 * A reading of memory says nothing of calls that have just begun, so those count with all that they might take until two
 * looks have come after them. One call may always run: memory that stays taken must not end the service.
 */
export class LoadShedder {
  readonly #watch: MemoryGateOptions["watch"];
  readonly #onRefused: () => void;
  readonly #busy: () => boolean;
  readonly #now: () => number;
  readonly #waiting: Waiting[] = [];
  #timer: NodeJS.Timeout | undefined;
  #underWay = 0;
  /** The span of time between two looks that it is now, and calls begun in it and in the one before that still run. */
  #span = 0;
  #lookedAt = 0;
  #busyLooks = 0;
  #begunNow = 0;
  #begunBefore = 0;

  constructor({ watch, onRefused, busy = busyLoop(), now = () => performance.now() }: MemoryGateOptions) {
    this.#watch = watch;
    this.#busy = busy;
    this.#onRefused = onRefused;
    this.#now = now;
  }

  get short(): boolean {
    return this.#watch.short;
  }

  /** Refuses by its head what is sure to be a call, or to be large, while memory is short; undefined: it may come in. */
  refusal(head: Head): BusyRefusal | undefined {
    if (head.method !== "POST" || this.#underWay === 0 || !this.#watch.short) return undefined;
    const length = head.header("content-length");
    const small = length !== undefined && Number(length) <= SMALL_BODY;
    if (small && !CALLS.has(head.header("mcp-method") ?? "")) return undefined;
    this.#onRefused();
    return { status: 503, headers: { "retry-after": String(RETRY_SECONDS) }, text: TOO_LITTLE };
  }

  /** To stand before all other middleware. */
  readonly middleware: Middleware = (call, next) => (CALLS.has(call.method) ? this.#admit(next) : next());

  async #admit(next: Next): Promise<Answer> {
    const span = this.#waiting.length === 0 && this.#hasRoom() ? this.#begin() : await this.#turn();
    if (span === undefined) {
      this.#onRefused();
      throw new RpcError(ErrorCode.InternalError, TOO_LITTLE, { retryAfterMs: RETRY_SECONDS * 1_000 });
    }
    try {
      return await next();
    } finally {
      this.#end(span);
    }
  }

  #hasRoom(): boolean {
    if (this.#underWay === 0 || (this.#underWay < FEW && !this.#watch.short)) return true;
    this.#turnSpan();
    const fit = this.#watch.room / CALL_BYTES;
    return this.#begunNow + this.#begunBefore < Math.floor(fit) && this.#underWay < fit * SPREAD;
  }

  #begin(): number {
    this.#turnSpan();
    this.#underWay += 1;
    this.#begunNow += 1;
    return this.#span;
  }

  #end(span: number): void {
    this.#turnSpan();
    this.#underWay -= 1;
    if (span === this.#span) this.#begunNow -= 1;
    else if (span === this.#span - 1) this.#begunBefore -= 1;
    if (this.#waiting.length > 0) this.#letIn();
  }

  #turnSpan(): void {
    const passed = this.#now() - this.#lookedAt;
    if (passed < LOOK_MS) return;
    this.#lookedAt += passed;
    const scarce = this.#watch.room < PLENTY * CALL_BYTES;
    this.#busyLooks = this.#busy() && scarce ? this.#busyLooks + 1 : 0;
    if (this.#busyLooks % BUSY_LOOKS > 0) return;
    const turns = passed >= 2 * LOOK_MS && this.#busyLooks === 0 ? 2 : 1;
    this.#begunBefore = turns === 1 ? this.#begunNow : 0;
    this.#begunNow = 0;
    this.#span += turns;
  }

  /** Resolves when it is the call's turn. */
  #turn(): Promise<number | undefined> | undefined {
    if (this.#watch.short || this.#waiting.length >= MAX_WAITING) return undefined;
    this.#timer ??= setInterval(() => this.#letIn(), LOOK_MS);
    return new Promise((settle) => this.#waiting.push({ since: this.#now(), settle }));
  }

  /** Begins as many of those that wait as there is room for, and sends away who waited too long. */
  #letIn(): void {
    const overdue = this.#now() - WAIT_MS;
    while (this.#waiting.length > 0 && this.#hasRoom()) this.#waiting.shift()?.settle(this.#begin());
    while (this.#waiting[0] !== undefined && this.#waiting[0].since <= overdue)
      this.#waiting.shift()?.settle(undefined);
    if (this.#waiting.length > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
}

function busyLoop(): () => boolean {
  let last = performance.eventLoopUtilization();
  return () => {
    const now = performance.eventLoopUtilization();
    const { utilization } = performance.eventLoopUtilization(now, last);
    last = now;
    return utilization > BUSY_SHARE;
  };
}

// How much of this machine HTTP clients may take together, so that what the server itself needs is left.

type Room = Required<Pick<NonNullable<ServeHttpOptions["limits"]>, "bodyBytes" | "connections">>;

/**
 * The share of memory that large request bodies may have. A body takes some ten times its length while it is served, so
 * this leaves most of the memory to everything else.
 */
const BODY_SHARE = 1 / 32;
/** The longest messages, two at a time, are served on any machine; more than sixty-four on none. */
const LEAST_BODY_BYTES = 8 * 1024 * 1024;
const MOST_BODY_BYTES = 256 * 1024 * 1024;
/** The library's own bound. */
const MOST_CONNECTIONS = 10_000;
/** Open files kept for the log, files, databases, plugins and commands: at least so many, and this share. */
const LEAST_RESERVE = 64;
const RESERVE_SHARE = 1 / 4;

interface Machine {
  /** Bytes this process may use. */
  readonly memory: number;
  /** Files and sockets this process may have open; undefined where the system does not tell. */
  readonly openFiles: number | undefined;
}

/** @param machine What it is run on; looked up when absent. */
export function httpRoom({ memory, openFiles = Infinity }: Machine = thisMachine()): Room {
  const share = Math.floor(memory * BODY_SHARE);
  const reserve = Math.max(LEAST_RESERVE, Math.ceil(openFiles * RESERVE_SHARE));
  return {
    bodyBytes: Math.max(LEAST_BODY_BYTES, Math.min(share, MOST_BODY_BYTES)),
    connections:
      openFiles === Infinity ? MOST_CONNECTIONS : Math.max(1, Math.min(openFiles - reserve, MOST_CONNECTIONS)),
  };
}

function thisMachine(): Machine {
  return { memory: memoryLimit(), openFiles: openFilesLimit() };
}

/** Bytes this process may use: what its control group has, or all of the machine's. */
export function memoryLimit(): number {
  // 0 where nothing is known, and more than there is where there is no limit.
  return Math.min(process.constrainedMemory() || Infinity, totalmem());
}

/** Linux tells; elsewhere nobody is asked, since it would cost a process. */
function openFilesLimit(): number | undefined {
  if (process.platform !== "linux") return undefined;
  try {
    const soft = /^Max open files\s+(\d+)/m.exec(readFileSync("/proc/self/limits", "latin1"))?.[1];
    return soft === undefined ? undefined : Number(soft);
  } catch {
    return undefined;
  }
}
