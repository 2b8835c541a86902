// Everything this product can offer under one policy, allowed or not.
import type { PromptDefinition, ResourceDefinition } from "@secure-local/mcp/server";
import { type Clock, systemClock } from "../capabilities/clock.js";
import { createFetch, type PolicyFetch } from "../capabilities/fetch.js";
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
import { egressOf } from "./egress.js";
import { logEndOf } from "./log-end.js";

export type AnyTool = BuiltinTool<never>;
export type AnyPrompt = PromptDefinition<Record<string, { readonly description?: string }>>;

/** What tools are handed under this policy, beside the signal of their call. */
export interface Powers {
  readonly fetch: PolicyFetch;
  readonly clock: Clock;
}

export interface Catalogue {
  readonly powers: Powers;
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
  const readLog = analyzeLogsFile === undefined ? undefined : logEndOf(analyzeLogsFile);
  const builtIn: readonly AnyTool[] = [searchTool(policy.tools.webSearch), calculate, getTimestamp];
  return {
    powers: { fetch: createFetch(egressOf(policy)), clock: systemClock },
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
  return catalogue[`${kind}s`].has(name);
}

function searchTool({ provider, endpoint }: WebSearchPolicy): AnyTool {
  if (provider === "searxng") return webSearch(searxng({ endpoint: endpoint ?? "" }));
  return webSearch(duckDuckGo(endpoint === undefined ? {} : { endpoint }));
}
