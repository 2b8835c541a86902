// Describes a tool as a list shows it.
import type { Icon } from "./icon.js";
import type { Meta } from "./meta.js";

/** A JSON Schema whose root is an object. */
export interface ObjectSchema {
  type: "object";
  $schema?: string;
  properties?: { [name: string]: unknown };
  required?: readonly string[];
  [keyword: string]: unknown;
}

/** Any JSON Schema that is an object (the boolean schemas are not allowed here). */
export interface AnySchema {
  $schema?: string;
  [keyword: string]: unknown;
}

/** Hints about what a tool does; untrusted unless the server is. */
export interface ToolAnnotations {
  title?: string;
  /** Default false. */
  readOnlyHint?: boolean;
  /** Default true. */
  destructiveHint?: boolean;
  /** Default false. */
  idempotentHint?: boolean;
  /** Default true. */
  openWorldHint?: boolean;
}

/** A tool. */
export interface Tool {
  name: string;
  title?: string;
  description?: string;
  icons?: readonly Icon[];
  inputSchema: ObjectSchema;
  /** Up to 2025-11-25 the root must be an object; the codecs wrap other roots. */
  outputSchema?: AnySchema;
  annotations?: ToolAnnotations;
  /** 2025-11-25 only. */
  execution?: { taskSupport?: "forbidden" | "optional" | "required" };
  _meta?: Meta;
}
