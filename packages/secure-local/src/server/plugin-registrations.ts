// Makes what plugins offer into tools, prompts and resources: names of their own, every text cleaned, schemas tried.
import {
  type Block,
  type Context,
  type JsonSchema,
  type PromptDefinition,
  type ResourceDefinition,
  RpcError,
  Server,
} from "@secure-local/mcp/server";
import { explainLateness } from "../guard/compiled-policy.js";
import { cleanText } from "../guard/cleaning/clean-text.js";
import { cleanValue } from "../guard/cleaning/clean-result.js";
import type { Plugin } from "../plugins/plugin.js";
import {
  type DescribedPrompt,
  type DescribedResource,
  type DescribedTool,
  type PluginDescription,
  PluginError,
  type PluginReply,
  readPluginAnswer,
} from "../plugins/plugin-description.js";
import type { BuiltinTool, SharedPowers, ToolAnswer } from "../tools/tool.js";
import type { PermissionRequest, Permission } from "../capabilities/refusals.js";
import type { AskPermission, PluginAction } from "../plugins/plugin-powers.js";
import type { CallOptions } from "../plugins/plugin-process.js";
import { ownName } from "./plugin-names.js";
import type { PluginReview } from "./plugin-reviews.js";

type AnyTool = BuiltinTool<never>;
type AnyPrompt = PromptDefinition<Record<string, { readonly description?: string }>>;

/** Bytes of one description: all of them are read by a model, called or not. */
const DESCRIPTION_BYTES = 4_096;
const QUARANTINE = "quarantine of plugins";
const INVALID_PARAMS = -32602;

export interface PluginRegistrations {
  /** What is not offered, by kind and name, and why. */
  readonly withheld: ReadonlyMap<string, string>;
  /** The plugin behind each of what is offered, by kind and name. */
  readonly owners: ReadonlyMap<string, string>;
  readonly tools: readonly AnyTool[];
  readonly prompts: ReadonlyMap<string, AnyPrompt>;
  readonly resources: ReadonlyMap<string, ResourceDefinition>;
}

export interface PluginRegistrationOptions {
  /** What of a plugin is withheld now, by kind and name, and why: asked right before each call of it. */
  readonly standing: (plugin: string) => ReadonlyMap<string, string> | undefined;
  /** Leave for what a plugin asks for in the course of a call. */
  readonly acts: SharedPowers["acts"];
  readonly say: (line: string) => void;
}

/** What of it is unusable is left out and told; what a review withholds is left out as well. */
export function pluginRegistrations(
  plugins: readonly Plugin[],
  reviews: readonly PluginReview[],
  { standing, acts, say }: PluginRegistrationOptions,
): PluginRegistrations {
  const offered = plugins.flatMap((plugin): Offered[] => {
    const review = reviews.find((each) => each.description === plugin.description);
    return review === undefined ? [] : [{ plugin, ...sifted(review), stands: () => standing(plugin.name), acts }];
  });
  const tools = offered.flatMap((offer) => offer.tools.map((tool) => toolOf(offer, tool)));
  return {
    withheld: new Map(reviews.flatMap((review) => [...review.withheld])),
    owners: new Map(offered.flatMap(ownersOf)),
    tools: tools.filter((tool) => isUsable(tool, say)),
    prompts: new Map(offered.flatMap((offer) => offer.prompts.map((each) => promptOf(offer, each)))),
    resources: new Map(offered.flatMap((offer) => offer.resources.map((each) => resourceOf(offer, each)))),
  };
}

type Offered = {
  readonly plugin: Plugin;
  /** What of it is withheld by now. */
  readonly stands: () => ReadonlyMap<string, string> | undefined;
  readonly acts: SharedPowers["acts"];
} & ReturnType<typeof sifted>;

/** Refuses what was withheld since this call was admitted: a person may have been asked meanwhile. */
function objectionTo({ stands }: Offered, item: string): string | undefined {
  const reason = stands()?.get(item);
  return reason === undefined ? undefined : `Denied. The ${item} is withheld: ${reason}.`;
}

function ownersOf({ plugin: { name: owner }, tools, prompts, resources }: Offered): (readonly [string, string])[] {
  return [
    ...tools.map(({ name }) => [`tool ${ownName(owner, name)}`, owner] as const),
    ...prompts.map(({ name }) => [`prompt ${ownName(owner, name)}`, owner] as const),
    ...resources.map(({ uri }) => [`resource ${uri}`, owner] as const),
  ];
}

function sifted({
  description: { name: plugin, tools, prompts, resources },
  withheld,
}: PluginReview): Pick<PluginDescription, "tools" | "prompts" | "resources"> {
  return {
    tools: tools.filter(({ name }) => !withheld.has(`tool ${ownName(plugin, name)}`)),
    prompts: prompts.filter(({ name }) => !withheld.has(`prompt ${ownName(plugin, name)}`)),
    resources: resources.filter(({ uri }) => !withheld.has(`resource ${uri}`)),
  };
}

function words(text: string | undefined): string | undefined {
  return text === undefined ? undefined : cleanText(text, { textBytes: DESCRIPTION_BYTES });
}

function toolOf(offered: Offered, tool: DescribedTool): AnyTool {
  const { annotations: hints } = tool;
  const { plugin } = offered;
  const name = ownName(plugin.name, tool.name);
  return {
    name,
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
    async run(args, powers) {
      const denied = objectionTo(offered, `tool ${name}`);
      if (denied !== undefined) return { failed: denied, rule: QUARANTINE };
      try {
        const { progress } = powers;
        const tell = (done: number, total?: number, message?: string): void =>
          void progress(done, total, message).catch(() => undefined);
        const within = new WithinCall({
          plugin: plugin.name,
          item: name,
          under: powers,
          acts: (act) => powers.acts(act),
        });
        return answerOf(
          readPluginAnswer(
            await plugin.call(
              { tool: tool.name, arguments: args },
              { signal: within.signal, leave: within.leave, late: within.late, progress: tell },
            ),
          ),
        );
      } catch (error) {
        if (error instanceof PluginError) return { failed: error.message };
        throw error;
      }
    },
  };
}

function answerOf({ text, blocks, structured, isError }: PluginReply): ToolAnswer {
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

function promptOf(offered: Offered, prompt: DescribedPrompt): [string, AnyPrompt] {
  const { plugin } = offered;
  const name = ownName(plugin.name, prompt.name);
  const { title, description } = { title: words(prompt.title), description: words(prompt.description) };
  const definition: AnyPrompt = {
    ...(title === undefined ? {} : { title }),
    ...(description === undefined ? {} : { description }),
    arguments: cleanValue(prompt.arguments),
    run: async (args, ctx) => {
      refuse(objectionTo(offered, `prompt ${name}`));
      const within = withinCall(offered, name, ctx);
      const { text } = readPluginAnswer(await plugin.call({ prompt: prompt.name, arguments: args }, within));
      return text;
    },
  };
  return [name, definition];
}

function resourceOf(offered: Offered, resource: DescribedResource): [string, ResourceDefinition] {
  const { plugin } = offered;
  const { uri, mimeType } = resource;
  const [name, description] = [words(resource.name), words(resource.description)];
  const definition: ResourceDefinition = {
    ...(name === undefined ? {} : { name }),
    ...(description === undefined ? {} : { description }),
    ...(mimeType === undefined ? {} : { mimeType: cleanText(mimeType) }),
    read: async (ctx) => {
      refuse(objectionTo(offered, `resource ${uri}`));
      return readPluginAnswer(await plugin.call({ resource: uri }, withinCall(offered, uri, ctx))).text;
    },
  };
  return [uri, definition];
}

function refuse(denied: string | undefined): void {
  if (denied !== undefined) throw new RpcError(INVALID_PARAMS, denied, { rule: QUARANTINE });
}

function withinCall({ plugin, acts }: Offered, item: string, ctx: Context): WithinCall {
  return new WithinCall({ plugin: plugin.name, item, under: ctx, acts: (act) => acts({ ...act, ctx }) });
}

interface WithinCallOptions {
  readonly plugin: string;
  /** The tool, prompt or resource that was called, as clients name it. */
  readonly item: string;
  /** Its signal lasts as long as the handler: one call may take several rounds. */
  readonly under: { readonly signal: AbortSignal };
  readonly acts: (act: PermissionRequest) => Promise<Permission>;
}

/** Binds what a plugin asks for to the one call it is for: all of it ends with the call. */
class WithinCall implements Pick<CallOptions, "signal" | "leave" | "late"> {
  readonly #options: WithinCallOptions;
  #last: Promise<unknown> = Promise.resolve();
  #why: (() => string) | undefined;
  readonly signal: AbortSignal;

  constructor(options: WithinCallOptions) {
    this.#options = options;
    this.signal = options.under.signal;
    explainLateness(this.signal, () => this.#why?.());
  }

  readonly late = (why: () => string): void => void (this.#why = why);

  /** One at a time: a person who is asked about two things at once reads neither. */
  readonly leave: AskPermission = (act) => {
    const asked = this.#last.then(() => this.#ask(act));
    this.#last = asked.catch(() => undefined);
    return asked;
  };

  async #ask(act: PluginAction): Promise<Permission> {
    const { plugin, item, acts } = this.#options;
    const actor = `plugin:${plugin}`;
    if (act.kind === "fetch") {
      const { method, url } = act;
      return acts({ actor, arguments: { method, url, plugin, for: item } });
    }
    if (act.kind === "storage") return acts({ actor, arguments: act, asks: false });
    const { command, args } = act;
    return acts({ actor, tool: "run_command", arguments: { command, arguments: args, plugin, for: item } });
  }
}
