// What `read`, a template's `list`, a prompt's `run` and a completer may return, and every other kind of value beside it: it is refused
// in the server's log with what it is and what to write, and the client is told that the server failed.
import { describe, expect, it } from "vitest";
import { image, result, type Server, text } from "@secure-local/mcp/server";
import { connect } from "../support/connect.js";
import { reportingServer } from "../support/reporting-server.js";

interface Seen {
  readonly answer: Readonly<Record<string, unknown>>;
  readonly refused: string;
  readonly log: string;
}

type Add = (server: Server) => void;
type Asked = readonly [method: string, params: Readonly<Record<string, unknown>>];

async function seen(add: Add, [method, params]: Asked): Promise<Seen> {
  const { server, log } = reportingServer();
  add(server);
  const peer = await connect(server, { revision: "2026-07-28" });
  let refused = "";
  const answer = await peer.request(method, params).catch((error: unknown) => {
    refused = String(error);
    return {};
  });
  return { answer: answer, refused, log: log.join("\n") };
}

/** One place where a handler returns something, and how it is asked for. */
interface Side {
  readonly name: string;
  readonly add: (made: () => unknown) => Add;
  readonly asked: Asked;
}

const is = (value: unknown): never => value as never;
const READ: Side = {
  name: "read",
  add: (made) => (server) => server.resource("r://x", { read: () => is(made()) }),
  asked: ["resources/read", { uri: "r://x" }],
};
const READ_TEMPLATE: Side = {
  name: "read of a template",
  add: (made) => (server) => server.resourceTemplate("r://{id}", { read: async () => Promise.resolve(is(made())) }),
  asked: ["resources/read", { uri: "r://x" }],
};
const LIST: Side = {
  name: "list",
  add: (made) => (server) => server.resourceTemplate("r://{id}", { list: () => is(made()), read: () => "" }),
  asked: ["resources/list", {}],
};
const PROMPT: Side = {
  name: "prompt",
  add: (made) => (server) => server.prompt("p", { run: () => is(made()) }),
  asked: ["prompts/get", { name: "p" }],
};
const COMPLETER: Side = {
  name: "completer",
  add: (made) => (server) => server.prompt("p", { arguments: { a: { complete: () => is(made()) } }, run: () => "" }),
  asked: ["completion/complete", { ref: { type: "ref/prompt", name: "p" }, argument: { name: "a", value: "" } }],
};

class Row {
  readonly id = 1;
}

type Made = readonly [what: string, made: () => unknown, taken?: readonly Side[]];

/** Values of every kind, and behind each the sides that take it. */
const VALUES: readonly Made[] = [
  ["null", () => null],
  ["undefined", () => undefined, [READ, READ_TEMPLATE]],
  ["a number", () => 5],
  ["true", () => true],
  ["a BigInt", () => 5n],
  ["a symbol", () => Symbol("s")],
  ["a function", () => () => ""],
  ["a text", () => "x", [READ, READ_TEMPLATE, PROMPT]],
  ["an object", () => ({ temperature: 20 })],
  ["an object of a class", () => new Row()],
  ["a list of objects", () => [{ temperature: 20 }]],
  ["a list of texts", () => ["a", "b"], [COMPLETER]],
  ["a list of numbers", () => [1, 2]],
  ["a list with nothing in it", () => [undefined]],
  ["a list of lists", () => [[]]],
  ["a Map", () => new Map([["a", 1]])],
  ["a Set", () => new Set([1])],
  ["keys of a Map", () => new Map([["a", 1]]).keys()],
  [
    "a generator",
    () =>
      (function* () {
        yield "a";
      })(),
  ],
  ["a Date", () => new Date(0)],
  ["a URL", () => new URL("a://b")],
  ["an Error", () => new Error("x")],
  ["a Response", () => new Response("x")],
  ["a Blob", () => new Blob(["x"])],
  ["an ArrayBuffer", () => new ArrayBuffer(2)],
  ["numbers in a typed array", () => new Float64Array(2)],
  ["bytes", () => new Uint8Array(2), [READ, READ_TEMPLATE]],
  ["a whole result", () => result({ content: ["a"] })],
  ["a content block", () => text("a"), [PROMPT]],
  ["the form of the wire of a tool", () => ({ content: [{ type: "text", text: "a" }] })],
];

describe.each([READ, READ_TEMPLATE, LIST, PROMPT, COMPLETER])("$name", (side) => {
  it.each(VALUES.map((value) => ({ what: value[0], value })))("$what", async ({ value: [, made, taken = []] }) => {
    const { refused, log } = await seen(side.add(made), side.asked);
    if (taken.includes(side)) {
      expect(log).toBe("");
      return;
    }
    expect(refused).toMatch(/Internal error \(error id \w+; the server's log has the details\)/);
    expect(log).toContain(side.asked[0]);
    expect(log).toContain("returned");
    expect(log).toMatch(/: .*(return|write|throw) /);
    expect(log).not.toContain("TypeError");
  });
});

const uri = "r://x";
const png = { type: "image", data: "AAAA", mimeType: "image/png" };
const user = (content: unknown): unknown => [{ role: "user", content }];

describe("says what to write instead", () => {
  it.each<readonly [Side, string, unknown, string]>([
    [READ, "data", { temperature: 20 }, "return JSON.stringify(value)"],
    [READ, "a Response", new Response(""), "await response.text()"],
    [READ, "a buffer", new ArrayBuffer(1), "return new Uint8Array(value)"],
    [READ, "a Date", new Date(), "value.toISOString()"],
    [READ, "null", null, "return undefined where there is nothing"],
    [READ, "no uri", { text: "x" }, 'no "uri": write { uri, text }'],
    [READ, "no text", { uri }, 'neither "text" nor "blob"'],
    [READ, "both", { uri, text: "", blob: "" }, 'both "text" and "blob"'],
    [READ, "data as text", { uri, text: { a: 1 } }, "text: JSON.stringify(value)"],
    [READ, "bytes as blob", { uri, blob: Buffer.from("x") }, 'Buffer.from(bytes).toString("base64")'],
    [READ, "no base64", { uri, blob: "a b" }, "no padded standard base64"],
    [READ, "a data URL", { uri, blob: "data:image/png;base64,AAAA" }, "a data URL"],
    [
      READ,
      "a second one",
      [
        { uri, text: "" },
        { uri, text: 5 },
      ],
      "a list, of which [1] has 5",
    ],
    [READ, "a MIME type that is none", { uri, text: "", mimeType: 5 }, '5 as "mimeType"'],
    [READ, "the wire", { contents: [{ uri, text: "" }] }, "the form of the wire"],
    [LIST, "texts", ["l://1"], 'write { uri: "l://1" }'],
    [LIST, "the wire", { resources: [] }, "return a list"],
    [LIST, "an iterator", new Map().values(), "return [...value]"],
    [LIST, "no uri", [{ uri }, { name: "a" }], '[1] has no "uri"'],
    [LIST, "a name that is none", [{ uri, name: 5 }], '"name" is a text'],
    [PROMPT, "a system message", [{ role: "system", content: "x" }], "there is no system"],
    [PROMPT, "no role", [{ content: "x" }], 'no "role"'],
    [PROMPT, "one message", { role: "user", content: "x" }, "return it in a list"],
    [PROMPT, "texts", ["x"], 'write { role: "user"'],
    [PROMPT, "nothing", undefined, "returned nothing"],
    [PROMPT, "a list as content", user(["x"]), "write a message for each"],
    [PROMPT, "no content", user(undefined), "is nothing, no text and no block"],
    [PROMPT, "an image without its type", user({ ...png, mimeType: undefined }), 'mimeType: "image/png"'],
    [PROMPT, "a type that is none", user({ ...png, mimeType: "png" }), 'mimeType: "image/png"'],
    [PROMPT, "a data URL", user({ ...png, data: "data:image/png;base64,AAAA" }), "a data URL"],
    [PROMPT, "a block of no kind", user({ kind: "text" }), 'no "type"'],
    [PROMPT, "messages that are none", { messages: "x" }, "as `messages` the text"],
    [PROMPT, "a description that is none", { description: 5, messages: [] }, '5 as "description"'],
    [COMPLETER, "numbers", [1], "String(each.name)"],
    [COMPLETER, "objects", [{ name: "a" }], "String(each.name)"],
    [COMPLETER, "nothing", undefined, "[] where there is none"],
    [COMPLETER, "keys", new Map().keys(), "return [...value]"],
    [COMPLETER, "values that are none", { values: "a" }, "no list of texts"],
    [COMPLETER, "a total that is none", { values: [], total: "5" }, '"total" is a number'],
  ])("$0.name: %s", async (side, _what, value, words) => {
    const { log, refused } = await seen(
      side.add(() => value),
      side.asked,
    );
    expect(log).toContain(words);
    expect(refused).toContain("the server's log has the details");
  });
});

describe("what is promised passes", () => {
  const contents = { uri, text: "a", mimeType: "text/plain" };
  const block = { type: "text", text: "a" };
  it.each<readonly [Side, string, unknown, object]>([
    [READ, "contents", contents, { contents: [contents] }],
    [READ, "contents in a list", [contents], { contents: [contents] }],
    [READ, "a blob", { uri, blob: "AAAA" }, { contents: [{ uri, blob: "AAAA" }] }],
    [READ, "a Buffer", Buffer.from("abc"), { contents: [{ uri, blob: "YWJj", mimeType: "application/octet-stream" }] }],
    [LIST, "a URI", [{ uri }], { resources: [{ uri, name: uri }] }],
    [PROMPT, "a block", image("AAAA", "image/png"), { messages: [{ role: "user", content: png }] }],
    [PROMPT, "a block of the wire", user(block), { messages: [{ role: "user", content: block }] }],
    [PROMPT, "a description", { description: "d", messages: user("a") }, { description: "d" }],
    [COMPLETER, "a Set", new Set(["a"]), { completion: { values: ["a"], total: 1, hasMore: false } }],
    [COMPLETER, "values", { values: ["a"], total: 5 }, { completion: { values: ["a"], total: 5, hasMore: true } }],
  ])("$0.name: %s", async (side, _what, value, answer) => {
    const found = await seen(
      side.add(() => value),
      side.asked,
    );
    expect(found.log).toBe("");
    expect(found.answer).toMatchObject(answer);
  });
});
