// Projects a sampling request: tools, several blocks in one message and audio came later than sampling itself.
import type { JsonObject } from "../jsonrpc/message.js";
import { LocalError } from "../jsonrpc/local-error.js";
import type { SamplingMessageContentBlock, ToolResultContent } from "../protocol/content.js";
import type { CreateMessageRequestParams, SamplingMessage } from "../protocol/features/sampling.js";
import type { Revision } from "../protocol/revisions/revision.js";
import { blocksOf } from "../protocol/sampling-rules.js";
import { projectBlock, projectContent } from "./project-content.js";
import { projectTool } from "./project-items.js";
import { pick } from "./project-members.js";
import { projectStructured } from "./project-structured.js";

/** Params of `sampling/createMessage`. Throws a LocalError with code `NOT_EXPRESSIBLE` when tools are used where there are none. */
export function projectSampling(revision: Revision, params: CreateMessageRequestParams): JsonObject {
  const { tools, toolChoice } = params;
  if ((tools !== undefined || toolChoice !== undefined) && !revision.sampling.tools) throw toolsUnknown(revision);
  const copy = pick(params, revision.fields.createMessage);
  copy["messages"] = params.messages.flatMap((message) => projectMessage(revision, message));
  if (tools !== undefined) copy["tools"] = tools.map((tool) => projectTool(revision, tool));
  return copy;
}

/** Where a message holds one block only, several become messages of the same role in a row. */
function projectMessage(revision: Revision, message: SamplingMessage): JsonObject[] {
  const { contentArrays } = revision.sampling;
  const blocks = blocksOf(message).map((block) => projectSamplingBlock(revision, block));
  const rest = pick(message, revision.fields.samplingMessage);
  if (contentArrays) return [{ ...rest, content: Array.isArray(message.content) ? blocks : blocks[0] }];
  return blocks.map((content) => ({ ...rest, content }));
}

function projectSamplingBlock(revision: Revision, block: SamplingMessageContentBlock): unknown {
  switch (block.type) {
    case "tool_use":
      if (!revision.sampling.tools) throw toolsUnknown(revision);
      return block;
    case "tool_result":
      if (!revision.sampling.tools) throw toolsUnknown(revision);
      return projectToolResult(revision, block);
    case "audio":
      if (!revision.sampling.audio)
        return { type: "text", text: `[audio, ${block.mimeType}: cannot be sent to this client]` };
      return projectBlock(revision, block);
    default:
      return projectBlock(revision, block);
  }
}

function projectToolResult(revision: Revision, block: ToolResultContent): object {
  const fitting = projectStructured(revision, block);
  return { ...fitting, content: projectContent(revision, fitting.content) };
}

function toolsUnknown({ date }: Revision): LocalError {
  return new LocalError("NOT_EXPRESSIBLE", `The client speaks ${date}, in which sampling has no tools`);
}
