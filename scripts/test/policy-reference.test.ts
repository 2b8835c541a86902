// The page about policies says what the parser does, and is the one in docs.
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { parsePolicy } from "../../packages/secure-local/src/policy/parse-policy.js";
import type { Policy } from "../../packages/secure-local/src/policy/policy.js";
import { PRESETS } from "../../packages/secure-local/src/policy/policy-text.js";
import { SECTIONS } from "../lib/policy-keys.mjs";
import { policyReference } from "../lib/policy-reference.mjs";

const parse = (text: string): Promise<Policy> =>
  parsePolicy(text, { file: "policy.yaml", environment: { HOME: "/home/ada" } });

describe("docs/policy-reference.md", () => {
  it("is up to date: else run node scripts/policy-reference.mjs", async () => {
    const page = readFileSync(new URL("../../docs/policy-reference.md", import.meta.url), "utf8");
    expect(page).toBe(await policyReference(parse, PRESETS));
  });

  it("shows every key in an example", () => {
    const examples = Object.values(SECTIONS as Record<string, { example?: string }>).map(
      ({ example }) => example ?? "",
    );
    const text = examples.join("\n");
    for (const [path, { keys }] of Object.entries(SECTIONS as Record<string, { keys: object }>)) {
      const shown = (key: string): boolean => new RegExp(`(?:^|[ {])${key}:`, "m").test(text);
      // `timeout` and `timeouts.default` exclude each other, and the version is in every policy.
      const missing = Object.keys(keys).filter((key) => !shown(key) && !["timeouts", "version"].includes(key));
      expect(missing, path).toEqual([]);
    }
  });

  it("cannot leave out a key, or tell of one there is not", async () => {
    const stricter = async (text: string): Promise<unknown> => {
      const error = await parse(text).catch((thrown: { errors: { message: string }[] }) => thrown);
      if (!("errors" in error)) return error;
      const errors = error.errors.map(({ message }) => ({
        message: message.replace("known keys are mode", "known keys are tone, mode"),
      }));
      throw Object.assign(new Error("faults"), { errors });
    };
    const added = policyReference(stricter, PRESETS);
    await expect(added).rejects.toThrow(/says nothing of tone in network/);
  });
});
