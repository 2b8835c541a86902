// Writes a client's answers to a server's questions as a revision knows them.
import type { JsonObject } from "../jsonrpc/message.js";
import { LocalError } from "../jsonrpc/local-error.js";
import type { CreateMessageResult } from "../protocol/features/sampling.js";
import type { ListRootsResult } from "../protocol/features/roots.js";
import type { Revision } from "../protocol/revisions/revision.js";
import { normalStopReason } from "../protocol/sampling-rules.js";
import { pick } from "./project-members.js";

/** Throws a LocalError with code NOT_EXPRESSIBLE when the revision cannot carry the answer. */
export function writeAnswer(revision: Revision, method: string, result: object): object {
  switch (method) {
    case "roots/list":
      return { ...result, roots: (result as ListRootsResult).roots.map((root) => pick(root, revision.fields.root)) };
    case "sampling/createMessage":
      return message(revision, result as CreateMessageResult);
    default:
      return result;
  }
}

/** The kinds of blocks a sampled message may be made of. */
function blocks({ sampling: { audio, tools } }: Revision): ReadonlySet<string> {
  return new Set(["text", "image", ...(audio ? ["audio"] : []), ...(tools ? ["tool_use", "tool_result"] : [])]);
}

function message(revision: Revision, result: CreateMessageResult): object {
  const { content, stopReason } = result;
  const copy: JsonObject = { ...result };
  if (stopReason !== undefined) copy["stopReason"] = normalStopReason(stopReason);
  for (const { type } of Array.isArray(content) ? content : [content]) {
    if (blocks(revision).has(type)) continue;
    const text = `The server speaks ${revision.date}, in which a sampled message cannot hold a block of type ${JSON.stringify(type)}`;
    throw new LocalError("NOT_EXPRESSIBLE", text);
  }
  if (!Array.isArray(content) || revision.sampling.contentArrays) return copy;
  if (content.length !== 1) {
    const text = `The server speaks ${revision.date}, in which a sampled message holds one block, not ${content.length}`;
    throw new LocalError("NOT_EXPRESSIBLE", text);
  }
  return { ...copy, content: content[0] };
}
