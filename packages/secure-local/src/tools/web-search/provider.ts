// What every search service is to us: a question in, one of four outcomes out.
import type { Clock } from "../../capabilities/clock.js";
import type { PolicyFetch } from "../../capabilities/fetch.js";

export interface SearchResult {
  /** Plain text, white space collapsed. */
  readonly title: string;
  /** An absolute http(s) URL in its normal form, ASCII only. */
  readonly url: string;
  /** Plain text; may be empty. */
  readonly snippet: string;
}

/** Told apart because they need different answers: being refused is never "no results". `reason` ends a sentence. */
export type SearchOutcome =
  | { readonly kind: "results"; readonly results: readonly SearchResult[] }
  | { readonly kind: "empty" }
  | { readonly kind: "blocked"; readonly reason: string }
  | { readonly kind: "format_changed"; readonly reason: string };

export interface SearchRequest {
  /** At most so many results, 1 to 20. */
  readonly count: number;
  readonly fetch: PolicyFetch;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

export interface SearchProvider {
  /** As people know it. */
  readonly name: string;
  /** @throws FetchError, SearchBusyError, the signal's reason */
  search(query: string, request: SearchRequest): Promise<SearchOutcome>;
}
