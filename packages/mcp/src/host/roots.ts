// Tells servers of the person's folders: only those the person agreed to show that server, and only while they are there.
import type { Root } from "../protocol/features/roots.js";
import { decided, DECISION_TIMEOUT_MS, messageOf } from "./decision.js";

/** Where folders come from. `/host/node` has one for folders of this machine. */
export interface RootsSource {
  list(): readonly Root[] | Promise<readonly Root[]>;
  /** Whether the folder can be read now. Default: yes. */
  accessible?(root: Root): boolean | Promise<boolean>;
  /** Calls `changed` when `list` or `accessible` would answer otherwise, until the function it returned is called. */
  watch?(changed: () => void): () => void;
}

export interface RootsRequest {
  readonly server: string;
  /** Folders this server was not told of yet. */
  readonly roots: readonly Root[];
  readonly signal: AbortSignal;
}

export interface RootsOptions {
  readonly source: RootsSource;
  /** True shows all of them, a list shows those; asked once for each server and folder. */
  readonly consent: (request: RootsRequest) => boolean | readonly Root[] | Promise<boolean | readonly Root[]>;
}

/** More folders than anybody works in. */
const MOST_ROOTS = 100;

export class RootsDesk {
  readonly #options: RootsOptions;
  readonly #timeoutMs: number;
  readonly #warn: (text: string) => void;
  /** By server: which URIs may be shown. */
  readonly #decisions = new Map<string, Map<string, boolean>>();
  readonly #asking = new Map<string, Promise<void>>();

  constructor(options: RootsOptions, about: { timeoutMs: number | undefined; warn: (text: string) => void }) {
    this.#options = options;
    this.#timeoutMs = about.timeoutMs ?? DECISION_TIMEOUT_MS;
    this.#warn = about.warn;
  }

  /** What one server is told. */
  for(server: string): () => Promise<Root[]> {
    return () => this.#shown(server);
  }

  /** Calls `changed` when there are others, until the function it returned is called. */
  watch(changed: () => void): () => void {
    return this.#options.source.watch?.(changed) ?? (() => undefined);
  }

  forget(server: string): void {
    this.#decisions.delete(server);
  }

  async #shown(server: string): Promise<Root[]> {
    const there = await this.#there();
    // One question at a time: the second would ask the same again.
    const before = this.#asking.get(server) ?? Promise.resolve();
    const asked = before.then(() => this.#decide(server, there));
    this.#asking.set(server, asked);
    await asked;
    if (this.#asking.get(server) === asked) this.#asking.delete(server);
    const decisions = this.#decisions.get(server);
    return there.filter(({ uri }) => decisions?.get(uri) === true);
  }

  async #there(): Promise<Root[]> {
    const { source } = this.#options;
    const found: Root[] = [];
    for (const root of (await source.list()).slice(0, MOST_ROOTS)) {
      const fault = rootFault(root.uri);
      if (fault !== undefined) this.#warn(`The folder ${JSON.stringify(root.uri)} is not shown to servers: ${fault}`);
      else if (await this.#accessible(root)) found.push(root);
    }
    return found;
  }

  async #accessible(root: Root): Promise<boolean> {
    try {
      return (await this.#options.source.accessible?.(root)) ?? true;
    } catch (error) {
      this.#warn(`The folder ${root.uri} is not shown to servers: ${messageOf(error)}`);
      return false;
    }
  }

  async #decide(server: string, there: readonly Root[]): Promise<void> {
    const decisions = this.#decisions.get(server) ?? new Map<string, boolean>();
    this.#decisions.set(server, decisions);
    const roots = there.filter(({ uri }) => !decisions.has(uri));
    if (roots.length === 0) return;
    const ask = (signal: AbortSignal): ReturnType<RootsOptions["consent"]> =>
      this.#options.consent({ server, roots, signal });
    const decision = await decided(ask, { timeoutMs: this.#timeoutMs });
    // Nobody was there to decide: they are asked the next time.
    if ("missing" in decision) return this.#warn(`No folders are shown to ${server}: ${decision.missing}`);
    const { value } = decision;
    const allowed = new Set(typeof value === "object" ? value.map(({ uri }) => uri) : []);
    for (const { uri } of roots) {
      if (decisions.size >= MOST_ROOTS * 2) decisions.clear();
      decisions.set(uri, value === true || allowed.has(uri));
    }
  }
}

/** Says what is wrong with the URI of a folder, or returns undefined. */
export function rootFault(uri: string): string | undefined {
  if (!URL.canParse(uri)) return "it is not a URI";
  const { protocol, host, search, hash, pathname } = new URL(uri);
  if (protocol !== "file:") return "it is not a file: URI";
  if (host !== "") return "it is on another machine";
  if (search !== "" || hash !== "") return "it has a query or a fragment";
  if (/%(?:2f|5c|00)/i.test(pathname)) return "it hides a separator";
  const written = uri.replace(/^file:(?:\/\/)?/i, "");
  return /(?:^|[/\\])(?:\.|%2e){1,2}(?:[/\\]|$)/i.test(written) ? 'it has "." or ".." in it' : undefined;
}
