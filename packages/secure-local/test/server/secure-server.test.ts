// The composed server: what a policy makes of it, and what a reload changes.
import { connectInMemory } from "@secure-local/mcp/testing";
import { describe, expect, it } from "vitest";
import { MemoryAudit } from "../../src/audit/event-text.js";
import { builtInPolicy } from "../../src/policy/load-policy.js";
import { parsePolicy } from "../../src/policy/parse-policy.js";
import type { Policy } from "../../src/policy/policy.js";
import { SecureServer } from "../../src/server/secure-server.js";

const OLD = { revision: "2025-11-25" };

function policyOf(body: string): Promise<Policy> {
  return parsePolicy(`version: "1.0"\n${body}`, { file: "policy.yaml" });
}

function serverOf(policy: Policy): { secure: SecureServer; audit: MemoryAudit; said: string[] } {
  const audit = new MemoryAudit();
  const said: string[] = [];
  const secure = new SecureServer({ policy, audit, version: "9.9.9", say: (line) => said.push(line) });
  return { secure, audit, said };
}

describe("SecureServer", () => {
  it("registers only what the policy allows, in every revision", async () => {
    const policy = await policyOf('tools: { allowed: ["calc*"] }\nprompts: { allowed: ["code_review"] }');
    const { secure } = serverOf(policy);
    for (const revision of ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"]) {
      const peer = await connectInMemory(secure.server, { revision });
      expect(await peer.request("tools/list")).toMatchObject({ tools: [{ name: "calculate" }] });
      expect(await peer.request("prompts/list")).toMatchObject({ prompts: [{ name: "code_review" }] });
      expect(await peer.request("resources/list")).toMatchObject({ resources: [] });
      await peer.close();
    }
  });

  it("says which rule keeps a tool of the product away, though the tool is not listed", async () => {
    const { secure } = serverOf(await policyOf('tools: { allowed: ["calculate"] }'));
    const peer = await connectInMemory(secure.server, OLD);
    const denied = await peer.request("tools/call", { name: "get_timestamp", arguments: {} });
    expect(denied).toMatchObject({
      isError: true,
      content: [{ text: expect.stringContaining("add it to tools.allowed") }],
    });
  });

  it("announces only the lists a reload changed", async () => {
    const { secure, audit } = serverOf(builtInPolicy());
    const peer = await connectInMemory(secure.server, OLD);
    secure.reload(
      await policyOf(
        'tools: { allowed: ["calculate"] }\nresources: { allowed: ["server://info"] }\nprompts: { allowed: ["*"] }',
      ),
    );
    expect(await peer.request("tools/list")).toMatchObject({ tools: [{ name: "calculate" }] });
    const methods = new Set(peer.messages.map((message) => message["method"]));
    expect(methods).toContain("notifications/tools/list_changed");
    expect(methods).not.toContain("notifications/prompts/list_changed");
    expect(methods).not.toContain("notifications/resources/list_changed");
    expect(audit.records()).toMatchObject([{ kind: "policy.loaded", detail: { tools: ["calculate"] } }]);
  });

  it("uses the new policy's search service without a change of name", async () => {
    const { secure } = serverOf(builtInPolicy());
    const search = (): string | undefined => secure.tools().find(({ name }) => name === "web_search")?.description;
    expect(search()).toBe("Search the web using DuckDuckGo");
    secure.reload(
      await policyOf(
        'network: { allowed_endpoints: [{ host: "s.example" }] }\ntools: { allowed: ["web_search"], web_search: { provider: searxng, endpoint: "https://s.example/" } }',
      ),
    );
    expect(search()).toBe("Search the web using SearXNG");
    const peer = await connectInMemory(secure.server, OLD);
    const { tools } = (await peer.request("tools/list")) as { tools: { description: string }[] };
    expect(tools.map(({ description }) => description)).toEqual(["Search the web using SearXNG"]);
  });

  it("records its life as far as the policy's level goes, and faults always", async () => {
    const loud = serverOf(builtInPolicy());
    loud.secure.recordLife("start");
    loud.secure.reloadFailed("bad");
    expect(loud.audit.records()).toMatchObject([
      { kind: "start", detail: { version: "9.9.9", policy: { hash: expect.stringMatching(/^[0-9a-f]{64}$/) } } },
      { kind: "policy.rejected" },
    ]);
    const quiet = serverOf(await policyOf("audit: { log_level: WARN }"));
    quiet.secure.recordLife("start");
    quiet.secure.reloadFailed("bad");
    expect(quiet.audit.records()).toMatchObject([{ kind: "policy.rejected" }]);
  });

  it("tells its operator when an event cannot be recorded", async () => {
    const { secure, audit, said } = serverOf(builtInPolicy());
    audit.failure = new Error("disk full");
    secure.recordLife("start");
    await Promise.resolve();
    await Promise.resolve();
    expect(said).toEqual([expect.stringContaining("disk full")]);
  });

  it("leaves out of the record what the policy leaves out", async () => {
    const policy = await policyOf('tools: { allowed: ["calculate"] }\naudit: { include: ["timestamp", "tool_name"] }');
    const { secure, audit } = serverOf(policy);
    const peer = await connectInMemory(secure.server, OLD);
    await peer.request("tools/call", { name: "calculate", arguments: { expression: "1" } });
    for (const record of audit.records()) {
      expect(Object.keys(record).filter((key) => !["seq", "prev", "time", "hash"].includes(key))).toEqual([
        "kind",
        "method",
        "tool",
        "policy",
      ]);
    }
  });
});
