// Starts a thread that runs SQL, and ends it: whatever it is doing, a thread can be ended at any time.
import { existsSync } from "node:fs";
import { Worker } from "node:worker_threads";
import { fileURLToPath } from "node:url";
import { DatabaseError, READ_ONLY_RULE } from "./databases.js";

/** Threads at a time: each may take a processor and half a gigabyte. */
const MAX_WORKERS = 5;
/** MiB; rows on their way, and the parser's trees. */
const MAX_HEAP_MB = 192;
/** As bundled, beside this file; as sources, where it is kept. */
const PLACES = ["./sql-worker.cjs", "../../../launcher/sql-worker.cjs"];

let running = 0;
/** SQLite as the first thread has compiled it, for those that follow. */
let compiled: unknown;

export interface WorkerLimits {
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

/** One thread with one task. Use `runTask` unless it has to be talked to. End it. */
export class SqlWorker {
  readonly #worker: Worker;
  readonly #early: unknown[] = [];
  #settle: ((outcome: { readonly value?: unknown; readonly error?: unknown }) => void) | undefined;
  #ending: Promise<void> | undefined;

  /** @throws DatabaseError `busy` */
  constructor(data: Readonly<Record<string, unknown>>) {
    if (running >= MAX_WORKERS)
      throw new DatabaseError("busy", `${MAX_WORKERS} statements are running already; try again in a moment.`);
    running += 1;
    const resourceLimits = { maxOldGenerationSizeMb: MAX_HEAP_MB };
    this.#worker = new Worker(workerFile(), {
      workerData: { ...data, compiled },
      env: {},
      execArgv: [],
      stdin: false,
      resourceLimits,
    });
    this.#worker.on("message", (value: unknown) => this.#receive(value));
    this.#worker.on("messageerror", () => this.#fail(tooDeep()));
    this.#worker.on("error", (error) => this.#fail(broken(error)));
    this.#worker.on("exit", () => this.#fail(broken(undefined)));
  }

  get ended(): boolean {
    return this.#ending !== undefined;
  }

  /**
   * Sends a message, if one is given, and waits for the next answer. Ends the thread when there is none in time.
   * @throws DatabaseError, the signal's reason
   */
  async ask<T>({ timeoutMs, signal }: WorkerLimits, message?: unknown): Promise<T> {
    const stop = (): void => this.#fail(signal.reason);
    const timer = setTimeout(() => this.#fail(timedOut(timeoutMs)), timeoutMs);
    signal.addEventListener("abort", stop, { once: true });
    try {
      return await new Promise<T>((resolve, reject) => {
        this.#settle = ({ value, error }) => (error === undefined ? resolve(value as T) : reject(error));
        if (signal.aborted) stop();
        else if (this.ended) this.#fail(broken(undefined));
        // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has one partner and no origin
        else if (message !== undefined) this.#worker.postMessage(message);
        const early = this.#early.shift();
        if (early !== undefined) this.#receive(early);
      });
    } finally {
      clearTimeout(timer);
      signal.removeEventListener("abort", stop);
    }
  }

  /** Whether the process stays for it. */
  keepsProcess(keeps: boolean): void {
    if (keeps) this.#worker.ref();
    else this.#worker.unref();
  }

  /** Resolves when the thread is gone. */
  end(): Promise<void> {
    this.#ending ??= this.#worker.terminate().then(() => void (running -= 1));
    return this.#ending;
  }

  #receive(value: unknown): void {
    if (typeof value === "object" && value !== null && "compiled" in value) {
      ({ compiled } = value);
      return;
    }
    const settle = this.#settle;
    if (settle === undefined) {
      this.#early.push(value);
      return;
    }
    this.#settle = undefined;
    const { failed, refused } = value as { readonly failed?: string; readonly refused?: boolean };
    const code = refused === true ? "denied" : "statement";
    settle(failed === undefined ? { value } : { error: new DatabaseError(code, failed) });
  }

  #fail(error: unknown): void {
    const settle = this.#settle;
    this.#settle = undefined;
    settle?.({ error });
    void this.end();
  }
}

export async function runTask<T>(data: Readonly<Record<string, unknown>>, limits: WorkerLimits): Promise<T> {
  limits.signal.throwIfAborted();
  const worker = new SqlWorker(data);
  try {
    return await worker.ask<T>(limits);
  } finally {
    await worker.end();
  }
}

function workerFile(): string {
  const places = PLACES.map((place) => fileURLToPath(new URL(place, import.meta.url)));
  return places.find((place) => existsSync(place)) ?? (places[0] as string);
}

/** Threads hand values over only so deep. */
function tooDeep(): DatabaseError {
  return new DatabaseError("denied", "The statement is nested too deeply.", READ_ONLY_RULE);
}

function timedOut(timeoutMs: number): DatabaseError {
  return new DatabaseError("timeout", `The statement was stopped after ${timeoutMs / 1_000} seconds.`);
}

function broken(error: unknown): DatabaseError {
  const memory = (error as { readonly code?: string } | undefined)?.code === "ERR_WORKER_OUT_OF_MEMORY";
  return new DatabaseError(
    "statement",
    memory ? "The statement needs too much memory." : "The statement could not be run.",
  );
}
