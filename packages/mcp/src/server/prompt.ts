// What a prompt is: as its author writes it, and as the server keeps it.
import type { MaybePromise } from "../endpoint/answer.js";
import { LocalError } from "../jsonrpc/local-error.js";
import type { Role } from "../protocol/annotations.js";
import type { ContentBlock } from "../protocol/content.js";
import type { Prompt, PromptArgument } from "../protocol/features/prompts.js";
import type { Icon } from "../protocol/icon.js";
import { iconsFault } from "../protocol/icons.js";
import type { Meta } from "../protocol/meta.js";
import { metaFault } from "../protocol/meta-key.js";
import type { Completer } from "./completer.js";
import type { Block } from "./content.js";
import type { Context } from "./context.js";
import type { InputRequired } from "./input-required.js";

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
  | InputRequired;

/** The arguments `run` gets: required ones are there, the others may be. */
export type PromptArguments<A> = {
  readonly [K in keyof A]: A[K] extends { readonly required: true } ? string : string | undefined;
};

/** A prompt as its author writes it. */
export interface PromptDefinition<A> {
  readonly title?: string;
  readonly description?: string;
  /** In the order a client shows them. */
  readonly arguments?: A & ArgumentDefinitions;
  readonly icons?: readonly Icon[];
  readonly _meta?: Meta;
  run(args: PromptArguments<A>, ctx: Context): MaybePromise<PromptReturn>;
}

/** Arguments of a prompt by name. */
export type ArgumentDefinitions = Readonly<Record<string, ArgumentDefinition>>;

/** A prompt as the server keeps it. */
export interface PromptEntry {
  readonly prompt: Prompt;
  readonly arguments: ArgumentDefinitions;
  readonly run: (args: Readonly<Record<string, string>>, ctx: Context) => MaybePromise<PromptReturn>;
}

/** Checks a definition. Throws BAD_PROMPT saying what to change. */
export function promptEntry(name: string, definition: PromptDefinition<ArgumentDefinitions>): PromptEntry {
  const { title, description, icons, _meta } = definition;
  const fault = name === "" ? "a prompt needs a name" : (iconsFault(icons) ?? metaFault(_meta));
  if (fault !== undefined) throw new LocalError("BAD_PROMPT", `Prompt ${JSON.stringify(name)}: ${fault}`);
  const args = definition.arguments ?? {};
  if (Array.isArray(args))
    throw new LocalError(
      "BAD_PROMPT",
      `Prompt ${JSON.stringify(name)}: "arguments" is a list; write an object with the arguments by name, as in { city: { required: true } }`,
    );
  const listed = Object.entries(args).map(([argument, options]) => listedArgument(argument, options));
  const prompt: Prompt = {
    name,
    ...(title === undefined ? {} : { title }),
    ...(description === undefined ? {} : { description }),
    ...(icons === undefined ? {} : { icons: [...icons] }),
    ...(listed.length === 0 ? {} : { arguments: listed }),
    ...(_meta === undefined ? {} : { _meta }),
  };
  return { prompt, arguments: args, run: (values, ctx) => definition.run(values, ctx) };
}

function listedArgument(name: string, { title, description, required }: ArgumentDefinition): PromptArgument {
  return {
    name,
    ...(title === undefined ? {} : { title }),
    ...(description === undefined ? {} : { description }),
    required: required ?? false,
  };
}
