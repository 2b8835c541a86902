// Makes whoever asks for what plugins may offer wait while they start: many clients list once, at once, and never again.
import type { Call, Middleware } from "@secure-local/mcp/server";

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
const NAMED: ReadonlyMap<string, readonly [member: string, kind: "tool" | "prompt" | "resource"]> = new Map([
  ["tools/call", ["name", "tool"]],
  ["prompts/get", ["name", "prompt"]],
  ["resources/read", ["uri", "resource"]],
  ["resources/subscribe", ["uri", "resource"]],
]);

/** The tools that look through all others. */
const LOOKING: ReadonlySet<string> = new Set(["search_tools", "list_categories"]);

type Knows = (kind: "tool" | "prompt" | "resource", name: string) => boolean;

/** Closed while plugins start. */
export class PluginGate {
  /** Called before each request. */
  asked: (() => void) | undefined;
  readonly #knows: Knows;
  #opened: Promise<void> | undefined;
  #open: () => void = () => undefined;

  /** `knows`: what is there without them waits for nothing. */
  constructor(knows: Knows) {
    this.#knows = knows;
  }

  readonly middleware: Middleware = (call, next) => {
    this.asked?.();
    const opened = this.#opened;
    return opened === undefined || !this.#concerns(call) ? next() : opened.then(() => next());
  };

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
    if (LISTS.has(method)) return true;
    const [member, kind] = NAMED.get(method) ?? [];
    if (member === undefined || kind === undefined) return false;
    const name = (params as Readonly<Record<string, unknown>>)[member];
    return typeof name === "string" && (LOOKING.has(name) || !this.#knows(kind, name));
  }
}
