// Test configuration: every suite runs on the sources through the workspace's own export condition.
import { availableParallelism } from "node:os";
import { defineConfig } from "vitest/config";

const conditions = ["@secure-local/source", "module", "node", "default"];

// These touch nothing but what they make themselves, so they share the modules of their worker, which are otherwise
// loaded anew for each file. Whatever measures memory or time, loads much or changes globals stays out.
const OUT = "bombs|pressure|principals|shared-file|uri-template";
const SHARING = [
  "{auth,auth-client,client,endpoint,era,fetch,http,http-client,jsonrpc,protocol}",
  "{refusals,schema,serve,server,sse,surface,tasks,transcripts,transport}",
].map((folders) => `packages/mcp/test/${folders}/**/!(${OUT}).test.ts`);
SHARING.push("packages/secure-local/test/{approvals,capabilities,guard,policy,tools}/**/*.test.ts");

const ALL = [
  "packages/*/test/**/*.test.ts",
  "scripts/test/**/*.test.ts",
  "examples/test/**/*.test.ts",
  "conformance/test/**/*.test.ts",
];

export default defineConfig({
  resolve: { conditions },
  ssr: { resolve: { conditions, externalConditions: conditions } },
  test: {
    projects: [
      { extends: true, test: { name: "sharing", include: SHARING, isolate: false } },
      { extends: true, test: { name: "alone", include: ALL, exclude: ["**/node_modules/**", ...SHARING] } },
    ],
    environment: "node",
    pool: "threads",
    // Many tests wait for processes of their own: one worker more than there are cores keeps all of them busy.
    maxWorkers: availableParallelism() + 1,
    // Long enough for a machine that does much else: what hangs is still told, what is slow is not blamed.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    expect: { poll: { timeout: 10_000 } },
  },
});
