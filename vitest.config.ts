// Test configuration: every suite runs on the sources through the workspace's own export condition.
import { availableParallelism } from "node:os";
import { defineConfig } from "vitest/config";
import LongestFirst from "./scripts/lib/longest-first.mjs";

const conditions = ["@secure-local/source", "module", "node", "default"];

// Test files share the modules of their worker, which are otherwise loaded and compiled anew for each file: that costs
// more than most tests do. What stays alone says why.
const ALONE = [
  // What no text may cost is meant of a server, whose engine optimises as usual.
  "packages/mcp/test/{jsonrpc,schema}/bombs.test.ts",
  "packages/mcp/test/protocol/uri-template.test.ts",
  "packages/secure-local/test/cleaning/{hidden-secrets,long-answers}.test.ts",
  // A process knows the secrets of all its files, and replaces them in any text.
  "packages/secure-local/test/audit/redaction.test.ts",
  "packages/secure-local/test/cleaning/secrets.test.ts",
  // Counts all timers that there are, and all handles.
  "packages/mcp/test/client/around.test.ts",
  "packages/secure-local/test/files/handles.test.ts",
  // Reads the whole heap.
  "packages/mcp/test/http/kept-headers.test.ts",
  // Count all timers.
  "packages/mcp/test/gateway/unanswered.test.ts",
  "packages/mcp/test/client/calls.test.ts",
  // Puts a module into the place of Node's, which works only where nobody has loaded that before.
  "packages/secure-local/test/sandbox/inherited-streams.test.ts",
];

const ALL = [
  "packages/*/test/**/*.test.ts",
  "scripts/test/**/*.test.ts",
  "examples/test/**/*.test.ts",
  "conformance/test/**/*.test.ts",
];

// Set by `npm test`, which has compiled the tests. vitest started by itself transforms them through vite instead.
const compiled = process.env["COMPILED_TESTS"] === "1" ? { runner: "scripts/lib/compiled-test-runner.mjs" } : {};

// Most code of a usual run is run a few times: optimising it as early as in a server costs more than it gains, and so
// does collecting garbage in four more threads of each worker while its three neighbours want the processors. With
// SOAK=1 loops are long. The two flags say the same to different versions of the engine: ten times later.
const LATE_OPTIMISING = process.version.startsWith("v20.")
  ? "--interrupt-budget=1000000"
  : "--invocation-count-for-turbofan=30000";
const SHORT_RUN = [LATE_OPTIMISING, "--single-threaded-gc", "--min-semi-space-size=16", "--semi-space-growth-factor=4"];

export default defineConfig({
  resolve: { conditions },
  ssr: { resolve: { conditions, externalConditions: conditions } },
  test: {
    projects: [
      {
        extends: true,
        test: {
          name: "sharing",
          include: ALL,
          exclude: ["**/node_modules/**", ...ALONE],
          isolate: false,
          execArgv: process.env["SOAK"] === "1" ? [] : SHORT_RUN,
          // By itself: a worker that shares is thrown away as soon as the next file in the queue is not for it.
          sequence: { groupOrder: 1 },
        },
      },
      { extends: true, test: { name: "alone", include: ALONE } },
    ],
    environment: "node",
    sequence: { sequencer: LongestFirst },
    ...compiled,
    // Processes and not threads: a thread cannot go into a folder, which is how folders are held where they have no
    // handles. And to start a program the system copies the page tables of all that started it: in one process of
    // several threads that took a fifth of the run.
    pool: "forks",
    // Workers wait for processes they started, for the disk, and for time limits: a core has room for three.
    maxWorkers: 3 * availableParallelism(),
    // Long enough for a machine that does much else: what hangs is still told, what is slow is not blamed.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    expect: { poll: { timeout: 10_000 } },
  },
});
