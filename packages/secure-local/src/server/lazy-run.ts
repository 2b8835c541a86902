// `run`, loaded with the first command: most sessions never run one, and all of them want to start fast.
import type { Run } from "../capabilities/run.js";
import type { Policy } from "../policy/policy.js";

/** `policy` is asked at every run; `own` are the program's own files, which no command sees. */
export function lazyRun(policy: () => Policy, own: readonly string[]): Run {
  let loading: Promise<Run> | undefined;
  return async (name, args, options) => {
    loading ??= import("../capabilities/policy-run.js").then(({ createRun }) => createRun(policy, own));
    return (await loading)(name, args, options);
  };
}
