// What the section `output` of a policy does to answers, notices and lists.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connectInMemory, type MemoryPeer } from "@secure-local/mcp/testing";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { MemoryAudit } from "../../src/audit/event-text.js";
import { parsePolicy } from "../../src/policy/parse-policy.js";
import type { AnyTool } from "../../src/server/catalogue.js";
import { SecureServer } from "../../src/server/secure-server.js";
import type { ToolPowers } from "../../src/tools/tool.js";
import { textOf } from "../guard/guarded-server.js";

const TOKEN = ["ghp_", "0123456789abcdefghijABCDEFGHIJ012345"].join("");
const HOSTILE = `a\u200bb\u001b[2J ${TOKEN}`;
let folder: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "output-"));
  writeFileSync(join(folder, "key"), "lovelace-1815\n");
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

interface Served {
  readonly peer: MemoryPeer;
  readonly audit: MemoryAudit;
  call(name: string, text?: string): Promise<Record<string, unknown>>;
}

async function serve(output: string): Promise<Served> {
  const audit = new MemoryAudit();
  const secrets = `secrets: { key: { from: "file:${join(folder, "key")}", hosts: [] } }`;
  const policy = await parsePolicy(`version: "1.0"\ntools: { allowed: ["*"] }\n${secrets}\n${output}`, {
    file: "policy.yaml",
  });
  const tools = [tool("own", false), tool("web", true)];
  const secure = new SecureServer({ policy, audit, version: "1.0.0", tools });
  const peer = await connectInMemory(secure.server, { revision: "2025-11-25" });
  const call = (name: string, text = HOSTILE): Promise<Record<string, unknown>> =>
    peer.request("tools/call", { name, arguments: { text }, _meta: { progressToken: 1 } });
  return { peer, audit, call };
}

function tool(name: string, openWorldHint: boolean): AnyTool {
  return {
    name,
    title: "t\u200bitle",
    description: "des\u{E0041}cription\u001b[2J",
    input: { type: "object", properties: { text: { type: "string", description: "\u202ehidden" } } },
    annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint },
    async run({ text }: { text: string }, powers: ToolPowers) {
      await powers.progress(1, 2, text);
      return text;
    },
  };
}

describe("output", () => {
  it("takes out secrets and hidden characters by default, and leaves the rest as it was", async () => {
    const { call } = await serve("");
    expect(textOf(await call("own"))).toBe("ab [REDACTED]");
    expect(textOf(await call("web", "hello"))).toBe("hello");
  });

  it("marks what comes from outside where the policy wants that", async () => {
    const { call } = await serve("output: { mark_untrusted: true }");
    expect(textOf(await call("own", "hello"))).toBe("hello");
    const marked = textOf(await call("web", "hello"));
    expect(marked).toMatch(/^\[untrusted ([0-9a-f]{8}): [^\]]+\]\nhello\n\[end of untrusted \1\]$/);
    expect(textOf(await call("web", "hello"))).not.toBe(marked);
  });

  it("leaves out what the policy leaves out", async () => {
    const { call } = await serve("output: { redact_secrets: false, mark_untrusted: false }");
    expect(textOf(await call("own"))).toBe(`ab ${TOKEN}`);
    expect(textOf(await call("web", "hello"))).toBe("hello");
  });

  it("shows hidden characters, or refuses the answer for them, and has it on record", async () => {
    const shown = await serve("output: { hidden_unicode: show }");
    expect(textOf(await shown.call("own"))).toBe("a\\u{200b}b [REDACTED]");
    const refused = await serve("output: { hidden_unicode: refuse }");
    expect(await refused.call("own")).toMatchObject({ isError: true });
    expect(refused.audit.records().at(-1)).toMatchObject({
      outcome: "denied",
      detail: { rule: "output.hidden_unicode: refuse" },
    });
    expect(textOf(await refused.call("own", "e\u0301 \u{1F469}\u200D\u{1F4BB}\u2028x"))).toBe(
      "e\u0301 \u{1F469}\u200D\u{1F4BB}\nx",
    );
  });

  it("holds for progress, lists and errors", async () => {
    const { peer, call } = await serve("");
    await call("own");
    const progress = peer.messages.find(({ method }) => method === "notifications/progress");
    expect(progress).toMatchObject({ params: { message: "ab [REDACTED]" } });
    const { tools } = (await peer.request("tools/list")) as { tools: { name: string }[] };
    expect(tools.find(({ name }) => name === "own")).toMatchObject({
      title: "title",
      description: "description",
      inputSchema: { properties: { text: { description: "hidden" } } },
    });
    const unknown = peer.request("tools/call", { name: HOSTILE, arguments: {} });
    await expect(unknown).rejects.toMatchObject({ message: "Unknown tool: ab [REDACTED]" });
  });

  it("never holds the value of a secret that the policy names, nor does the log", async () => {
    const { call, audit } = await serve("output: { redact_secrets: false }");
    expect(textOf(await call("own", "it is lovelace-1815."))).toBe("it is [secret key].");
    expect(audit.lines.join("")).not.toContain("lovelace-1815");
  });
});
