// Fills in prompts: arguments checked, the handler run, its outcome made messages.
import type { Answer, MaybePromise } from "../endpoint/answer.js";
import type { Call } from "../endpoint/call.js";
import { ErrorCode } from "../jsonrpc/error-codes.js";
import type { JsonObject } from "../jsonrpc/message.js";
import { RpcError } from "../jsonrpc/rpc-error.js";
import { nestResource } from "../protocol/embedded-resource.js";
import type { GetPromptResult, PromptMessage } from "../protocol/features/prompts.js";
import { Block } from "./content.js";
import type { AskServices } from "./context.js";
import { InputRequired } from "./input-required.js";
import { runInteractive } from "./interactive.js";
import type { MessageInput, PromptEntry, PromptReturn } from "./prompt.js";
import type { Registry } from "./registry.js";
import { peerWords } from "../jsonrpc/visible-text.js";

/** Serves `prompts/get`. */
export class PromptFiller {
  readonly #prompts: Registry<PromptEntry>;
  readonly #services: AskServices;

  constructor(prompts: Registry<PromptEntry>, services: AskServices) {
    this.#prompts = prompts;
    this.#services = services;
  }

  get(call: Call): MaybePromise<Answer> {
    const name = call.params["name"] as string;
    const entry = this.#prompts.get(name);
    if (entry === undefined) {
      throw invalid(`Unknown prompt: ${peerWords(name)}`, "/name", "the name of a prompt in prompts/list");
    }
    const args = (call.params["arguments"] ?? {}) as Readonly<Record<string, string>>;
    requireArguments(entry, args);
    return runInteractive(this.#services, call, {
      // A prompt only makes words, so it may always be made again.
      replaySafe: true,
      run: (context) => conclude(entry, entry.run(args, context)),
    });
  }
}

function requireArguments(entry: PromptEntry, args: Readonly<Record<string, string>>): void {
  for (const [name, { required }] of Object.entries(entry.arguments)) {
    if (required !== true || Object.hasOwn(args, name)) continue;
    const what = `Prompt ${entry.prompt.name} needs the argument "${name}"`;
    throw invalid(what, `/arguments/${name}`, "a string (the argument is required)");
  }
}

function conclude(entry: PromptEntry, returned: MaybePromise<PromptReturn>): MaybePromise<Answer | InputRequired> {
  if (returned instanceof Promise) return returned.then((value) => conclude(entry, value));
  if (returned instanceof InputRequired) return returned;
  return toResult(entry.prompt.description, returned) as unknown as JsonObject;
}

function toResult(description: string | undefined, returned: Exclude<PromptReturn, InputRequired>): GetPromptResult {
  if (typeof returned === "string" || returned instanceof Block) {
    return withDescription(description, [toMessage({ role: "user", content: returned })]);
  }
  if ("messages" in returned) {
    return withDescription(returned.description ?? description, returned.messages.map(toMessage));
  }
  return withDescription(description, returned.map(toMessage));
}

function withDescription(description: string | undefined, messages: PromptMessage[]): GetPromptResult {
  return description === undefined ? { messages } : { description, messages };
}

function toMessage({ role, content }: MessageInput): PromptMessage {
  if (typeof content === "string") return { role, content: { type: "text", text: content } };
  const block = content instanceof Block ? content.block : content;
  return { role, content: block.type === "resource" ? nestResource(block) : block };
}

function invalid(what: string, path: string, constraint: string): RpcError {
  return new RpcError(ErrorCode.InvalidParams, what, { path, constraint });
}
