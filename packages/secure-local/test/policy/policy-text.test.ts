// A new policy file, for every set of choices: it loads, allows what was chosen and nothing else, and its comments are of what it holds.
import { describe, expect, it } from "vitest";
import { decide, type PolicyRequest } from "../../src/policy/decide.js";
import { parsePolicy } from "../../src/policy/parse-policy.js";
import { policyText, type PolicyChoices } from "../../src/policy/policy-text.js";

const either = [false, true];
const CHOICES: readonly PolicyChoices[] = [undefined, "read-only", "developer"].flatMap((preset) =>
  either.flatMap((search) =>
    either.flatMap((ask) =>
      [[], ["/srv/read/"]].flatMap((readable) =>
        [[], ["/srv/write"]].flatMap((writable) =>
          [[], ["docs.example"]].map((hosts) => ({ preset, search, ask, readable, writable, hosts })),
        ),
      ),
    ),
  ),
);

describe.each(CHOICES)("the policy of $preset, search $search, ask $ask, $readable, $writable, $hosts", (choices) => {
  it("allows what was chosen", async () => {
    const text = policyText(choices);
    const policy = await parsePolicy(text, { file: "policy.yaml", environment: { HOME: "/home/ada" } });
    const allows = (request: PolicyRequest): boolean => decide(policy, request).allowed;
    const { preset, search, hosts, readable, writable } = choices;
    const tool = (name: string): boolean => allows({ kind: "tool", name });
    const file = (path: string, op: "read" | "write"): boolean => allows({ kind: "file", path, op });
    expect(tool("calculate")).toBe(true);
    expect(allows({ kind: "network", host: "docs.example", port: 443 })).toBe(hosts.length > 0);
    expect(file("/srv/read/a", "read")).toBe(readable.length > 0);
    expect(file("/srv/read/a", "write")).toBe(false);
    expect(file("/srv/write/a", "read")).toBe(writable.length > 0);
    // A preset that only reads is stronger than any wish.
    expect(file("/srv/write/a", "write")).toBe(writable.length > 0 && preset !== "read-only");
    if (preset === undefined) {
      expect(tool("web_search")).toBe(search);
      expect(tool("web_fetch")).toBe(hosts.length > 0);
      expect(tool("read_file")).toBe(readable.length + writable.length > 0);
      expect(tool("write_file")).toBe(writable.length > 0);
    }
    expect(tool("run_command")).toBe(preset === "developer");
  });

  it("says beside its lines what they hold", () => {
    const { preset } = choices;
    const text = policyText(choices);
    expect(text.includes("extends: ")).toBe(preset !== undefined);
    expect(text.includes("# Beside those of the preset: a name")).toBe(preset !== undefined);
    expect(text.includes("  # A name, or a beginning and *.")).toBe(preset === undefined);
    expect(text.includes("No host is named")).toBe(/allowed_endpoints: \[\]/.test(text));
    expect(text).not.toMatch(/undefined|null|\[object/);
  });
});
