// A name that somebody had and somebody else has now: of all that is kept by it, the second finds nothing.
import { connectInMemory } from "@secure-local/mcp/testing";
import { describe, expect, it } from "vitest";
import { livesCases } from "../../../../scorecard/support/lives.mjs";
import { MemoryAudit } from "../../src/audit/event-text.js";
import { parsePolicy } from "../../src/policy/parse-policy.js";
import { KnownPeople } from "../../src/server/http-options.js";
import { SecureServer } from "../../src/server/secure-server.js";

interface Life {
  readonly name: string;
  run(): Promise<true | string>;
}

const parts = { connectInMemory, KnownPeople, MemoryAudit, parsePolicy, SecureServer };

describe("what is kept by the name of somebody", () => {
  it.each([...(livesCases(parts) as Iterable<Life>)])("$name", async ({ run }) => {
    expect(await run()).toBe(true);
  });
});

describe("the people of a list and the next one", () => {
  const list = (...lines: readonly (readonly [string, string])[]) =>
    lines.map(([principal, sha256]) => ({ principal, sha256 }));

  it("are the same as long as one of their tokens stays", () => {
    const people = new KnownPeople(list(["ada", "1"], ["cho", "2"]));
    expect(people.replace(list(["ada", "1"], ["ada", "3"], ["cho", "4"]))).toEqual({
      came: ["cho"],
      gone: ["cho"],
      changed: ["ada"],
      count: 2,
      readers: 0,
    });
    const scraper = { principal: "prom", sha256: "5", only: "metrics" } as const;
    expect(new KnownPeople().replace([...list(["ada", "1"]), scraper])).toMatchObject({ count: 1, readers: 1 });
    expect(people.replace(list(["ada", "3"]))).toMatchObject({ came: [], gone: ["cho"], changed: ["ada"] });
  });

  it("have a life that another process of the same list knows alike", () => {
    const lines = list(["ada", "1"], ["ada", "2"], ["cho", "3"]);
    const [one, other] = [new KnownPeople(lines), new KnownPeople(lines)];
    for (const name of ["ada", "cho", "ben"]) expect(one.lifeOf(name)).toBe(other.lifeOf(name));
    expect(one.lifeOf("ben")).toBeUndefined();
  });
});
