// Describes what a client or a server declares it can do. Both objects are open: unknown members are kept.
import type { Icon } from "./icons.js";

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

/** Identity of a program. For display only: no behaviour and no security decision may depend on it. */
export interface Implementation {
  name: string;
  version: string;
  title?: string;
  description?: string;
  websiteUrl?: string;
  icons?: readonly Icon[];
}
