// Capabilities are derived from what is registered: nothing is declared that does not work.
import type { CapabilitySettings, ServerCapabilities } from "../protocol/capabilities.js";
import { type Completable, hasCompleters } from "./prompts.js";
import type { Registry } from "./registry.js";
import type { ToolEntry } from "./tools.js";
import { TASKS_EXTENSION } from "../protocol/extensions/tasks.js";

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
  /** Whether there ever was a tool that runs as a task: what it began can still be looked at once it is gone. */
  readonly hadTasks: boolean;
}

/** The capabilities of a server with these registries. */
export function declaredCapabilities(registered: Registered, options: CapabilityOptions): ServerCapabilities {
  const { expect = [], logging = true, experimental, extensions } = options;
  const { tools, prompts, resources, templates } = registered;
  const tasks = registered.hadTasks;
  return {
    ...(tools.size > 0 || expect.includes("tools") ? { tools: { listChanged: true } } : {}),
    ...(resources.size + templates.size > 0 || expect.includes("resources")
      ? { resources: { subscribe: true, listChanged: true } }
      : {}),
    ...(prompts.size > 0 || expect.includes("prompts") ? { prompts: { listChanged: true } } : {}),
    ...(expect.includes("completions") || hasCompleters(registered) ? { completions: {} } : {}),
    ...(logging ? { logging: {} } : {}),
    ...(experimental === undefined ? {} : { experimental: { ...experimental } }),
    ...(extensions === undefined && !tasks ? {} : { extensions: { ...extensions, ...(tasks ? DIRECTED : {}) } }),
    ...(tasks ? { tasks: REQUESTED } : {}),
  };
}

/** Tasks as the two revisions declare them; each is projected away where it does not belong. */
const DIRECTED: Readonly<Record<string, CapabilitySettings>> = { [TASKS_EXTENSION]: {} };
const REQUESTED: CapabilitySettings = { list: {}, cancel: {}, requests: { tools: { call: {} } } };

/** The capabilities toward one caller: without a name to bind tasks to, they cannot be listed. */
export function capabilitiesToward(principal: string | undefined, all: ServerCapabilities): ServerCapabilities {
  if (principal !== undefined || all.tasks === undefined) return all;
  const { list: _, ...tasks } = all.tasks;
  return { ...all, tasks };
}

/** The capabilities where no session remembers what a caller wants to hear of: nothing that comes unasked. */
export function capabilitiesAlone(all: ServerCapabilities): ServerCapabilities {
  const { logging: _, tools, resources, prompts, ...rest } = all;
  return {
    ...rest,
    ...(tools === undefined ? {} : { tools: {} }),
    ...(resources === undefined ? {} : { resources: {} }),
    ...(prompts === undefined ? {} : { prompts: {} }),
  };
}
