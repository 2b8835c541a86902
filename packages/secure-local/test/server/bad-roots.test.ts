// Bad answers of a client that is asked for its roots: they fail the request that asked, and the server serves on.
import { connectInMemory } from "@secure-local/mcp/testing";
import { describe, expect, it } from "vitest";
import { badAnswers, expectAllHandled } from "../../../mcp/test/support/unhandled.js";
import { MemoryAudit } from "../../src/audit/event-text.js";
import { parsePolicy } from "../../src/policy/parse-policy.js";
import { SecureServer } from "../../src/server/secure-server.js";
import { tree } from "../files/tree.js";

const TEMPLATE = { type: "ref/resource", uri: "file:///{+path}" };

/** Each request of the product that asks for roots. */
function requests(path: string, folder: string): readonly { readonly method: string; readonly params: object }[] {
  const calls = [
    { name: "read_file", arguments: { path } },
    { name: "write_file", arguments: { path: `${folder}/new.txt`, content: "x" } },
    { name: "list_directory", arguments: { path: folder } },
    { name: "search_text", arguments: { path: folder, query: "hello" } },
    { name: "search_files", arguments: { path: folder, pattern: "*.txt" } },
  ].map((params) => ({ method: "tools/call", params }));
  return [
    ...calls,
    { method: "resources/read", params: { uri: `file://${path}` } },
    { method: "completion/complete", params: { ref: TEMPLATE, argument: { name: "path", value: folder.slice(1) } } },
  ];
}

describe("a client that answers roots/list badly", () => {
  expectAllHandled();

  it("is refused what it asked for, whatever the answer and the request", async () => {
    const t = tree();
    const policy = await parsePolicy(
      `version: "1.0"
filesystem: { allowed_paths: ["${t.inside}/**"] }
tools:
  allowed: ["read_file", "write_file", "list_directory", "search_text", "search_files"]
  rate_limits: { default: 100000 }
resources: { allowed: ["file:///*"] }
`,
      { file: "policy.yaml" },
    );
    const secure = new SecureServer({ policy, audit: new MemoryAudit(), version: "1.0.0" });
    // The peer answers nothing by itself: each answer is written below, as it stands on the wire.
    const answer = { "roots/list": () => new Promise<never>(() => undefined) };
    const capabilities = { roots: { listChanged: true } };
    const peer = await connectInMemory(secure.server, { revision: "2025-11-25", capabilities, answer });
    const bad = badAnswers({ roots: [{ uri: `file://${t.outside}` }] });
    let id = 1000;
    for (const request of requests(t.put("a.txt", "hello"), t.inside)) {
      for (const each of bad) {
        peer.notify("notifications/roots/list_changed");
        peer.send(JSON.stringify({ jsonrpc: "2.0", id: ++id, ...request }));
        const question = await peer.next(({ method }) => method === "roots/list");
        peer.send(JSON.stringify({ jsonrpc: "2.0", id: question.id, ...each }));
        const ended = await peer.next((message) => message.id === id && !("method" in message));
        const said = JSON.stringify(ended);
        expect(said, JSON.stringify([request, each])).not.toMatch(/failed unexpectedly|hello/);
      }
    }
    expect(await peer.request("ping")).toEqual({});
    await peer.close();
  });
});
