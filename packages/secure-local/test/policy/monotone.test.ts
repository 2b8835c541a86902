// Over generated policies: a further denial never allows more, a permission less never does, and the rule that decides is told.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { decide } from "../../src/policy/decide.js";
import { grantedPolicy } from "../../src/policy/granted-policy.js";
import { repeated } from "../../../mcp/test/support/soak.js";
import { content, filesystem, network, parse, powers, presets, requests, stricter } from "./generated-policies.js";

const RUNS = repeated(8, 300);

function neverMore(before: number[], after: number[]): void {
  expect(after.flatMap((power, index) => (power > before[index]! ? [index] : []))).toEqual([]);
}

describe("over generated policies", () => {
  it(`a further denial never allows more (${RUNS} runs)`, async () => {
    await fc.assert(
      fc.asyncProperty(content, content, presets, async (given, other, extended) => {
        const before = powers(await parse({ ...given, extends: extended }));
        for (const changed of stricter(given, other)) {
          neverMore(before, powers(await parse({ ...changed, extends: extended })));
        }
      }),
      { numRuns: RUNS },
    );
  }, 60_000);

  it(`a permission less never allows more (${RUNS} runs)`, async () => {
    await fc.assert(
      fc.asyncProperty(content, fc.nat(2), async (given, at) => {
        const before = powers(await parse(given));
        const keys = {
          network: ["allowed_endpoints", "allowed_ranges"],
          filesystem: ["allowed_paths", "readable_paths"],
        };
        for (const [section, names] of Object.entries({ ...keys, tools: ["allowed"], commands: ["allowed"] })) {
          for (const key of names) {
            const mine = given[section] as Record<string, unknown[]>;
            const less = { ...given, [section]: { ...mine, [key]: mine[key]!.toSpliced(at, 1) } };
            neverMore(before, powers(await parse(less)));
          }
        }
      }),
      { numRuns: RUNS },
    );
  }, 60_000);

  it(`what a policy denies, it denies to a plugin too (${RUNS} runs)`, async () => {
    await fc.assert(
      fc.asyncProperty(content, network, filesystem, async (given, ownNetwork, ownFiles) => {
        const plugin = { name: "p", path: "/p", network: ownNetwork, filesystem: ownFiles };
        const policy = await parse({ ...given, plugins: { load: [plugin] } }).catch(ofItself);
        fc.pre(policy !== undefined);
        const own = grantedPolicy(policy, policy.plugins.load.get("p")!);
        for (const request of requests) {
          if (request.kind === "tool" || !decide(own, request).allowed) continue;
          const decision = decide(policy, request);
          expect(decision.allowed || decision.rule.text === "default deny").toBe(true);
        }
      }),
      { numRuns: RUNS },
    );
  }, 60_000);

  it("every decision names its rule, and the line it stands in", async () => {
    await fc.assert(
      fc.asyncProperty(content, presets, async (given, extended) => {
        const policy = await parse({ ...given, extends: extended });
        for (const request of requests) {
          const { rule, reason } = decide(policy, request);
          expect(rule.text).not.toBe("");
          expect(reason).not.toBe("");
          expect(rule.line !== undefined || /^(?:default deny|built-in)/.test(rule.text)).toBe(true);
        }
      }),
      { numRuns: repeated(8, 50) },
    );
  }, 60_000);
});

/** A policy that would let a plugin write where it lies is refused as a whole. */
function ofItself(error: Error): undefined {
  if (!error.message.includes("would let a program write where")) throw error;
}
