// Reads what a plugin says of itself, in a manifest or when its module was loaded, as words of a stranger.
import { didYouMean } from "../policy/section.js";

type Json = Readonly<Record<string, unknown>>;

export interface DescribedTool {
  readonly name: string;
  readonly title: string | undefined;
  readonly description: string;
  readonly input: { readonly type: "object" } & Json;
  readonly output: ({ readonly type: "object" } & Json) | undefined;
  readonly annotations: Json;
}

export interface DescribedResource {
  readonly uri: string;
  readonly name: string | undefined;
  readonly description: string | undefined;
  readonly mimeType: string | undefined;
}

export interface DescribedPrompt {
  readonly name: string;
  readonly title: string | undefined;
  readonly description: string | undefined;
  readonly arguments: Readonly<Record<string, { readonly description?: string; readonly required?: boolean }>>;
}

interface DescribedNeeds {
  readonly network: readonly string[];
  readonly filesystem: readonly string[];
  readonly commands: readonly string[];
  readonly secrets: readonly string[];
  readonly storage: boolean;
}

export interface PluginDescription {
  readonly name: string;
  readonly version: string;
  readonly needs: DescribedNeeds;
  readonly tools: readonly DescribedTool[];
  readonly resources: readonly DescribedResource[];
  readonly prompts: readonly DescribedPrompt[];
}

/** Shown where a plugin says nothing of its version. */
const NO_VERSION = "without a version";

/** Tools, resources or prompts of one plugin: more than that no model can choose from. */
const MAX_ITEMS = 128;
const MAX_TEXT = 4_000;
const MAX_SCHEMA_LENGTH = 64 * 1024;
const NAME = /^[A-Za-z][A-Za-z0-9_-]{0,47}$/;
/** Characters a URI may have; others, such as braces, could be read as a template. */
const URI = /^[a-z][a-z0-9+.-]*:(?:[A-Za-z0-9\-._~:/?#[\]@!$&'()*+,;=]|%[0-9A-Fa-f]{2}){1,500}$/;

/** @param given As parsed from JSON or YAML; tools, resources and prompts by name, or as lists. @throws PluginError */
export function readDescription(given: unknown): PluginDescription {
  const plugin = object(given, "The description of a plugin");
  const name = text(plugin["name"], "name") ?? "";
  if (!NAME.test(name))
    throw new PluginError('A plugin needs a name of letters, digits, "-" and "_" that begins with a letter.');
  const needs = object(plugin["needs"] ?? {}, "needs");
  return {
    name,
    version: text(plugin["version"], "version") ?? NO_VERSION,
    needs: {
      network: texts(needs["network"], "needs.network"),
      filesystem: texts(needs["filesystem"], "needs.filesystem"),
      commands: texts(needs["commands"], "needs.commands"),
      secrets: texts(needs["secrets"], "needs.secrets"),
      storage: needs["storage"] === true,
    },
    tools: items(plugin["tools"], "name").map(([key, item]) => tool(key, item)),
    resources: items(plugin["resources"], "uri").map(([uri, item]) => resource(uri, item)),
    prompts: items(plugin["prompts"], "name").map(([key, item]) => prompt(key, item)),
  };
}

function tool(name: string, item: Json): DescribedTool {
  if (!NAME.test(name))
    throw new PluginError(
      `"${name.slice(0, 80)}" is no name for a tool; use letters, digits, - and _, a letter first, 48 at most.`,
    );
  return {
    name,
    title: text(item["title"], `${name}.title`),
    description: text(item["description"], `${name}.description`) ?? "",
    input: schema(item["input"], `${name}.input`) ?? { type: "object" },
    output: schema(item["output"], `${name}.output`),
    annotations: object(item["annotations"] ?? {}, `${name}.annotations`),
  };
}

function resource(uri: string, item: Json): DescribedResource {
  if (!URI.test(uri) || uri.startsWith("file:"))
    throw new PluginError(
      `"${uri.slice(0, 80)}" is no URI for a plugin's resource; write one such as weather://today, and not file:.`,
    );
  return {
    uri,
    name: text(item["name"], `${uri} name`),
    description: text(item["description"], `${uri} description`),
    mimeType: text(item["mimeType"], `${uri} mimeType`),
  };
}

function prompt(name: string, item: Json): DescribedPrompt {
  if (!NAME.test(name))
    throw new PluginError(
      `"${name.slice(0, 80)}" is no name for a prompt; use letters, digits, - and _, a letter first, 48 at most.`,
    );
  const args = object(item["arguments"] ?? {}, `${name}.arguments`);
  const read = Object.entries(args).map(([key, value]) => {
    const { description, required } = object(value, `${name}.arguments.${key}`);
    const words = text(description, `${name}.arguments.${key}.description`);
    return [key, { required: required === true, ...(words === undefined ? {} : { description: words }) }] as const;
  });
  return {
    name,
    title: text(item["title"], `${name}.title`),
    description: text(item["description"], `${name}.description`),
    arguments: Object.fromEntries(read),
  };
}

function items(given: unknown, key: string): [string, Json][] {
  if (given === undefined || given === null) return [];
  const list: [string, unknown][] = Array.isArray(given)
    ? given.map((item: unknown) => [String(object(item, "An item")[key]), item])
    : Object.entries(object(given, "A list"));
  if (list.length > MAX_ITEMS)
    throw new PluginError(`A plugin offers at most ${MAX_ITEMS} things of a kind, not ${list.length}.`);
  return list.map(([name, item]) => [name, object(item, `"${name.slice(0, 80)}"`)]);
}

function schema(given: unknown, place: string): DescribedTool["input"] | undefined {
  if (given === undefined) return undefined;
  const read = object(given, place);
  if (read["type"] !== "object") throw new PluginError(`${place} must be a JSON Schema with type: object.`);
  if (JSON.stringify(read).length > MAX_SCHEMA_LENGTH)
    throw new PluginError(`${place} is longer than ${MAX_SCHEMA_LENGTH} characters.`);
  return { ...read, type: "object" };
}

function object(given: unknown, place: string): Json {
  if (typeof given === "object" && given !== null && !Array.isArray(given)) return given as Json;
  throw new PluginError(`${place} must be a mapping.`);
}

function text(given: unknown, place: string): string | undefined {
  if (given === undefined || given === null) return undefined;
  if (typeof given === "string" || typeof given === "number") return String(given).slice(0, MAX_TEXT);
  throw new PluginError(`${place} must be a text.`);
}

function texts(given: unknown, place: string): string[] {
  if (given === undefined || given === null) return [];
  if (Array.isArray(given) && given.length <= MAX_ITEMS) return given.map((item) => text(item, place) ?? "");
  throw new PluginError(`${place} must be a list of texts.`);
}

// Reads a plugin's answer to one call.

type AnswerBlock = { readonly type: "text" | "image" | "audio" | "resource" | "resource_link" } & Json;

export interface PluginReply {
  readonly text: string;
  /** Content other than text. */
  readonly blocks: readonly AnswerBlock[];
  readonly structured: Json | undefined;
  readonly isError: boolean;
}

/** Blocks of one answer. */
const MAX_BLOCKS = 256;
/** What each kind of block has to have, as texts. */
const REQUIRED: Readonly<Record<string, readonly string[]>> = {
  image: ["data", "mimeType"],
  audio: ["data", "mimeType"],
  resource_link: ["uri", "name"],
};

/** Members that an answer may have. */
const ANSWERED: ReadonlySet<string> = new Set(["content", "structuredContent", "isError", "_meta"]);
const MOST_NAMED = 5;
const MAX_NAMES = 200;

/** @param line The plugin's line: the answer itself or under `answer`, which may be a text alone. @throws PluginError */
export function readPluginAnswer(line: Json): PluginReply {
  if (line["failed"] === true)
    throw new PluginError(
      "The plugin failed. The operator is told why, on the stderr of the server; callers never are.",
    );
  const answer = "answer" in line ? line["answer"] : line;
  if (typeof answer === "string") return { text: answer, blocks: [], structured: undefined, isError: false };
  // The line of an executable is the answer itself, with the id of its call.
  const names =
    typeof answer === "object" ? Object.keys(answer ?? {}).filter((name) => answer !== line || name !== "id") : [];
  if (typeof answer !== "object" || answer === null || (answer === line && names.length === 0))
    throw new PluginError(
      "The plugin answered nothing that can be shown: a tool returns a string, or { content, structuredContent, isError }.",
    );
  const { content, structuredContent: structured, isError } = answer as Json;
  if (names.length > 0 && !names.some((name) => ANSWERED.has(name)))
    throw new PluginError(
      `The plugin answered an object with ${names.slice(0, MOST_NAMED).join(", ").slice(0, MAX_NAMES)}, of which nothing is shown: put it into structuredContent, or return a string.`,
    );
  const strange = names.find((name) => !ANSWERED.has(name));
  if (strange !== undefined)
    throw new PluginError(
      `The plugin answered with a member "${strange.slice(0, MAX_NAMES)}", which there is not${didYouMean(strange, [...ANSWERED])}; there are ${[...ANSWERED].join(", ")}.`,
    );
  if (isError !== undefined && typeof isError !== "boolean")
    throw new PluginError("The plugin's isError is no boolean: say true where the tool failed, or leave it out.");
  const blocks = blocksOf(content);
  const texts = blocks.filter(({ type }) => type === "text").map(({ text }) => String(text));
  return {
    text: texts.join("\n\n"),
    blocks: blocks.filter(({ type }) => type !== "text"),
    structured: isObject(structured) ? structured : undefined,
    isError: isError === true,
  };
}

function blocksOf(content: unknown): AnswerBlock[] {
  if (content === undefined || content === null) return [];
  if (typeof content === "string") return [{ type: "text", text: content }];
  if (!Array.isArray(content) || content.length > MAX_BLOCKS || !content.every(isBlock)) {
    throw new PluginError(`The plugin's content is not a text or a list of up to ${MAX_BLOCKS} content blocks.`);
  }
  return content;
}

function isBlock(block: unknown): block is AnswerBlock {
  if (!isObject(block)) return false;
  if (block["type"] === "text") return typeof block["text"] === "string";
  if (block["type"] === "resource") return isObject(block["resource"]) && typeof block["resource"]["uri"] === "string";
  const required = REQUIRED[String(block["type"])];
  return required?.every((key) => typeof block[key] === "string") ?? false;
}

function isObject(given: unknown): given is Json {
  return typeof given === "object" && given !== null && !Array.isArray(given);
}

// Why a plugin is not there, or did not answer; the message is fit for the model and the user.

export class PluginError extends Error {
  override readonly name = "PluginError";
}
