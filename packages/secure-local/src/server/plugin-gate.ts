// Makes whoever asks for what plugins may offer wait while they start: many clients list once, at once, and never again.
import { type Answer, type Call, type Middleware, type Next, RpcError } from "@secure-local/mcp/server";
import type { PluginHealth } from "../plugins/plugin.js";

/**
 * Longest wait, from the start on: a plugin starts in a few tenths of a second, on a busy machine in two. One that takes longer is
 * told of by `list_changed`, and a person sees a client that starts in the meantime.
 */
const STARTING_MS = 5_000;

/** What shows everything there is, plugins' things too. */
const LISTS: ReadonlySet<string> = new Set([
  "tools/list",
  "prompts/list",
  "resources/list",
  "resources/templates/list",
  "completion/complete",
]);

/** What names one thing, by the member that names it and the kind of thing. */
const NAMED: ReadonlyMap<string, readonly [member: string, kind: Kind]> = new Map([
  ["tools/call", ["name", "tool"]],
  ["prompts/get", ["name", "prompt"]],
  ["resources/read", ["uri", "resource"]],
  ["resources/subscribe", ["uri", "resource"]],
]);

/** The tools that look through all others. */
const LOOKING: ReadonlySet<string> = new Set(["search_tools", "list_categories"]);

type Kind = "tool" | "prompt" | "resource";

interface PluginGateOptions {
  /** What is there without plugins waits for nothing. */
  knows(kind: Kind, name: string): boolean;
  /** Why something is not there that a plugin of the policy has, or would have; undefined where that is nobody's. */
  missing(kind: Kind, name: string): string | undefined;
}

type Unknown = readonly [kind: Kind, name: string];

/** Closed while plugins start. */
export class PluginGate {
  /** Called before each request. */
  asked: (() => void) | undefined;
  readonly #options: PluginGateOptions;
  #opened: Promise<void> | undefined;
  #open: () => void = () => undefined;

  constructor(options: PluginGateOptions) {
    this.#options = options;
  }

  readonly middleware: Middleware = (call, next) => {
    this.asked?.();
    const opened = this.#opened;
    const unknown = this.#unknown(call);
    if (unknown === undefined && (opened === undefined || !this.#concerns(call))) return next();
    return this.#late(opened, unknown, next);
  };

  async #late(opened: Promise<void> | undefined, unknown: Unknown | undefined, next: Next): Promise<Answer> {
    await opened;
    try {
      return await next();
    } catch (error) {
      // A name that looks like it is no help where the thing itself is withheld.
      const why = unknown !== undefined && error instanceof RpcError && this.#options.missing(...unknown);
      throw typeof why === "string" ? new RpcError((error as RpcError).code, why, { path: "/name" }) : error;
    }
  }

  /** Plugins are starting, or are about to. */
  close(): void {
    if (this.#opened !== undefined) return;
    this.#opened = new Promise((resolve) => {
      const late = setTimeout(() => this.open(), STARTING_MS);
      // Nobody's process lives for this alone.
      late.unref();
      this.#open = () => {
        clearTimeout(late);
        resolve();
      };
    });
  }

  /** Each of them offers what it has, or is known not to. */
  open(): void {
    this.#opened = undefined;
    this.#open();
  }

  #concerns({ method, params }: Pick<Call, "method" | "params">): boolean {
    return LISTS.has(method) || LOOKING.has(String((params as { readonly name?: unknown }).name));
  }

  /** What the call names that is not there without plugins. */
  #unknown({ method, params }: Pick<Call, "method" | "params">): Unknown | undefined {
    const named = NAMED.get(method);
    if (named === undefined) return undefined;
    const [member, kind] = named;
    const name = (params as Readonly<Record<string, unknown>>)[member];
    return typeof name === "string" && !this.#options.knows(kind, name) ? [kind, name] : undefined;
  }
}

/** Why a tool or prompt is not there whose plugin does not run, and what to run; undefined where it is no such plugin's. */
export function missingOfPlugin(kind: Kind, name: string, health: readonly PluginHealth[]): string | undefined {
  const owner = health.find((each) => name.startsWith(`${each.name}_`) && each.state !== "ready");
  if (owner === undefined) return undefined;
  const what = `The ${kind} ${name} is not there: its plugin ${owner.name} is ${owner.state}`;
  return `${what}. Its owner can see why: mcp-secure-local plugins list`;
}
