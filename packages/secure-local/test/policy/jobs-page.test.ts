// docs/jobs.md: each policy there can be used as it stands, and means what it seems to.
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { parsePolicy } from "../../src/policy/parse-policy.js";
import { reviewPolicy } from "../../src/policy/review-policy.js";
import { reviewedTools } from "../../src/cli/settings.js";

const PAGE = readFileSync(new URL("../../../../docs/jobs.md", import.meta.url), "utf8");
const POLICIES = [...PAGE.matchAll(/^## ([^\n]*)\n+```yaml\n([^]*?)```/gm)].map(([, title = "", text = ""]) => ({
  title,
  text,
}));

describe("docs/jobs.md", () => {
  it("has a policy for each job", () => expect(POLICIES.length).toBeGreaterThan(4));

  it.each(POLICIES)("$title: can be used, and nothing in it is surely not meant", async ({ text }) => {
    const policy = await parsePolicy(text, { file: "policy.yaml", environment: { HOME: "/home/ada" } });
    expect(reviewPolicy(policy, reviewedTools(policy)).map(({ message }) => message)).toEqual([]);
  });
});
