// Powers for tools under test: a clock that only moves when told, no network, no files.
import type { Clock } from "../../src/capabilities/clock.js";
import { PolicyDatabases } from "../../src/capabilities/databases/policy-databases.js";
import { FileSystem } from "../../src/capabilities/files/file-system.js";
import type { Files } from "../../src/capabilities/files/files.js";
import { builtInPolicy } from "../../src/policy/load-policy.js";
import type { SharedPowers, ToolAnswer, ToolPowers } from "../../src/tools/tool.js";

/** A clock at 2026-01-02T03:04:05.678Z whose sleeps end at once, moving it, and are listed. */
export function fakeClock(): Clock & { readonly slept: number[] } {
  let time = Date.UTC(2026, 0, 2, 3, 4, 5, 678);
  const slept: number[] = [];
  return {
    slept,
    now: () => time,
    elapsed: () => time,
    async sleep(ms, signal) {
      signal?.throwIfAborted();
      slept.push(ms);
      time += ms;
    },
  };
}

export function powers(given: Partial<ToolPowers> = {}): ToolPowers {
  const { fetch, clock, files, databases, acts } = sharedPowers();
  const signal = new AbortController().signal;
  return {
    fetch,
    clock,
    files: files(),
    databases,
    signal,
    sendingOver: undefined,
    progress: () => Promise.resolve(),
    acts,
    ...given,
  };
}

/** What tools registered in a server are given: the fake clock, no network, no files. */
export function sharedPowers(): SharedPowers & { readonly files: () => Files } {
  const files = new FileSystem(builtInPolicy).files();
  return {
    fetch: () => Promise.reject(new Error("no network here")),
    clock: fakeClock(),
    files: () => files,
    databases: new PolicyDatabases(builtInPolicy),
    acts: () => Promise.resolve({ text: "Denied. Nothing is done here.", rule: "test" }),
  };
}

/** What an answer says, whether it failed or not. */
export function wordsOf(answer: ToolAnswer): string {
  if (typeof answer === "string") return answer;
  return "failed" in answer ? answer.failed : (answer.text ?? JSON.stringify(answer.structured));
}
