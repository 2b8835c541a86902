// A policy that is reloaded: how the open log is kept changes at once, where it lies does not.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, expect, it, vi } from "vitest";
import { archivesOf } from "../../src/audit/log-file.js";
import { auditKeeper, logPlaces, openAudit } from "../../src/cli/open-audit.js";
import { parsePolicy } from "../../src/policy/parse-policy.js";
import type { Policy } from "../../src/policy/policy.js";
import { temporaryFolder } from "../audit/temporary-folder.js";

afterEach(() => void vi.unstubAllEnvs());

const LINE = { audit: undefined };
/** A record is cut to a few kilobytes, so this many fill a megabyte. */
const MEGABYTE_OF_RECORDS = 1_500;

async function policyOf(audit: string): Promise<Policy> {
  return parsePolicy(`version: "1.0"\naudit: { ${audit} }\n`, { file: "policy.yaml", environment: {} });
}

it("changed lengths and checkpoints take effect, another file is said to need a restart", async () => {
  const folder = temporaryFolder();
  vi.stubEnv("XDG_STATE_HOME", join(folder, "state"));
  vi.stubEnv("MCP_SECURE_LOCAL_AUDIT", "");
  const [file, checkpoints] = [join(folder, "audit.log"), join(folder, "second", "checkpoints")];
  const said: string[] = [];
  const say = (text: string): void => void said.push(text);
  const first = await policyOf(`log_file: "${file}"`);
  const log = await openAudit(LINE, first, say);
  const adopt = auditKeeper(log, LINE, { policy: first, say });
  await log.record({ kind: "start" });
  await adopt(
    await policyOf(`log_file: "${file}", rotate_mb: 1, checkpoints: { file: "${checkpoints}", every_records: 1 }`),
  );
  const detail = { text: "x".repeat(900) };
  await Promise.all(Array.from({ length: MEGABYTE_OF_RECORDS }, () => log.record({ kind: "call.intent", detail })));
  await log.record({ kind: "stop" });
  expect(archivesOf(log.file).length).toBeGreaterThan(0);
  await adopt(await policyOf(`log_file: "${join(folder, "other.log")}"`));
  expect(readFileSync(checkpoints, "utf8").trim().split("\n").at(-1)).toContain(`"seq":${MEGABYTE_OF_RECORDS + 2}`);
  expect(said).toEqual([expect.stringMatching(/^audit\.log_file: .*audit\.log is written until the next start/)]);
  expect(existsSync(join(folder, "other.log"))).toBe(false);
  await log.close();
});

it("checkpoints whose key cannot be used leave everything as it was", async () => {
  const folder = temporaryFolder();
  const state = join(folder, "state", "mcp-secure-local");
  vi.stubEnv("XDG_STATE_HOME", join(folder, "state"));
  mkdirSync(state, { recursive: true });
  writeFileSync(join(state, "audit-key.pem"), "no key", { mode: 0o600 });
  const first = await policyOf(`log_file: "${join(folder, "audit.log")}"`);
  const log = await openAudit(LINE, first, () => undefined);
  const adopt = auditKeeper(log, LINE, { policy: first, say: () => undefined });
  const wanted = await policyOf(
    `log_file: "${join(folder, "audit.log")}", checkpoints: { file: "${folder}/checkpoints" }`,
  );
  await expect(adopt(wanted)).rejects.toMatchObject({ name: "AuditError" });
  await log.record({ kind: "stop" });
  await log.close();
  expect(logPlaces(LINE, first)).toContain(join(folder, "audit"));
});
