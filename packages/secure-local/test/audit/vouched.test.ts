// Where checkpoints are configured, a log that none of them names is said to be vouched for by none.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { AuditLog } from "../../src/audit/audit-log.js";
import { checkpointKey, CheckpointWriter } from "../../src/audit/checkpoint.js";
import { runQuickly } from "../cli/command-in-thread.js";
import { temporaryFolder } from "./temporary-folder.js";

async function written(file: string, checkpoints?: CheckpointWriter): Promise<void> {
  checkpoints?.begin(file);
  const log = await AuditLog.open(file, { sync: false, checkpoints });
  await log.record({ kind: "call.intent", id: "1", tool: "t" });
  await log.close();
}

it("of two logs beside each other the one that was put there later", async () => {
  const home = temporaryFolder();
  const env = { HOME: home, XDG_STATE_HOME: join(home, "state"), XDG_CONFIG_HOME: join(home, "config") };
  const [file, signed] = [join(home, "logs", "audit.log"), join(home, "signed")];
  const key = checkpointKey(join(home, "state", "mcp-secure-local", "audit-key.pem"));
  await written(
    file,
    new CheckpointWriter({ file: signed, key, everyRecords: 1, everyMs: 60_000, say: () => undefined }),
  );
  await written(join(home, "logs", "audit.40.log"));
  mkdirSync(join(home, "config", "mcp-secure-local"), { recursive: true });
  const policy = join(home, "policy.yaml");
  writeFileSync(policy, `version: "1.0"\naudit: { log_file: "${file}", checkpoints: { file: "${signed}" } }\n`, {
    mode: 0o600,
  });
  const { stdout, stderr, code } = await runQuickly(["audit", "verify", "--policy", policy], { home, env });
  const [first = "", other = ""] = stdout.split("\n").filter((line) => line.includes("records"));
  expect({ stderr, code }).toEqual({ stderr: "", code: 0 });
  expect(first).toMatch(/1 signed checkpoint/);
  expect(other).toMatch(/audit\.40\.log.*; vouched for by no checkpoint/);
});
