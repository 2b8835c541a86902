// Reads resources, and says which URIs can be subscribed to.
import type { Answer, Call, InteractiveCall, MaybePromise } from "../endpoint/call.js";
import { LocalError, RpcError } from "../jsonrpc/errors.js";
import { type Awaitable, isThenable, peerWords } from "../jsonrpc/message.js";
import { McpErrorCode, type Meta } from "../protocol/meta.js";
import type {
  Annotations,
  ReadResourceRequestParams,
  Resource,
  ResourceContents,
  ResourceTemplate,
} from "../protocol/features/resources.js";
import { resourceContents, Relayed } from "./content.js";
import type { AskServices, Completer, Context } from "./context.js";
import { InputRequired, returnedValues, runInteractive } from "./interactive.js";
import type { Registry, Restricted } from "./registry.js";
import { type Icon, iconsFault } from "../protocol/capabilities.js";
import { metaFault } from "../protocol/meta.js";
import type { UriTemplate } from "../protocol/uri-template.js";

import { type MembersOf, valueFault } from "../schema/schema.js";
import {
  definitionFault,
  type Form,
  renamedTo,
  RESTRICTED_MEMBERS,
  restrictions,
  RUNNERS,
} from "./definition-fault.js";

/** A resource a URI names: its definition and how to read it. */
interface Found {
  readonly definition: ResourceDefinition | ResourceTemplateDefinition;
  read(context: Context): Awaitable<ReadReturn>;
}

/** Serves `resources/read` and finds what is behind a URI. */
export class ResourceReader {
  readonly #resources: Registry<ResourceEntry>;
  readonly #templates: Registry<TemplateEntry>;
  readonly #services: AskServices;
  /** Finds what is in no list and yet can be read, when nothing else does. */
  unlisted: (uri: string) => ResourceDefinition | undefined = () => undefined;

  constructor(resources: Registry<ResourceEntry>, templates: Registry<TemplateEntry>, services: AskServices) {
    this.#resources = resources;
    this.#templates = templates;
    this.#services = services;
  }

  read(call: InteractiveCall<ReadResourceRequestParams>): MaybePromise<Answer> {
    const { uri } = call.params;
    const found = this.#find(uri, call);
    if (found === undefined) throw notFound(uri);
    return runInteractive(this.#services, call, {
      // Reading changes nothing, so it may always be done again.
      replaySafe: true,
      run: (context) => conclude(uri, found.definition, found.read(context)),
    });
  }

  /** Throws resource-not-found unless the URI names a resource. */
  require(uri: string, call: Call): void {
    if (!this.has(uri, call)) throw notFound(uri);
  }

  has(uri: string, call: Call): boolean {
    return this.#find(uri, call) !== undefined;
  }

  /** Scopes that reading or watching a URI needs. */
  scopesFor(uri: string): readonly string[] | undefined {
    return this.#find(uri)?.definition.scopes;
  }

  /** Starts watching what is behind a URI, if its author said how. */
  watch(uri: string, changed: () => void): ReturnType<NonNullable<ResourceDefinition["watch"]>> {
    return this.#find(uri)?.definition.watch?.(uri, changed);
  }

  /** What a caller finds behind a URI; without one, what is there. */
  #find(uri: string, call?: Call): Found | undefined {
    const exact = call === undefined ? this.#resources.get(uri) : this.#resources.find(uri, call);
    if (exact !== undefined) {
      return { definition: exact.definition, read: (context) => exact.definition.read(context) };
    }
    for (const key of this.#templates.keys()) {
      const entry = this.#templates.get(key) as TemplateEntry;
      const variables = entry.uriTemplate.match(uri);
      if (variables === undefined || (call !== undefined && this.#templates.find(key, call) === undefined)) continue;
      return { definition: entry.definition, read: (context) => entry.definition.read(uri, variables, context) };
    }
    const definition = this.unlisted(uri);
    return definition && { definition, read: (context) => definition.read(context) };
  }
}

function conclude(
  uri: string,
  definition: Found["definition"],
  returned: Awaitable<ReadReturn>,
): MaybePromise<Answer | InputRequired> {
  if (isThenable(returned)) return Promise.resolve(returned).then((value) => conclude(uri, definition, value));
  if (returned instanceof InputRequired) return returned;
  if (returned instanceof Relayed) return returned.answer;
  const answered = (contents: readonly ResourceContents[]): Answer => ({
    contents: withMimeType(contents, definition.mimeType),
    ttlMs: definition.ttlMs ?? 0,
    cacheScope: definition.shared === true ? "public" : "private",
  });
  if (returned === undefined) throw notFound(uri);
  if (typeof returned === "string" || returned instanceof Uint8Array)
    return answered([resourceContents(uri, returned, definition.mimeType)]);
  if (Array.isArray(returned) && returned.length === 0) throw notFound(uri);
  return returnedValues.use(({ readContents }) => answered(readContents(returned)));
}

function withMimeType(list: readonly ResourceContents[], mimeType: string | undefined): readonly ResourceContents[] {
  if (mimeType === undefined) return list;
  return list.map((contents) => (contents.mimeType === undefined ? { ...contents, mimeType } : contents));
}

/** Resource not found; the codecs choose the code of the caller's revision. */
function notFound(uri: string): RpcError {
  return new RpcError(McpErrorCode.ResourceNotFound, `Resource not found: ${peerWords(uri)}`, { uri });
}

// What resources and resource templates are: as their authors write them, and as the server keeps them.

/** Values of a template's variables, decoded. */
export type Variables = Readonly<Record<string, string | readonly string[]>>;

type NameOf<Word> = Word extends `${infer Name}*` | `${infer Name}:${string}` ? Name : Word;
type NamesOf<List> = List extends `${infer First},${infer Rest}` ? NameOf<First> | NamesOf<Rest> : NameOf<List>;
type WithoutOperator<Text> = Text extends `${"+" | "#" | "." | "/" | ";" | "?" | "&"}${infer Rest}` ? Rest : Text;
type NamesIn<Template> = Template extends `${string}{${infer Expression}}${infer Rest}`
  ? NamesOf<WithoutOperator<Expression>> | NamesIn<Rest>
  : never;

/** The variables of a template that is written in place, so that the compiler knows their names; of any other text any names. */
export type VariablesOf<Template extends string> = string extends Template
  ? Variables
  : { readonly [Name in NamesIn<Template> & string]: string | readonly string[] };

/**
 * What `read` may return: text, bytes, contents in wire form (one or several), or undefined when there is no such resource.
 */
export type ReadReturn =
  | string
  | Uint8Array
  | ResourceContents
  | readonly ResourceContents[]
  | undefined
  | InputRequired
  | Relayed;

interface Described extends Restricted {
  readonly title?: string;
  readonly description?: string;
  /** Default: text/plain for text, application/octet-stream for bytes. */
  readonly mimeType?: string;
  readonly annotations?: Annotations;
  readonly icons?: readonly Icon[];
  readonly _meta?: Meta;
  /** Milliseconds a client may keep what it read (stateless era). Default 0. */
  readonly ttlMs?: number;
  /** Whether everybody reads the same. Default private: caches must not share it between callers. */
  readonly shared?: boolean;
  /**
   * Called when the first subscriber of a URI comes; call `changed` when the resource changes. What it returns is called
   * when the last subscriber has gone. A promise of that says when the watching has begun: whoever subscribes is answered then.
   */
  watch?(uri: string, changed: () => void): (() => void) | undefined | Promise<(() => void) | undefined>;
}

const ANNOTATION_MEMBERS: MembersOf<Annotations> = {
  audience: "each user assistant",
  priority: "number",
  lastModified: "text",
};

const DESCRIBED_MEMBERS: MembersOf<Described> = {
  ...RESTRICTED_MEMBERS,
  title: "text",
  description: "text",
  mimeType: "text",
  annotations: ANNOTATION_MEMBERS,
  icons: "any",
  _meta: "object",
  ttlMs: "number",
  shared: "flag",
  watch: "function",
};

/** The members of `ResourceDefinition`. */
export const RESOURCE_MEMBERS: MembersOf<ResourceDefinition> = {
  name: "text",
  ...DESCRIBED_MEMBERS,
  size: "any",
  read: "any",
};

/** The members of `ResourceTemplateDefinition`. */
export const TEMPLATE_MEMBERS: MembersOf<ResourceTemplateDefinition> = {
  name: "text",
  ...DESCRIBED_MEMBERS,
  complete: "object",
  list: "function",
  read: "any",
};

const RESOURCE_FORM: Form = { runs: "read", renamed: renamedTo("read", [...RUNNERS, "run"]) };

const TEMPLATE_FORM: Form = {
  runs: "read",
  renamed: { ...RESOURCE_FORM.renamed, ...renamedTo("complete", ["arguments", "completions"]) },
};

/** A resource as its author writes it. */
export interface ResourceDefinition extends Described {
  /** Default: the URI. */
  readonly name?: string;
  /** Bytes before any encoding. */
  readonly size?: number;
  read(ctx: Context): Awaitable<ReadReturn>;
}

/** A resource template as its author writes it. */
export interface ResourceTemplateDefinition<V extends Variables = Variables> extends Described {
  /** Default: the template. */
  readonly name?: string;
  /**
   * Lists what is in the family, asked with every `resources/list`: at most 10,000 are shown. Default: nothing, so that only whoever
   * knows the template finds them.
   */
  list?(ctx: Context): Awaitable<readonly ListedResource[]>;
  /** Completers of the template's variables. */
  readonly complete?: { readonly [Name in keyof V]?: Completer };
  read(uri: string, variables: V, ctx: Context): Awaitable<ReadReturn>;
}

/** One resource of a template's list. `name` is the URI, and `mimeType` that of the template, unless it says so itself. */
export type ListedResource = Omit<Resource, "name"> & { readonly name?: string };

export interface ResourceEntry extends Restricted {
  readonly resource: Resource;
  readonly definition: ResourceDefinition;
}

export interface TemplateEntry extends Restricted {
  readonly template: ResourceTemplate;
  readonly uriTemplate: UriTemplate;
  readonly definition: ResourceTemplateDefinition;
}

/** Checks a definition. Throws BAD_RESOURCE saying what to change. */
export function resourceEntry(uri: string, definition: ResourceDefinition, more?: unknown): ResourceEntry {
  const wrong = definitionFault(RESOURCE_FORM, definition, RESOURCE_MEMBERS, more);
  if (wrong !== undefined) throw bad(uri, wrong);
  if (/\{.*\}/.test(uri)) throw bad(uri, `is a template: write resourceTemplate(${JSON.stringify(uri)}, ...)`);
  if (!URL.canParse(uri)) throw bad(uri, "is not an absolute URI");
  const { size } = definition;
  if (size !== undefined && !(Number.isSafeInteger(size) && size >= 0))
    throw bad(uri, "size must be a number of bytes");
  return {
    resource: { uri, ...described(uri, definition), ...(size === undefined ? {} : { size }) },
    definition,
    ...restrictions(definition),
  };
}

/** Checks a definition. Throws BAD_RESOURCE, or the template's own error with its position. */
export function templateEntry(
  uriTemplate: string,
  parse: (template: string) => UriTemplate,
  { definition, more }: { readonly definition: ResourceTemplateDefinition; readonly more?: unknown },
): TemplateEntry {
  const wrong = definitionFault(TEMPLATE_FORM, definition, TEMPLATE_MEMBERS, more);
  if (wrong !== undefined) throw bad(uriTemplate, wrong);
  const parsed = parse(uriTemplate);
  for (const [name, completer] of Object.entries<unknown>(definition.complete ?? {})) {
    const fault = valueFault(name, completer, ["texts", "function"]);
    if (fault !== undefined) throw bad(uriTemplate, `in "complete" ${fault}`);
    if (!parsed.variables.includes(name)) throw bad(uriTemplate, `has no variable "${name}" to complete`);
  }
  return {
    template: { uriTemplate, ...described(uriTemplate, definition) },
    uriTemplate: parsed,
    definition,
    ...restrictions(definition),
  };
}

function described(key: string, definition: ResourceDefinition | ResourceTemplateDefinition): Omit<Resource, "uri"> {
  const { name = key, title, description, mimeType, annotations, icons, _meta } = definition;
  const fault = iconsFault(icons) ?? metaFault(_meta);
  if (fault !== undefined) throw bad(key, fault);
  return {
    name,
    ...(title === undefined ? {} : { title }),
    ...(description === undefined ? {} : { description }),
    ...(mimeType === undefined ? {} : { mimeType }),
    ...(annotations === undefined ? {} : { annotations }),
    ...(icons === undefined ? {} : { icons: [...icons] }),
    ...(_meta === undefined ? {} : { _meta }),
  };
}

function bad(key: string, what: string): LocalError {
  return new LocalError("BAD_RESOURCE", `Resource ${JSON.stringify(key)}: ${what}`);
}

/** `https:` says that a client can load it from the web by itself (server/resources, "Common URI Schemes"). */
export function webWarning(what: string, uri: string): string | undefined {
  if (!/^https?:/i.test(uri)) return undefined;
  return `${what}: clients may load it from the web themselves and never ask this server: take a scheme of your own unless they can`;
}

/** What a template lists, as lists show it. */
export function shownResource(listed: ListedResource, { template }: TemplateEntry): Resource {
  const { mimeType } = template;
  return { name: listed.uri, ...(mimeType === undefined ? {} : { mimeType }), ...listed };
}
