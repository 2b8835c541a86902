// Reads the policy file again when it changes or the process gets SIGHUP.
import { checkPlaces } from "../capabilities/files/own-files.js";
import { loadPolicy } from "../policy/load-policy.js";
import type { Policy } from "../policy/policy.js";
import { watchFile } from "./watch-file.js";

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
