// What is sealed opens at its place, with one of the keys, until its end, and in no other case.
import { randomBytes } from "node:crypto";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { Vault } from "../../src/redis/door.js";

const [KEY, OTHER] = [randomBytes(32), randomBytes(32)];

describe("what is sealed", () => {
  it("opens until its end, at its place, with any of the keys", () => {
    const sealed = new Vault([KEY]).seal("place", "text, é 😀", 1_000);
    const vault = new Vault([OTHER, KEY]);
    expect(vault.open("place", sealed)).toBe("text, é 😀");
    expect(vault.open("elsewhere", sealed)).toBeUndefined();
    expect(new Vault([OTHER]).open("place", sealed)).toBeUndefined();
    onTestFinished(() => void vi.restoreAllMocks());
    const clock = vi.spyOn(Date, "now").mockReturnValue(Date.now() + 1_001);
    expect(vault.open("place", sealed)).toBeUndefined();
    // The clock of this process is fast, and it knows by how much.
    vault.clockMs = -1_000;
    expect(vault.open("place", sealed)).toBeDefined();
    clock.mockReturnValue(Date.now() + 2_001);
    expect(vault.open("place", sealed)).toBeUndefined();
  });

  it("does not open once any byte of it is another, its end among them", () => {
    const vault = new Vault([KEY]);
    const bytes = Buffer.from(vault.seal("place", "text", 60_000), "base64url");
    for (let at = 0; at < bytes.length; at++) {
      const changed = Buffer.from(bytes);
      changed[at] = (changed[at] as number) ^ 1;
      expect(vault.open("place", changed.toString("base64url")), `byte ${at}`).toBeUndefined();
    }
    for (let length = 0; length < bytes.length; length++)
      expect(vault.open("place", bytes.subarray(0, length).toString("base64url")), `${length} bytes`).toBeUndefined();
  });

  it("has ended where no time says when it ends", () => {
    const vault = new Vault([KEY]);
    for (const life of [Number.NaN, 0, -1, Number.NEGATIVE_INFINITY])
      expect(vault.open("place", vault.seal("place", "text", life)), String(life)).toBeUndefined();
  });
});
