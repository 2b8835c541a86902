// Serves `completion/complete` for the arguments of prompts and the variables of resource templates.
import type { Answer, Call, CallOf, InteractiveCall, MaybePromise } from "../endpoint/call.js";
import { ErrorCode, LocalError, RpcError } from "../jsonrpc/errors.js";
import { type Awaitable, isThenable, type JsonObject, peerWords, quotedWords } from "../jsonrpc/message.js";
import { type Icon, iconsFault } from "../protocol/capabilities.js";
import { nestResource } from "../era/project-result.js";
import type { ContentBlock } from "../protocol/content.js";
import type {
  CompleteRequestParams,
  GetPromptRequestParams,
  GetPromptResult,
  Prompt,
  PromptArgument,
  PromptMessage,
} from "../protocol/features/prompts.js";
import type { Role } from "../protocol/features/resources.js";
import { metaFault } from "../protocol/meta.js";
import type { Meta } from "../protocol/meta.js";
import type { MembersOf } from "../schema/schema.js";
import { isStandardSchema, schemaFault } from "../schema/standard-schema.js";
import { Block, Relayed } from "./content.js";
import { type AskServices, type Completer, type CompletionRequest, type CompletionReturn, Context } from "./context.js";
import {
  definitionFault,
  type Form,
  renamedTo,
  RESTRICTED_MEMBERS,
  restrictions,
  RUNNERS,
} from "./definition-fault.js";
import { InputRequired, returnedValues, runInteractive } from "./interactive.js";
import type { Registry, Restricted } from "./registry.js";
import type { ResourceEntry, TemplateEntry } from "./resources.js";

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

// Fills in prompts: arguments checked, the handler run, its outcome made messages.

/** Serves `prompts/get`. */
export class PromptFiller {
  readonly #prompts: Registry<PromptEntry>;
  readonly #services: AskServices;

  constructor(prompts: Registry<PromptEntry>, services: AskServices) {
    this.#prompts = prompts;
    this.#services = services;
  }

  get(call: InteractiveCall<GetPromptRequestParams>): MaybePromise<Answer> {
    const { name, arguments: args = {} } = call.params;
    const entry = this.#prompts.find(name, call);
    if (entry === undefined) {
      throw invalid(`Unknown prompt: ${peerWords(name)}`, "/name", "the name of a prompt in prompts/list");
    }
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

function conclude(entry: PromptEntry, returned: Awaitable<PromptReturn>): MaybePromise<Answer | InputRequired> {
  if (isThenable(returned)) return Promise.resolve(returned).then((value) => conclude(entry, value));
  if (returned instanceof InputRequired) return returned;
  if (returned instanceof Relayed) return returned.answer;
  const { description } = entry.prompt;
  if (typeof returned === "string" || returned instanceof Block) {
    return withDescription(description, [{ role: "user", content: returned }]);
  }
  if (Array.isArray(returned) && returned.every(isPlainMessage)) return withDescription(description, returned);
  return returnedValues.use(({ promptMade }) => {
    const { description: own = description, messages } = promptMade(returned);
    return withDescription(own, messages);
  });
}

/** Whether a message is sound at first sight: one with a block of the wire is looked at closely. */
function isPlainMessage(message: unknown): message is MessageInput {
  const { role, content } = Object(message) as Partial<MessageInput>;
  return (role === "user" || role === "assistant") && (typeof content === "string" || content instanceof Block);
}

function withDescription(description: string | undefined, given: readonly MessageInput[]): Answer {
  const messages = given.map(toMessage);
  const made: GetPromptResult = description === undefined ? { messages } : { description, messages };
  return made as unknown as JsonObject;
}

function toMessage({ role, content }: MessageInput): PromptMessage {
  if (typeof content === "string") return { role, content: { type: "text", text: content } };
  const block = content instanceof Block ? content.block : content;
  return { role, content: block.type === "resource" ? nestResource(block) : block };
}

function invalid(what: string, path: string, constraint: string): RpcError {
  return new RpcError(ErrorCode.InvalidParams, what, { path, constraint });
}

// What a prompt is: as its author writes it, and as the server keeps it.

/** An argument as a prompt's author writes it. */
export interface ArgumentDefinition {
  readonly title?: string;
  readonly description?: string;
  /** Default false. */
  readonly required?: boolean;
  /** Values to offer while the person types. */
  readonly complete?: Completer;
}

/** One message of a prompt. A string is a text block. */
export interface MessageInput {
  readonly role: Role;
  readonly content: string | Block | ContentBlock;
}

/** What `run` may return: one user message as a string or block, messages, or messages with a description. */
export type PromptReturn =
  | string
  | Block
  | readonly MessageInput[]
  | { readonly description?: string; readonly messages: readonly MessageInput[] }
  | InputRequired
  | Relayed;

/** The arguments `run` gets: required ones are there, the others may be. */
export type PromptArguments<A> = {
  readonly [K in keyof A]: A[K] extends { readonly required: true } ? string : string | undefined;
};

/** A prompt as its author writes it. */
export interface PromptDefinition<A> extends Restricted {
  readonly title?: string;
  readonly description?: string;
  /** In the order a client shows them. */
  readonly arguments?: A & ArgumentDefinitions;
  readonly icons?: readonly Icon[];
  readonly _meta?: Meta;
  run(args: PromptArguments<A>, ctx: Context): Awaitable<PromptReturn>;
}

/** Arguments of a prompt by name. */
export type ArgumentDefinitions = Readonly<Record<string, ArgumentDefinition>>;

/** A prompt as the server keeps it. */
export interface PromptEntry extends Restricted {
  readonly prompt: Prompt;
  readonly arguments: ArgumentDefinitions;
  readonly run: (args: Readonly<Record<string, string>>, ctx: Context) => Awaitable<PromptReturn>;
}

/** Checks a definition. Throws BAD_PROMPT saying what to change. */
export function promptEntry(
  name: string,
  definition: PromptDefinition<ArgumentDefinitions>,
  more?: unknown,
): PromptEntry {
  const wrong = definitionFault(PROMPT_FORM, definition, PROMPT_MEMBERS, more);
  if (wrong !== undefined) throw badPrompt(name, wrong);
  const { title, description, icons, _meta } = definition;
  const args = definition.arguments ?? {};
  const fault =
    (name === "" ? "a prompt needs a name" : (iconsFault(icons) ?? metaFault(_meta))) ?? argumentsFault(args);
  if (fault !== undefined) throw badPrompt(name, fault);
  const listed = Object.entries(args).map(([argument, options]) => listedArgument(argument, options));
  const prompt: Prompt = {
    name,
    ...(title === undefined ? {} : { title }),
    ...(description === undefined ? {} : { description }),
    ...(icons === undefined ? {} : { icons: [...icons] }),
    ...(listed.length === 0 ? {} : { arguments: listed }),
    ...(_meta === undefined ? {} : { _meta }),
  };
  return { prompt, arguments: args, ...restrictions(definition), run: (values, ctx) => definition.run(values, ctx) };
}

/** The members of `ArgumentDefinition`. */
export const ARGUMENT_MEMBERS: MembersOf<ArgumentDefinition> = {
  title: "text",
  description: "text",
  required: "flag",
  complete: ["texts", "function"],
};

/** The members of `PromptDefinition`. */
export const PROMPT_MEMBERS: MembersOf<PromptDefinition<unknown>> = {
  title: "text",
  description: "text",
  icons: "any",
  _meta: "object",
  ...RESTRICTED_MEMBERS,
  arguments: "any",
  run: "any",
};

const PROMPT_FORM: Form = {
  runs: "run",
  renamed: {
    ...renamedTo("run", [...RUNNERS, "get"]),
    ...renamedTo("arguments", ["argsSchema", "args", "schema", "input"]),
  },
};

const ARGUMENT_FORM: Form = { runs: undefined, renamed: renamedTo("complete", ["completer", "enum", "values"]) };

/** Arguments of a prompt are strings by the specification: there is no schema to give. */
function argumentsFault(args: unknown): string | undefined {
  const advice = "write an object with the arguments by name, as in { city: { required: true } }";
  if (Array.isArray(args)) return `"arguments" is a list; ${advice}`;
  if (isStandardSchema(args) || schemaFault(args) !== undefined) {
    return `"arguments" is a schema, but a prompt's arguments are always strings; ${advice}`;
  }
  for (const [name, argument] of Object.entries(args as object)) {
    const fault = definitionFault(ARGUMENT_FORM, argument, ARGUMENT_MEMBERS);
    if (fault !== undefined) return `argument ${JSON.stringify(name)}: ${fault}`;
  }
  return undefined;
}

function badPrompt(name: string, fault: string): LocalError {
  return new LocalError("BAD_PROMPT", `Prompt ${JSON.stringify(name)}: ${fault}`);
}

function listedArgument(name: string, { title, description, required }: ArgumentDefinition): PromptArgument {
  return {
    name,
    ...(title === undefined ? {} : { title }),
    ...(description === undefined ? {} : { description }),
    required: required ?? false,
  };
}

// Values to offer while somebody types: from a list, ranked, or from a function.

/** Most values in one answer (server/utilities/completion). */
const MOST_VALUES = 100;

/** The `completion` member of a result: at most 100 values, and how many more there are. */
export interface CompletionValues {
  values: string[];
  total?: number;
  hasMore?: boolean;
}

/** Completes `value`. */
export function complete(
  completer: Completer,
  value: string,
  request: CompletionRequest,
): MaybePromise<CompletionValues> {
  if (typeof completer !== "function") return capped(rank(completer, value));
  const returned = completer(value, request);
  return isThenable(returned) ? Promise.resolve(returned).then(toCompletion) : toCompletion(returned);
}

/** The answer where nothing can be offered. */
export const NOTHING: CompletionValues = { values: [], total: 0, hasMore: false };

function toCompletion(returned: CompletionReturn): MaybePromise<CompletionValues> {
  if (isTexts(returned)) return capped(returned);
  return returnedValues.use(({ completionMade }) => {
    const made = completionMade(returned);
    if (isTexts(made)) return capped(made);
    const { values, total, hasMore } = made;
    const shown = values.slice(0, MOST_VALUES);
    const more = hasMore ?? (total === undefined ? values.length : total) > shown.length;
    return {
      values: [...shown],
      ...(total === undefined ? {} : { total }),
      hasMore: more || values.length > shown.length,
    };
  });
}

function capped(values: readonly string[]): CompletionValues {
  const shown = values.slice(0, MOST_VALUES);
  return { values: [...shown], total: values.length, hasMore: values.length > shown.length };
}

function isTexts(returned: unknown): returned is readonly string[] {
  return Array.isArray(returned) && returned.every((value) => typeof value === "string");
}

// Ranks values by how well they fit what was typed: exact, prefix, word, substring, then letters in order.

/** Values that fit `typed`, best first; equally good ones keep their order. An empty `typed` fits everything. */
export function rank(values: readonly string[], typed: string): readonly string[] {
  if (typed === "") return values;
  const wanted = typed.toLowerCase();
  const scored: { readonly value: string; readonly score: number }[] = [];
  for (const value of values) {
    const score = fit(value.toLowerCase(), wanted);
    if (score !== undefined) scored.push({ value, score });
  }
  return scored.sort((a, b) => a.score - b.score).map(({ value }) => value);
}

/** Lower is better; undefined when `wanted` does not fit. */
function fit(value: string, wanted: string): number | undefined {
  if (value === wanted) return 0;
  const at = value.indexOf(wanted);
  if (at === 0) return 1;
  if (at > 0) return startsWord(value, wanted, at) ? 2 : 3;
  const spread = lettersInOrder(value, wanted);
  return spread === undefined ? undefined : 4 + spread;
}

let inWord: RegExp | undefined;

/** Whether `wanted`, first found at `from`, is the beginning of a word there or further on. */
function startsWord(value: string, wanted: string, from: number): boolean {
  // As a literal V8 would look it up in Unicode's tables while it reads the file, and delay every start.
  inWord ??= new RegExp("[\\p{L}\\p{N}]", "u");
  for (let at = from; at > 0; at = value.indexOf(wanted, at + 1)) {
    if (!inWord.test(value.charAt(at - 1))) return true;
  }
  return false;
}

/** How far apart the letters lie, between 0 and 1; undefined when they do not all come in this order. */
function lettersInOrder(value: string, wanted: string): number | undefined {
  let from = 0;
  let first = -1;
  for (const letter of wanted) {
    const at = value.indexOf(letter, from);
    if (at < 0) return undefined;
    if (first < 0) first = at;
    from = at + letter.length;
  }
  return (from - first) / (value.length + 1);
}
