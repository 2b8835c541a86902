// The file system under the policy: makes the `files` of one call, watches, and reads the newest part of the log the
// policy names.
import { type FSWatcher, watch } from "node:fs";
import type { Policy } from "../../policy/policy.js";
import type { RebuildWork } from "./atomic-write.js";
import { isExchangeable, readingOnly } from "./bases.js";
import { FileRules, type Reader } from "./file-rules.js";
import { FileError, type Files, MAX_WATCHES, WATCH_PAUSE_MS } from "./files.js";
import { ClientRoots, Finder, type Lookup, type OperationRules } from "./finder.js";
import { portableLookup, procLookup } from "./lookup.js";
import { ownFiles } from "./own-files.js";
import { PolicyFiles } from "./policy-files.js";

/** Asks for the URIs of a client's roots. */
export type AskRoots = () => Promise<readonly string[]>;

export interface FileSystemOptions {
  /** Files and folders of the program's own, beside those its policy names. */
  readonly own?: readonly string[];
  /** How files are found; the best way this system knows when absent. */
  readonly lookup?: Lookup;
}

export class FileSystem {
  readonly #policy: () => Policy;
  readonly #own: readonly string[];
  readonly #finder: Finder;
  readonly #watches: Watches;
  #rules: { readonly policy: Policy; readonly made: Promise<FileRules> } | undefined;

  /** `policy` is asked at every operation: a reload counts from the next one on. */
  constructor(policy: () => Policy, options: FileSystemOptions = {}) {
    const { own = [], lookup = process.platform === "linux" ? procLookup : portableLookup } = options;
    this.#policy = policy;
    this.#own = own;
    this.#finder = new Finder(lookup);
    this.#watches = new Watches(this.#finder, async () => ({ rules: await this.#current(), client: undefined }));
  }

  /**
   * Files that the policy of the moment allows; with `roots`, only those that lie in them too. They are asked for once. Git's own
   * files are among them for the reader of git history alone.
   */
  files(roots?: AskRoots, reader?: Reader): Files {
    let asked: Promise<ClientRoots> | undefined;
    const terms = async (): Promise<OperationRules> => {
      asked ??= roots?.().then((uris) => ClientRoots.of(uris));
      // Awaited together: a client may refuse before the rules are there, and a refusal nobody awaits ends the process.
      const [rules, client] = await Promise.all([this.#current(), asked]);
      return { rules, client, reader };
    };
    return new PolicyFiles(this.#finder, terms);
  }

  /**
   * Lets `work` change an unfinished copy of a file (an empty file, where there is none), which then takes the file's place:
   * nobody sees anything between, and an end at any moment leaves the file as it was. Fails with `changed` when somebody else
   * wrote the file meanwhile.
   */
  async rebuild(path: string, work: RebuildWork, signal: AbortSignal): Promise<void> {
    const terms = async (): Promise<OperationRules> => ({ rules: await this.#current(), client: undefined });
    await new PolicyFiles(this.#finder, terms).rebuild(path, work, signal);
  }

  /**
   * Calls `changed` when the file, or the folder's list of entries, changes: at most once in 100 ms. Returns what ends it. What
   * may not be read is not watched, nor is anything beyond 256 watches in all, and neither is told.
   */
  watch(path: string, changed: () => void): () => void {
    return this.#watches.watch(path, changed);
  }

  /** Ends all watching. */
  close(): void {
    this.#watches.close();
  }

  async #current(): Promise<FileRules> {
    const policy = this.#policy();
    if (this.#rules?.policy !== policy) {
      const made = FileRules.of(policy, ownFiles(policy, this.#own));
      this.#rules = { policy, made };
    }
    const rules = await this.#rules.made;
    await rules.followLinks();
    return rules;
  }
}

// Watches files and folders for changes, within bounds: so many at a time, and each told only so often.

interface Watch {
  /** What was found under its name: it is judged again before each news of it. */
  real: string;
  readonly changed: () => void;
  watcher: FSWatcher | undefined;
  timer: NodeJS.Timeout | undefined;
  ended: boolean;
}

export class Watches {
  readonly #finder: Finder;
  readonly #terms: () => Promise<OperationRules>;
  readonly #all = new Set<Watch>();

  constructor(finder: Finder, terms: () => Promise<OperationRules>) {
    this.#finder = finder;
    this.#terms = terms;
  }

  watch(path: string, changed: () => void): () => void {
    const watch: Watch = {
      real: "",
      changed: () => void this.#tell(watch, changed),
      watcher: undefined,
      timer: undefined,
      ended: false,
    };
    if (this.#all.size >= MAX_WATCHES) return () => undefined;
    this.#all.add(watch);
    void this.#start(watch, path).catch(() => this.#end(watch));
    return () => this.#end(watch);
  }

  close(): void {
    for (const watch of this.#all) this.#end(watch);
  }

  /** Files are watched by name in their folder: programs that write them anew put another file in their place. */
  async #start(watch: Watch, path: string): Promise<void> {
    const terms = await this.#terms();
    const found = await this.#finder.find(terms, path, "read");
    try {
      watch.real = found.path;
      if (found.stats.isDirectory()) return this.#begin(watch, found.at);
      const { folder, name } = await this.#finder.place(terms, found.path, "read");
      try {
        this.#begin(watch, folder.at, name);
      } finally {
        folder.close();
      }
    } finally {
      found.close();
    }
  }

  /** What is watched is the very folder that was found, whatever becomes of its name. */
  #begin(watch: Watch, at: string, name?: string): void {
    if (watch.ended) return;
    watch.watcher = watchFolder(at, (entry) => {
      if (name === undefined || entry === null || entry === name) note(watch);
    });
    watch.watcher.on("error", () => this.#end(watch));
  }

  /** The policy may be another one than when it was begun. */
  async #tell(watch: Watch, changed: () => void): Promise<void> {
    try {
      this.#finder.judge(await this.#terms(), watch.real, "read");
    } catch {
      return this.#end(watch);
    }
    if (!watch.ended) changed();
  }

  #end(watch: Watch): void {
    watch.ended = true;
    watch.watcher?.close();
    clearTimeout(watch.timer);
    this.#all.delete(watch);
  }
}

function watchFolder(path: string, changed: (name: string | null) => void): FSWatcher {
  return watch(path, { persistent: false }, (_event, name) => changed(name));
}

/** The first change is told after the pause, with all that happened in it. */
function note(watch: Watch): void {
  if (watch.timer !== undefined || watch.ended) return;
  watch.timer = setTimeout(() => {
    watch.timer = undefined;
    if (!watch.ended) watch.changed();
  }, WATCH_PAUSE_MS).unref();
}

// Reads the newest part of the log that the policy names, found and judged as every file is.

const RULE = { text: "prompts.analyze_logs.log_file" };

/** Of the log that the policy of the moment names, its last bytes, from the beginning of a line. */
export type ReadLog = (maxBytes: number) => Promise<string>;

/** `own` are the program's own files, which no log is. The reader refuses what is no regular file, by a FileError. */
export function logTail(policy: () => Policy, own: readonly string[]): ReadLog {
  let granted: { readonly policy: Policy; readonly own: Policy } | undefined;
  const named = (): string => policy().prompts.analyzeLogsFile ?? "";
  const files = new FileSystem(
    () => {
      const now = policy();
      if (granted?.policy !== now) granted = { policy: now, own: readingOnly(now, named(), RULE) };
      return granted.own;
    },
    { own },
  ).files();
  return async (maxBytes) => {
    const path = named();
    if (isExchangeable(path)) throw exchangeable(path);
    const file = await files.open(path);
    try {
      const start = Math.max(0, file.size - maxBytes);
      const bytes = Buffer.alloc(file.size - start);
      const text = bytes.toString("utf8", 0, await file.read(bytes, start));
      return start === 0 ? text : text.slice(text.indexOf("\n") + 1);
    } finally {
      file.close();
    }
  };
}

function exchangeable(path: string): FileError {
  const words = `"${path}" goes by a link that a program of the policy may exchange; name where it leads`;
  return new FileError("link", words, RULE.text);
}
