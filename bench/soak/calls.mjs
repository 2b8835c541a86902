// What is called in a soak, honest and not: the n-th call is always the same one, so that two quarters have the same mix.
import { join } from "node:path";

export const FILES = 40;
/** One call of so many is a fault; in the fast part of the warm-up more are, so that the engine has compiled all of it before anything counts. */
const FAULT_EVERY = 100;
const WARM_FAULT_EVERY = 8;
const HONEST = [
  ({ n }) => ["calculate", { expression: `${n} + 4 * 2` }],
  () => ["get_timestamp", {}],
  ({ n, work }) => ["read_file", { path: join(work, `read${n % FILES}.txt`) }],
  ({ n }) => ["calculate", { expression: `(${n} % 97) ^ 2` }],
  ({ n }) => ["steady_shout", { text: `call ${n}` }],
  ({ n, work }) => ["write_file", { path: join(work, `write${n % FILES}.txt`), content: `call ${n}\n` }],
  ({ n }) => ["calculate", { expression: `${n} / 7` }],
  ({ n }) => ["steady_shout", { text: "x".repeat(n % 2_000) }],
  ({ work }) => ["list_directory", { path: work }],
  ({ n, work }) => ["search_text", { path: join(work, `read${n % FILES}.txt`), query: `file ${n % FILES}` }],
];
const FAULTS = [
  () => ({ kind: "bad arguments", call: ["calculate", { expression: 7, more: true }] }),
  () => ({ kind: "denied", call: ["run_command", { command: "ls" }] }),
  () => ({ kind: "cancelled", call: ["steady_wait", {}] }),
  () => ({ kind: "denied", call: ["read_file", { path: "/etc/shadow" }] }),
  () => ({ kind: "bad arguments", call: ["no_such_tool", {}] }),
  ({ n }) => ({ kind: "wrong", call: ["calculate", { expression: `${n} / / 2` }] }),
];

/** The n-th call: `{ kind, call }`; the kind of an honest one is "honest". */
export function callOf(n, work, fast) {
  const every = fast ? WARM_FAULT_EVERY : FAULT_EVERY;
  if (n % every === every - 1) return FAULTS[Math.floor(n / every) % FAULTS.length]({ n, work });
  return { kind: "honest", call: HONEST[n % HONEST.length]({ n, work }) };
}

/** How long a call that is going to be cancelled is let run. */
export const CANCEL_MS = 20;
/** A plugin that ran for a minute is started again at once, so this often it may fall. */
export const CRASH_EVERY_MS = 75_000;
