// One of the processes that run tests side by side; it is started anew when a mutant hangs or ends it.
import { fork } from "node:child_process";
import { join } from "node:path";

/** Longest for one file of tests, and at least for a run: whoever takes longer has been hung up by the mutant. */
const FILE_MS = 20_000;
const LEAST_MS = 90_000;

export class Lane {
  #root;
  #child;

  /** `root` is that of the copy. */
  constructor(root) {
    this.#root = root;
  }

  /** Runs test files with a mutant on (0: none), till the first fails: `{ noticed, file, by, why }`. */
  async run(files, number) {
    if (files.length === 0) return { noticed: false };
    if (this.#child === undefined) await this.#start();
    const child = this.#child;
    let timer;
    const answer = await new Promise((resolve) => {
      child
        .once("message", resolve)
        .once("exit", () => resolve({ noticed: true, by: "the tests' process ended", gone: true }));
      timer = setTimeout(
        () => resolve({ noticed: true, by: "the time limit", gone: true }),
        Math.max(LEAST_MS, FILE_MS * files.length),
      );
      child.send({ files, number });
    });
    clearTimeout(timer);
    child.removeAllListeners("exit").removeAllListeners("message");
    if (answer.gone || answer.broken !== undefined) this.close();
    if (answer.broken !== undefined) throw new Error(`vitest: ${answer.broken}`);
    return answer;
  }

  close() {
    const child = this.#child;
    this.#child = undefined;
    try {
      if (child !== undefined) process.kill(-child.pid, "SIGKILL");
    } catch {
      // It has ended by itself.
    }
  }

  async #start() {
    this.#child = fork(join(this.#root, "scripts/mutants/test-runner.mjs"), {
      cwd: this.#root,
      env: { ...process.env, COMPILED_TESTS: "1", NODE_EXTRA_CA_CERTS: undefined },
      detached: true,
      stdio: ["ignore", "ignore", process.env.MUTANTS_VERBOSE ? "inherit" : "ignore", "ipc"],
    });
    await new Promise((resolve) => this.#child.once("message", resolve));
  }
}
