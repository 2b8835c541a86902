// Every member of every table of options, with every wrong kind of value: none passes in silence, none ends in a TypeError.
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { dpopVerifier, introspectionAuthenticator, jwtAuthenticator, protectedResource } from "@secure-local/mcp/auth";
import { scopeRules, staticTokenAuthenticator, tokenAuthenticator } from "@secure-local/mcp/auth";
import { connect as connectAnywhere } from "@secure-local/mcp/client";
import { connect } from "@secure-local/mcp/client/node";
import { toFetch } from "@secure-local/mcp/fetch";
import { Gateway } from "@secure-local/mcp/gateway";
import { Host } from "@secure-local/mcp/host/node";
import { serveHttp, toNodeHandler } from "@secure-local/mcp/http";
import { Server } from "@secure-local/mcp/server";
import { serveStdio } from "@secure-local/mcp/stdio";
import { connectInMemory } from "@secure-local/mcp/testing";
import { CALL_MEMBERS, CLIENT_MEMBERS } from "../../src/client/options.js";
import { ADD_MEMBERS, HOST_MEMBERS, LOAD_MEMBERS } from "../../src/host/options.js";
import { HTTP_MEMBERS } from "../../src/http/server/http-endpoint.js";
import { COMMAND_MEMBERS } from "../../src/node/child-transport.js";
import type { Kind, KnownMembers } from "../../src/schema/schema.js";
import { CAPABILITY_MEMBERS, SERVER_MEMBERS } from "../../src/server/lean-server.js";
import { ARGUMENT_MEMBERS, PROMPT_MEMBERS } from "../../src/server/prompts.js";
import { RESOURCE_MEMBERS, TEMPLATE_MEMBERS } from "../../src/server/resources.js";
import { TOOL_MEMBERS } from "../../src/server/tools.js";
import { clientCredentials, enterpriseManaged, oauth, workloadIdentity } from "@secure-local/mcp/auth/client";
import { userAuthorization } from "@secure-local/mcp/auth/client/node";
import { OAUTH_MEMBERS } from "../../src/auth/client/authorization-code.js";
import { AUTHORIZER_MEMBERS } from "../../src/auth/client/token-authorizer.js";
import { TOKEN_MEMBERS } from "../../src/auth/token-authenticator.js";
import { connectMembers } from "../../src/serve/connect.js";

/** A value of each kind there is. */
const VALUES: Readonly<Record<string, unknown>> = {
  null: null,
  true: true,
  number: 5,
  zero: 0,
  negative: -1,
  NaN: Number.NaN,
  symbol: Symbol("s"),
  bigint: 5n,
  "number as text": "5",
  "false as text": "false",
  function: () => undefined,
  list: [],
  "list of numbers": [5],
  object: {},
  Map: new Map([["a", "b"]]),
  Date: new Date(),
  promise: Promise.resolve({}),
};

/** What each word takes of these: all others are wrong there. */
const TAKES: Readonly<Record<string, readonly string[]>> = {
  text: ["number as text", "false as text"],
  flag: ["true"],
  number: ["number", "zero"],
  ms: ["number", "zero"],
  whole: ["number"],
  function: ["function"],
  list: ["list", "list of numbers"],
  texts: ["list"],
  functions: ["list"],
  "texts by name": ["object"],
  "lists by name": ["object"],
  object: ["object"],
  "get() set()": ["Map"],
  "toJSON()": ["Date"],
};

function takes(kind: Kind): readonly string[] {
  if (typeof kind === "number") return ["number"];
  if (typeof kind === "object") return Array.isArray(kind) ? (kind as Kind[]).flatMap(takes) : ["object"];
  return kind.startsWith("each ") ? ["list"] : (TAKES[kind] ?? []);
}

type Wrong = readonly [path: string, options: object];

/** Every wrong value at every member, nested ones too. */
function wrong(members: KnownMembers, path = ""): Wrong[] {
  return Object.entries(members).flatMap(([name, kind]): Wrong[] => {
    if (kind === "any") return [];
    const right = takes(kind);
    const here = Object.entries(VALUES)
      .filter(([what]) => !right.includes(what))
      .map(([what, value]): Wrong => [`${path}${name}: ${what}`, { [name]: value }]);
    const kinds = (Array.isArray(kind) ? kind : [kind]) as readonly Kind[];
    const inner = kinds
      .filter((each) => typeof each === "object")
      .flatMap((each) => wrong(each as KnownMembers, `${path}${name}.`));
    return [...here, ...inner.map(([what, value]): Wrong => [what, { [name]: value }])];
  });
}

const server = (): Server => new Server({ name: "s", version: "1", report: false });
const run = (): string => "";
const is = (options: object): never => options as never;
const issuer = "https://issuer.example";
const serverUrl = "https://mcp.example.com/mcp";
const SURFACE: Readonly<Record<string, readonly [KnownMembers, (options: object) => unknown]>> = {
  "new Server": [SERVER_MEMBERS, (o) => new Server({ name: "s", version: "1", ...o })],
  "capabilities of a server": [CAPABILITY_MEMBERS, (o) => new Server({ name: "s", version: "1", capabilities: o })],
  Gateway: [SERVER_MEMBERS, (o) => new Gateway({ name: "s", version: "1", ...o })],
  tool: [TOOL_MEMBERS, (o) => server().tool("t", is({ run, ...o }))],
  "tool, updated": [TOOL_MEMBERS, (o) => server().tool("t", { run }).update(is(o))],
  prompt: [PROMPT_MEMBERS, (o) => server().prompt("p", is({ run, ...o }))],
  "argument of a prompt": [ARGUMENT_MEMBERS, (o) => server().prompt("p", is({ run, arguments: { a: o } }))],
  resource: [RESOURCE_MEMBERS, (o) => server().resource("a:b", is({ read: run, ...o }))],
  "resource, updated": [RESOURCE_MEMBERS, (o) => server().resource("a:b", { read: run }).update(is(o))],
  "resource template": [TEMPLATE_MEMBERS, (o) => server().resourceTemplate("a:{b}", is({ read: run, ...o }))],
  toFetch: [HTTP_MEMBERS, (o) => toFetch(server(), o)],
  toNodeHandler: [HTTP_MEMBERS, (o) => toNodeHandler(server(), o)],
  serveHttp: [
    { ...HTTP_MEMBERS, port: "number", host: "text", publicHosts: "texts", tls: "object", signals: "flag" },
    (o) => serveHttp(server(), o),
  ],
  serveStdio: [{ graceMs: "ms", input: "on()", output: "write()", signals: "flag" }, (o) => serveStdio(server(), o)],
  connect: [CLIENT_MEMBERS, (o) => connect(server(), o)],
  "a command to connect to": [COMMAND_MEMBERS, (o) => connect({ command: "/nowhere/at/all", ...o })],
  "a call": [
    CALL_MEMBERS,
    async (o) => {
      await using client = await connect(server());
      await client.call("t", {}, o);
    },
  ],
  connectInMemory: [{ open: "flag", revision: "text", identity: "object" }, (o) => connectInMemory(server(), o)],
  Host: [HOST_MEMBERS, (o) => new Host(o)],
  "Host.add": [ADD_MEMBERS, (o) => new Host().add("a", server(), o)],
  "Host.add, a command": [
    { args: "texts", env: "texts by name", cwd: "text" },
    (o) => new Host().add("a", is({ command: "x", ...o })),
  ],
  "Host.load": [LOAD_MEMBERS, (o) => new Host().load("{}", o)],
  tokenAuthenticator: [TOKEN_MEMBERS, (o) => tokenAuthenticator({ verify: is(run) }, o)],
  staticTokenAuthenticator: [
    TOKEN_MEMBERS,
    (o) => staticTokenAuthenticator([{ token: "a".repeat(30), principal: "a" }], o),
  ],
  jwtAuthenticator: [
    { ...TOKEN_MEMBERS, clockSkewSeconds: "number", typ: "text", principal: "function" },
    (o) => jwtAuthenticator({ issuer, jwksUri: `${issuer}/keys`, audience: "https://a.example", ...o }),
  ],
  introspectionAuthenticator: [
    TOKEN_MEMBERS,
    (o) =>
      introspectionAuthenticator({
        endpoint: `${issuer}/i`,
        issuer,
        audience: "a",
        clientId: "c",
        clientSecret: "s",
        ...o,
      }),
  ],
  dpopVerifier: [{ required: "flag", algorithms: "texts", now: "function" }, (o) => dpopVerifier(o)],
  protectedResource: [
    { scopes: "texts", name: "text" },
    (o) => protectedResource({ resource: "https://a.example", authorizationServers: [issuer], ...o }),
  ],
  oauth: [OAUTH_MEMBERS, (o) => oauth(is({ serverUrl, clientName: "c", redirect: { open: run }, ...o }))],
  userAuthorization: [
    { ...OAUTH_MEMBERS, file: "text" },
    (o) => userAuthorization(is({ serverUrl, clientName: "c", ...o })),
  ],
  clientCredentials: [
    { ...AUTHORIZER_MEMBERS, algorithm: "text", keyId: "text" },
    (o) => clientCredentials(is({ serverUrl, clientId: "c", privateKey: "x", ...o })),
  ],
  workloadIdentity: [
    AUTHORIZER_MEMBERS,
    (o) => workloadIdentity(is({ serverUrl, clientId: "c", assertion: "a", ...o })),
  ],
  enterpriseManaged: [
    AUTHORIZER_MEMBERS,
    (o) =>
      enterpriseManaged(is({ serverUrl, clientId: "c", issuer, identityProvider: { tokenEndpoint: issuer }, ...o })),
  ],
  scopeRules: [{ default: "texts", methods: "lists by name", tools: "lists by name" }, (o) => scopeRules(o)],
};

describe.each(Object.entries(SURFACE))("%s", (_name, [members, start]) => {
  it("refuses every wrong value by a sentence that names the member", async () => {
    const missed: string[] = [];
    for (const [what, options] of wrong(members)) {
      let said: unknown = "nothing";
      try {
        await start(options);
      } catch (error) {
        said = error;
      }
      const member = what.split(": ")[0]?.split(".").at(-1) as string;
      if (!(said instanceof Error) || said instanceof TypeError || !said.message.includes(member))
        missed.push(`${what}: ${String(said)}`);
    }
    expect(missed).toEqual([]);
  });

  it("takes undefined everywhere as left out", async () => {
    if (/call|command|Stdio|Host\.|serveHttp|connect|InMemory|oauth|userA|Credentials|Identity|enterprise/.test(_name))
      return;
    const left = Object.fromEntries(
      Object.keys(members)
        .filter((each) => each !== "name" && each !== "version")
        .map((each) => [each, undefined]),
    );
    const needed = _name.includes("updated") ? {} : left;
    await start({ ...needed, ...("run" in members ? { run } : {}), ...("read" in members ? { read: run } : {}) });
  });
});

describe("connect of /client, which looks less closely", () => {
  const members = connectMembers({});
  const http = members.http as KnownMembers;
  const refusal = async (options: unknown): Promise<unknown> =>
    connectAnywhere(server(), options as never).then(
      (client) => client.close(),
      (error: unknown) => error,
    );

  it("knows every option there is", async () => {
    const left = (known: object): object => Object.fromEntries(Object.keys(known).map((name) => [name, undefined]));
    expect(await refusal({ ...left(members), http: left(http) })).toBe(undefined);
  });

  it.each<readonly [unknown, string]>([
    [null, "takes one object, not null"],
    [5, "takes one object, not 5"],
    [{ revison: "2025-06-18" }, 'there is no member "revison"'],
    [{ http: { header: {} } }, 'there is no member "header"'],
    [{ http: null }, '"http" is of the type object, not null'],
    [{ middleware: () => undefined }, '"middleware" is of the type object, not function'],
    [{ revision: 5 }, '"revision" is of the type string, not number'],
  ])("refuses %j", async (options, said) => {
    expect(await refusal(options)).toMatchObject({
      code: "BAD_OPTIONS",
      message: expect.stringContaining(`connect(target, options): ${said}`) as string,
    });
  });

  it("looks at calls as well, and knows every option they have", async () => {
    const called = server();
    called.tool("t", { run });
    await using client = await connectAnywhere(called);
    const known = Object.fromEntries(Object.keys(CALL_MEMBERS).map((name) => [name, undefined]));
    await client.call("t", {}, is({ ...known, output: undefined }));
    const said = (options: unknown): Promise<unknown> =>
      client.call("t", {}, options as never).catch((error: unknown) => error);
    expect(await said({ timeout: 5 })).toMatchObject({ code: "BAD_OPTIONS" });
    expect(await said({ elicit: () => undefined })).toMatchObject({
      message: 'call(name, args, options): there is no member "elicit": write answers: { elicit }',
    });
  });

  it("refuses what can be no function, number or object", async () => {
    const missed: string[] = [];
    for (const [name, kind] of Object.entries({ ...members, http: "object" })) {
      for (const value of kind === "function"
        ? [true, {}, "x"]
        : kind === "ms"
          ? ["5", {}]
          : kind === "object"
            ? ["x"]
            : []) {
        const { code } = Object(await refusal({ [name]: value })) as { readonly code?: unknown };
        if (code !== "BAD_OPTIONS") missed.push(`${name}: ${JSON.stringify(value)}`);
      }
    }
    expect(missed).toEqual([]);
  });
});

describe("a mistake that has a sentence of its own", () => {
  it.each<readonly [string, () => unknown, string]>([
    [
      "two objects for a server",
      () => new Server({ name: "a", version: "1" }, is({ instructions: "x" })),
      "takes one object, not two: write the members of the second in the first one",
    ],
    [
      "a third argument of tool",
      () => server().tool("t", is({ description: "x" }), is(run)),
      'the function as its member "run"',
    ],
    [
      "readOnly",
      () => server().tool("t", is({ run, annotations: { readOnly: true } })),
      'did you mean "readOnlyHint"?',
    ],
    [
      "a template as a resource",
      () => server().resource("a://{id}", { read: run }),
      'write resourceTemplate("a://{id}", ...)',
    ],
    [
      "an audience that is none",
      () => server().resource("a:b", { read: run, annotations: { audience: is(["model"]) } }),
      '"audience" is a list of user, assistant',
    ],
    [
      "a question of one call, answered where no answers stand",
      async () => (await connect(server())).call("t", {}, is({ elicit: run })),
      '"elicit" stands in "answers": write answers: { elicit }',
    ],
    ["an option of a call", async () => (await connect(server())).call("t", {}, is({ tieout: 1 })), "onLog, output"],
    [
      "a server of a host that is none",
      () => new Host().add("a", is(undefined as never)),
      "makes a transport, not undefined",
    ],
    [
      "options of a server for a host",
      () => new Host().add("a", is({ name: "a" })),
      "a target is a URL, { command, args }",
    ],
    [
      "a schema of zod inside of JSON Schema",
      () => server().tool("t", { input: { type: "object", properties: { a: is(z.string()) } }, run }),
      "#/properties/a: is a schema of a library, inside of JSON Schema: write all of it with the library",
    ],
    ["a server of another copy", () => toFetch(is({})), "new Server({ name, version }), of the same copy"],
    ["method", () => server().method("a/b", is({})), '"handler" is a function, not an object'],
    ["use", () => server().use(is({})), '"middleware" is a function'],
    ["log", () => server().log("warn" as never, 1), '"level" is "debug" or "info"'],
    [
      "listChanged",
      () => server().listChanged("tool" as never),
      '"kind" is "tools" or "prompts" or "resources", not "tool"',
    ],
    ["connect({ url })", () => connect(is({ url: "http://127.0.0.1:1" })), "write connect(url, { http: { headers"],
    ["comand", () => connect(is({ comand: "node" })), 'did you mean "command"?'],
    ["arg", () => connect(is({ command: "node", arg: [] })), 'did you mean "args"?'],
    ["args as a text", () => connect(is({ command: "node", args: "server.js" })), 'write args: ["server.js"]'],
    [
      "header of a host's URL",
      () => new Host().add("a", is({ url: "http://127.0.0.1:1", header: {} })),
      'did you mean "headers"?',
    ],
    ["startsAtOnce: 0", () => new Host({ startsAtOnce: 0 }), '"startsAtOnce" is a positive whole number, not 0'],
    ["flags as text", () => toFetch(server(), is({ cors: "true" })), "write cors: true"],
  ])("%s", async (_what, start, words) => {
    await expect((async () => await start())()).rejects.toThrow(words);
  });

  it.each([
    [{ timeout: 5 }, 'did you mean "timeoutMs"?'],
    [{ onprogress: run }, 'did you mean "onProgress"?'],
  ])("call with %j", async (options, words) => {
    await using client = await connect(server());
    await expect(client.call("t", {}, is(options))).rejects.toThrow(words);
    await expect(client.call("t", is(new Map()))).rejects.toThrow('"args" is an object, not a map');
  });
});
