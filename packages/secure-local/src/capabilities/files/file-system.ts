// The file system under the policy: makes the `files` of one call, and watches.
import type { Policy } from "../../policy/policy.js";
import { ClientRoots } from "./client-roots.js";
import { FileRules, type Reader } from "./file-rules.js";
import { Finder, type Terms } from "./finder.js";
import type { Files } from "./files.js";
import type { Lookup } from "./lookup.js";
import { PolicyFiles } from "./policy-files.js";
import type { RebuildWork } from "./rebuild-file.js";
import { portableLookup } from "./portable-lookup.js";
import { procLookup } from "./proc-lookup.js";
import { type OwnFiles, ownFiles } from "./own-files.js";
import { Watches } from "./watches.js";

/** Asks for the URIs of a client's roots. */
export type AskRoots = () => Promise<readonly string[]>;

export interface FileSystemOptions {
  /** Files and folders of the program's own, beside those its policy names. */
  readonly own?: OwnFiles;
  /** How files are found; the best way this system knows when absent. */
  readonly lookup?: Lookup;
}

export class FileSystem {
  readonly #policy: () => Policy;
  readonly #own: OwnFiles;
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
    const terms = async (): Promise<Terms> => {
      asked ??= roots?.().then((uris) => ClientRoots.of(uris));
      return { rules: await this.#current(), client: await asked, reader };
    };
    return new PolicyFiles(this.#finder, terms);
  }

  /**
   * Lets `work` change an unfinished copy of a file (an empty file, where there is none), which then takes the file's place:
   * nobody sees anything between, and an end at any moment leaves the file as it was. Fails with `changed` when somebody else
   * wrote the file meanwhile.
   */
  async rebuild(path: string, work: RebuildWork, signal: AbortSignal): Promise<void> {
    const terms = async (): Promise<Terms> => ({ rules: await this.#current(), client: undefined });
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
      const made = ownFiles(policy, this.#own).then((own) => FileRules.of(policy, own));
      this.#rules = { policy, made };
    }
    const rules = await this.#rules.made;
    await rules.followLinks();
    return rules;
  }
}
