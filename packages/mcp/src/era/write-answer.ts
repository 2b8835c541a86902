// Writes a client's answers to a server's questions as a revision knows them.
import type { JsonObject } from "../jsonrpc/message.js";
import { LocalError } from "../jsonrpc/errors.js";
import { type CreateMessageResult, normalStopReason } from "../protocol/features/sampling.js";
import type { ListRootsResult } from "../protocol/features/input-required.js";
import type { Revision } from "../protocol/revisions/revision.js";
import { pick } from "./project-items.js";
import type { ClientCapabilities } from "../protocol/capabilities.js";

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

// Writes a client's capabilities as one revision knows them.

/** The capabilities a client may declare in the revision. Unknown members stay: the object is open. */
export function projectClientCapabilities(revision: Revision, capabilities: ClientCapabilities): ClientCapabilities {
  const { roots, sampling, elicitation, tasks, ...rest } = capabilities;
  const stateless = revision.era === "stateless";
  const copy: ClientCapabilities = { ...rest };
  if (roots !== undefined) copy.roots = stateless ? withoutListChanged(roots) : roots;
  if (sampling !== undefined) copy.sampling = revision.sampling.tools ? sampling : {};
  if (elicitation !== undefined && revision.elicitation.form) {
    copy.elicitation = revision.elicitation.url ? elicitation : {};
  }
  if (tasks !== undefined && revision.rules.tasks === "requested") copy.tasks = tasks;
  return copy;
}

function withoutListChanged(roots: object): object {
  const { listChanged: _, ...rest } = roots as { listChanged?: boolean };
  return rest;
}
