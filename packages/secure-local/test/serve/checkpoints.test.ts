// The folder of the checkpoints is taken away while `serve` runs: whoever looks is told, and nothing is begun anew.
import * as fs from "node:fs";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { temporaryFolder } from "../audit/temporary-folder.js";
import { start } from "../cli/command.js";
import { runQuickly } from "../cli/command-in-thread.js";
import { send } from "./served.js";

it("is told by /healthz, the metrics, status, doctor, stderr and the log", { timeout: 60_000 }, async () => {
  const home = temporaryFolder();
  const [folder, policy] = [join(home, "elsewhere"), join(home, "policy.yaml")];
  const log = join(home, "state/mcp-secure-local/audit.log");
  fs.writeFileSync(policy, `version: "1.0"\naudit: { checkpoints: { file: ${folder}/cp.jsonl, every_records: 1 } }\n`, {
    mode: 0o600,
  });
  const child = start(["serve", "--quiet", "--no-auth", "--port", "0", "--policy", policy], { home });
  onTestFinished(() => void child.kill("SIGKILL"));
  let stderr = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => (stderr += text));
  const address = (): string => /serving at (\S+)/.exec(stderr)?.[1] ?? "";
  await expect.poll(address, { timeout: 30_000 }).not.toBe("");
  expect(stderr).toContain(`the folder ${folder} was not there and is made for checkpoints`);
  const page = async (name: string): Promise<string> => (await send(new URL(name, address()).href)).text;
  const status = (...words: string[]): ReturnType<typeof runQuickly> =>
    runQuickly([...words, "--policy", policy], { home });
  await expect.poll(() => fs.existsSync(join(folder, "cp.jsonl"))).toBe(true);
  expect(await page("/healthz")).toBe('{"status":"ok"}');
  expect((await status("status")).stdout).toMatch(/checkpoints +\S+cp\.jsonl/);
  // A server can be asked a moment after it has begun to serve.
  await expect.poll(async () => (await status("status")).stdout, { timeout: 30_000 }).toMatch(/process \d+/);
  fs.renameSync(folder, join(home, "moved"));
  expect(await page("/healthz")).toContain("no checkpoint of the audit log can be written");
  expect(await page("/metrics")).toContain("mcp_secure_local_checkpoints_up 0\n");
  for (const words of ["status", "doctor"]) {
    const { code, stdout } = await status(words);
    const flat = stdout.replace(/\s+/g, " ");
    expect([code, flat]).toEqual([1, expect.stringContaining(`there is no folder ${folder}`) as string]);
    expect(flat).toContain("It writes no checkpoint of its audit log: the file was moved, removed or exchanged");
  }
  expect(stderr).toContain("no checkpoint can be written (the file was moved");
  await expect.poll(() => fs.readFileSync(log, "utf8")).toContain('"kind":"checkpoints.away"');
  expect(fs.existsSync(folder)).toBe(false);
});
