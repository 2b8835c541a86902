// Describes who a piece of content is for, and how much it matters.

/** Who speaks, or who is meant. */
export type Role = "user" | "assistant";

/** Hints about content and resources. */
export interface Annotations {
  audience?: readonly Role[];
  /** From 0 (optional) to 1 (required). */
  priority?: number;
  /** ISO 8601 (since 2025-06-18). */
  lastModified?: string;
}
