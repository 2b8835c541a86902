// Reads the policy file again when it changes or the process gets SIGHUP; tells of any file that it changed and then
// rested.
import * as fs from "node:fs";
import { basename, dirname } from "node:path";
import { rememberSecret } from "../audit/secret-shapes.js";
import { followSecretFile, spellingsOf } from "../audit/secret-spellings.js";
import { checkPlaces } from "../capabilities/files/own-files.js";
import { loadPolicy } from "../policy/load-policy.js";
import type { Policy } from "../policy/policy.js";

type Cause = "SIGHUP" | "changed";

export interface FollowOptions {
  readonly say: (line: string) => void;
  /** Does what else a new policy asks for, before it is in force. When it rejects, the policy before stays. */
  readonly adopt?: (policy: Policy) => Promise<void>;
}

/** What obeys a policy. */
export interface FollowsPolicy {
  readonly policy: Pick<Policy, "hash" | "profile">;
  reload(policy: Policy): void;
  reloadFailed(reason: string): void;
}

/**
 * A file that cannot be used is told with `say`, recorded, and changes nothing. Causes that come while the file is read lead to one
 * more reading. Returns the function that stops it all.
 */
export function followPolicyFile(secure: FollowsPolicy, file: string | undefined, options: FollowOptions): () => void {
  const { say } = options;
  const reader = new PolicyReader(secure, file, options);
  const stopWatching =
    file === undefined ? () => undefined : watchFile(file, { changed: () => reader.read("changed"), say });
  // On Windows the signal means that the console is closing.
  if (process.platform === "win32") return stopWatching;
  const listener = (): void => reader.read("SIGHUP");
  process.on("SIGHUP", listener);
  return () => {
    stopWatching();
    process.off("SIGHUP", listener);
  };
}

class PolicyReader {
  readonly #secure: FollowsPolicy;
  readonly #file: string | undefined;
  readonly #say: FollowOptions["say"];
  readonly #adopt: FollowOptions["adopt"];
  #reading = false;
  #again: Cause | undefined;
  /** What was last said to be wrong, so that one faulty file is not told at every touch. */
  #refused = "";

  constructor(secure: FollowsPolicy, file: string | undefined, { say, adopt }: FollowOptions) {
    this.#secure = secure;
    this.#file = file;
    this.#say = say;
    this.#adopt = adopt;
  }

  read(cause: Cause): void {
    if (this.#file === undefined) {
      this.#say(`${cause}: the built-in policy is in force, there is no file to read again`);
    } else if (this.#reading) {
      this.#again = this.#again === "SIGHUP" ? "SIGHUP" : cause;
    } else {
      void this.#readAll(this.#file, cause);
    }
  }

  async #readAll(file: string, first: Cause): Promise<void> {
    this.#reading = true;
    for (let cause: Cause | undefined = first; cause !== undefined; cause = this.#again) {
      this.#again = undefined;
      await this.#readOnce(file, cause);
    }
    this.#reading = false;
  }

  async #readOnce(file: string, cause: Cause): Promise<void> {
    try {
      const policy = await loadPolicy(file, this.#secure.policy.profile?.name);
      checkPlaces(policy);
      const same = policy.hash === this.#secure.policy.hash;
      // Touched, not changed: nobody has to hear of it. A signal is always answered.
      if (same && cause === "changed" && this.#refused === "") return;
      await this.#adopt?.(policy);
      this.#refused = "";
      this.#secure.reload(policy);
      this.#say(`${cause}: ${file} is in force`);
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      if (cause === "changed" && reason === this.#refused) return;
      this.#refused = reason;
      this.#secure.reloadFailed(reason);
      this.#say(`${reason}\n${cause}: keeping the previous policy`);
    }
  }
}

// Tells that a file has changed and then rested, whether it was written to or replaced.

/** Time without a change before a file is taken to be whole: nobody should read what is half written. */
export const QUIET_MS = 1_000;

export interface WatchOptions {
  readonly changed: () => void;
  /** Told once when the file cannot be watched. */
  readonly say: (line: string) => void;
  /** In milliseconds; `QUIET_MS` when absent. */
  readonly quietMs?: number;
}

/**
 * Watches the folder, since editors put a new file in the place of the old one, and the folder a link leads to. Returns the
 * function that stops it. It keeps no process alive.
 */
export function watchFile(file: string, { changed, say, quietMs = QUIET_MS }: WatchOptions): () => void {
  let timer: NodeJS.Timeout | undefined;
  const names = new Set([basename(file)]);
  const touched = (_event: string, name: string | null): void => {
    if (name !== null && !names.has(name)) return;
    clearTimeout(timer);
    timer = setTimeout(changed, quietMs).unref();
  };
  const watchers: fs.FSWatcher[] = [];
  const stop = (): void => {
    clearTimeout(timer);
    for (const watcher of watchers) watcher.close();
  };
  const fail = (error: unknown): void => {
    stop();
    say(`${file} cannot be watched (${error instanceof Error ? error.message : String(error)}); send SIGHUP to reload`);
  };
  try {
    // One that is not there yet is seen when it comes.
    const real = fs.existsSync(file) ? fs.realpathSync(file) : file;
    names.add(basename(real));
    for (const folder of new Set([dirname(file), dirname(real)])) {
      watchers.push(fs.watch(folder, { persistent: false }, touched).on("error", fail));
    }
  } catch (error) {
    fail(error);
  }
  return stop;
}

// Learns the values of the secrets a policy names, so that no answer and no record ever holds one.

/** A file is looked at again before anything leaves. A value that cannot be read is not known; who uses it has to say that it is missing. */
export function rememberSecrets({ secrets }: Policy, say: (line: string) => void): void {
  for (const { name, from } of secrets.values()) {
    const learn = (value: string): void => {
      // Of a connection string the part that opens the door is a secret alone as well.
      const learnt = [value, ...passwordIn(value)].map((each) => rememberSecret(name, each));
      if (!learnt[0] && isNews(say, name, value))
        say(`secrets.${name}: the value is too short to be recognised in texts, so it is not taken out of them`);
    };
    const value = from.kind === "env" ? process.env[from.name] : undefined;
    if (from.kind === "file") followSecretFile(name, from.path, learn);
    else if (value !== undefined) learn(value);
  }
}

/** What each operator was told of values, by the names of secrets: the parts of a policy are served side by side. */
const told = new WeakMap<(line: string) => void, Map<string, string>>();

function isNews(say: (line: string) => void, name: string, value: string): boolean {
  const known = told.get(say) ?? new Map<string, string>();
  told.set(say, known);
  if (known.get(name) === value) return false;
  known.set(name, value);
  return true;
}

/** Has a value known before it is used. Returns how it may be spelt; nothing for one that cannot be kept out of texts. */
export function learnSecret(name: string, value: string): readonly string[] {
  return rememberSecret(name, value) ? [...spellingsOf(value)] : [];
}

function passwordIn(value: string): string[] {
  try {
    const { password } = new URL(value.trim());
    return password === "" ? [] : [decodeURIComponent(password)];
  } catch {
    return [];
  }
}
