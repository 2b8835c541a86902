// Secrets' files on a system whose times are no finer than a second: a value written twice within one looks the same.
import { writeFileSync } from "node:fs";
import { expect, it, vi } from "vitest";
import { followSecretFile, renewSecrets } from "../../src/audit/secret-spellings.js";
import { tree } from "../files/tree.js";

vi.mock("node:fs", async (original) => {
  const fs = await original<typeof import("node:fs")>();
  const coarse = <T extends object>(stats: T): T =>
    new Proxy(stats, {
      get: (target, key) => {
        const value: unknown = Reflect.get(target, key, target);
        if (typeof value === "function") return value.bind(target);
        return key === "mtimeNs" || key === "ctimeNs" ? 1_000_000_000n * ((value as bigint) / 1_000_000_000n) : value;
      },
    });
  return {
    ...fs,
    statSync: (...args: Parameters<typeof fs.statSync>) => coarse(fs.statSync(...args) as object),
    fstatSync: (...args: Parameters<typeof fs.fstatSync>) => coarse(fs.fstatSync(...args)),
  };
});

it("are read until they have been at rest for longer than that", () => {
  const t = tree();
  const file = t.put("token", "value 000");
  let seen = "";
  followSecretFile("quick", file, (value) => {
    seen = value;
  });
  for (let round = 100; round < 200; round += 1) {
    writeFileSync(file, `value ${round}`);
    renewSecrets();
    expect(seen).toBe(`value ${round}`);
  }
});
