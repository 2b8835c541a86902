// `mcp-secure-local migrate`: a server of the official SDK runs by its rewritten imports, and what stays is said.
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import * as completable from "@modelcontextprotocol/sdk/server/completable.js";
import * as index from "@modelcontextprotocol/sdk/server/index.js";
import * as inMemory from "@modelcontextprotocol/sdk/inMemory.js";
import * as mcp from "@modelcontextprotocol/sdk/server/mcp.js";
import * as server from "@modelcontextprotocol/server";
import * as types from "@modelcontextprotocol/sdk/types.js";
import * as uriTemplate from "@modelcontextprotocol/sdk/shared/uriTemplate.js";
import { connect } from "@secure-local/mcp/client/node";
import { temporaryFolder } from "../audit/temporary-folder.js";
import { migrateSource } from "../../src/cli/migrate-command.js";
import { COMPAT_SURFACE } from "../../../mcp/test/surface/compat-names.js";
import { runQuickly } from "./command-in-thread.js";

const SERVER = `import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { z } from "zod";

const server = new McpServer({ name: "brought", version: "1.0.0" });
server.tool("double", { n: z.number() }, async ({ n }) => ({ content: [{ type: "text", text: String(2 * n) }] }));
await server.connect(new StdioServerTransport());
`;

it("rewrites a server so that it runs, and touches nothing else", async () => {
  const home = temporaryFolder();
  const folder = join(home, "server");
  mkdirSync(join(folder, "node_modules/x"), { recursive: true });
  writeFileSync(join(folder, "server.mjs"), SERVER);
  writeFileSync(join(folder, "node_modules/x/index.js"), SERVER);
  writeFileSync(join(folder, "README.md"), SERVER);
  const ran = await runQuickly(["migrate", folder], { home });
  expect([ran.code, ran.stderr]).toEqual([0, ""]);
  expect(ran.stdout).toContain("server.mjs: 2 imports rewritten\n");
  expect(readFileSync(join(folder, "node_modules/x/index.js"), "utf8")).toBe(SERVER);
  expect(readFileSync(join(folder, "README.md"), "utf8")).toBe(SERVER);
  const root = join(dirname(fileURLToPath(import.meta.url)), "../../../..");
  for (const name of ["@secure-local", "zod"])
    symlinkSync(join(root, "node_modules", name), join(folder, "node_modules", name));
  const client = await connect({ command: process.execPath, args: [join(folder, "server.mjs")] });
  try {
    expect((await client.call("double", { n: 21 })).content).toEqual([{ type: "text", text: "42" }]);
    expect(client.revision).toBe("2026-07-28");
  } finally {
    await client.close();
  }
  expect((await runQuickly(["migrate", folder], { home })).stdout).toBe(
    "No source here imports the official SDK. Not looked into: node_modules, dist, build, out, coverage.\n",
  );
});

it("says with the line what it leaves alone", async () => {
  const home = temporaryFolder();
  writeFileSync(
    join(home, "a.ts"),
    `import { Client } from "@modelcontextprotocol/sdk/client/index.js";\nimport { McpServer, createRequestStateCodec, type Foo } from "@modelcontextprotocol/server";\n`,
  );
  const ran = await runQuickly(["migrate", home], { home });
  expect(ran.code).toBe(1);
  expect(ran.stdout).toContain("a.ts: 1 import rewritten\n");
  expect(ran.stdout).toContain(
    "line 1 is left to you: @modelcontextprotocol/sdk/client/index.js: clients stay with the SDK",
  );
  expect(ran.stdout).toContain(
    "line 2 is left to you: createRequestStateCodec: @secure-local/mcp/compat has no such name",
  );
});

it("refuses a folder that is not there, and more than one", async () => {
  const home = temporaryFolder();
  expect((await runQuickly(["migrate", join(home, "none")], { home })).stderr).toContain("cannot read the folder");
  expect((await runQuickly(["migrate"], { home })).code).toBe(2);
  expect((await runQuickly(["migrate", home, "b"], { home })).stderr).toContain('"b" is one too many');
});

it("knows every name that compat has at run time", () => {
  for (const [subpath, names] of Object.entries(COMPAT_SURFACE)) {
    for (const name of names.filter((each) => !each.startsWith("type "))) {
      const source = `import { ${name} } from "@modelcontextprotocol/sdk/types.js";`;
      expect(migrateSource(source, "a.js").leftovers, `${subpath} ${name}`).toEqual([]);
    }
  }
});

const SDKS = {
  "sdk/types.js": types,
  "sdk/server/mcp.js": mcp,
  "sdk/server/index.js": index,
  "sdk/server/completable.js": completable,
  "sdk/shared/uriTemplate.js": uriTemplate,
  "sdk/inMemory.js": inMemory,
  server,
};
const OURS = new Set(Object.values(COMPAT_SURFACE).flat());

it.each(Object.entries(SDKS))("has each name of %s, or says that it is missing", (module, exported) => {
  for (const name of Object.keys(exported)) {
    const line = `import { ${name} } from "@modelcontextprotocol/${module}";`;
    for (const path of ["a.js", "a.ts"])
      expect(migrateSource(line, path).leftovers.length, `${name} in ${path}`).toBe(OURS.has(name) ? 0 : 1);
  }
});

it("notes that transports kept by session serve no requests without one", async () => {
  const home = temporaryFolder();
  writeFileSync(
    join(home, "a.js"),
    `import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import { isInitializeRequest } from "@modelcontextprotocol/sdk/types.js";
const open = (body) => isInitializeRequest(body) && new StreamableHTTPServerTransport({ onsessioninitialized: keep });
`,
  );
  const ran = await runQuickly(["migrate", home], { home });
  expect(ran).toMatchObject({
    code: 0,
    stdout: expect.stringContaining("line 3: transports kept by session serve") as string,
  });
});
