// Takes what a plugin says of itself apart into the items that are inspected and approved one by one.
import type { Items } from "@secure-local/inspection/drift";
import type { Offering } from "@secure-local/inspection/finding";
import type { PluginDescription } from "../plugins/plugin-description.js";

type Json = Readonly<Record<string, unknown>>;

/** Names begin with the plugin's, always: one that was left as it is could be what another plugin's becomes. */
export function ownName(plugin: string, name: string): string {
  return `${plugin}_${name}`;
}

/** As an inspection reads it: names as clients see them, texts as they came. */
export function offeringOf({ name: server, tools, prompts, resources }: PluginDescription): Offering {
  return {
    server,
    tools: tools.map(({ name, title, description, input, output, annotations }) => ({
      ...{ name: ownName(server, name), title, description, annotations },
      ...{ inputSchema: input, outputSchema: output },
    })),
    prompts: prompts.map(({ name, ...rest }) => ({ name: ownName(server, name), ...rest })),
    resources: resources.map((resource) => ({ ...resource })),
  };
}

/** Its items by kind and name, as in `tool weather_now`; all that a person approves of each. */
export function itemsOf(description: PluginDescription): Items {
  const { tools, prompts = [], resources = [] } = offeringOf(description);
  const listed = (kind: string, key: string, items: readonly Json[]): [string, Json][] =>
    items.map((item) => [`${kind} ${String(item[key])}`, item]);
  return new Map<string, unknown>([
    ["plugin", { name: description.name, needs: description.needs }],
    ...listed("tool", "name", tools),
    ...listed("prompt", "name", prompts),
    ...listed("resource", "uri", resources),
  ]);
}
