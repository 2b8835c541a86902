// One of the processes that run tests side by side; it is started anew when a mutant hangs or ends it.
import { spawn } from "node:child_process";
import { join } from "node:path";

export class Lane {
  #root;
  #launcher;
  #child;
  /** Whether a mutant may have left something behind in the modules of the worker. */
  #stained = false;

  /** `root` is that of the copy. `launcher`: words before the command that starts the process. */
  constructor(root, { launcher = [] } = {}) {
    this.#root = root;
    this.#launcher = launcher;
  }

  /**
   * Runs a test file with a mutant on (0: none), or the test `only` of it, for at most `most` seconds of processors:
   * `{ noticed, by, why, test, hung }`.
   * With `alone` no module is left of a run before, nor of this one for the next but one that is `along` with it.
   */
  async run(file, number, { most, only, alone = false, along = false }) {
    if (this.#child === undefined) await this.#start();
    const fresh = this.#stained ? !along : alone;
    this.#stained = alone;
    const child = this.#child;
    const answer = await new Promise((resolve) => {
      child
        .once("message", resolve)
        .once("exit", () => resolve({ noticed: true, by: "the tests' process ended", gone: true }));
      child.send({ file, number, only, fresh, most });
    });
    child.removeAllListeners("exit").removeAllListeners("message");
    if (answer.gone || answer.broken !== undefined) this.close();
    if (answer.broken !== undefined) throw new Error(`vitest: ${answer.broken}`);
    return answer;
  }

  close() {
    const child = this.#child;
    this.#child = undefined;
    this.#stained = false;
    try {
      if (child !== undefined) process.kill(-child.pid, "SIGKILL");
    } catch {
      // It has ended by itself.
    }
  }

  async #start() {
    const [command, ...args] = [
      ...this.#launcher,
      process.execPath,
      join(this.#root, "scripts/mutants/test-runner.mjs"),
    ];
    this.#child = spawn(command, args, {
      cwd: this.#root,
      env: { ...process.env, COMPILED_TESTS: "1", NODE_EXTRA_CA_CERTS: undefined },
      detached: true,
      stdio: ["ignore", "ignore", process.env.MUTANTS_VERBOSE ? "inherit" : "ignore", "ipc"],
    });
    const child = this.#child;
    await new Promise((resolve, reject) => {
      child.once("message", resolve).once("error", reject);
      child.once("exit", (code) => reject(new Error(`${command} ended with code ${code} before it ran a test`)));
    });
    child
      .removeAllListeners("exit")
      .removeAllListeners("error")
      .on("error", () => undefined);
  }
}
