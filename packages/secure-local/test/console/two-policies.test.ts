// Two policies in one console: what belongs to one is never held against the other.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import type { Verification } from "@secure-local/console/api";
import { RawClient } from "../cli/command.js";
import { Watched } from "./running.js";

it(
  "holds each log against the checkpoints of its own policy, where logs of two have one name",
  { timeout: 60_000 },
  async () => {
    const watched = await Watched.start({
      policy: `version: "1.0"
filesystem: { allowed_paths: ["NOTES/**"] }
tools: { allowed: [calculate] }
audit: { checkpoints: { file: NOTES/../checkpoints.jsonl, every_records: 1 } }
`,
    });
    onTestFinished(() => watched.end());
    const team = join(watched.home, "team");
    mkdirSync(team);
    const policy = join(team, "policy.yaml");
    const log = join(team, "audit.log");
    writeFileSync(policy, `version: "1.0"\ntools: { allowed: [calculate] }\naudit: { log_file: ${log} }\n`, {
      mode: 0o600,
    });
    const other = new RawClient(["--policy", policy], { home: watched.home });
    onTestFinished(() => void other.child.kill());
    await other.open();
    const own = await watched.serve();
    for (const client of [own, other])
      for (let count = 0; count < 3; count++)
        await client.request("tools/call", { name: "calculate", arguments: { expression: `${count}+1` } });
    const verified = async (): Promise<Verification[]> =>
      JSON.parse((await watched.post("/api/verify", {})).text) as Verification[];
    await expect.poll(async () => (await verified()).find(({ file }) => file !== log)?.checkpoints).toBeGreaterThan(0);
    // Logs of other policies are looked for now and then.
    await expect.poll(async () => (await verified()).length, { timeout: 20_000 }).toBe(2);
    const found = await verified();
    expect(found.map(({ ok, reason }) => ({ ok, reason }))).toEqual(
      [0, 1].map(() => ({ ok: true, reason: undefined })),
    );
    expect(found.find(({ file }) => file === log)).toMatchObject({
      command: `mcp-secure-local audit verify ${log} --policy ${policy}`,
      notes: expect.arrayContaining([expect.stringContaining("No signed checkpoint")]) as string[],
    });
  },
);
