// The built command as a server: its session, its reloads, its record.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { verifyAudit } from "../../src/audit/verify-audit.js";
import { temporaryFolder } from "../audit/temporary-folder.js";
import { RawClient, run } from "./command.js";

const ONE = 'version: "1.0"\ntools: { allowed: ["calculate"] }\n';
const TWO = 'version: "1.0"\ntools: { allowed: ["calculate", "get_timestamp"], rate_limits: { calculate: 1 } }\n';

async function toolsOf(client: RawClient): Promise<string[]> {
  const { result } = (await client.request("tools/list")) as { result: { tools: { name: string }[] } };
  return result.tools.map(({ name }) => name).toSorted();
}

/** At SIGHUP, with the built-in policy. */
async function hasNothingToRead(client: RawClient): Promise<void> {
  client.child.kill("SIGHUP");
  await client.complained("the built-in policy is in force");
  expect(await toolsOf(client)).toHaveLength(3);
}

describe("a served session", () => {
  it("offers what the built-in policy allows, says at SIGHUP that there is nothing to read, and leaves a record that verifies", async () => {
    const home = temporaryFolder();
    const audit = join(home, "audit.log");
    const client = new RawClient([], { home, env: { MCP_SECURE_LOCAL_AUDIT: audit } });
    await client.open();
    expect(await toolsOf(client)).toEqual(["calculate", "get_timestamp", "web_search"]);
    const sum = await client.request("tools/call", { name: "calculate", arguments: { expression: "6 * 7" } });
    expect(sum).toMatchObject({ result: { content: [{ type: "text", text: "42" }] } });
    const denied = await client.request("resources/read", { uri: "file:///etc/passwd" });
    expect(denied).toMatchObject({ error: { code: -32002, data: { uri: "file:///etc/passwd" } } });
    expect(client.stderr).toBe("");
    if (process.platform !== "win32") await hasNothingToRead(client);
    expect(await client.close()).toBe(0);
    expect(await verifyAudit(audit)).toMatchObject({ ok: true });
    const kinds = readFileSync(audit, "utf8")
      .trimEnd()
      .split("\n")
      .map((line) => (JSON.parse(line) as { kind: string }).kind);
    expect(kinds).toEqual(["start", "call.intent", "call.result", "denied", "stop"]);
  });

  it("answers what is in flight when the input ends", async () => {
    const initialize = { protocolVersion: "2025-11-25", clientInfo: { name: "t", version: "1" }, capabilities: {} };
    const calculate = { name: "calculate", arguments: { expression: "1 + 1" } };
    const lines = [
      { jsonrpc: "2.0", id: 1, method: "initialize", params: initialize },
      { jsonrpc: "2.0", id: 2, method: "tools/call", params: calculate },
    ];
    const input = lines.map((line) => `${JSON.stringify(line)}\n`).join("");
    let ids: number[] = [];
    // Not for ever: a call that takes longer than the grace time is cut off, so a busy machine gets more tries.
    for (let tries = 0; tries < 10 && ids.length < lines.length; tries++) {
      const { code, stdout } = await run([], { home: temporaryFolder(), input });
      expect(code).toBe(0);
      ids = stdout
        .trimEnd()
        .split("\n")
        .map((line) => (JSON.parse(line) as { id: number }).id);
    }
    expect(ids).toEqual([1, 2]);
  });
});

describe.skipIf(process.platform === "win32")("SIGHUP", () => {
  it("puts the changed policy in force and announces the changed list; a bad one changes nothing", async () => {
    const home = temporaryFolder();
    const policy = join(home, "policy.yaml");
    const audit = join(home, "audit.log");
    writeFileSync(policy, ONE, { mode: 0o600 });
    const client = new RawClient(["--policy", policy, "--audit", audit], { home });
    await client.open();
    expect(await toolsOf(client)).toEqual(["calculate"]);

    const changed = client.next(({ method }) => method === "notifications/tools/list_changed");
    const told = client.next(({ method }) => method === "notifications/message");
    writeFileSync(policy, TWO);
    client.child.kill("SIGHUP");
    await changed;
    expect(await told).toMatchObject({ params: { level: "notice", logger: "policy", data: { event: "reloaded" } } });
    expect(await toolsOf(client)).toEqual(["calculate", "get_timestamp"]);

    writeFileSync(policy, `${TWO}tolls: {}\n`);
    client.child.kill("SIGHUP");
    await client.complained("keeping the previous policy");
    expect(client.stderr).toContain(`${policy}:3:1: `);
    expect(await toolsOf(client)).toEqual(["calculate", "get_timestamp"]);

    const first = await client.request("tools/call", { name: "calculate", arguments: { expression: "1" } });
    expect(first).toMatchObject({ result: { content: [{ text: "1" }] } });
    const second = await client.request("tools/call", { name: "calculate", arguments: { expression: "1" } });
    expect(second).toMatchObject({
      result: { isError: true, content: [{ text: expect.stringContaining("at most 1 a minute") }] },
    });
    expect(await client.close()).toBe(0);
    expect(await verifyAudit(audit)).toMatchObject({ ok: true });
    const record = readFileSync(audit, "utf8");
    expect(record).toContain('"kind":"policy.loaded"');
    expect(record).toContain('"kind":"policy.rejected"');
  });
});
