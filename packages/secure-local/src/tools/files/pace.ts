// Keeps a long search from holding everything else up, and tells the caller how far it is.
import type { ToolPowers } from "../tool.js";
import type { Files, FolderEntry } from "../../capabilities/files/files.js";

/** Milliseconds of work before others get a turn. */
const TURN_MS = 25;
/** Milliseconds between reports. */
const REPORT_MS = 500;

export class Pace {
  readonly #powers: Pick<ToolPowers, "clock" | "progress" | "signal">;
  readonly #began: number;
  #turn: number;
  #reported: number;

  constructor(powers: Pick<ToolPowers, "clock" | "progress" | "signal">) {
    this.#powers = powers;
    this.#began = powers.clock.elapsed();
    this.#turn = this.#began;
    this.#reported = this.#began;
  }

  get elapsedMs(): number {
    return this.#powers.clock.elapsed() - this.#began;
  }

  /** Call often. Throws the signal's reason when the call is cancelled. */
  async step(done: number, message: () => string): Promise<void> {
    const now = this.#powers.clock.elapsed();
    if (now - this.#turn >= TURN_MS) {
      await new Promise((resolve) => setImmediate(resolve));
      this.#powers.signal.throwIfAborted();
      this.#turn = this.#powers.clock.elapsed();
    }
    if (now - this.#reported < REPORT_MS) return;
    this.#reported = now;
    await this.#powers.progress(done, undefined, message());
  }
}

// Where the two searches look: one folder or all that are allowed, without what fills folders and is never meant.

/** Copies of other people's work and git's own records, unless the search begins inside. */
const PASSED_OVER: ReadonlySet<string> = new Set([".git", "node_modules", ".hg", ".svn", "__pycache__", ".venv"]);

export const PASSED_OVER_WORDS: string = [...PASSED_OVER].join(", ");

/** An entry, and its path relative to the folder the search began in. */
interface Visited {
  readonly entry: FolderEntry;
  readonly relative: string;
}

export async function* visit(files: Files, path: string | undefined, signal: AbortSignal): AsyncGenerator<Visited> {
  const folders = path === undefined ? await files.roots() : [(await files.info(path)).path];
  for (const folder of folders) {
    const start = folder.length + (folder.endsWith("/") ? 0 : 1);
    const enter = ({ name }: FolderEntry): boolean => !PASSED_OVER.has(name);
    for await (const entry of files.walk(folder, { enter, signal })) {
      yield { entry, relative: entry.path.slice(start) };
    }
  }
}
