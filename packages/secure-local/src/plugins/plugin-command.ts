// The command by which a plugin is started behind the wall, and the program that runs it there.
import { Buffer } from "node:buffer";
import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { type Handed, HANDED_FOLDER, nodeReach, type Reach, type WalledCommand } from "../sandbox/wall.js";
import type { PluginContext, PluginRequest, PluginResponse, PluginRunResult } from "./define-plugin.js";
import { pathInCopy, type PluginPlace } from "./find-plugin.js";
import type { CachedPlugin } from "./plugin-cache.js";

/** What it may know of its secrets. */
export interface Placeholders {
  /** By the name of the secret. */
  readonly secrets: Readonly<Record<string, string>>;
  /** The same as variables. */
  readonly env: Readonly<Record<string, string>>;
}

/**
 * What is started is the copy of its content, seen read-only where the plugin lies, or where no wall can show it there, where the
 * copy lies; beside it what it was granted as granted, and nothing else.
 */
export function pluginCommand(
  { wall, source, kept, surroundings: { reach, limits, egress } }: PluginPlace,
  { secrets, env }: Placeholders,
): WalledCommand {
  const shows = wall.name === "bubblewrap";
  const path = (each: string): string => (shows ? each : pathInCopy(kept, each));
  const own: Reach = shows ? { path: kept.root, at: kept.source, access: "read" } : { path: kept.root, access: "read" };
  const granted = shows ? reach.filter((each) => !isHidden(each, kept)) : reach;
  const common = { limits, egress, env };
  if (source.kind === "module") {
    const node = nodeReach();
    const stripper = typeStripper(source.entry);
    return {
      ...common,
      executable: node.path,
      args: [HOST_PATH, path(source.entry), ...(stripper === undefined ? [] : [stripper.path])],
      reach: [own, node, ...(stripper?.reach ?? []), ...granted],
      handed: hostFiles(secrets),
    };
  }
  const executable = path(source.executable);
  const inside = pathInCopy(kept, source.executable) !== source.executable;
  const system = /^\/(?:usr|bin)\//.test(executable);
  const program: Reach[] = inside || system ? [] : [{ path: executable, access: "read" }];
  return { ...common, executable, args: source.args.map(path), reach: [own, ...program, ...granted] };
}

/**
 * Whether something granted would stand in the place of the plugin's own content: all that lies in its folder, but for what it may
 * write there, which is its data.
 */
function isHidden({ path, at = path, access }: Reach, kept: Pick<CachedPlugin, "root" | "source">): boolean {
  const place = at.replace(/\/$/, "");
  const copy = pathInCopy(kept, place);
  return copy !== place && (place === kept.source || access !== "write" || !existsSync(copy));
}

// Finds what lets the Node of a plugin load TypeScript, where it does not do so by itself (before 22.18).

interface TypeStripper {
  /** A module with hooks for `module.register`. */
  readonly path: string;
  /** What the sandbox has to see for it. */
  readonly reach: readonly Reach[];
}

/** As bundled, beside this file and whole; as a source, with the package it needs. */
const BUNDLED = "./strip-types.cjs";
const SOURCE = "../../launcher/strip-types.cjs";
const PACKAGE = "@swc/wasm-typescript";

/** Undefined for a module that needs none. */
function typeStripper(entry: string): TypeStripper | undefined {
  if (!/\.m?ts$/.test(entry) || knowsTypes()) return undefined;
  const bundled = fileURLToPath(new URL(BUNDLED, import.meta.url));
  if (existsSync(bundled)) return { path: bundled, reach: [seen(bundled)] };
  const path = fileURLToPath(new URL(SOURCE, import.meta.url));
  return { path, reach: [seen(path), seen(dirname(createRequire(path).resolve(PACKAGE)))] };
}

/** Whether Node takes types out itself; plugins run by the same Node as this program. */
function knowsTypes(): boolean {
  const { typescript } = process.features as { readonly typescript?: unknown };
  return typescript === "strip" || typescript === "transform";
}

function seen(path: string): Reach {
  return { path, access: "read" };
}

// Runs inside the sandbox of a module plugin: loads the module and answers calls, one JSON line each.

/** Where the host is found inside. */
const HOST_PATH: string = `${HANDED_FOLDER}/host.cjs`;

/** Where modules look last, wherever they lie. */
const PACKAGE_FOLDER = "/node_modules/mcp-secure-local";
/** Hooks for where nothing can be handed: the package is made up when it is not installed beside the plugin. */
const RESOLVER = `export const resolve = (name, context, next) =>
  name === "mcp-secure-local/plugin" ? next(name, context).catch(() => MADE_UP) : next(name, context);
const MADE_UP = { url: "data:text/javascript,export const definePlugin = (plugin) => plugin;", shortCircuit: true };`;

interface HostedPlugin {
  readonly tools?: Readonly<Record<string, { run(args: unknown, context: object): unknown }>>;
  readonly resources?: Readonly<Record<string, { read(context: object): unknown }>>;
  readonly prompts?: Readonly<Record<string, { run(args: unknown, context: object): unknown }>>;
}

/** The host as a file, and the package `mcp-secure-local/plugin` as modules look for it from anywhere inside. */
export function hostFiles(secrets: Readonly<Record<string, string>>): Handed[] {
  const given = JSON.stringify(secrets).replaceAll("<", "\\u003c");
  // A module is loaded by a function that stands outside of those below, where no bundler rewrites it.
  const functions = `load: (path) => import(path), answer: ${answerCall.toString()}, context: ${handlerContext.toString()}, lacking: ${lackingHandlers.toString()}`;
  const parts = `{ ${functions}, secrets: ${given}, resolver: ${JSON.stringify(RESOLVER)} }`;
  const program = `"use strict";\n(${host.toString()})(${parts});\n`;
  const folder = PACKAGE_FOLDER;
  const description = { name: "mcp-secure-local", type: "module", exports: { "./plugin": "./plugin.js" } };
  return [
    { path: HOST_PATH, bytes: Buffer.from(program) },
    { path: `${folder}/package.json`, bytes: Buffer.from(JSON.stringify(description)) },
    { path: `${folder}/plugin.js`, bytes: Buffer.from("export const definePlugin = (plugin) => plugin;\n") },
  ];
}

interface Conversation extends Asking {
  /** Calls under way. */
  readonly calls: Map<unknown, AbortController>;
  readonly context: typeof handlerContext;
}

/** Resolves with the line that answers; like the host it uses nothing from around it. */
async function answerCall(
  plugin: HostedPlugin,
  asked: Record<string, unknown>,
  conversation: Conversation,
): Promise<object> {
  const { id, tool, prompt, resource, arguments: args = {} } = asked;
  const call = new AbortController();
  conversation.calls.set(id, call);
  const context = conversation.context(id, call.signal, conversation);
  try {
    const answer =
      typeof tool === "string"
        ? await plugin.tools?.[tool]?.run(args, context)
        : typeof prompt === "string"
          ? await plugin.prompts?.[prompt]?.run(args, context)
          : await plugin.resources?.[String(resource)]?.read(context);
    // What is no JSON, such as a BigInt or an object within itself, fails this call and no other.
    JSON.stringify(answer);
    return { id, answer };
  } catch (error) {
    console.error(error);
    return { id, failed: true, error: String((error as Error | undefined)?.stack ?? error).slice(0, 4_000) };
  } finally {
    conversation.calls.delete(id);
  }
}

/** What has no function that would answer, and which it has instead; like the host it uses nothing from around it. */
function lackingHandlers(plugin: object | null): readonly object[] {
  const kind = plugin === null ? "null" : Array.isArray(plugin) ? "a list" : `a ${typeof plugin}`;
  if (plugin === null || kind !== "a object")
    throw new Error(`The default export is ${kind}: export the object, as in export default definePlugin({ … })`);
  return Object.entries({ tools: "run", prompts: "run", resources: "read" }).flatMap(([kind, wanted]) =>
    Object.entries((Reflect.get(plugin, kind) as object | undefined) ?? {}).flatMap(
      ([name, item]: [string, unknown]) => {
        if (typeof item !== "object" || item === null || typeof Reflect.get(item, wanted) === "function") return [];
        const has = Object.keys(item).filter((key) => typeof Reflect.get(item, key) === "function");
        return [{ where: `${kind}.${name}`, wanted, has }];
      },
    ),
  );
}

interface HostParts {
  readonly load: (path: string) => Promise<{ readonly default?: HostedPlugin }>;
  readonly answer: typeof answerCall;
  readonly context: typeof handlerContext;
  readonly lacking: typeof lackingHandlers;
  readonly secrets: Readonly<Record<string, string>>;
  readonly resolver: string;
}

/** Uses nothing from around it, since its text is the program. Arguments: the paths of the module and, where it is TypeScript that Node does not know, of hooks. */
function host({ load, answer, context, lacking, secrets, resolver }: HostParts): void {
  const { createInterface } = process.getBuiltinModule("node:readline");
  const { pathToFileURL } = process.getBuiltinModule("node:url");
  const { Console } = process.getBuiltinModule("node:console");
  const write = process.stdout.write.bind(process.stdout);
  // On a line of its own, whatever the plugin or a program of its has written past `process.stdout`.
  const send = (message: object): void => void write(`\n${JSON.stringify(message)}\n`);
  // What a plugin prints is for its author, and must not look like an answer.
  globalThis.console = new Console(process.stderr);
  process.stdout.write = process.stderr.write.bind(process.stderr);
  const conversation: Conversation = { calls: new Map(), asks: new Map(), send, secrets, context };

  const serve = (plugin: HostedPlugin): void => {
    const lines = createInterface({ input: process.stdin, crlfDelay: Infinity });
    lines.on("line", (line) => {
      const asked = JSON.parse(line) as Record<string, unknown>;
      if (asked["ping"] !== undefined) send({ pong: asked["ping"] });
      else if (asked["answered"] !== undefined) conversation.asks.get(asked["answered"])?.(asked);
      else if (asked["cancel"] === undefined) void answer(plugin, asked, conversation).then(send);
      else conversation.calls.get(asked["cancel"])?.abort();
    });
    lines.on("close", () => process.exit(0));
  };

  const [, itself = "", path = "", hooks] = process.argv;
  // Without a wall it has no file of its own, and neither has the package.
  if (!process.getBuiltinModule("node:fs").existsSync(itself))
    process.getBuiltinModule("node:module").register(`data:text/javascript,${encodeURIComponent(resolver)}`);
  if (hooks !== undefined) {
    // Its exports have names only for who asks for all of them at once.
    const text = `import hooks from ${JSON.stringify(pathToFileURL(hooks).href)}; export const load = hooks.load;`;
    process.getBuiltinModule("node:module").register(`data:text/javascript,${encodeURIComponent(text)}`);
  }
  load(pathToFileURL(path).href)
    .then((module) => {
      const plugin = module.default;
      if (plugin === undefined) throw new Error("The module has no default export: export default definePlugin({ … })");
      const lacks = lacking(plugin);
      // Functions are no part of what is told, and JSON leaves them out.
      send({ ready: plugin, lacks });
      serve(plugin);
    })
    .catch((error: unknown) => {
      const frames = error instanceof SyntaxError ? (error.stack ?? "").split("\n").slice(1) : [];
      const isUnread = frames.length > 0 && frames.every((frame) => frame.includes("node:"));
      console.error("%s cannot be loaded:", path, isUnread ? String(error) : error);
      if (!isUnread) process.exit(1);
      // Which file and line could not be read is known to Node alone, and told of what nobody catches.
      setImmediate(() => {
        throw Object.assign(error as Error, { stack: "" });
      });
    });
}

// Makes what a handler of a module plugin is handed; its text is part of the program that runs inside the sandbox.

/** How the host outside is asked. */
interface Asking {
  readonly send: (message: object) => void;
  /** What wakes who asked, by the number of the ask. */
  readonly asks: Map<unknown, (answer: Record<string, unknown>) => void>;
  readonly secrets: Readonly<Record<string, string>>;
}

/** Uses nothing from around it. @param call The number of the call it is for; when that is cancelled, so is what it asked for. */
function handlerContext(call: unknown, signal: AbortSignal, { send, asks, secrets }: Asking): PluginContext {
  const ask = async (what: object): Promise<unknown> => {
    signal.throwIfAborted();
    const { randomUUID } = process.getBuiltinModule("node:crypto");
    const id = randomUUID();
    const answer = new Promise<Record<string, unknown>>((resolve) => asks.set(id, resolve));
    send({ ask: id, for: call, ...what });
    const { error, value } = await answer;
    asks.delete(id);
    if (typeof error === "string") throw new Error(error);
    return value;
  };
  const fetch = async (url: string | URL, request: PluginRequest = {}): Promise<PluginResponse> => {
    type Told = Pick<PluginResponse, "status" | "url" | "headers"> & {
      readonly text?: string;
      readonly base64?: string;
    };
    const told = (await ask({ fetch: { ...request, url: String(url) } })) as Told;
    const { status, headers } = told;
    const bytes = (): Uint8Array =>
      Buffer.from(told.text ?? told.base64 ?? "", told.text === undefined ? "base64" : "utf8");
    const text = (): string => told.text ?? Buffer.from(bytes()).toString("utf8");
    const ok = status >= 200 && status < 300;
    return { status, ok, url: told.url, headers, bytes, text, json: () => JSON.parse(text()) as unknown };
  };
  return {
    signal,
    secrets,
    progress: (done, total, message) => send({ id: call, progress: { done, total, message } }),
    fetch,
    run: async (command, args = []) => (await ask({ run: { command, args } })) as PluginRunResult,
    storage: {
      get: (key) => ask({ storage: { get: key } }),
      set: async (key, value) => void (await ask({ storage: { set: key, value } })),
      delete: async (key) => (await ask({ storage: { delete: key } })) === true,
      keys: async () => (await ask({ storage: { keys: true } })) as readonly string[],
    },
  };
}
