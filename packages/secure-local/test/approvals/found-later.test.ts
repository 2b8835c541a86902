// Conditions of consent hold for what a call becomes when it runs too: arguments that tools find by themselves, and redirects.
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { connectInMemory } from "@secure-local/mcp/testing";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { MemoryAudit } from "../../src/audit/event-text.js";
import { parsePolicy } from "../../src/policy/parse-policy.js";
import { type AnyTool, catalogueOf } from "../../src/server/catalogue.js";
import { SecureServer } from "../../src/server/secure-server.js";

/** Asked or not is all that counts: nobody answers, so what is asked about is refused. */
async function served(policyText: string, tools: readonly AnyTool[], name: string, args: object): Promise<string> {
  const policy = await parsePolicy(`version: "1.0"\ntools: { allowed: ["*"] }\n${policyText}`, { file: "p.yaml" });
  const secure = new SecureServer({ policy, audit: new MemoryAudit(), version: "1", tools });
  const peer = await connectInMemory(secure.server, { revision: "2025-11-25" });
  try {
    const answer = await peer.request("tools/call", { name, arguments: args });
    return JSON.stringify(answer["content"]);
  } finally {
    await peer.close();
  }
}

const ASKED = /needs a person's consent/;
const annotations = { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false };

describe("an argument that is left to the tool", () => {
  const policyText = `databases: { c: { file: /nowhere/c.db, read_only: false } }
filesystem: { allowed_paths: [/nowhere/**] }
network: { allowed_endpoints: [{ host: a.example }] }
commands: { allowed: [{ name: x, executable: /bin/true }] }`;

  it("counts as any value, whichever tool of ours it is, and one with a default as that", async () => {
    const policy = await parsePolicy(`version: "1.0"\n${policyText}`, { file: "p.yaml" });
    const identity = { name: "x", version: "1" };
    const given: Record<string, object> = {
      import_csv: { file: "/nowhere/a.csv" },
      query_database: { sql: "SELECT 1" },
      read_file: { path: "/nowhere/a" },
      list_directory: { path: "/nowhere" },
      search_files: { pattern: "*" },
      search_text: { query: "x" },
      web_fetch: { url: "https://b.example/" },
      run_command: { command: "x" },
    };
    let open = 0;
    for (const { name, input } of catalogueOf(policy, { identity, tools: [] }).tools.values()) {
      const schema = input as { properties?: Record<string, { default?: unknown }>; required?: string[] };
      for (const [argument, { default: usual }] of Object.entries(schema.properties ?? {})) {
        const args = given[name];
        if (
          args === undefined ||
          argument in args ||
          schema.required?.includes(argument) === true ||
          typeof usual === "object"
        )
          continue;
        const rule = `approvals: [{ approve: [${name}], when: { ${argument}: "no such value" }, timeout: 1 }]`;
        const told = await served(`${policyText}\n${rule}`, [], name, args);
        expect(ASKED.test(told), `${name} without ${argument}: ${told}`).toBe(usual === undefined);
        if (usual === undefined) open += 1;
      }
    }
    expect(open).toBeGreaterThan(8);
  });
});

describe("a redirect", () => {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push(request.url ?? "");
    const [, to] = /^\/to\/(\w+)$/.exec(request.url ?? "") ?? [];
    response.writeHead(to === undefined ? 200 : 302, to === undefined ? {} : { location: `/${to}` }).end("page");
  });
  let origin: string;
  beforeAll(async () => {
    await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
    origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  afterAll(() => void server.close());
  const get: AnyTool = {
    ...{ name: "get", title: "get", description: "get", annotations },
    input: { type: "object", properties: { url: { type: "string" } }, required: ["url"] },
    run: async ({ url }: { url: string }, { fetch }) =>
      await fetch(url).then(
        ({ text }) => text(),
        (error: Error) => ({ failed: error.message }),
      ),
  };

  it.each([
    ["/free", false],
    ["/to/free", false],
    ["/to/admin", true],
    ["/admin", true],
  ])("to what is asked about is asked about: %s", async (path, isAsked) => {
    const policyText = `network: { allowed_endpoints: [{ host: 127.0.0.1, ports: [${origin.split(":")[2]}] }] }
approvals: [{ approve: [get], when: { url: "${origin}/admin*" }, timeout: 1 }]`;
    const told = await served(policyText, [get], "get", { url: `${origin}${path}` });
    expect(ASKED.test(told), told).toBe(isAsked);
    expect(asked.includes("/admin")).toBe(false);
  });
});
