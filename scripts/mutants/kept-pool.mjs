// A pool of vitest's with one worker that stays when a run ends. To vitest it is a new one for each run: its start and its
// end are answered here, and only the runs reach the process.
import { fork } from "node:child_process";
import { join } from "node:path";

const WORKER = join(import.meta.dirname, "kept-worker.mjs");
/** Each run leaves the module of a test file behind: after this many a new process is cheaper than its garbage. */
const MOST_RUNS = 150;

export class KeptPool {
  name = "kept";
  /** Number of the mutant that the next run is for. */
  mutant = 0;
  #child;
  #runs = 0;
  createPoolWorker = (options) => new KeptWorker(this, options);

  /** The process as it is; undefined before the first run and after `end`. */
  get pid() {
    return this.#child?.pid;
  }

  /** The process, a new one if there is none; `fresh` says which. */
  process({ env, execArgv }) {
    if (this.#child?.connected === true) return { child: this.#child, fresh: false };
    this.#child = fork(WORKER, [], {
      env,
      execArgv,
      stdio: ["ignore", "ignore", "ignore", "ipc"],
      serialization: "advanced",
    });
    this.#child.on("error", () => undefined).setMaxListeners(0);
    this.#runs = 0;
    return { child: this.#child, fresh: true };
  }

  /** Whether what ran there may stay: not after very many runs. */
  get isWorn() {
    return this.#runs >= MOST_RUNS;
  }

  counted() {
    this.#runs += 1;
  }

  /** Ends the process: the next run begins in a new one. */
  async end() {
    const child = this.#child;
    this.#child = undefined;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const ended = new Promise((resolve) => child.once("exit", resolve));
    child.kill("SIGKILL");
    await ended;
  }
}

class KeptWorker {
  name = "kept";
  cacheFs = true;
  #pool;
  #options;
  #child;
  #fresh;
  #listeners = [];

  constructor(pool, options) {
    this.#pool = pool;
    this.#options = options;
  }

  on(event, told) {
    this.#listeners.push([event, told]);
    this.#child.on(event, told);
  }

  off(event, told) {
    this.#child.off(event, told);
  }

  async start() {
    const { child, fresh } = this.#pool.process(this.#options);
    this.#child = child;
    this.#fresh = fresh;
  }

  async stop() {
    for (const [event, told] of this.#listeners) this.#child.off(event, told);
  }

  send(message) {
    if (message.type === "start" && !this.#fresh) this.#answer("started");
    else if (message.type === "stop") this.#answer("stopped");
    else if (message.type === "run") {
      this.#pool.counted();
      this.#child.send({ ...message, context: { ...message.context, mutant: this.#pool.mutant } });
    } else if (this.#child.connected) this.#child.send(message);
  }

  #answer(type) {
    queueMicrotask(() => this.#child.emit("message", { type, __vitest_worker_response__: true }));
  }

  deserialize(message) {
    return message;
  }
}
