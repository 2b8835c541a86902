// What resources and resource templates are: as their authors write them, and as the server keeps them.
import type { MaybePromise } from "../endpoint/answer.js";
import { LocalError } from "../jsonrpc/local-error.js";
import type { Annotations } from "../protocol/annotations.js";
import type { Icon } from "../protocol/icon.js";
import { iconsFault } from "../protocol/icons.js";
import type { Meta } from "../protocol/meta.js";
import { metaFault } from "../protocol/meta-key.js";
import type { Resource, ResourceContents, ResourceTemplate } from "../protocol/resource.js";
import { UriTemplate } from "../protocol/uri-template.js";
import type { Completer } from "./completer.js";
import type { Context } from "./context.js";
import type { InputRequired } from "./input-required.js";

/** Values of a template's variables, decoded. */
export type Variables = Readonly<Record<string, string | readonly string[]>>;

/**
 * What `read` may return: text, bytes, contents in wire form (one or several), or undefined when there is no such resource.
 */
export type ReadReturn =
  | string
  | Uint8Array
  | ResourceContents
  | readonly ResourceContents[]
  | undefined
  | InputRequired;

interface Described {
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
   * when the last subscriber has gone.
   */
  watch?(uri: string, changed: () => void): (() => void) | undefined;
}

/** A resource as its author writes it. */
export interface ResourceDefinition extends Described {
  /** Default: the URI. */
  readonly name?: string;
  /** Bytes before any encoding. */
  readonly size?: number;
  read(ctx: Context): MaybePromise<ReadReturn>;
}

/** A resource template as its author writes it. */
export interface ResourceTemplateDefinition extends Described {
  /** Default: the template. */
  readonly name?: string;
  /** Completers of the template's variables. */
  readonly complete?: Readonly<Record<string, Completer>>;
  read(uri: string, variables: Variables, ctx: Context): MaybePromise<ReadReturn>;
}

export interface ResourceEntry {
  readonly resource: Resource;
  readonly definition: ResourceDefinition;
}

export interface TemplateEntry {
  readonly template: ResourceTemplate;
  readonly uriTemplate: UriTemplate;
  readonly definition: ResourceTemplateDefinition;
}

/** Checks a definition. Throws BAD_RESOURCE saying what to change. */
export function resourceEntry(uri: string, definition: ResourceDefinition): ResourceEntry {
  if (!URL.canParse(uri)) throw bad(uri, "is not an absolute URI");
  const { size } = definition;
  if (size !== undefined && !(Number.isSafeInteger(size) && size >= 0))
    throw bad(uri, "size must be a number of bytes");
  return { resource: { uri, ...described(uri, definition), ...(size === undefined ? {} : { size }) }, definition };
}

/** Checks a definition. Throws BAD_RESOURCE, or the template's own error with its position. */
export function templateEntry(uriTemplate: string, definition: ResourceTemplateDefinition): TemplateEntry {
  const parsed = new UriTemplate(uriTemplate);
  for (const name of Object.keys(definition.complete ?? {})) {
    if (!parsed.variables.includes(name)) throw bad(uriTemplate, `has no variable "${name}" to complete`);
  }
  return { template: { uriTemplate, ...described(uriTemplate, definition) }, uriTemplate: parsed, definition };
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
