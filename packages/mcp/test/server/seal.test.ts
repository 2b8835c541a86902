import { randomBytes } from "node:crypto";
import { describe, expect, it } from "vitest";
import { aesSeal } from "../../src/server/lean-server.js";
import { repeated } from "../support/soak.js";

const key = (): Uint8Array<ArrayBuffer> => new Uint8Array(randomBytes(32));

describe("aesSeal", () => {
  it("opens what it sealed, whatever the text", async () => {
    const seal = aesSeal();
    for (const text of ["", "{}", "ünïcödé 🙂", "x".repeat(50_000)]) {
      expect(await seal.open(await seal.seal(text))).toBe(text);
    }
  });

  it("never seals the same text to the same words", async () => {
    const seal = aesSeal();
    expect(await seal.seal("same")).not.toBe(await seal.seal("same"));
  });

  it("accepts no state with one bit flipped, whichever it is (M46)", async () => {
    const seal = aesSeal();
    for (let round = 0; round < repeated(1, 15); round++) {
      const sealed = await seal.seal(JSON.stringify({ principal: "ada", round, expires: 1e15 }));
      const forged = withEachBitFlipped(sealed);
      expect(forged.length).toBeGreaterThan(600);
      const opened = await Promise.all(forged.map((each) => seal.open(each)));
      expect(opened.filter((text) => text !== undefined)).toEqual([]);
    }
  });

  it("opens no other spelling of the same bytes, and nothing that is not a seal", async () => {
    const seal = aesSeal();
    const sealed = await seal.seal("text");
    const spellings = [
      `${sealed}=`,
      sealed.replaceAll("=", ""),
      sealed.replaceAll("+", "-"),
      ` ${sealed}`,
      `${sealed}\n`,
    ];
    for (const other of [
      ...spellings.filter((each) => each !== sealed),
      "",
      "s1.",
      "s1.AAAA",
      "s2.AAAA",
      "s1.%%%%",
      "é",
    ]) {
      expect(await seal.open(other), other).toBeUndefined();
    }
  });

  it("opens with any of its keys and seals with the first, so that keys can be rotated", async () => {
    const [old, fresh] = [key(), key()];
    const before = await aesSeal(old).seal("text");
    const after = await aesSeal(fresh, old).seal("text");
    expect(await aesSeal(fresh, old).open(before)).toBe("text");
    expect(await aesSeal(fresh).open(before)).toBeUndefined();
    expect(await aesSeal(fresh).open(after)).toBe("text");
  });

  it("refuses a key of another length", () => {
    expect(() => aesSeal(new Uint8Array(16))).toThrow("A sealing key has 32 bytes, not 16");
  });
});

/** Flips bits of the bytes, so that the spelling stays valid. */
function withEachBitFlipped(sealed: string): string[] {
  const whole = Buffer.from(sealed.slice(3), "base64");
  return Array.from({ length: 8 * whole.length }, (_, bit) => {
    const bytes = Buffer.from(whole);
    bytes[bit >> 3] = (bytes[bit >> 3] as number) ^ (1 << (bit & 7));
    return `s1.${bytes.toString("base64")}`;
  });
}
