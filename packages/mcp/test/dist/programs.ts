// Programs that use the packed library as its users do, written into a folder where it is installed.
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { root } from "../../../../scripts/lib/run-command.mjs";

/** Prints the names that each subpath exports, as JSON. */
const NAMES = `
const names = {};
for (const subpath of process.argv.slice(2)) names[subpath] = Object.keys(await import(subpath)).sort();
console.log(JSON.stringify(names));
`;

/** A server with one tool of each sort, which also says how registering nonsense fails. */
const SERVER = `
import { Server } from "@secure-local/mcp/server";
import { serveStdio } from "@secure-local/mcp/stdio";

const server = new Server({ name: "packed", version: "1.0.0" });
const failures = [];
const fails = (what) => {
  try {
    what();
    failures.push("nothing");
  } catch (error) {
    failures.push(error.code ?? error.name);
  }
};
fails(() => server.tool("bad name", { run: () => "" }));
fails(() => server.tool("null_schema", { input: null, run: () => "" }));
fails(() => server.tool("bad_schema", { input: { type: "object", properties: { a: { type: "strange" } } }, run: () => "" }));
fails(() => server.tool("remote", { input: { type: "object", properties: { a: { $ref: "https://example.com/a" } } }, run: () => "" }));
fails(() => server.resource("not a uri", { name: "x", read: () => "" }));
fails(() => new Server({ name: "x", version: "1", icons: [{ src: "javascript:alert(1)" }] }));

server.tool("failures", { run: () => failures.join(" ") });
server.tool("add", {
  input: { type: "object", properties: { a: { type: "number" }, b: { type: "number", default: 1 } }, required: ["a"] },
  output: { type: "object", properties: { sum: { type: "number" } }, required: ["sum"] },
  run: ({ a, b }) => ({ sum: a + b }),
});
server.tool("lies", {
  output: { type: "object", properties: { sum: { type: "number" } }, required: ["sum"] },
  run: () => ({ sum: "a lot" }),
});
server.tool("chatty", {
  run() {
    console.log("this must not reach stdout");
    process.stdout.write("nor this\\n");
    return "quiet";
  },
});
server.tool("throws", {
  run() {
    throw new Error("the password is hunter2");
  },
});
server.tool("ask", {
  async run(_args, ctx) {
    const answer = await ctx.elicit({ message: "Sure?", schema: { sure: { type: "boolean" } } });
    return answer.action === "accept" ? String(answer.content.sure) : answer.action;
  },
});
await serveStdio(server);
`;

/** Uses the types: what is right must compile, what is marked as wrong must not. */
const CONSUMER = `
import { type Context, image, McpErrorCode, type Middleware, RpcError, Server, serve, type ServerOptions } from "@secure-local/mcp/server";
import { connectInMemory, type MemoryPeer } from "@secure-local/mcp/testing";
import { type Carrier, DEFAULT_LIMITS, type Transport } from "@secure-local/mcp/jsonrpc";

const options: ServerOptions = { name: "consumer", version: "1.0.0" };
const server = new Server(options);
server.tool("add", {
  description: "Adds",
  input: { type: "object", properties: { a: { type: "number" }, b: { type: "integer" }, unit: { enum: ["m", "km"] } }, required: ["a", "b"] },
  run({ a, b, unit }, ctx: Context) {
    const sum: number = a + b;
    const length: "m" | "km" | undefined = unit;
    // @ts-expect-error a number is not a string
    const wrong: string = a;
    return [sum, length, wrong, ctx.revision].join(" ");
  },
});
server.tool("ask", {
  async run(_args, ctx) {
    const answer = await ctx.elicit({ message: "Sure?", schema: { sure: { type: "boolean" }, why: { type: "string", optional: true } } });
    if (answer.action !== "accept") return ctx.fail("no");
    const sure: boolean = answer.content.sure;
    const why: string | undefined = answer.content.why;
    // @ts-expect-error there is no such field
    void answer.content.other;
    return [image(new Uint8Array(1), "image/png"), image("AAAA", sure ? "image/png" : String(why))];
  },
});
server.resourceTemplate("notes://{id}", { name: "note", read: (_uri, { id }) => String(id) });
server.prompt("review", { arguments: { code: { required: true } }, run: ({ code }) => \`Review \${code}\` });
const logged: Middleware = async (call, next) => {
  if (call.method === "secret") throw new RpcError(McpErrorCode.ResourceNotFound, "no");
  return await next();
};
server.use(logged);
// @ts-expect-error a server has a version
new Server({ name: "nameless" });

export async function main(transport: Transport, carrier: Carrier): Promise<MemoryPeer> {
  await serve(server, transport, { graceMs: DEFAULT_LIMITS.depth }).close();
  await carrier.write("", "response");
  return connectInMemory(server, { revision: "2025-11-25" });
}
`;

const STDIO_CONSUMER = `
import { Server } from "@secure-local/mcp/server";
import { serveStdio, type Serving } from "@secure-local/mcp/stdio";

export const serving: Promise<Serving> = serveStdio(new Server({ name: "consumer", version: "1.0.0" }), { signals: false });
`;

const STRICT = {
  module: "nodenext",
  moduleResolution: "nodenext",
  target: "es2023",
  strict: true,
  exactOptionalPropertyTypes: true,
  noUncheckedIndexedAccess: true,
  skipLibCheck: false,
  noEmit: true,
};

/** One project for where there is no Node, one for Node. */
const PROJECTS = {
  "neutral.json": {
    compilerOptions: { ...STRICT, lib: ["es2023", "webworker"], types: [] },
    files: ["consumer.mts", "client-consumer.mts"],
  },
  "node.json": {
    compilerOptions: { ...STRICT, lib: ["es2023"], types: ["node"], typeRoots: [join(root, "node_modules/@types")] },
    files: ["consumer.mts", "stdio-consumer.mts", "client-consumer.mts", "client-node-consumer.mts"],
  },
};

/** Writes the programs `names.mjs` and `server.mjs`, and the projects `neutral.json` and `node.json`. */
export async function writePrograms(folder: string): Promise<void> {
  const files = {
    "names.mjs": NAMES,
    "server.mjs": SERVER,
    "consumer.mts": CONSUMER,
    "stdio-consumer.mts": STDIO_CONSUMER,
    "neutral.json": JSON.stringify(PROJECTS["neutral.json"]),
    "node.json": JSON.stringify(PROJECTS["node.json"]),
  };
  await Promise.all(Object.entries(files).map(([name, text]) => writeFile(join(folder, name), text)));
}
