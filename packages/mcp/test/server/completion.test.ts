import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Server } from "@secure-local/mcp/server";
import { rank } from "../../src/server/prompts.js";
import { connect } from "../support/connect.js";

const REF = { type: "ref/prompt", name: "p" };

async function completing(
  complete: NonNullable<Parameters<Server["prompt"]>[1]["arguments"]>[string]["complete"],
  value = "",
) {
  const server = new Server({ name: "s", version: "1" });
  server.prompt("p", { arguments: { a: { complete: complete ?? [] } }, run: () => "" });
  const result = await (
    await connect(server)
  ).request("completion/complete", { ref: REF, argument: { name: "a", value } });
  return result["completion"] as { values: string[]; total?: number; hasMore?: boolean };
}

describe("rank", () => {
  it("puts exact before prefix before word before substring before letters in order", () => {
    const values = ["axpy", "pxxxy", "numpy", "scipy-py", "the py", "python", "py"];
    expect(rank(values, "py")).toEqual(["py", "python", "scipy-py", "the py", "axpy", "numpy", "pxxxy"]);
  });

  it("keeps the order of equally good values, and takes everything for nothing typed", () => {
    expect(rank(["b1", "a1", "c1"], "1")).toEqual(["b1", "a1", "c1"]);
    expect(rank(["b", "a"], "")).toEqual(["b", "a"]);
  });

  it("never puts a worse fit before a better one, and loses no value that holds what was typed", () => {
    const word = fc.stringMatching(/^[abC -]{0,6}$/);
    fc.assert(
      fc.property(fc.uniqueArray(word), word, (values, typed) => {
        const ranked = rank(values, typed);
        const grades = ranked.map((value) => grade(value.toLowerCase(), typed.toLowerCase()));
        expect(grades).toEqual(grades.toSorted((a, b) => a - b));
        for (const value of values) {
          if (value.toLowerCase().includes(typed.toLowerCase())) expect(ranked).toContain(value);
        }
        expect(new Set(ranked).size).toBe(ranked.length);
      }),
    );
  });
});

/** Coarse: what a person sees at once. */
function grade(value: string, typed: string): number {
  if (typed === "") return 0;
  if (value === typed) return 0;
  if (value.startsWith(typed)) return 1;
  return value.includes(typed) ? 2 : 4;
}

describe("completion", () => {
  const many = Array.from({ length: 250 }, (_, n) => `value-${n}`);

  it("offers at most a hundred values and says how many there are", async () => {
    const { values, total, hasMore } = await completing(many, "value");
    expect([values.length, total, hasMore]).toEqual([100, 250, true]);
    expect(await completing(many, "value-24")).toMatchObject({ total: 16, hasMore: false });
  });

  it("caps what functions return, and believes what they say of the rest", async () => {
    expect(await completing(() => many)).toMatchObject({ total: 250, hasMore: true });
    expect((await completing(() => ({ values: many }))).values).toHaveLength(100);
    expect(await completing(() => ({ values: many, hasMore: false }))).toMatchObject({ hasMore: true });
    expect(await completing(async () => ({ values: ["a"], total: 7 }))).toEqual({
      values: ["a"],
      total: 7,
      hasMore: true,
    });
    expect(await completing(() => ({ values: ["a"] }))).toEqual({ values: ["a"], hasMore: false });
    expect(await completing(() => [])).toEqual({ values: [], total: 0, hasMore: false });
  });

  it("completes the words of the seed: py gives python, pytorch, pyside", async () => {
    const { values } = await completing(["javascript", "python", "pytorch", "pyside", "happy"], "py");
    expect(values).toEqual(["python", "pytorch", "pyside", "happy"]);
  });

  it("does not exist where nothing can be completed", async () => {
    const server = new Server({ name: "s", version: "1" });
    server.prompt("p", { arguments: { a: {} }, run: () => "" });
    for (const revision of ["2024-11-05", "2025-11-25", "2026-07-28"]) {
      const peer = await connect(server, { revision });
      const asked = peer.request("completion/complete", { ref: REF, argument: { name: "a", value: "" } });
      await expect(asked).rejects.toMatchObject({ code: -32601 });
    }
  });
});
