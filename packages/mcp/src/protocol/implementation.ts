// Describes a client or server program: name, version and what may be shown about it.
import type { Icon } from "./icon.js";

/** Identity of a program. For display only: no behaviour and no security decision may depend on it. */
export interface Implementation {
  name: string;
  version: string;
  title?: string;
  description?: string;
  websiteUrl?: string;
  icons?: readonly Icon[];
}
