// Searches with DuckDuckGo's page for browsers without scripts.
import type { PolicyResponse } from "../../capabilities/fetch.js";
import {
  RequestPacer,
  type SearchOutcome,
  type SearchProvider,
  type SearchRequest,
  type SearchResult,
} from "./web-search.js";

interface DuckDuckGoOptions {
  /** The page the form is sent to. */
  readonly endpoint?: string;
  /** Milliseconds between two searches; none for an endpoint on this machine. */
  readonly gapMs?: number;
}

const ENDPOINT = "https://html.duckduckgo.com/html/";
/** Searches that follow one another faster are answered with a challenge. */
const GAP_MS = 1_500;
/** What the form takes. */
const MAX_QUERY_LENGTH = 499;
/** Pages have 30 to 100 kB. */
const MAX_PAGE_BYTES = 1_048_576;
const TIMEOUT_MS = 10_000;
/** The page is made for browsers and refuses others; it remembers which one asked. */
const USER_AGENT = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0";
/** `!word` sends the search to another site and `\` to the first result: neither is what a caller means. */
const COMMAND = /(?<=^|\s)[!\\][^\s"]*/g;

export function duckDuckGo(options: DuckDuckGoOptions = {}): SearchProvider {
  const endpoint = new URL(options.endpoint ?? ENDPOINT);
  const pacer = new RequestPacer(options.gapMs ?? (isThisMachine(endpoint) ? 0 : GAP_MS));
  return {
    name: "DuckDuckGo",
    async search(query, request) {
      await pacer.turn(request.clock, request.signal);
      const outcome = await readAnswer(await ask(endpoint, query, request), request.count);
      if (outcome.kind === "blocked") pacer.refused();
      else pacer.answered();
      return outcome;
    },
  };
}

async function ask(endpoint: URL, query: string, { fetch, signal }: SearchRequest): Promise<PolicyResponse> {
  return await fetch(endpoint.href, {
    method: "POST",
    body: new URLSearchParams({ q: formQuery(query), b: "", kl: "wt-wt" }).toString(),
    headers: {
      accept: "text/html",
      "accept-language": "en-US,en;q=0.9",
      "content-type": "application/x-www-form-urlencoded",
      referer: `${endpoint.origin}/`,
      "user-agent": USER_AGENT,
    },
    redirect: "manual",
    maxBytes: MAX_PAGE_BYTES,
    timeoutMs: TIMEOUT_MS,
    signal,
  });
}

/** Returns the query as the form takes it: commands quoted, at most 499 characters, none cut in two. */
export function formQuery(query: string): string {
  const quoted = query.trim().replace(COMMAND, '"$&"');
  const cut = quoted.slice(0, MAX_QUERY_LENGTH);
  return /[\uD800-\uDBFF]$/.test(cut) ? cut.slice(0, -1) : cut;
}

/** In this order: a refusal may look like anything, and only a page that says so has found nothing. */
async function readAnswer(answer: PolicyResponse, count: number): Promise<SearchOutcome> {
  if (answer.status !== 200) return { kind: "blocked", reason: `it answered with status ${answer.status}` };
  const { readResultsPage } = await import("./duckduckgo-page.js"); // most sessions search nothing
  const page = await readResultsPage(answer.text());
  if (page.challenge) return { kind: "blocked", reason: "it asked to prove that a human is searching" };
  if (page.nothingFound) return { kind: "empty" };
  const found = page.cards.filter((card) => !card.advertisement);
  const results = new Map<string, SearchResult>();
  for (const { href, title, snippet } of found) {
    const url = unwrapLink(href, answer.url);
    if (url === undefined || results.has(url)) continue;
    results.set(url, { title: title || new URL(url).host, url, snippet });
    if (results.size === count) break;
  }
  if (results.size > 0) return { kind: "results", results: [...results.values()] };
  if (page.cards.length > 0 && found.length === 0) return { kind: "empty" };
  return { kind: "format_changed", reason: "the page holds no results that could be read" };
}

function isThisMachine({ hostname }: URL): boolean {
  return hostname === "localhost" || hostname === "[::1]" || hostname.startsWith("127.");
}

// Turns the link of a search result into a URL that may be shown, or drops it.

/** Longer links carry tracking, not addresses. */
const MAX_LINK_LENGTH = 2_048;

/** Returns the normal form of an absolute http(s) URL without user name and password, else undefined. */
export function shownLink(raw: string): string | undefined {
  const url = absolute(raw);
  return url !== undefined && url.href.length <= MAX_LINK_LENGTH ? url.href : undefined;
}

/** As `shownLink`, for links of a DuckDuckGo page: redirects are unwrapped, advertisements are undefined. */
export function unwrapLink(href: string, page: string): string | undefined {
  const raw = href.trim();
  const link = raw.startsWith("/") && !hasUnseen(raw) && URL.canParse(raw, page) ? new URL(raw, page) : absolute(raw);
  if (link === undefined) return undefined;
  if (!isServiceHost(link, page)) return shownLink(link.href);
  if (link.pathname !== "/l/") return link.pathname === "/y.js" ? undefined : shownLink(link.href);
  const target = absolute(link.searchParams.get("uddg") ?? "");
  // A redirect to a redirect or to an advertisement is one all the same.
  return target === undefined || isServiceHost(target, page) ? undefined : shownLink(target.href);
}

/** White space, controls, bidi and other invisible characters: an honest link has them percent-encoded. */
function hasUnseen(link: string): boolean {
  // At the top of the file this pattern would be made at every start, which looks up Unicode's tables.
  return /[\s\p{C}]/u.test(link);
}

function isServiceHost({ hostname, host }: URL, page: string): boolean {
  return hostname === "duckduckgo.com" || hostname.endsWith(".duckduckgo.com") || host === new URL(page).host;
}

function absolute(raw: string): URL | undefined {
  if (hasUnseen(raw) || !URL.canParse(raw)) return undefined;
  const url = new URL(raw);
  const web = url.protocol === "https:" || url.protocol === "http:";
  return web && url.username === "" && url.password === "" ? url : undefined;
}
