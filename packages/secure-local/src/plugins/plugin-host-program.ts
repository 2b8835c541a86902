// Runs inside the sandbox of a module plugin: loads the module and answers calls, one JSON line each.
import { Buffer } from "node:buffer";
import { HANDED_FOLDER, type Handed } from "../sandbox/wall.js";

/** Where the host is found inside. */
export const HOST_PATH: string = `${HANDED_FOLDER}/host.cjs`;

interface HostedPlugin {
  readonly tools?: Readonly<Record<string, { run(args: unknown, context: object): unknown }>>;
  readonly resources?: Readonly<Record<string, { read(context: object): unknown }>>;
  readonly prompts?: Readonly<Record<string, { run(args: unknown, context: object): unknown }>>;
}

/** The host as a file, and the package `mcp-secure-local/plugin` as modules look for it from anywhere inside. */
export function hostFiles(): Handed[] {
  // A module is loaded by a function that stands outside of the one below, where no bundler rewrites it.
  const program = `"use strict";\n(${host.toString()})((path) => import(path), ${answerCall.toString()});\n`;
  const folder = "/node_modules/mcp-secure-local";
  const description = { name: "mcp-secure-local", type: "module", exports: { "./plugin": "./plugin.js" } };
  return [
    { path: HOST_PATH, bytes: Buffer.from(program) },
    { path: `${folder}/package.json`, bytes: Buffer.from(JSON.stringify(description)) },
    { path: `${folder}/plugin.js`, bytes: Buffer.from("export const definePlugin = (plugin) => plugin;\n") },
  ];
}

interface Conversation {
  /** Calls under way. */
  readonly calls: Map<unknown, AbortController>;
  readonly send: (message: object) => void;
}

/** Resolves with the line that answers; like the host it uses nothing from around it. */
async function answerCall(
  plugin: HostedPlugin,
  asked: Record<string, unknown>,
  { calls, send }: Conversation,
): Promise<object> {
  const { id, tool, prompt, resource, arguments: args = {} } = asked;
  const call = new AbortController();
  calls.set(id, call);
  const progress = (done: number, total?: number, message?: string): void =>
    send({ id, progress: { done, total, message } });
  const context = { signal: call.signal, progress };
  try {
    if (typeof tool === "string") return { id, answer: await plugin.tools?.[tool]?.run(args, context) };
    if (typeof prompt === "string") return { id, answer: await plugin.prompts?.[prompt]?.run(args, context) };
    return { id, answer: await plugin.resources?.[String(resource)]?.read(context) };
  } catch (error) {
    console.error(error);
    return { id, failed: true };
  } finally {
    calls.delete(id);
  }
}

/** Uses nothing from around it, since its text is the program. Argument: the path of the module. */
function host(load: (path: string) => Promise<{ readonly default?: HostedPlugin }>, answer: typeof answerCall): void {
  const { createInterface } = process.getBuiltinModule("node:readline");
  const { pathToFileURL } = process.getBuiltinModule("node:url");
  const { Console } = process.getBuiltinModule("node:console");
  const write = process.stdout.write.bind(process.stdout);
  const send = (message: object): void => void write(`${JSON.stringify(message)}\n`);
  // What a plugin prints is for its author, and must not look like an answer.
  globalThis.console = new Console(process.stderr);
  process.stdout.write = process.stderr.write.bind(process.stderr);
  const calls = new Map<unknown, AbortController>();

  const serve = (plugin: HostedPlugin): void => {
    const lines = createInterface({ input: process.stdin, crlfDelay: Infinity });
    lines.on("line", (line) => {
      const asked = JSON.parse(line) as Record<string, unknown>;
      if (asked["cancel"] === undefined) void answer(plugin, asked, { calls, send }).then(send);
      else calls.get(asked["cancel"])?.abort();
    });
    lines.on("close", () => process.exit(0));
  };

  load(pathToFileURL(process.argv[2] ?? "").href)
    .then((module) => {
      const plugin = module.default;
      if (plugin === undefined) throw new Error("The module has no default export: export default definePlugin({ … })");
      // Functions are no part of what is told, and JSON leaves them out.
      send({ ready: plugin });
      serve(plugin);
    })
    .catch((error: unknown) => {
      console.error(error);
      process.exit(1);
    });
}
