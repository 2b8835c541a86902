import { describe, expect, it } from "vitest";
import { DEFAULT_SERVER_LIMITS, resource, Server, type ServerOptions } from "@secure-local/mcp/server";
import { resolveServerLimits } from "../../src/server/limits.js";
import { connect } from "../support/connect.js";

const make = (options: Partial<ServerOptions> = {}): Server => new Server({ name: "s", version: "1", ...options });
const run = (): string => "";
const read = (): string => "";
const coded = (code: string, message: string | RegExp): unknown =>
  expect.objectContaining({
    code,
    message: typeof message === "string" ? expect.stringContaining(message) : expect.stringMatching(message),
  });

describe("a tool is refused with", () => {
  it.each(["", "a b", "a/b", "é", "a\n", "x".repeat(129)])("the name %j", (name) => {
    expect(() => make().tool(name, { run })).toThrow(coded("BAD_TOOL", "Tool"));
  });

  it("a schema that is null, is no object at its root, or is none at all", () => {
    expect(() => make().tool("t", { input: null as never, run })).toThrow(coded("BAD_TOOL", "input is null"));
    for (const input of [{}, { type: "string" }, { type: ["object", "null"] }] as const) {
      expect(() => make().tool("t", { input: input as never, run })).toThrow(coded("BAD_TOOL", '"type": "object"'));
    }
    for (const broken of [
      { type: "object", properties: 5 },
      { type: "object", required: "a" },
      5,
      "object",
      [],
    ] as never[]) {
      expect(() => make().tool("t", { input: broken, run })).toThrow(/must be|"type": "object"/);
    }
    for (const broken of [null, { type: "nope" }, 5] as never[]) {
      expect(() => make().tool("t", { output: broken, run }), JSON.stringify(broken)).toThrow(
        /^Tool "t": "output" .*(?:must be|the string)/,
      );
    }
  });

  it("a schema that refers to the network (M06)", () => {
    const input = { type: "object", properties: { a: { $ref: "https://example.com/schema.json" } } } as const;
    expect(() => make().tool("t", { input, run })).toThrow(/https:\/\/example\.com\/schema\.json/);
  });

  it("a schema of a dialect nobody here speaks; without one it is 2020-12 (M07)", async () => {
    const input = { $schema: "http://json-schema.org/draft-04/schema#", type: "object" } as const;
    expect(() => make().tool("t", { input: input as never, run })).toThrow(/draft-04/);
    const server = make();
    const prefixed = {
      type: "object",
      properties: { pair: { prefixItems: [{ type: "string" }], items: false } },
    } as const;
    server.tool("t", { input: prefixed as never, run });
    const peer = await connect(server);
    expect(await peer.request("tools/call", { name: "t", arguments: { pair: ["a"] } })).toMatchObject({
      isError: false,
    });
    expect(await peer.request("tools/call", { name: "t", arguments: { pair: ["a", "b"] } })).toMatchObject({
      isError: true,
    });
  });

  it("icons no client may show (M08)", () => {
    for (const src of [
      "javascript:alert(1)",
      "file:///etc/passwd",
      "http://example.com/i.png",
      "ftp://x/i.png",
      "i.png",
      "",
    ]) {
      const icons = [{ src }];
      expect(() => make().tool("t", { icons, run }), src).toThrow(coded("BAD_TOOL", "icon"));
      expect(() => make().prompt("p", { icons, run }), src).toThrow(coded("BAD_PROMPT", "icon"));
      expect(() => make().resource("test://r", { icons, read }), src).toThrow(coded("BAD_RESOURCE", "icon"));
      expect(() => make().resourceTemplate("test://{r}", { icons, read }), src).toThrow(coded("BAD_RESOURCE", "icon"));
      expect(() => make({ icons }), src).toThrow(coded("BAD_SERVER", "icon"));
    }
  });
});

describe("arguments of prompts", () => {
  it("are an object by name: a list, as it stands in answers, would make an argument called 0", () => {
    const listed = [{ name: "city" }] as never;
    expect(() => make().prompt("p", { arguments: listed, run })).toThrow(coded("BAD_PROMPT", "is a list"));
  });
});

describe("metadata", () => {
  it("is refused with keys of no valid form (M09)", () => {
    for (const key of ["", "1a/x", "-a/x", "a-/x", "a..b/x", "/x", "a/b/c", "a/ x", "a/_", "é/x"]) {
      const _meta = { [key]: 1 };
      expect(() => make().tool("t", { _meta, run }), key).toThrow(coded("BAD_TOOL", "_meta key"));
      expect(() => make().prompt("p", { _meta, run }), key).toThrow(coded("BAD_PROMPT", "_meta key"));
      expect(() => make().resource("test://r", { _meta, read }), key).toThrow(coded("BAD_RESOURCE", "_meta key"));
    }
    for (const key of ["a/x", "com.example/a.b-c_d", "example.com/", "plain", "a1.b-2/x"]) {
      expect(() => make().tool("t", { _meta: { [key]: 1 }, run }), key).not.toThrow();
    }
  });
});

describe("names", () => {
  it("are unique of their kind, and free again after removal", () => {
    const server = make();
    const first = [
      server.tool("x", { run }),
      server.prompt("x", { run }),
      server.resource("test://x", { read }),
      server.resourceTemplate("test://{x}", { read }),
    ];
    const again = [
      () => server.tool("x", { run }),
      () => server.prompt("x", { run }),
      () => server.resource("test://x", { read }),
      () => server.resourceTemplate("test://{x}", { read }),
    ];
    for (const add of again) expect(add).toThrow(coded("DUPLICATE", /There is already a .*x/));
    for (const registration of first) registration.remove();
    for (const registration of first) registration.remove();
    for (const add of again) expect(add).not.toThrow();
    for (const registration of first) registration.remove();
    for (const add of again) expect(add).toThrow(coded("DUPLICATE", /There is already a .*x/));
  });
});

describe("resources are refused with", () => {
  it("a URI that is not absolute, a template that is none, a size that is none, or a completer of nothing", () => {
    for (const uri of ["", "a", "/etc/passwd", "//host/x"])
      expect(() => make().resource(uri, { read })).toThrow(coded("BAD_RESOURCE", "absolute URI"));
    for (const size of [-1, 1.5, Number.NaN])
      expect(() => make().resource("test://x", { size, read })).toThrow(coded("BAD_RESOURCE", "size"));
    for (const template of ["test://{", "test://{a", "test://{a}{", "test://{!a}"])
      expect(() => make().resourceTemplate(template, { read })).toThrow(/URI template/);
    const unknown = { complete: { b: [] }, read };
    expect(() => make().resourceTemplate("test://{a}", unknown as { read: typeof read })).toThrow(
      coded("BAD_RESOURCE", 'no variable "b"'),
    );
  });
});

describe("limits", () => {
  it.each(Object.keys(DEFAULT_SERVER_LIMITS))("%s must be a positive integer", (name) => {
    for (const value of [0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, "5"]) {
      expect(() => make({ limits: { [name]: value } })).toThrow(
        new RangeError(`limit "${name}" must be a positive integer, not ${String(value)}`),
      );
    }
  });

  it.each(Object.keys(DEFAULT_SERVER_LIMITS) as (keyof typeof DEFAULT_SERVER_LIMITS)[])(
    "%s is as usual where it is undefined",
    (name) => {
      expect(resolveServerLimits({ [name]: undefined })).toEqual(DEFAULT_SERVER_LIMITS);
      make({ limits: { [name]: undefined } });
    },
  );
});

describe("capabilities", () => {
  it("say what works, and nothing else", async () => {
    const bare = await connect(make({ capabilities: { logging: false } }));
    expect((await bare.request("server/discover"))["capabilities"]).toEqual({});
    const server = make();
    server.prompt("p", { arguments: { a: { complete: ["x"] } }, run });
    const full = await (await connect(server)).request("server/discover");
    expect(full["capabilities"]).toEqual({ prompts: { listChanged: true }, completions: {}, logging: {} });
  });

  it("that are not there leave their methods unknown (M39)", async () => {
    for (const revision of ["2024-11-05", "2025-06-18", "2026-07-28"]) {
      const peer = await connect(make({ capabilities: { logging: false } }), { revision });
      for (const method of [
        "tools/list",
        "prompts/list",
        "resources/list",
        "resources/templates/list",
        "completion/complete",
      ]) {
        await expect(peer.request(method, {}), method).rejects.toMatchObject({ code: -32601 });
      }
    }
  });

  it("of features to come are declared when they are expected", async () => {
    const peer = await connect(make({ capabilities: { expect: ["tools", "prompts", "resources", "completions"] } }), {
      revision: "2025-11-25",
    });
    expect(await peer.request("tools/list")).toEqual({ tools: [] });
    expect(await peer.request("resources/templates/list")).toEqual({ resourceTemplates: [] });
  });
});

describe("_meta of what is registered", () => {
  const registered = (key: string): string[] => {
    const warnings: string[] = [];
    const server = new Server({ name: "s", version: "1", report: (_kind, text) => warnings.push(text) });
    const _meta = { [key]: 1 };
    server.tool("t", { description: "d", _meta, run: () => "" });
    server.resource("x:y", { name: "r", _meta, read: () => "" });
    server.resourceTemplate("x:{a}", { name: "f", _meta, read: () => "" });
    server.prompt("p", { description: "d", _meta, run: () => "" });
    return warnings;
  };

  it.each(["io.modelcontextprotocol/x", "com.mcp/x", "progressToken"])("%s is reported: it means something", (key) => {
    const warnings = registered(key);
    expect(warnings.map((text) => text.split(":")[0])).toEqual([
      "The tool t",
      "The resource x",
      "The template x",
      "The prompt p",
    ]);
    expect(warnings[0]).toContain(JSON.stringify(key));
  });

  it.each(["com.example/x", "ui", "com.example.mcp/x"])("%s is one's own", (key) => {
    expect(registered(key)).toEqual([]);
  });
});

it.each([
  ["https://example.com/a", 1],
  ["HTTP://example.com/a", 1],
  ["httpx://a", 0],
  ["file:///a", 0],
])("the scheme of %s is reported %i times: clients may load it themselves", (uri, times) => {
  const warnings: string[] = [];
  const server = new Server({ name: "s", version: "1", report: (_kind, text) => warnings.push(text) });
  server.resource(uri, { name: "r", read: () => "" });
  server.resourceTemplate(`${uri}{x}`, { name: "t", read: () => "" });
  expect(warnings.filter((text) => text.includes("from the web"))).toHaveLength(2 * times);
});

it("a resource within a result is reported, once a tool, where the server offers no resources", async () => {
  const warnings: string[] = [];
  const server = make({ report: (_kind, text) => void warnings.push(text) });
  server.tool("page", { run: () => resource("x:y", "words") });
  server.tool("word", { run });
  const peer = await connect(server);
  for (const name of ["word", "page", "page"]) await peer.request("tools/call", { name, arguments: {} });
  expect(warnings).toEqual([expect.stringContaining("The tool page returns a resource")]);
  const offering = make({ report: (_kind, text) => void warnings.push(text) });
  offering.resource("x:y", { name: "r", read });
  offering.tool("page", { run: () => resource("x:y", "words") });
  await (await connect(offering)).request("tools/call", { name: "page", arguments: {} });
  expect(warnings).toHaveLength(1);
});
