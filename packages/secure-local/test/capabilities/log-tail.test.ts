// Reading the end of the log that the policy names, and nothing that is no file.
import { join } from "node:path";
import { expect, it } from "vitest";
import { logTail, type ReadLog } from "../../src/capabilities/files/file-system.js";
import { parsePolicy } from "../../src/policy/parse-policy.js";
import { tree } from "../files/tree.js";

async function tailOf(path: string, more: object = {}): Promise<ReadLog> {
  const policy = await parsePolicy(
    JSON.stringify({ version: "1.0", prompts: { analyze_logs: { log_file: path } }, ...more }),
    { file: "/nowhere/policy.yaml", environment: {} },
  );
  return logTail(() => policy, [join(path, "../own")]);
}

it("starts at the beginning of a line", async () => {
  const { inside, put } = tree();
  const read = await tailOf(join(inside, "app.log"));
  put("app.log", "first\nsecond é\nthird\n");
  expect(await read(1_000)).toBe("first\nsecond é\nthird\n");
  expect(await read(10)).toBe("third\n");
  put("app.log", "");
  expect(await read(10)).toBe("");
});

it("refuses folders, missing files, and what is protected or denied, by the file's code", async () => {
  const { inside, put } = tree();
  for (const name of [".env", "own", "denied.log"]) put(name, "KEY=value");
  const denied = { filesystem: { denied_paths: [`${inside}/denied.log`] } };
  const codes = ["", "gone", ".env", "own", "denied.log"].map(async (name) => {
    const read = await tailOf(join(inside, name), denied);
    return await read(10).catch(({ code }: { readonly code: string }) => code);
  });
  expect(await Promise.all(codes)).toEqual(["not-a-file", "not-found", "denied", "denied", "denied"]);
});
