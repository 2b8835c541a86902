// What is the program's own stays so while it runs, and a link on the way to it is not moved by those who may write around it.
import { mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { FileRules } from "../../src/capabilities/files/file-rules.js";
import { ownFiles, rememberOwnFiles } from "../../src/capabilities/files/own-files.js";
import { parsePolicy } from "../../src/policy/parse-policy.js";
import { tree } from "./tree.js";

it.each(["the file", "a folder above it", "a folder above that"])("a secret behind a link that is %s", async (what) => {
  const { inside, put } = tree();
  put("conf/deep/secret", "value");
  mkdirSync(join(inside, "other/deep"), { recursive: true });
  writeFileSync(join(inside, "other/deep/secret"), "else");
  const link = join(inside, "link");
  const [below, to] = { "the file": ["", "/deep/secret"], "a folder above it": ["/secret", "/deep"] }[what] ?? [
    "/deep/secret",
    "",
  ];
  symlinkSync(`conf${to}`, link);
  const policy = await parsePolicy(
    JSON.stringify({
      version: "1.0",
      filesystem: { allowed_paths: [`${inside}/**`] },
      secrets: { k: { from: `file:${link}${below}`, hosts: ["a.example"] } },
    }),
    { file: "/nowhere/policy.yaml", environment: {} },
  );
  rememberOwnFiles(policy, []);
  const judged = async (op: "read" | "write", names: readonly string[]): Promise<string[]> => {
    const rules = await FileRules.of(policy, ownFiles(policy, []));
    return names.filter((name) => rules.judge(join(inside, name), op) !== undefined);
  };
  const secret = "conf/deep/secret";
  expect(await judged("read", [secret, "other/deep/secret"])).toEqual([secret]);
  expect(await judged("write", [secret, "link", "conf/more"])).toEqual([secret, "link"]);
  // Somebody else did it all the same: then both are protected.
  rmSync(link);
  symlinkSync(`other${to}`, link);
  expect(await judged("read", [secret, "other/deep/secret"])).toEqual([secret, "other/deep/secret"]);
});
