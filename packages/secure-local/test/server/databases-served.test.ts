// Databases through the whole server: what a policy offers, schemas as resources, imports, and the record of denials.
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connectInMemory, type MemoryPeer } from "@secure-local/mcp/testing";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { MemoryAudit } from "../../src/audit/event-text.js";
import { parsePolicy } from "../../src/policy/parse-policy.js";
import { SecureServer } from "../../src/server/secure-server.js";
import { sampled } from "../../../mcp/test/support/soak.js";
import "../databases/plain-wasm.js";

const REVISIONS = sampled(["2024-11-05", "2025-11-25", "2026-07-28"], 2);
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "databases-served-"));
  await writeFile(join(folder, "people.csv"), "id,name\n1,Ada\n2,Bob\n");
});
afterAll(() => rm(folder, { recursive: true }));

async function serverOf(databases: string) {
  const text = `version: "1.0"
tools: { allowed: ["query_database", "import_csv"] }
resources: { allowed: ["db://*"] }
filesystem: { readable_paths: ["${folder}/**"] }
${databases}`;
  const audit = new MemoryAudit();
  const policy = await parsePolicy(text, { file: "policy.yaml" });
  return { audit, secure: new SecureServer({ policy, audit, version: "1.0.0" }) };
}

const toolsOf = async (peer: MemoryPeer): Promise<string[]> =>
  ((await peer.request("tools/list"))["tools"] as { name: string }[]).map(({ name }) => name).toSorted();
const call = (peer: MemoryPeer, name: string, args: object) => peer.request("tools/call", { name, arguments: args });

describe.each(REVISIONS)("in revision %s", (revision) => {
  it("imports, queries and shows what there is", async () => {
    const file = join(folder, `${revision}.db`);
    const { audit, secure } = await serverOf(`databases: { main: { file: "${file}", read_only: false } }\n`);
    const peer = await connectInMemory(secure.server, { revision });
    expect(await toolsOf(peer)).toEqual(["import_csv", "query_database"]);
    const path = join(folder, "people.csv");
    expect(await call(peer, "import_csv", { file: path })).toMatchObject({ isError: false });
    const found = await call(peer, "query_database", { sql: "SELECT name FROM people ORDER BY id" });
    expect((found["content"] as object[])[0]).toEqual({ type: "text", text: "name\n----\nAda\nBob\n(2 rows)" });
    if (revision > "2025-06") expect(found).toMatchObject({ structuredContent: { rows: [["Ada"], ["Bob"]] } });
    const denied = await call(peer, "query_database", { sql: "DELETE FROM people" });
    expect(denied).toMatchObject({ isError: true });
    const rule = "built-in rule: statements only read";
    expect(JSON.stringify(audit.records())).toContain(rule);
    expect(((await peer.request("resources/list"))["resources"] as object[]).length).toBe(1);
    const read = async (uri: string) => {
      const { contents } = (await peer.request("resources/read", { uri })) as unknown as {
        contents: { text: string }[];
      };
      return JSON.parse(contents[0]?.text ?? "") as unknown;
    };
    const columns = [
      { name: "id", type: "INTEGER" },
      { name: "name", type: "TEXT" },
    ];
    expect(await read("db://main/schema")).toEqual({
      database: "main",
      tables: [{ name: "people", kind: "table", columns }],
    });
    expect(await read("db://main/schema/people")).toEqual({ database: "main", name: "people", kind: "table", columns });
    await expect(read("db://main/schema/nobody")).rejects.toThrow(/not found/i);
    await expect(read("db://other/schema/people")).rejects.toThrow(/not found/i);
    const ref = { type: "ref/resource", uri: "db://{database}/schema/{table}" };
    const argument = { name: "database", value: "m" };
    expect((await peer.request("completion/complete", { ref, argument }))["completion"]).toMatchObject({
      values: ["main"],
    });
    await peer.close();
  });
});

it("lists a tool only where the policy names a database for it", async () => {
  const { secure } = await serverOf("");
  expect(secure.tools()).toEqual([]);
  const reading = await serverOf(`databases: { main: { file: "${folder}/main.db" } }\n`);
  expect(reading.secure.tools().map(({ name }) => name)).toEqual(["query_database"]);
});
