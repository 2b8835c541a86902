// An answer that breaks the protocol ends its call as an error at once, and nothing of it is forwarded.
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { Client } from "../../src/client/client.js";
import { Gateway } from "../../src/gateway/gateway.js";
import { RpcError } from "../../src/jsonrpc/errors.js";
import { connect } from "../../src/serve/connect.js";
import { Server } from "../../src/server/server.js";
import { connect as connectNode } from "../../src/serve/connect-node.js";

const PROGRAM = fileURLToPath(new URL("broken.mjs", import.meta.url));
const gateway = new Gateway({ name: "gateway", version: "1" });
let client: Client;
beforeAll(async () => {
  const open = (options: object): Promise<Client> =>
    connectNode({ command: process.execPath, args: [PROGRAM] }, { ...options, reconnect: false });
  await gateway.mount("up", open, { checkOutput: true });
  client = await connect(gateway, { revision: "2025-11-25", validateOutput: "off" });
});
afterAll(async () => {
  await client.close();
  await gateway.unmountAll();
});

const EVIL = "EVIL";
/** What the tool `shaped` does not promise. */
const SHAPES = [`{"n":"${EVIL}"}`, `{"n":1,"${EVIL}":1}`, "{}", `["${EVIL}"]`].map(
  (shape) => `{"content":[],"structuredContent":${shape}}`,
);
const text = `[{"type":"text","text":"${EVIL}"}]`;
const answer = (result: string): string => `{"jsonrpc":"2.0","id":ID,"result":${result}}`;

/** Lines that no revision of the protocol allows as the answer of a call. */
const BROKEN: Readonly<Record<string, string>> = {
  "neither result nor error": '{"jsonrpc":"2.0","id":ID}',
  both: `{"jsonrpc":"2.0","id":ID,"result":{"content":${text}},"error":{"code":1,"message":"${EVIL}"}}`,
  "null as its result": answer("null"),
  "a list as its result": answer("[1]"),
  "content that is a text": answer(`{"content":"${EVIL}"}`),
  "an image without its kind": answer(`{"content":[{"type":"image","data":"${EVIL}"}]}`),
  "a link whose name is a number": answer(`{"content":[{"type":"resource_link","uri":"${EVIL}:1","name":5}]}`),
  "a resource without its text": answer(`{"content":[{"type":"resource","resource":{"uri":"${EVIL}:1"}}]}`),
  "annotations that are a number": answer(`{"content":[{"type":"text","text":"${EVIL}","annotations":5}]}`),
  "isError that is a text": answer(`{"content":${text},"isError":"${EVIL}"}`),
  "an unknown kind of content": answer(`{"content":[{"type":"evil","text":"${EVIL}"}]}`),
  "a text that is a number": answer('{"content":[{"type":"text","text":5}]}'),
  "duplicate keys": answer(`{"content":[],"content":${text}}`),
  "a task nobody asked for": answer(
    '{"task":{"taskId":"evil","status":"working","ttl":1,"createdAt":"2026-01-01T00:00:00Z"}}',
  ),
  "a byte order mark before it": `\ufeff${answer(`{"content":${text}}`)}`,
  "an error that is a text": `{"jsonrpc":"2.0","id":ID,"error":"${EVIL}"}`,
  "an error with half a code": `{"jsonrpc":"2.0","id":ID,"error":{"code":1.5,"message":"${EVIL}"}}`,
};

it("mounts no server whose definitions have a number that nobody can read", async () => {
  const list = '{"tools":[{"name":"raw","inputSchema":{"type":"object","properties":{"n":{"maximum":1e400}}}}]}';
  const program = `
    process.stdin.setEncoding("utf8").on("data", (chunk) => {
      for (const { id, method } of chunk.trim().split("\\n").map((line) => JSON.parse(line))) {
        const serverInfo = { name: "d", version: "1" };
        const opened = JSON.stringify({ protocolVersion: "2025-06-18", capabilities: { tools: {} }, serverInfo });
        const result = method === "initialize" ? opened : method === "tools/list" ? ${JSON.stringify(list)} : "{}";
        if (id !== undefined) console.log('{"jsonrpc":"2.0","id":' + JSON.stringify(id) + ',"result":' + result + "}");
      }
    });`;
  const open = (options: object): Promise<Client> =>
    connectNode({ command: process.execPath, args: ["-e", program] }, { ...options, reconnect: false });
  await expect(gateway.mount("large", open)).rejects.toThrow("a number that is too large");
  expect(gateway.mounts.has("large")).toBe(false);
});

it.each(Object.keys(BROKEN))("%s", async (what) => {
  const ended = await client
    .call("up__raw", { line: BROKEN[what] as string }, { timeoutMs: 3_000 })
    .then((result) => ({ isError: (result as { isError?: boolean }).isError, said: JSON.stringify(result) }))
    .catch((error: unknown) => ({ isError: true, said: String(error) }));
  expect(ended).toMatchObject({ isError: true });
  expect(ended.said).not.toContain(EVIL);
  expect(ended.said).toContain("violated the protocol");
});

/** What may stand in a result beside what it says, none of which says anything. */
const BESIDE = [
  '"zzz":1',
  '"isError":true',
  '"isError":false',
  '"_meta":{"a/b":1}',
  `"resultType":"input_required","inputRequests":{"a":{"method":"elicitation/create","params":{"message":"${EVIL}"}}}`,
  '"resultType":"input_required","requestState":"x"',
  '"resultType":"complete"',
  '"resultType":"task"',
  '"task":null',
  '"structuredContent":null',
  `"structuredContent":"${EVIL}"`,
  `"structuredContent":["${EVIL}"]`,
  '"structuredContent":5',
];

it.each(
  ["", ...BESIDE, BESIDE.slice(0, 2).join(), BESIDE.slice(3, 5).join()].flatMap((beside) =>
    ["", '"content":null'].map((content) => `{${[content, beside].filter((each) => each !== "").join()}}`),
  ),
)("a result that says nothing: %s", async (result) => {
  const ended = await client.call("up__raw", { line: answer(result) }, { timeoutMs: 3_000 });
  expect(ended.isError).toBe(true);
  expect(JSON.stringify(ended)).toMatch(/violated the protocol.*has no content/);
  expect(JSON.stringify(ended)).not.toContain(EVIL);
});

it("what a revision without structured content has no word for says nothing in it", async () => {
  const open = (options: object): Promise<Client> =>
    connectNode({ command: process.execPath, args: [PROGRAM, "2025-03-26"] }, { ...options, reconnect: false });
  await gateway.mount("old", open);
  const said = async (result: string): Promise<string> =>
    JSON.stringify(await client.call("old__raw", { line: answer(result) }, { timeoutMs: 3_000 }));
  expect(await said('{"structuredContent":{"n":1}}')).toMatch(/violated the protocol.*has no content/);
  expect(await said('{"content":[],"structuredContent":{"n":1}}')).not.toContain("violated");
});

it("what was a result before 2024-11-05 is no content and no violation, as for a client without a gateway", async () => {
  const old = '"toolResult":{"content":[{"type":"text","text":"x"}]}';
  const ended = await client.call("up__raw", { line: answer(`{${old}}`) }, { timeoutMs: 3_000 });
  expect(ended).toMatchObject({ content: [], toolResult: { content: [{ type: "text", text: "x" }] } });
  expect(ended.isError).not.toBe(true);
});

it.each(BESIDE.slice(0, 9))("and one that says something, with %s", async (beside) => {
  for (const said of ['"content":[]', '"content":[{"type":"text","text":"x"}]', '"structuredContent":{"n":1}']) {
    const ended = await client.call("up__raw", { line: answer(`{${said},${beside}}`) }, { timeoutMs: 3_000 });
    expect(JSON.stringify(ended)).not.toContain("violated");
    expect(JSON.stringify(ended)).not.toContain(EVIL);
  }
});

it.each([...SHAPES, `{"content":${text}}`])("structured content that its tool does not promise: %s", async (result) => {
  const ended = await client.call("up__shaped", { line: answer(result) }, { timeoutMs: 3_000 });
  expect(ended.isError).toBe(true);
  expect(JSON.stringify(ended)).toMatch(/violated the protocol.*not what its tool promises/);
  expect(JSON.stringify(ended.content)).not.toContain(EVIL);
});

it.each([
  '{"content":[],"structuredContent":{"n":1}}',
  `{"content":[],"isError":true}`,
  // Checked is what came, forwarded are its digits.
  '{"content":[],"structuredContent":{"n":1.0}}',
])("passes what a tool promises, or an error instead of it: %s", async (result) => {
  const ended = await client.call("up__shaped", { line: answer(result) });
  expect(JSON.stringify(ended)).not.toContain("violated");
});

it.each(["2025-11-25", "2026-07-28"])(
  "says of an error's message that is too long that it was cut, and of how many characters, once (%s)",
  async (revision) => {
    const server = new Server({ name: "u", version: "1" });
    server.tool("long", {
      input: { type: "object", properties: { length: { type: "integer" } } },
      run: ({ length }: { length: number }) => {
        throw new RpcError(-32_050, "x".repeat(length));
      },
    });
    // Each of them writes the message again.
    const [outer, inner] = [new Gateway({ name: "o", version: "1" }), new Gateway({ name: "i", version: "1" })];
    await inner.mount("up", (options) => connect(server, options));
    await outer.mount("in", (options) => connect(inner, options));
    const asking = await connect(outer, { revision });
    const messageOf = (length: number): Promise<string> =>
      asking.call("in__up__long", { length }).then(String, (error: RpcError) => error.message);
    expect(await messageOf(8_192)).toBe("x".repeat(8_192));
    expect(await messageOf(20_000)).toBe(`${"x".repeat(8_000)}… (20000 characters)`);
    await asking.close();
    await outer.unmountAll();
    await inner.unmountAll();
  },
);
