// Projects what a server asks its client: forms, pages to open, completions of the client's model, roots. Checks what comes back.
import { ErrorCode, LocalError, RpcError } from "../jsonrpc/errors.js";
import { isJsonObject, type JsonObject } from "../jsonrpc/message.js";
import { blocksOf, type SamplingMessageContentBlock, type ToolResultContent } from "../protocol/content.js";
import {
  type ElicitRequestFormParams,
  type ElicitRequestParams,
  type ElicitRequestURLParams,
  type InputRequest,
  type InputRequests,
  type InputResponses,
  optionKey,
  type PrimitiveSchemaDefinition,
  type RequestedSchema,
  type TitledChoice,
} from "../protocol/features/elicitation.js";
import type { CreateMessageRequestParams, SamplingMessage } from "../protocol/features/sampling.js";
import type { ElicitationRules, Revision } from "../protocol/revisions/revision.js";
import { pick, projectBlock, projectContent, projectTool, type Addressee } from "./project-result.js";

/**
 * Params of a question (`elicitation/create`, `sampling/createMessage`, `roots/list`). Throws a LocalError with code
 * `NOT_EXPRESSIBLE` when the revision has no way to ask it.
 */
export function projectQuestion(to: Addressee, method: string, params: object): object {
  const { revision } = to;
  if (!revision.serverRequests.has(method)) throw notExpressible(revision, `there is no ${method}`);
  switch (method) {
    case "elicitation/create":
      return projectElicitation(revision, params as ElicitRequestParams);
    case "sampling/createMessage":
      return projectSampling(to, params as CreateMessageRequestParams);
    default:
      return params;
  }
}

/** The same of several, each with its key. */
export function projectQuestions(to: Addressee, asked: readonly (readonly [string, InputRequest])[]): InputRequests {
  const requests: InputRequests = {};
  for (const [key, { method, params }] of asked)
    requests[key] = { method, params: projectQuestion(to, method, params ?? {}) } as InputRequest;
  return requests;
}

function projectElicitation(revision: Revision, params: ElicitRequestParams): object {
  return params.mode === "url" ? projectUrl(revision, params) : projectFormParams(revision, params);
}

function projectUrl(revision: Revision, params: ElicitRequestURLParams): object {
  if (!revision.elicitation.url) throw notExpressible(revision, "a person cannot be sent to a page");
  const { elicitationId, ...rest } = params;
  return revision.elicitation.elicitationId ? { ...rest, elicitationId: elicitationId ?? crypto.randomUUID() } : rest;
}

function projectFormParams({ elicitation }: Revision, params: ElicitRequestFormParams): object {
  const { mode, ...rest } = params;
  const requestedSchema = projectForm(elicitation, params.requestedSchema);
  return elicitation.mode && mode !== undefined ? { mode, ...rest, requestedSchema } : { ...rest, requestedSchema };
}

function notExpressible({ date }: Revision, what: string): LocalError {
  return new LocalError("NOT_EXPRESSIBLE", `The client speaks ${date}, in which ${what}`);
}

// Projects a form for clients whose revision knows fewer kinds of fields.

/** The form with the fields the revision has; the same object when it has them all. */
function projectForm(rules: ElicitationRules, form: RequestedSchema): RequestedSchema {
  if (rules.arrays && rules.titledEnums && rules.allDefaults) return form;
  const properties: RequestedSchema["properties"] = {};
  const required: string[] = [];
  for (const [name, field] of Object.entries(form.properties)) {
    const fields = field.type === "array" ? oneSwitchEach(name, field) : { [name]: plainField(field) };
    Object.assign(properties, fields);
    if (form.required?.includes(name)) required.push(...Object.keys(fields));
  }
  return { type: "object", properties, ...(form.required && { required }) };
}

/** Titles travel as `enumNames`; defaults stay on booleans only. */
function plainField(field: PrimitiveSchemaDefinition): PrimitiveSchemaDefinition {
  if (field.type === "boolean") return field;
  const { default: _, ...rest } = field;
  if (!("oneOf" in rest)) return rest;
  const { oneOf, ...described } = rest;
  return { ...described, enum: oneOf.map((choice) => choice.const), enumNames: oneOf.map((choice) => choice.title) };
}

/** A field of several choices becomes a switch for each choice; `readAnswer` folds them back. */
function oneSwitchEach(
  name: string,
  field: Extract<PrimitiveSchemaDefinition, { type: "array" }>,
): RequestedSchema["properties"] {
  const chosen = field.default ?? [];
  const heading = field.title ?? name;
  const description = field.description === undefined ? {} : { description: field.description };
  const switches = choicesOf(field.items).map(({ const: value, title }) => [
    optionKey(name, value),
    { type: "boolean", title: `${heading}: ${title}`, ...description, default: chosen.includes(value) },
  ]);
  return Object.fromEntries(switches) as RequestedSchema["properties"];
}

function choicesOf(items: { enum: readonly string[] } | { anyOf: readonly TitledChoice[] }): readonly TitledChoice[] {
  return "anyOf" in items ? items.anyOf : items.enum.map((value) => ({ const: value, title: value }));
}

// Projects a sampling request: tools, several blocks in one message and audio came later than sampling itself.

/** Params of `sampling/createMessage`. Throws a LocalError with code `NOT_EXPRESSIBLE` when tools are used where there are none. */
function projectSampling(to: Addressee, params: CreateMessageRequestParams): JsonObject {
  const { revision } = to;
  const { tools, toolChoice } = params;
  if ((tools !== undefined || toolChoice !== undefined) && !revision.sampling.tools) throw toolsUnknown(revision);
  const copy = pick(params, revision.fields.createMessage);
  copy["messages"] = params.messages.flatMap((message) => projectMessage(to, message));
  if (tools !== undefined) copy["tools"] = tools.map((tool) => projectTool(to, tool));
  return copy;
}

/** Where a message holds one block only, several become messages of the same role in a row. */
function projectMessage(to: Addressee, message: SamplingMessage): JsonObject[] {
  const { revision } = to;
  const { contentArrays } = revision.sampling;
  const blocks = blocksOf(message.content).map((block) => projectSamplingBlock(to, block));
  const rest = pick(message, revision.fields.samplingMessage);
  if (contentArrays) return [{ ...rest, content: Array.isArray(message.content) ? blocks : blocks[0] }];
  return blocks.map((content) => ({ ...rest, content }));
}

function projectSamplingBlock(to: Addressee, block: SamplingMessageContentBlock): unknown {
  const { revision } = to;
  switch (block.type) {
    case "tool_use":
      if (!revision.sampling.tools) throw toolsUnknown(revision);
      return block;
    case "tool_result":
      if (!revision.sampling.tools) throw toolsUnknown(revision);
      return projectToolResult(to, block);
    case "audio":
      if (!revision.sampling.audio)
        return { type: "text", text: `[audio, ${block.mimeType}: cannot be sent to this client]` };
      return projectBlock(to, block);
    default:
      return projectBlock(to, block);
  }
}

function projectToolResult(to: Addressee, block: ToolResultContent): object {
  const { revision, fitting } = to;
  const fitted = fitting === undefined ? block : fitting.structured(revision, block);
  return { ...fitted, content: projectContent(to, fitted.content) };
}

function toolsUnknown({ date }: Revision): LocalError {
  return new LocalError("NOT_EXPRESSIBLE", `The client speaks ${date}, in which sampling has no tools`);
}

// Checks what a client answered to a question before a handler sees it.

const ACTIONS: readonly unknown[] = ["accept", "decline", "cancel"];

/** What is wrong with the answer to a question of `method`, as the end of a sentence; undefined when nothing is. */
export function answerFault(method: string, answer: unknown): string | undefined {
  if (!isJsonObject(answer)) return "is no object";
  switch (method) {
    case "elicitation/create":
      if (!ACTIONS.includes(answer["action"])) return 'needs an "action": accept, decline or cancel';
      return answer["content"] === undefined || isJsonObject(answer["content"])
        ? undefined
        : 'has a "content" that is no object';
    case "sampling/createMessage":
      return typeof answer["content"] === "object" && answer["content"] !== null && typeof answer["role"] === "string"
        ? undefined
        : 'needs a "role" and "content"';
    default:
      if (!Array.isArray(answer["roots"])) return 'needs an array "roots"';
      return answer["roots"].every(isRoot) ? undefined : 'has "roots" without a "uri"';
  }
}

function isRoot(root: unknown): boolean {
  return isJsonObject(root) && typeof root["uri"] === "string";
}

/** Throws -32602 when the answer under `key` is there and malformed. A missing one is asked for again. */
export function checkAnswer(key: string, method: string, responses: InputResponses): void {
  if (!Object.hasOwn(responses, key)) return;
  const constraint = answerFault(method, responses[key]);
  if (constraint === undefined) return;
  const message = `params.inputResponses.${key} ${constraint}`;
  throw new RpcError(ErrorCode.InvalidParams, message, { path: `/inputResponses/${key}`, constraint });
}
