// An answer that breaks the protocol ends its call as an error at once, and nothing of it is forwarded.
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { Client } from "../../src/client/client.js";
import { Gateway } from "../../src/gateway/gateway.js";
import { connect } from "../../src/serve/connect.js";
import { connect as connectNode } from "../../src/serve/connect-node.js";

const PROGRAM = fileURLToPath(new URL("broken.mjs", import.meta.url));
const gateway = new Gateway({ name: "gateway", version: "1" });
let client: Client;
beforeAll(async () => {
  const open = (options: object): Promise<Client> =>
    connectNode({ command: process.execPath, args: [PROGRAM] }, { ...options, reconnect: false });
  await gateway.mount("up", open);
  client = await connect(gateway, { revision: "2025-11-25", validateOutput: "off" });
});
afterAll(async () => {
  await client.close();
  await gateway.unmountAll();
});

const EVIL = "EVIL";
const text = `[{"type":"text","text":"${EVIL}"}]`;
const answer = (result: string): string => `{"jsonrpc":"2.0","id":ID,"result":${result}}`;

/** Lines that no revision of the protocol allows as the answer of a call. */
const BROKEN: Readonly<Record<string, string>> = {
  "neither result nor error": '{"jsonrpc":"2.0","id":ID}',
  both: `{"jsonrpc":"2.0","id":ID,"result":{"content":${text}},"error":{"code":1,"message":"${EVIL}"}}`,
  "null as its result": answer("null"),
  "a list as its result": answer("[1]"),
  "content that is a text": answer(`{"content":"${EVIL}"}`),
  "an unknown kind of content": answer(`{"content":[{"type":"evil","text":"${EVIL}"}]}`),
  "a text that is a number": answer('{"content":[{"type":"text","text":5}]}'),
  "duplicate keys": answer(`{"content":[],"content":${text}}`),
  "a task nobody asked for": answer(
    '{"task":{"taskId":"evil","status":"working","ttl":1,"createdAt":"2026-01-01T00:00:00Z"}}',
  ),
  "a number that is none": answer('{"content":[],"structuredContent":{"n":1e400}}'),
  "a number without its digits": answer('{"content":[],"structuredContent":{"n":9007199254740993}}'),
  "an error that is a text": `{"jsonrpc":"2.0","id":ID,"error":"${EVIL}"}`,
  "an error with half a code": `{"jsonrpc":"2.0","id":ID,"error":{"code":1.5,"message":"${EVIL}"}}`,
};

it.each(Object.keys(BROKEN))("%s", async (what) => {
  const ended = await client
    .call("up__raw", { line: BROKEN[what] as string }, { timeoutMs: 3_000 })
    .then((result) => ({ isError: (result as { isError?: boolean }).isError, said: JSON.stringify(result) }))
    .catch((error: unknown) => ({ isError: true, said: String(error) }));
  expect(ended).toMatchObject({ isError: true });
  expect(ended.said).not.toContain(EVIL);
  expect(ended.said).toContain("violated the protocol");
});
