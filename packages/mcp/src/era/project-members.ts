// Copies the members a revision knows, and no others.
import type { JsonObject } from "../jsonrpc/message.js";
import type { Annotations } from "../protocol/annotations.js";
import type { Revision } from "../protocol/revisions/revision.js";

/** A new object with those of `members` that `source` has, in their order. */
export function pick(source: object, members: readonly string[]): JsonObject {
  const from = source as JsonObject;
  const copy: JsonObject = {};
  for (const member of members) {
    const value = from[member];
    if (value !== undefined) copy[member] = value;
  }
  return copy;
}

/** Like `pick`, and the copy's `annotations` are projected too. */
export function pickAnnotated(
  revision: Revision,
  source: { annotations?: Annotations },
  members: readonly string[],
): JsonObject {
  const copy = pick(source, members);
  if (source.annotations !== undefined && "annotations" in copy) {
    copy["annotations"] = pick(source.annotations, revision.fields.annotations);
  }
  return copy;
}
