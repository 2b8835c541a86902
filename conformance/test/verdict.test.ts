// Judges made-up checks: what the suite lets pass and we do not.
import { describe, expect, it } from "vitest";
import { report } from "../report.mjs";
import { SETS, scenariosOf } from "../suite/requirement-sets.mjs";
import { compare, judge, judgeClient } from "../suite/verdict.mjs";

const check = (status: string, id = "some-check"): object => ({ id, status, description: "what it shows" });

describe("judge", () => {
  it("passes a scenario with successes, whatever else it was told", () => {
    const checks = [check("SUCCESS"), check("INFO"), check("SUCCESS")];
    expect(judge("ping", checks)).toEqual({ outcome: "passed", passed: 2, faults: [] });
  });

  it.each(["FAILURE", "WARNING", "SKIPPED"])("fails a scenario with a %s", (status) => {
    const { outcome, faults } = judge("ping", [check("SUCCESS"), check(status)]);
    expect([outcome, faults]).toEqual(["failed", [`${status} some-check: what it shows`]]);
  });

  it.each([
    ["no checks", []],
    ["checks that say nothing", [check("INFO")]],
    ["no file of checks", undefined],
  ])("fails a scenario with %s", (_what, checks) => {
    expect(judge("ping", checks)).toMatchObject({ outcome: "failed", faults: ["the suite checked nothing"] });
  });

  it("lets nothing be skipped but what the suite itself never judges", () => {
    expect(judge("tasks-status-notifications", [check("SKIPPED")]).outcome).toBe("skipped");
    expect(judge("tasks-status-notifications", [check("FAILURE")]).outcome).toBe("failed");
    expect(judge("tasks-status-notifications", []).outcome).toBe("failed");
    expect(judge("tasks-lifecycle", [check("SKIPPED")]).outcome).toBe("failed");
  });
});

describe("judgeClient", () => {
  it("fails a client that hung or failed, whatever it was seen to do", () => {
    expect(judgeClient("tools_call", [check("SUCCESS")], 0).outcome).toBe("passed");
    expect(judgeClient("tools_call", [check("SUCCESS")], 1)).toMatchObject({ outcome: "failed", passed: 1 });
    expect(judgeClient("tools_call", undefined, 0).outcome).toBe("failed");
  });

  it("lets a check be skipped that asks for a method the revision does not have, and no other", () => {
    const skipped = (errorMessage: string): object => ({ ...check("SKIPPED"), errorMessage });
    const absent = skipped("Client did not send a initialize request; Mcp-Method header was not exercised.");
    const missed = skipped("Client did not send a tools/call request; Mcp-Method header was not exercised.");
    expect(judgeClient("http-standard-headers", [check("SUCCESS"), absent], 0).outcome).toBe("passed");
    expect(judgeClient("http-standard-headers", [check("SUCCESS"), missed], 0).outcome).toBe("failed");
    expect(judgeClient("http-custom-headers", [check("SUCCESS"), absent], 0).outcome).toBe("failed");
  });
});

describe("compare", () => {
  const results = [
    { key: "a", outcome: "passed" },
    { key: "b", outcome: "failed" },
  ];

  it("tells a failure nobody knew from a known one", () => {
    expect(compare(results, [])).toEqual({ unexpected: ["b"], stale: [] });
    expect(compare(results, ["b"])).toEqual({ unexpected: [], stale: [] });
  });

  it("wants entries off the list that do not fail or do not exist", () => {
    expect(compare(results, ["a", "b", "c"])).toEqual({ unexpected: [], stale: ["a", "c"] });
  });
});

describe("report", () => {
  it("names each fault and counts scenarios and checks of each run", () => {
    const results = [
      { key: "server http x ping", run: "server http x", unscored: undefined, ...judge("ping", [check("SUCCESS")]) },
      { key: "server http x late", run: "server http x", unscored: "pending", ...judge("late", [check("WARNING")]) },
    ];
    expect(report(results, compare(results, []))).toBe(
      [
        "failed server http x late",
        "  WARNING some-check: what it shows",
        "",
        "run            scored  not scored  checks passed  checks failed  skipped",
        "server http x  1/1     0/1         1              1              0",
        "all            1/1     0/1         1              1              0",
      ].join("\n"),
    );
  });
});

describe("requirement sets", () => {
  it("have the scenarios the suite froze, scored and not", () => {
    const counts = SETS.map((set) => {
      const scenarios = scenariosOf(set, "server");
      return [set, scenarios.filter(({ unscored }) => unscored === undefined).length, scenarios.length];
    });
    expect(counts).toEqual([
      ["2025-11-25", 30, 33],
      ["2026-07-28", 37, 50],
    ]);
  });
});
