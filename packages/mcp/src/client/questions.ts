// Answers a server's questions to the person, the model and the folders: only those that were declared.
import { ErrorCode, RpcError } from "../jsonrpc/errors.js";
import { isJsonObject, type JsonObject, peerWords, quotedWords } from "../jsonrpc/message.js";
import type { ClientCapabilities } from "../protocol/capabilities.js";
import { readAnswer } from "../protocol/elicitation-form.js";
import { McpErrorCode } from "../protocol/meta.js";
import type { ElicitResult, RequestedSchema, Root } from "../protocol/features/elicitation.js";
import { checkToolUse, type CreateMessageRequestParams } from "../protocol/features/sampling.js";
import type { Answers, ClientOptions, Elicit, ElicitRequest, QuestionContext, Sample } from "./options.js";
import { isWebAddress } from "../protocol/method.js";

/** A form a person can be asked to fill in. */
const MOST_FIELDS = 100;
const TYPES: ReadonlySet<unknown> = new Set(["string", "number", "integer", "boolean", "array"]);

export class Questions {
  readonly #elicit: Elicit | undefined;
  readonly #sample: Sample | undefined;
  #roots: ClientOptions["roots"];

  constructor({ elicit, sample, roots }: Answers) {
    this.#elicit = elicit;
    this.#sample = sample;
    this.#roots = roots;
  }

  /** Other folders from now on. */
  setRoots(roots: NonNullable<ClientOptions["roots"]>): void {
    this.#roots = roots;
  }

  /**
   * The neutral answer. Rejects with an RpcError whose code the server may see: -32601 for what was never declared,
   * -32602 for questions that break a rule, -1 for what the model's owner refuses, -32603 when the answer does not fit.
   */
  answer(
    method: string,
    params: JsonObject,
    about: QuestionContext & { declared: ClientCapabilities },
  ): Promise<object> {
    switch (method) {
      case "elicitation/create":
        return this.#answerElicit(params, about);
      case "sampling/createMessage":
        return this.#answerSample(params, about);
      case "roots/list":
        return this.#answerRoots(about);
      default:
        return Promise.reject(
          new RpcError(ErrorCode.MethodNotFound, `This client does not serve ${peerWords(method)}`),
        );
    }
  }

  async #answerElicit(params: JsonObject, about: QuestionContext & { declared: ClientCapabilities }): Promise<object> {
    const { elicitation } = about.declared;
    if (this.#elicit === undefined || elicitation === undefined) throw undeclared("elicitation");
    const { mode = "form", message } = params;
    const supported = mode === "url" ? elicitation.url !== undefined : mode === "form" && takesForms(elicitation);
    if (!supported) throw refused(`This client does not take questions of mode ${peerWords(JSON.stringify(mode))}`);
    if (typeof message !== "string") throw refused("params.message must be a string");
    if (mode === "url" && !isWebAddress(params["url"]))
      throw refused("params.url must be a web address of http or https");
    const form = mode === "form" ? checkedForm(params["requestedSchema"]) : undefined;
    const request = { ...params, mode } as unknown as ElicitRequest;
    return fitted(await this.#elicit(request, contextOf(about)), form);
  }

  async #answerSample(params: JsonObject, about: QuestionContext & { declared: ClientCapabilities }): Promise<object> {
    const { sampling } = about.declared;
    if (this.#sample === undefined || sampling === undefined) throw undeclared("sampling");
    const { messages, maxTokens, tools, toolChoice } = params;
    if (!Array.isArray(messages) || !messages.every(isMessage))
      throw refused("params.messages must be an array of messages");
    if (typeof maxTokens !== "number") throw refused("params.maxTokens must be a number");
    const usesTools = tools !== undefined || toolChoice !== undefined;
    if (usesTools && sampling.tools === undefined) throw refused("This client did not declare sampling.tools");
    const request = params as unknown as CreateMessageRequestParams;
    const fault = checkToolUse(request.messages);
    if (fault !== undefined) throw new RpcError(ErrorCode.InvalidParams, fault.message, { path: fault.path });
    const answer = await this.#sample(request, contextOf(about));
    if (answer === undefined) throw new RpcError(McpErrorCode.SamplingRejected, "User rejected sampling request");
    return answer;
  }

  async #answerRoots({ declared }: { declared: ClientCapabilities }): Promise<object> {
    const roots = this.#roots;
    if (roots === undefined || declared.roots === undefined) throw undeclared("roots");
    const found: readonly Root[] = typeof roots === "function" ? await roots() : roots;
    return { roots: found.filter(({ uri }) => uri.startsWith("file://")) };
  }
}

function contextOf({ signal, server }: QuestionContext): QuestionContext {
  return { signal, server };
}

/** `{}` means forms only. */
function takesForms(elicitation: NonNullable<ClientCapabilities["elicitation"]>): boolean {
  return elicitation.form !== undefined || elicitation.url === undefined;
}

function isMessage(message: unknown): boolean {
  return isJsonObject(message) && typeof message["role"] === "string" && typeof message["content"] === "object";
}

// The form comes from the server: what is read of it later must be there.
function checkedForm(form: unknown): RequestedSchema {
  const { properties } = (form ?? {}) as Partial<RequestedSchema>;
  if (!isJsonObject(properties)) throw refused("params.requestedSchema must be an object with properties");
  const names = Object.keys(properties);
  if (names.length > MOST_FIELDS)
    throw refused(`The form has ${names.length} fields, at most ${MOST_FIELDS} can be shown`);
  for (const name of names) {
    const field: unknown = properties[name];
    if (!isJsonObject(field) || !TYPES.has(field["type"]))
      throw refused(`The field ${quotedWords(name)} has no type a form can show`);
  }
  return form as RequestedSchema;
}

function fitted(result: ElicitResult, form: RequestedSchema | undefined): ElicitResult {
  if (form === undefined || result.action !== "accept") {
    const { content: _, ...rest } = result;
    return rest;
  }
  const { content, faults } = read(form, result.content);
  if (faults.length === 0) return { ...result, content };
  const text = faults.map(({ message }) => message).join("; ");
  throw new RpcError(ErrorCode.InternalError, `The answer does not fit the form: ${text}`);
}

function read(form: RequestedSchema, content: unknown): ReturnType<typeof readAnswer> {
  try {
    return readAnswer(form, content);
  } catch {
    throw refused("params.requestedSchema lists its choices in a way no form can show");
  }
}

function undeclared(capability: string): RpcError {
  return new RpcError(ErrorCode.MethodNotFound, `This client did not declare the capability ${capability}`);
}

function refused(text: string): RpcError {
  return new RpcError(ErrorCode.InvalidParams, text);
}
