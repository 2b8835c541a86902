// Everything this product can offer under one policy, allowed or not.
import type { PromptDefinition, ResourceDefinition } from "@secure-local/mcp/server";
import { systemClock } from "../capabilities/clock.js";
import { logTail } from "../capabilities/log-tail.js";
import type { SubjectKind } from "../guard/subject.js";
import type { Policy, WebSearchPolicy } from "../policy/policy.js";
import { analyzeLogs } from "../prompts/analyze-logs.js";
import { codeReview } from "../prompts/code-review.js";
import { SERVER_INFO_URI, serverInfo } from "../resources/server-info.js";
import { calculate } from "../tools/calculate/calculate.js";
import { getTimestamp } from "../tools/get-timestamp/get-timestamp.js";
import type { BuiltinTool } from "../tools/tool.js";
import { duckDuckGo } from "../tools/web-search/duckduckgo.js";
import { searxng } from "../tools/web-search/searxng.js";
import { webSearch } from "../tools/web-search/web-search.js";

export type AnyTool = BuiltinTool<never>;
export type AnyPrompt = PromptDefinition<Record<string, { readonly description?: string }>>;

export interface Catalogue {
  readonly tools: ReadonlyMap<string, AnyTool>;
  readonly prompts: ReadonlyMap<string, AnyPrompt>;
  readonly resources: ReadonlyMap<string, ResourceDefinition>;
}

export interface CatalogueOptions {
  readonly identity: { readonly name: string; readonly version: string };
  /** Tools beside the built-in ones. */
  readonly tools: readonly AnyTool[];
}

export function catalogueOf(policy: Policy, { identity, tools }: CatalogueOptions): Catalogue {
  const { analyzeLogsFile } = policy.prompts;
  const readLog = analyzeLogsFile === undefined ? undefined : logTail(analyzeLogsFile);
  const builtIn: readonly AnyTool[] = [searchTool(policy.tools.webSearch), calculate, getTimestamp];
  return {
    tools: new Map([...builtIn, ...tools].map((tool) => [tool.name, tool])),
    prompts: new Map<string, AnyPrompt>([
      ["code_review", codeReview],
      ["analyze_logs", analyzeLogs({ readLog, clock: systemClock })],
    ]),
    resources: new Map([[SERVER_INFO_URI, serverInfo(identity)]]),
  };
}

/** Whether the catalogue has this tool, prompt or resource. */
export function has(catalogue: Catalogue, kind: SubjectKind, name: string): boolean {
  switch (kind) {
    case "tool":
      return catalogue.tools.has(name);
    case "prompt":
      return catalogue.prompts.has(name);
    case "resource":
      return catalogue.resources.has(name);
  }
}

function searchTool({ provider, endpoint }: WebSearchPolicy): AnyTool {
  if (provider === "searxng") return webSearch(searxng({ endpoint: endpoint ?? "" }));
  return webSearch(duckDuckGo(endpoint === undefined ? {} : { endpoint }));
}
