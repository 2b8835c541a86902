// Serves `completion/complete` for the arguments of prompts and the variables of resource templates.
import type { Answer, Call, CallOf, MaybePromise } from "../endpoint/call.js";
import { ErrorCode, RpcError } from "../jsonrpc/errors.js";
import type { CompleteRequestParams } from "../protocol/features/completion.js";
import { complete, type Completer, type CompletionValues, NOTHING } from "./completer.js";
import { type AskServices, Context } from "./context.js";
import type { PromptEntry } from "./prompts.js";
import type { Registry } from "./registry.js";
import type { ResourceEntry, TemplateEntry } from "./resources.js";
import { peerWords, quotedWords } from "../jsonrpc/visible-text.js";

/** Where completers are found. */
export interface Completable {
  readonly prompts: Registry<PromptEntry>;
  readonly resources: Registry<ResourceEntry>;
  readonly templates: Registry<TemplateEntry>;
}

/** Serves `completion/complete`. Throws -32602 for an unknown prompt, template or argument. */
export function completeArgument(
  completable: Completable & AskServices,
  call: CallOf<CompleteRequestParams>,
): MaybePromise<Answer> {
  const { ref, argument, context } = call.params;
  const completer =
    ref.type === "ref/prompt"
      ? ofPrompt(completable, call, { name: ref.name, argument: argument.name })
      : ofTemplate(completable, call, { uri: ref.uri, argument: argument.name });
  if (completer === undefined) return { completion: NOTHING };
  const known = call.caller.codec.revision.rules.completionContext ? (context?.arguments ?? {}) : {};
  const request = {
    arguments: known,
    get signal(): AbortSignal {
      return call.signal;
    },
    get context(): Context {
      return new Context(call, completable);
    },
  };
  const completion = complete(completer, argument.value, request);
  return completion instanceof Promise ? completion.then(asAnswer) : asAnswer(completion);
}

/** Whether anything registered can be completed. */
export function hasCompleters({ prompts, templates }: Completable): boolean {
  for (const prompt of prompts.values()) {
    if (Object.values(prompt.arguments).some((argument) => argument.complete !== undefined)) return true;
  }
  for (const template of templates.values()) if (template.definition.complete !== undefined) return true;
  return false;
}

function ofPrompt(
  { prompts }: Completable,
  call: Call,
  { name, argument }: { readonly name: string; readonly argument: string },
): Completer | undefined {
  const entry = prompts.find(name, call);
  if (entry === undefined)
    throw unknown(`Unknown prompt: ${peerWords(name)}`, "/ref/name", "the name of a prompt in prompts/list");
  if (Object.hasOwn(entry.arguments, argument)) return entry.arguments[argument]?.complete;
  throw unknown(
    `Prompt ${peerWords(name)} has no argument ${quotedWords(argument)}`,
    "/argument/name",
    "an argument of the prompt",
  );
}

function ofTemplate(
  { templates, resources }: Completable,
  call: Call,
  { uri, argument }: { readonly uri: string; readonly argument: string },
): Completer | undefined {
  const entry = templates.find(uri, call);
  if (entry === undefined) {
    if (resources.find(uri, call) !== undefined) return undefined;
    throw unknown(`Unknown resource template: ${peerWords(uri)}`, "/ref/uri", "a template in resources/templates/list");
  }
  if (entry.uriTemplate.variables.includes(argument)) {
    const completers = entry.definition.complete ?? {};
    return Object.hasOwn(completers, argument) ? completers[argument] : undefined;
  }
  throw unknown(
    `Template ${peerWords(uri)} has no variable ${quotedWords(argument)}`,
    "/argument/name",
    "a variable of the template",
  );
}

function unknown(what: string, path: string, constraint: string): RpcError {
  return new RpcError(ErrorCode.InvalidParams, what, { path, constraint });
}

function asAnswer(completion: CompletionValues): Answer {
  return { completion };
}
