// Lets calls in as memory allows: begins no more at once than there is room for, and refuses for now while memory is short.
import { ErrorCode } from "@secure-local/mcp/jsonrpc";
import { type Answer, type Middleware, type Next, RpcError } from "@secure-local/mcp/server";
import { LOOK_MS, type MemoryWatch } from "./memory-watch.js";

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
export interface ForNow {
  readonly status: 503;
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
}

interface Waiting {
  readonly since: number;
  /** Undefined: it may not begin. */
  readonly settle: (span: number | undefined) => void;
}

export interface MemoryGateOptions {
  readonly watch: Pick<MemoryWatch, "room" | "short">;
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
export class MemoryGate {
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
  refusal(head: Head): ForNow | undefined {
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
