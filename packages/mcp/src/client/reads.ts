// Reads resources, by URI or template, and fills in prompts.
import { LocalError } from "../jsonrpc/local-error.js";
import type { GetPromptResult } from "../protocol/features/prompts.js";
import type { ReadResourceResult } from "../protocol/features/resources.js";
import { UriTemplate } from "../protocol/uri-template.js";
import type { TemplateValues } from "../protocol/uri-template/expand.js";
import type { CallOptions } from "./call-options.js";
import type { Lists } from "./lists.js";
import type { Requests } from "./requests.js";

export class Reads {
  readonly #requests: Requests;
  readonly #lists: Lists;

  constructor(requests: Requests, lists: Lists) {
    this.#requests = requests;
    this.#lists = lists;
  }

  /** Throws INVALID_TEMPLATE, INVALID_VALUE, and UNKNOWN_VARIABLE for a value the template has no place for. */
  async read(uri: string, variables: TemplateValues | undefined, options?: CallOptions): Promise<ReadResourceResult> {
    this.#requests.gate("resources", "resources/read");
    const value = variables === undefined ? uri : expanded(uri, variables);
    const result = await this.#lists.kept("resources/read", { name: "uri", value }, options);
    return result as unknown as ReadResourceResult;
  }

  async prompt(
    name: string,
    args: Readonly<Record<string, string>> | undefined,
    options?: CallOptions,
  ): Promise<GetPromptResult> {
    this.#requests.gate("prompts", "prompts/get");
    const params = args === undefined ? { name } : { name, arguments: args };
    return (await this.#requests.run("prompts/get", params, options)) as unknown as GetPromptResult;
  }
}

function expanded(text: string, variables: TemplateValues): string {
  const template = new UriTemplate(text);
  const stranger = Object.keys(variables).find((name) => !template.variables.includes(name));
  if (stranger === undefined) return template.expand(variables);
  const known = template.variables.join(", ") || "none";
  throw new LocalError("UNKNOWN_VARIABLE", `The template ${text} has no variable "${stranger}" (it has ${known})`);
}
