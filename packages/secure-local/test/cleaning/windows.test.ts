// A secret's value is taken out of a whole text before a part of it is shown, wherever the part begins and ends.
import { mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connectInMemory } from "@secure-local/mcp/testing";
import { afterAll, beforeAll, expect, it } from "vitest";
import { MemoryAudit } from "../../src/audit/event-text.js";
import { rememberSecret } from "../../src/audit/secret-shapes.js";
import { cleanText } from "../../src/guard/cleaning/clean-text.js";
import { parsePolicy } from "../../src/policy/parse-policy.js";
import { SecureServer } from "../../src/server/secure-server.js";

const VALUE = "Zq7Kp2vXw9Lm4TbR8nYc1HdF5gJs3AeUo6Wi0QxB";
const TEXT = `${"A".repeat(150)}${VALUE}${"B".repeat(600)}`;
/** Of the value; less is no use to anybody. */
const PARTS = Array.from({ length: VALUE.length - 7 }, (_, at) => VALUE.slice(at, at + 8));
const left = (text: string): string[] => PARTS.filter((part) => text.includes(part));

const folder = realpathSync(mkdtempSync(join(tmpdir(), "windows-")));
const server = createServer((_request, response) =>
  response.writeHead(200, { "content-type": "text/plain" }).end(TEXT),
);
let port: number;
beforeAll(async () => {
  rememberSecret("k", VALUE);
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  ({ port } = server.address() as AddressInfo);
});
afterAll(() => {
  server.close();
  rmSync(folder, { recursive: true, force: true });
});

it("is left in no window of a page and no line that is cut", async () => {
  const policy = await parsePolicy(
    `version: "1.0"
tools: { allowed: ["*"], rate_limits: { default: 1000 } }
filesystem: { allowed_paths: ["${folder}/**"] }
network: { allowed_endpoints: [{ host: 127.0.0.1, ports: [${port}] }] }`,
    { file: "p.yaml" },
  );
  const secure = new SecureServer({ policy, audit: new MemoryAudit(), version: "1" });
  const peer = await connectInMemory(secure.server, { revision: "2025-11-25" });
  const call = async (name: string, args: object): Promise<string> =>
    JSON.stringify(await peer.request("tools/call", { name, arguments: args }));
  const told: string[] = [];
  for (let start = 60; start < 200; start += 9)
    told.push(await call("web_fetch", { url: `http://127.0.0.1:${port}/`, start, max_length: 100 }));
  for (let at = 0; at < 48; at += 7) {
    const line = `${"A".repeat(500)}needle${"C".repeat(255 + at)}${VALUE}${"B".repeat(600)}`;
    writeFileSync(join(folder, "long.txt"), line);
    told.push(await call("search_text", { query: "needle", path: folder }));
  }
  await peer.close();
  expect(told.every((text) => !text.includes('"isError":true'))).toBe(true);
  expect(told.flatMap(left)).toEqual([]);
});

it("is left in no text that is cut to its size", () => {
  for (let bytes = 100; bytes < 320; bytes += 5)
    expect(left(cleanText(TEXT, { textBytes: bytes })), String(bytes)).toEqual([]);
});
