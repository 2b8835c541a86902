// Reads resources, and says which URIs can be subscribed to.
import type { Answer, MaybePromise } from "../endpoint/answer.js";
import type { Call } from "../endpoint/call.js";
import { RpcError } from "../jsonrpc/rpc-error.js";
import { McpErrorCode } from "../protocol/error-codes.js";
import type { ResourceContents } from "../protocol/resource.js";
import { resourceContents } from "./content.js";
import type { AskServices, Context } from "./context.js";
import { InputRequired } from "./input-required.js";
import { runInteractive } from "./interactive.js";
import type { Registry } from "./registry.js";
import type {
  ReadReturn,
  ResourceDefinition,
  ResourceEntry,
  ResourceTemplateDefinition,
  TemplateEntry,
} from "./resource.js";
import { peerWords } from "../jsonrpc/visible-text.js";

/** A resource a URI names: its definition and how to read it. */
interface Found {
  readonly definition: ResourceDefinition | ResourceTemplateDefinition;
  read(context: Context): MaybePromise<ReadReturn>;
}

/** Serves `resources/read` and finds what is behind a URI. */
export class ResourceReader {
  readonly #resources: Registry<ResourceEntry>;
  readonly #templates: Registry<TemplateEntry>;
  readonly #services: AskServices;

  constructor(resources: Registry<ResourceEntry>, templates: Registry<TemplateEntry>, services: AskServices) {
    this.#resources = resources;
    this.#templates = templates;
    this.#services = services;
  }

  read(call: Call): MaybePromise<Answer> {
    const uri = call.params["uri"] as string;
    const found = this.#find(uri);
    if (found === undefined) throw notFound(uri);
    return runInteractive(this.#services, call, {
      // Reading changes nothing, so it may always be done again.
      replaySafe: true,
      run: (context) => conclude(uri, found.definition, found.read(context)),
    });
  }

  /** Throws resource-not-found unless the URI names a resource. */
  require(uri: string): void {
    if (!this.has(uri)) throw notFound(uri);
  }

  has(uri: string): boolean {
    return this.#find(uri) !== undefined;
  }

  /** Starts watching what is behind a URI, if its author said how. */
  watch(uri: string, changed: () => void): (() => void) | undefined {
    return this.#find(uri)?.definition.watch?.(uri, changed);
  }

  #find(uri: string): Found | undefined {
    const exact = this.#resources.get(uri);
    if (exact !== undefined) {
      return { definition: exact.definition, read: (context) => exact.definition.read(context) };
    }
    for (const key of this.#templates.keys()) {
      const entry = this.#templates.get(key) as TemplateEntry;
      const variables = entry.uriTemplate.match(uri);
      if (variables === undefined) continue;
      return { definition: entry.definition, read: (context) => entry.definition.read(uri, variables, context) };
    }
    return undefined;
  }
}

function conclude(
  uri: string,
  definition: Found["definition"],
  returned: MaybePromise<ReadReturn>,
): MaybePromise<Answer | InputRequired> {
  if (returned instanceof Promise) return returned.then((value) => conclude(uri, definition, value));
  if (returned instanceof InputRequired) return returned;
  const answer = {
    contents: toContents(uri, definition.mimeType, returned),
    ttlMs: definition.ttlMs ?? 0,
    cacheScope: definition.shared === true ? "public" : "private",
  };
  return answer;
}

function toContents(
  uri: string,
  mimeType: string | undefined,
  returned: Exclude<ReadReturn, InputRequired>,
): ResourceContents[] {
  if (returned === undefined) throw notFound(uri);
  if (typeof returned === "string" || returned instanceof Uint8Array)
    return [resourceContents(uri, returned, mimeType)];
  const list = Array.isArray(returned) ? (returned as readonly ResourceContents[]) : [returned as ResourceContents];
  if (list.length === 0) throw notFound(uri);
  return list.map((contents) =>
    mimeType === undefined || contents.mimeType !== undefined ? contents : { ...contents, mimeType },
  );
}

/** Resource not found; the codecs choose the code of the caller's revision. */
function notFound(uri: string): RpcError {
  return new RpcError(McpErrorCode.ResourceNotFound, `Resource not found: ${peerWords(uri)}`, { uri });
}
