// Searches with an instance of SearXNG, by its JSON answers.
import type { SearchOutcome, SearchProvider, SearchResult } from "./web-search.js";
import { shownLink } from "./duckduckgo.js";

/** A page of results with all its engines' extras. */
const MAX_ANSWER_BYTES = 2_097_152;
const TIMEOUT_MS = 10_000;
const MAX_TEXT = 1_000;
const SPACES = /\s+/g;

/** `endpoint` is the address of the instance, with or without `/search`; `json` must be among its `search.formats`. */
export function searxng({ endpoint }: { readonly endpoint: string }): SearchProvider {
  const base = endpoint.replace(/(?:\/search)?\/*$/, "");
  return {
    name: "SearXNG",
    async search(query, { count, fetch, signal }) {
      const url = `${base}/search?${new URLSearchParams({ q: query.trim(), format: "json" }).toString()}`;
      const headers = { accept: "application/json" };
      const answer = await fetch(url, { headers, signal, maxBytes: MAX_ANSWER_BYTES, timeoutMs: TIMEOUT_MS });
      if (answer.status === 403)
        return { kind: "blocked", reason: "it refused; json must be among its search.formats" };
      if (answer.status !== 200) return { kind: "blocked", reason: `it answered with status ${answer.status}` };
      return readAnswer(answer.text(), count);
    },
  };
}

function readAnswer(text: string, count: number): SearchOutcome {
  const answer = parse(text);
  const listed = answer?.["results"];
  if (!Array.isArray(listed)) return { kind: "format_changed", reason: "the answer is not the JSON of a search" };
  const results = listed.map(readResult).filter((result) => result !== undefined);
  if (results.length > 0) return { kind: "results", results: results.slice(0, count) };
  if (listed.length > 0) return { kind: "format_changed", reason: "no result in the answer could be read" };
  const silent = answer?.["unresponsive_engines"];
  if (Array.isArray(silent) && silent.length > 0)
    return { kind: "blocked", reason: "none of its search engines answered" };
  return { kind: "empty" };
}

function readResult(item: unknown): SearchResult | undefined {
  if (typeof item !== "object" || item === null) return undefined;
  const { url, title, content } = item as Record<string, unknown>;
  const link = typeof url === "string" ? shownLink(url) : undefined;
  if (link === undefined) return undefined;
  return { title: plain(title) || new URL(link).host, url: link, snippet: plain(content) };
}

function plain(text: unknown): string {
  return typeof text === "string" ? text.slice(0, MAX_TEXT).replace(SPACES, " ").trim() : "";
}

function parse(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}
