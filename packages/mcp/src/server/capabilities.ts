// Capabilities are derived from what is registered: nothing is declared that does not work.
import type { CapabilitySettings, ServerCapabilities } from "../protocol/capabilities.js";
import { type Completable, hasCompleters } from "./completions.js";
import type { Registry } from "./registry.js";
import type { ToolEntry } from "./tool.js";

/** What cannot be derived. */
export interface CapabilityOptions {
  /** Features to declare though nothing is registered yet, because something will be. */
  readonly expect?: readonly ("tools" | "prompts" | "resources" | "completions")[];
  /** False: no log messages are sent to clients. Default true. */
  readonly logging?: boolean;
  readonly experimental?: Readonly<Record<string, CapabilitySettings>>;
  /** Extensions this server implements, by id, with their settings. */
  readonly extensions?: Readonly<Record<string, CapabilitySettings>>;
}

interface Registered extends Completable {
  readonly tools: Registry<ToolEntry>;
}

/** The capabilities of a server with these registries. */
export function declaredCapabilities(registered: Registered, options: CapabilityOptions): ServerCapabilities {
  const { expect = [], logging = true, experimental, extensions } = options;
  const { tools, prompts, resources, templates } = registered;
  return {
    ...(tools.size > 0 || expect.includes("tools") ? { tools: { listChanged: true } } : {}),
    ...(resources.size + templates.size > 0 || expect.includes("resources")
      ? { resources: { subscribe: true, listChanged: true } }
      : {}),
    ...(prompts.size > 0 || expect.includes("prompts") ? { prompts: { listChanged: true } } : {}),
    ...(expect.includes("completions") || hasCompleters(registered) ? { completions: {} } : {}),
    ...(logging ? { logging: {} } : {}),
    ...(experimental === undefined ? {} : { experimental: { ...experimental } }),
    ...(extensions === undefined ? {} : { extensions: { ...extensions } }),
  };
}
