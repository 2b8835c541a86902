// A secret that comes from a file is known by its new value wherever a text is looked through, without anybody asking before.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, expect, it } from "vitest";
import { atOnce, rememberSecret, replacingKnown, secretsVersion } from "../../src/audit/secret-shapes.js";
import { followSecretFile } from "../../src/audit/secret-spellings.js";
import { temporaryFolder } from "./temporary-folder.js";

let file: string;
let count = 0;
let value: string;

beforeEach(async () => {
  file = join(temporaryFolder(), "value");
  writeFileSync(file, "followed value before");
  followSecretFile("followed", file, (learnt) => rememberSecret("followed", learnt));
  // There is one look a turn.
  await new Promise((resolve) => setImmediate(resolve));
  value = `followed value ${(count += 1)} afterwards`;
});

it("is replaced in a text", () => {
  writeFileSync(file, value);
  expect(atOnce(replacingKnown(`a ${value} b`))).toBe("a [secret followed] b");
});

it("makes what was looked through before be looked through again", async () => {
  const before = secretsVersion();
  await new Promise((resolve) => setImmediate(resolve));
  expect(secretsVersion()).toBe(before);
  await new Promise((resolve) => setImmediate(resolve));
  writeFileSync(file, value);
  expect(secretsVersion()).not.toBe(before);
});
