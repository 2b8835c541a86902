// What tools, prompts and URIs of mounted servers are called outside: a table made from configuration and lists,
// never split again.

import { type JsonObject, isJsonObject } from "../jsonrpc/message.js";
import { UriTemplate } from "../protocol/uri-template.js";
import type { Offer } from "./offer.js";
import { LocalError } from "../jsonrpc/errors.js";
import { fingerprint } from "../server/content.js";

/** Stands between the name of a mount and the name of a thing in it, and in no mount's name. */
const SEPARATOR = "__";

/** Clients put names of their own before these, and refuse what is over 64 characters. */
const LONGEST_NAME = 60;
/** Characters of a mount's name: it stands in every name of its things. */
const LONGEST_MOUNT = 32;

const MOUNT_NAME = /^[A-Za-z][A-Za-z0-9-]*(?:_[A-Za-z0-9-]+)*$/;

/** Throws BAD_NAME for a name that cannot stand before the names of things. */
export function checkMountName(name: string): void {
  if (typeof name === "string" && MOUNT_NAME.test(name) && name.length <= LONGEST_MOUNT) return;
  const rule = `at most ${LONGEST_MOUNT} letters, digits, "-" and single "_", beginning with a letter`;
  throw new LocalError(
    "BAD_NAME",
    `A server cannot be mounted as ${JSON.stringify(name)}: a name has ${rule}. It comes first: mount(name, upstream, options)`,
  );
}

/** What stands before the names of a mount's things. */
export function prefixOf(mount: string): string {
  return mount + SEPARATOR;
}

/** The name that a tool or prompt of a mount has outside, where the mount says nothing else of its names. */
export function mountedName(mount: string, name: string): string {
  return exposedName(prefixOf(mount), name);
}

/** The name outside. One that is too long is cut, with a fingerprint of the whole at its end. */
export function exposedName(prefix: string, name: string): string {
  const whole = prefix + name;
  if (prefix === "" || whole.length <= LONGEST_NAME) return whole;
  const cut = whole.slice(0, LONGEST_NAME - 9);
  // Half of a character is none, and may end a strict reader's whole list.
  return `${/[\ud800-\udbff]$/.test(cut) ? cut.slice(0, -1) : cut}_${fingerprint(whole)}`;
}

// URIs that several servers have are told apart by a scheme that names the mount.

/** `notes` has `mcp.notes+file:///a` for its `file:///a`. A scheme has no underscore, and no mount's name a dot. */
function schemeOf(mount: string): string {
  return `mcp.${mount.replaceAll("_", ".")}+`;
}

/** The URI, or template, as it is called outside where another server has it too. */
export function wrapUri(mount: string, uri: string): string {
  return schemeOf(mount) + uri;
}

/** What is wrapped in a URI that is written so, for whatever mount; undefined for every other. */
export function innerUri(uri: string): string | undefined {
  const [scheme] = /^mcp\.[^+:/?#]*\+/i.exec(uri) ?? [];
  return scheme === undefined ? undefined : uri.slice(scheme.length);
}

/** The server's own URI of one wrapped for this mount; undefined for every other. */
export function unwrapUri(mount: string, uri: string): string | undefined {
  const scheme = schemeOf(mount);
  // A scheme is the same in capitals.
  return uri.slice(0, scheme.length).toLowerCase() === scheme.toLowerCase() ? uri.slice(scheme.length) : undefined;
}

/** One who has URIs of its own. */
export interface Offering {
  readonly name: string;
  /** All it may be asked for. */
  readonly known: Offer | undefined;
}

export class Uris<Mount extends Offering> {
  readonly #mounts: () => Iterable<Mount>;
  readonly #reserved: (uri: string) => boolean;
  /** Who lists a URI or template; made anew when an offer changes. */
  #owners: Map<string, Set<Mount>> | undefined;
  #several = false;
  #templates: { readonly mount: Mount; readonly text: string; readonly template: UriTemplate }[] = [];

  /** `reserved`: what no server's URI is called outside. */
  constructor(mounts: () => Iterable<Mount>, reserved: (uri: string) => boolean) {
    this.#mounts = mounts;
    // A server's own of that kind is wrapped once more.
    this.#reserved = (uri) => innerUri(uri) !== undefined || reserved(uri);
  }

  /** What the mounts offer has changed. */
  outdated(): void {
    this.#owners = undefined;
  }

  /** The name outside of a URI, or template, of this mount. */
  expose(mount: Mount, uri: string): string {
    if (this.#reserved(uri)) return wrapUri(mount.name, uri);
    const owners = this.#table().get(uri);
    if (owners !== undefined && owners.has(mount)) return owners.size === 1 ? uri : wrapUri(mount.name, uri);
    // In no list of its own: another server may understand something else by it.
    return this.#several ? wrapUri(mount.name, uri) : uri;
  }

  /** The mount's own name of a URI it is asked for. */
  own(mount: Mount, uri: string): string {
    return unwrapUri(mount.name, uri) ?? uri;
  }

  /** Whose a URI or template is: of the mount it names, of the one that has it, or of the only one that has resources. */
  ownerOf(uri: string): { readonly mount: Mount; readonly own: string } | undefined {
    const owners = this.#table().get(uri);
    let only: Mount | undefined;
    for (const mount of this.#mounts()) {
      if (mount.known?.capabilities.resources === undefined) continue;
      const own = unwrapUri(mount.name, uri);
      if (own !== undefined) return { mount, own };
      only = mount;
    }
    if (this.#reserved(uri)) return undefined;
    const [owner, ...others] = owners ?? [];
    if (others.length > 0) return undefined;
    const mount = owner ?? this.#templateOwner(uri) ?? (this.#several ? undefined : only);
    return mount && { mount, own: uri };
  }

  /** The templates of such mounts that a URI of their own fits. */
  templatesOf(which: (mount: Mount) => boolean, own: string): readonly string[] {
    this.#table();
    const fitting = this.#templates.filter(({ mount, template }) => which(mount) && template.match(own) !== undefined);
    return fitting.map(({ text }) => text);
  }

  /** Templates that could match the same URI are wrapped: of those that are not, one matches at most. */
  #templateOwner(uri: string): Mount | undefined {
    for (const { mount, text, template } of this.#templates) {
      if (this.expose(mount, text) === text && template.match(uri) !== undefined) return mount;
    }
    return undefined;
  }

  /** An answer in which every URI has its name outside: contents, links, embedded resources. */
  exposeAll(mount: Mount, answer: JsonObject): JsonObject {
    const { contents, content, messages } = answer;
    return {
      ...answer,
      ...(Array.isArray(contents) ? { contents: contents.map((each) => this.#named(mount, each)) } : {}),
      ...(Array.isArray(content) ? { content: content.map((block) => this.#block(mount, block)) } : {}),
      ...(Array.isArray(messages)
        ? {
            messages: messages.map((message) =>
              isJsonObject(message) ? { ...message, content: this.#block(mount, message["content"]) } : message,
            ),
          }
        : {}),
    };
  }

  #block(mount: Mount, block: unknown): unknown {
    if (!isJsonObject(block)) return block;
    if (block["type"] === "resource_link") return this.#named(mount, block);
    if (block["type"] !== "resource") return block;
    return { ...block, resource: this.#named(mount, block["resource"]) };
  }

  #named(mount: Mount, thing: unknown): unknown {
    if (!isJsonObject(thing) || typeof thing["uri"] !== "string") return thing;
    const uri = this.#exposeConcrete(mount, thing["uri"]);
    return uri === thing["uri"] ? thing : { ...thing, uri };
  }

  /** A URI made from one of the mount's templates is called as the template is. */
  #exposeConcrete(mount: Mount, uri: string): string {
    if (this.#table().has(uri)) return this.expose(mount, uri);
    for (const { uriTemplate } of mount.known?.resourceTemplates ?? []) {
      const literal = uriTemplate.slice(0, Math.max(0, uriTemplate.indexOf("{")));
      if (literal !== "" && uri.startsWith(literal))
        return this.expose(mount, uriTemplate) === uriTemplate ? uri : wrapUri(mount.name, uri);
    }
    return this.expose(mount, uri);
  }

  #table(): Map<string, Set<Mount>> {
    if (this.#owners !== undefined) return this.#owners;
    const owners = new Map<string, Set<Mount>>();
    const templates: [string, Mount][] = [];
    let having = 0;
    this.#templates = [];
    for (const mount of this.#mounts()) {
      const offer = mount.known;
      if (offer === undefined) continue;
      if (offer.capabilities.resources !== undefined) having++;
      for (const { uri } of offer.resources) add(owners, uri, mount);
      for (const { uriTemplate } of offer.resourceTemplates) {
        add(owners, uriTemplate, mount);
        templates.push([uriTemplate, mount]);
        const template = parsed(uriTemplate);
        if (template !== undefined) this.#templates.push({ mount, text: uriTemplate, template });
      }
    }
    // Templates of two servers that begin alike could match the same URI.
    for (const [text, mount] of templates) {
      for (const [other, its] of templates) if (its !== mount && beginAlike(text, other)) add(owners, text, its);
    }
    this.#several = having > 1;
    this.#owners = owners;
    return owners;
  }
}

function add<Mount>(owners: Map<string, Set<Mount>>, uri: string, mount: Mount): void {
  const known = owners.get(uri);
  if (known === undefined) owners.set(uri, new Set([mount]));
  else known.add(mount);
}

/** Undefined for a text that is no template: it is not offered either. */
function parsed(text: string): UriTemplate | undefined {
  try {
    return new UriTemplate(text);
  } catch {
    return undefined;
  }
}

function beginAlike(a: string, b: string): boolean {
  const first = a.split("{", 1)[0] as string;
  const second = b.split("{", 1)[0] as string;
  return first.startsWith(second) || second.startsWith(first);
}
