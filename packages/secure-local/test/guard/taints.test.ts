// Once a session has read private data and texts of strangers, what can send something out needs a person's consent.
import { connectInMemory, type MemoryPeer } from "@secure-local/mcp/testing";
import { afterEach, describe, expect, it } from "vitest";
import { MemoryAudit } from "../../src/audit/event-text.js";
import { parsePolicy } from "../../src/policy/parse-policy.js";
import type { AnyTool } from "../../src/server/catalogue.js";
import { SecureServer } from "../../src/server/secure-server.js";

const TAINTED = "approvals: [{ approve: tainted }]";
const peers: MemoryPeer[] = [];

afterEach(async () => {
  await Promise.all(peers.splice(0).map((peer) => peer.close()));
});

type Traits = Partial<Pick<AnyTool, "needs"> & { readonly outside: boolean; readonly fails: boolean }>;

function tool(name: string, ran: string[], { needs = [], outside = false, fails = false }: Traits): AnyTool {
  return {
    ...{ name, title: name, description: name, input: { type: "object" }, needs },
    annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: outside },
    run: () => {
      ran.push(name);
      return fails ? { failed: "Refused.", rule: "some rule" } : "done";
    },
  };
}

/** `look` reads files, `web` brings in strangers' texts and sends, `strange` only brings in, `plain` does neither. */
async function session(
  approvals: string,
  { revision = "2025-11-25", principal }: { revision?: "2025-11-25" | "2026-07-28"; principal?: string } = {},
) {
  const ran: string[] = [];
  const audit = new MemoryAudit();
  const text = `
version: "1.0"
tools: { allowed: ["*"] }
filesystem: { readable_paths: ["/srv/**"] }
network: { allowed_endpoints: [{ host: a.example }] }
output: { mark_untrusted: false }
${approvals}
`;
  const secure = new SecureServer({
    policy: await parsePolicy(text, { file: "policy.yaml", environment: {} }),
    audit,
    version: "1",
    tools: [
      tool("look", ran, { needs: ["readable-files"] }),
      tool("web", ran, { needs: ["network"], outside: true }),
      tool("strange", ran, { outside: true }),
      tool("denied_look", ran, { needs: ["readable-files"], fails: true }),
      tool("plain", ran, {}),
    ],
  });
  const connect = async () => {
    const peer = await connectInMemory(secure.server, { revision, ...(principal === undefined ? {} : { principal }) });
    peers.push(peer);
    return async (name: string): Promise<boolean> => {
      const answer = (await peer.request("tools/call", { name, arguments: {} })) as { readonly isError?: boolean };
      return answer.isError !== true;
    };
  };
  return { connect, ran, audit };
}

describe("a session", () => {
  it("may send out until it has read both, in either order", async () => {
    for (const order of [
      ["look", "strange"],
      ["strange", "look"],
    ]) {
      const { connect } = await session(TAINTED);
      const call = await connect();
      expect(await call("web")).toBe(true);
      for (const name of order) expect(await call(name)).toBe(true);
      expect(await call("web")).toBe(false);
      expect(await call("look")).toBe(true);
      expect(await call("plain")).toBe(true);
    }
  });

  it("is not tainted by what it sends first, nor by another session", async () => {
    const { connect, ran } = await session(TAINTED);
    const [one, other] = [await connect(), await connect()];
    expect(await one("look")).toBe(true);
    expect(await one("web")).toBe(true);
    expect(await one("web")).toBe(false);
    expect(await other("web")).toBe(true);
    expect(ran).toEqual(["look", "web", "web"]);
  });

  it("is not tainted by a read that was refused", async () => {
    const { connect } = await session(TAINTED);
    const call = await connect();
    await call("denied_look");
    await call("strange");
    expect(await call("web")).toBe(true);
  });

  it("is asked about only where the policy says so", async () => {
    const { connect } = await session("approvals: []");
    const call = await connect();
    for (const name of ["look", "strange", "web", "web"]) expect(await call(name)).toBe(true);
  });

  it("is the caller where requests belong to no session", async () => {
    const { connect } = await session(TAINTED, { revision: "2026-07-28" });
    const [one, other] = [await connect(), await connect()];
    await one("look");
    await one("strange");
    expect(await other("web")).toBe(false);
  });
});

it("puts on record which calls tainted it", async () => {
  const { connect, audit } = await session(TAINTED);
  const call = await connect();
  for (const name of ["look", "strange", "web"]) await call(name);
  const denied = audit.records().find(({ kind }) => kind === "approval.denied");
  expect(denied).toMatchObject({
    tool: "web",
    decision: { allowed: false, rule: "approvals: tainted" },
    detail: { tainted: { private: { from: "look" }, untrusted: { from: "strange" } } },
  });
});
