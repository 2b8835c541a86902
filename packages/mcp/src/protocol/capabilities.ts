// Describes what a client or a server declares it can do (both objects are open: unknown members are kept), and checks
// the icons it shows.
import { LocalError } from "../jsonrpc/errors.js";
import { isJsonObject } from "../jsonrpc/message.js";
import { type KnownMembers, memberFault, type MembersOf } from "../schema/schema.js";

/** Settings of one capability; `{}` when it has none. */
export interface CapabilitySettings {
  [key: string]: unknown;
}

/** Capabilities of a client. */
export interface ClientCapabilities {
  experimental?: { [name: string]: CapabilitySettings };
  extensions?: { [id: string]: CapabilitySettings };
  roots?: { listChanged?: boolean };
  sampling?: { context?: CapabilitySettings; tools?: CapabilitySettings };
  /** `{}` means forms only. */
  elicitation?: { form?: CapabilitySettings; url?: CapabilitySettings };
  /** 2025-11-25 only. */
  tasks?: CapabilitySettings;
}

/** Capabilities of a server. */
export interface ServerCapabilities {
  experimental?: { [name: string]: CapabilitySettings };
  extensions?: { [id: string]: CapabilitySettings };
  logging?: CapabilitySettings;
  completions?: CapabilitySettings;
  prompts?: { listChanged?: boolean };
  resources?: { subscribe?: boolean; listChanged?: boolean };
  tools?: { listChanged?: boolean };
  /** 2025-11-25 only. */
  tasks?: CapabilitySettings;
}

// Describes a client or server program: name, version and what may be shown about it.

/** The table of the members of some options, for layers that know no schemas. */
export type OptionTable<T> = MembersOf<T>;

/** The members of `Implementation`. `icons` are looked at by `iconsFault`. */
export const IMPLEMENTATION_MEMBERS: MembersOf<Implementation> = {
  name: "text",
  version: "text",
  title: "text",
  description: "text",
  websiteUrl: "text",
  icons: "list",
};

/** Identity of a program. For display only: no behaviour and no security decision may depend on it. */
export interface Implementation {
  name: string;
  version: string;
  title?: string;
  description?: string;
  websiteUrl?: string;
  icons?: readonly Icon[];
}

// Checks icons where they are registered, so that no client is ever handed a dangerous one.

const SIZE = /^(?:any|[1-9][0-9]{0,4}x[1-9][0-9]{0,4})$/;
const MEDIA_TYPE = /^image\/[A-Za-z0-9][A-Za-z0-9.+-]*$/;
const HTTPS = /^https:\/\/[^\s/?#]/i;
const DATA = /^data:image\/[A-Za-z0-9][A-Za-z0-9.+-]*[;,]/i;

/** Says in one sentence what is wrong with the first bad icon, or returns undefined. */
export function iconsFault(icons: unknown): string | undefined {
  if (icons === undefined) return undefined;
  if (!Array.isArray(icons)) return "icons must be an array";
  for (const [index, icon] of icons.entries()) {
    const fault = iconFault(icon);
    if (fault !== undefined) return `icons[${index}]${fault}`;
  }
  return undefined;
}

function iconFault(icon: unknown): string | undefined {
  if (!isJsonObject(icon)) return " must be an object with a src";
  const { src, mimeType, sizes, theme } = icon;
  if (typeof src !== "string" || !isSafeSource(src)) {
    return `.src must be an https: URL or a data: URI of an image, not ${shown(src)}`;
  }
  if (mimeType !== undefined && (typeof mimeType !== "string" || !MEDIA_TYPE.test(mimeType))) {
    return `.mimeType must be an image type such as "image/png", not ${shown(mimeType)}`;
  }
  if (sizes !== undefined && !(Array.isArray(sizes) && sizes.every((size) => SIZE.test(String(size))))) {
    return `.sizes must be an array of sizes such as "48x48" or "any", not ${shown(sizes)}`;
  }
  if (theme !== undefined && theme !== "light" && theme !== "dark") {
    return `.theme must be "light" or "dark", not ${shown(theme)}`;
  }
  return undefined;
}

function isSafeSource(src: string): boolean {
  return HTTPS.test(src) ? URL.canParse(src) : DATA.test(src);
}

function shown(value: unknown): string {
  const text = JSON.stringify(value) ?? "nothing";
  return text.length > 80 ? `${text.slice(0, 80)}…` : text;
}

// Describes an icon of a tool, prompt, resource, template or program (since 2025-11-25).

/** A picture a client may show. */
export interface Icon {
  /** An `https:` or `data:` URI. */
  src: string;
  mimeType?: string;
  /** Each `WIDTHxHEIGHT` in pixels, or `any`. */
  sizes?: readonly string[];
  theme?: "light" | "dark";
}

// Holds the options that programs give to the members there are, once, when they are given.

/**
 * Throws BAD_OPTIONS for a member that does not exist, and for a value of another kind than its member takes: what was meant would not
 * happen, and nobody would be told.
 */
export function checkOptions(what: string, given: unknown, known: KnownMembers): void {
  const fault = given === undefined ? undefined : memberFault(given, known);
  if (fault !== undefined) throw new LocalError("BAD_OPTIONS", `${what}: ${fault}`);
}
