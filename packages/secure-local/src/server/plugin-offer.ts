// Makes what plugins offer into tools, prompts and resources: names of their own, every text cleaned, schemas tried.
import {
  type Block,
  type JsonSchema,
  type PromptDefinition,
  type ResourceDefinition,
  Server,
} from "@secure-local/mcp/server";
import { cleanText } from "../guard/cleaning/clean-text.js";
import { cleanValue } from "../guard/cleaning/clean-result.js";
import type { Plugin } from "../plugins/plugin.js";
import { readAnswer, type ReadAnswer } from "../plugins/plugin-answer.js";
import type {
  DescribedPrompt,
  DescribedResource,
  DescribedTool,
  PluginDescription,
} from "../plugins/plugin-description.js";
import { PluginError } from "../plugins/plugin-error.js";
import type { BuiltinTool, ToolAnswer } from "../tools/tool.js";
import { ownName } from "./plugin-items.js";
import type { PluginReview } from "./plugin-reviews.js";

type AnyTool = BuiltinTool<never>;
type AnyPrompt = PromptDefinition<Record<string, { readonly description?: string }>>;

/** Bytes of one description: all of them are read by a model, called or not. */
const DESCRIPTION_BYTES = 4_096;

export interface PluginOffer {
  /** What is not offered, by kind and name, and why. */
  readonly withheld: ReadonlyMap<string, string>;
  /** The plugin behind each of what is offered, by kind and name. */
  readonly owners: ReadonlyMap<string, string>;
  readonly tools: readonly AnyTool[];
  readonly prompts: ReadonlyMap<string, AnyPrompt>;
  readonly resources: ReadonlyMap<string, ResourceDefinition>;
}

/** What of it is unusable is left out and told; what a review withholds is left out as well. */
export function pluginOffer(
  plugins: readonly Plugin[],
  reviews: readonly PluginReview[],
  say: (line: string) => void,
): PluginOffer {
  const withheld = new Map(reviews.flatMap((review) => [...review.withheld]));
  const offered = plugins.flatMap((plugin) =>
    plugin.description === undefined ? [] : [{ plugin, ...sifted(plugin.description, withheld) }],
  );
  const tools = offered.flatMap(({ plugin, tools }) => tools.map((tool) => toolOf(plugin, tool)));
  return {
    withheld,
    owners: new Map(offered.flatMap(ownersOf)),
    tools: tools.filter((tool) => isUsable(tool, say)),
    prompts: new Map(offered.flatMap(({ plugin, prompts }) => prompts.map((each) => promptOf(plugin, each)))),
    resources: new Map(offered.flatMap(({ plugin, resources }) => resources.map((each) => resourceOf(plugin, each)))),
  };
}

type Offered = { readonly plugin: Plugin } & ReturnType<typeof sifted>;

function ownersOf({ plugin: { name: owner }, tools, prompts, resources }: Offered): (readonly [string, string])[] {
  return [
    ...tools.map(({ name }) => [`tool ${ownName(owner, name)}`, owner] as const),
    ...prompts.map(({ name }) => [`prompt ${ownName(owner, name)}`, owner] as const),
    ...resources.map(({ uri }) => [`resource ${uri}`, owner] as const),
  ];
}

function sifted(
  { name: plugin, tools, prompts, resources }: PluginDescription,
  withheld: ReadonlyMap<string, string>,
): Pick<PluginDescription, "tools" | "prompts" | "resources"> {
  return {
    tools: tools.filter(({ name }) => !withheld.has(`tool ${ownName(plugin, name)}`)),
    prompts: prompts.filter(({ name }) => !withheld.has(`prompt ${ownName(plugin, name)}`)),
    resources: resources.filter(({ uri }) => !withheld.has(`resource ${uri}`)),
  };
}

function words(text: string | undefined): string | undefined {
  return text === undefined ? undefined : cleanText(text, { textBytes: DESCRIPTION_BYTES });
}

function toolOf(plugin: Plugin, tool: DescribedTool): AnyTool {
  const { annotations: hints } = tool;
  return {
    name: ownName(plugin.name, tool.name),
    title: words(tool.title) ?? tool.name,
    description: words(tool.description) ?? "",
    input: cleanValue(tool.input),
    ...(tool.output === undefined ? {} : { output: cleanValue(tool.output) }),
    // What it does not say is taken to be the worst.
    annotations: {
      readOnlyHint: hints["readOnlyHint"] === true,
      destructiveHint: hints["destructiveHint"] !== false,
      idempotentHint: hints["idempotentHint"] === true,
      openWorldHint: hints["openWorldHint"] !== false,
    },
    async run(args, { signal, progress }) {
      try {
        const tell = (done: number, total?: number, message?: string): void =>
          void progress(done, total, message).catch(() => undefined);
        return answerOf(
          readAnswer(await plugin.call({ tool: tool.name, arguments: args }, { signal, progress: tell })),
        );
      } catch (error) {
        if (error instanceof PluginError) return { failed: error.message };
        throw error;
      }
    },
  };
}

function answerOf({ text, blocks, structured, isError }: ReadAnswer): ToolAnswer {
  if (isError) return { failed: text || "The plugin says that it failed." };
  if (structured === undefined && blocks.length === 0) return text;
  return {
    structured: structured ?? {},
    ...(text === "" ? {} : { text }),
    ...(blocks.length === 0 ? {} : { blocks: blocks as readonly unknown[] as readonly Block[] }),
  };
}

/** A schema that cannot be compiled would keep every other tool from being registered. */
function isUsable(tool: AnyTool, say: (line: string) => void): boolean {
  try {
    const { title, description, input, output } = tool;
    const schemas: { input: JsonSchema; output?: JsonSchema } = output === undefined ? { input } : { input, output };
    new Server({ name: "trial", version: "0" }).tool(tool.name, { title, description, ...schemas, run: () => "" });
    return true;
  } catch (error) {
    say(`the tool ${tool.name} of a plugin is left out: ${error instanceof Error ? error.message : String(error)}`);
    return false;
  }
}

function promptOf(plugin: Plugin, prompt: DescribedPrompt): [string, AnyPrompt] {
  const { title, description } = { title: words(prompt.title), description: words(prompt.description) };
  const definition: AnyPrompt = {
    ...(title === undefined ? {} : { title }),
    ...(description === undefined ? {} : { description }),
    arguments: cleanValue(prompt.arguments),
    run: async (args, { signal }) => {
      const { text } = readAnswer(await plugin.call({ prompt: prompt.name, arguments: args }, { signal }));
      return text;
    },
  };
  return [ownName(plugin.name, prompt.name), definition];
}

function resourceOf(plugin: Plugin, resource: DescribedResource): [string, ResourceDefinition] {
  const { uri, mimeType } = resource;
  const [name, description] = [words(resource.name), words(resource.description)];
  const definition: ResourceDefinition = {
    ...(name === undefined ? {} : { name }),
    ...(description === undefined ? {} : { description }),
    ...(mimeType === undefined ? {} : { mimeType: cleanText(mimeType) }),
    read: async ({ signal }) => readAnswer(await plugin.call({ resource: uri }, { signal })).text,
  };
  return [uri, definition];
}
