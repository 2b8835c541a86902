// Test configuration: every suite runs on the sources through the workspace's own export condition.
import { defineConfig } from "vitest/config";

const conditions = ["@secure-local/source", "module", "node", "default"];

export default defineConfig({
  resolve: { conditions },
  ssr: { resolve: { conditions, externalConditions: conditions } },
  test: {
    include: [
      "packages/*/test/**/*.test.ts",
      "scripts/test/**/*.test.ts",
      "examples/test/**/*.test.ts",
      "conformance/test/**/*.test.ts",
    ],
    environment: "node",
    pool: "threads",
    testTimeout: 20_000,
    hookTimeout: 20_000,
  },
});
