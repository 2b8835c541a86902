// Searching: what reaches the model of a page, and that a refusal is never "nothing was found".
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { startSearchStandIn } from "../../../../scripts/lib/search-stand-in.mjs";
import { createFetch } from "../../src/capabilities/fetch.js";
import { readResultsPage } from "../../src/tools/web-search/duckduckgo-page.js";
import {
  duckDuckGo,
  formQuery,
  RequestPacer,
  SearchBusyError,
  type SearchProvider,
  searxng,
  shownLink,
  unwrapLink,
  webSearch,
} from "../../src/tools/web-search/web-search.js";
import type { ToolAnswer, ToolData } from "../../src/tools/tool.js";
import { fakeClock, powers, wordsOf } from "./powers.js";
import { threadMilliseconds } from "../../../mcp/test/support/thread-time.js";

interface StandIn {
  url: string;
  searxngUrl: string;
  requests: { method: string; path: string; query: string; headers: Record<string, string> }[];
  close(): Promise<void>;
}

let service: StandIn;
beforeAll(async () => {
  service = (await startSearchStandIn()) as StandIn;
});
beforeEach(() => void (service.requests.length = 0));
afterAll(() => service.close());

const fetch = createFetch(() => ({ allowed: true, rule: "test", allowPrivate: true }));
const search = async (query: string, options: { provider?: SearchProvider; max_results?: number } = {}) => {
  const { provider = duckDuckGo({ endpoint: service.url }), ...rest } = options;
  return await webSearch(provider).run({ query, ...rest }, powers({ fetch }));
};

/** The numbered lines of an answer. */
const entries = (answer: ToolAnswer) => wordsOf(answer).match(/^\d+\. .*/gm);

describe("web_search", () => {
  it("is described exactly as in the protocol reference", () => {
    const { name, description, input } = webSearch(duckDuckGo());
    expect({ name, description, inputSchema: input }).toEqual({
      name: "web_search",
      description: "Search the web using DuckDuckGo",
      inputSchema: {
        type: "object",
        properties: {
          query: { type: "string", description: "The search query" },
          max_results: { type: "integer", description: "Maximum results (default: 5)" },
        },
        required: ["query"],
      },
    });
  });

  it("lists five results, redirects unwrapped and advertisements dropped", async () => {
    const answer = await search("MCP protocol");
    expect(wordsOf(answer)).toBe(
      [
        "Search results for: MCP protocol",
        "1. Context protocol overview\n   https://docs.example.org/protocol/overview\n   How a client and a server agree on a revision, list tools and call them.",
        "2. Notes on tool servers\n   https://notes.example.net/2026/tool-servers?part=1&view=full\n   Why default deny & cleaned answers matter when a model reads them.",
        "3. JSON-RPC 2.0 explained\n   https://wiki.example.com/JSON-RPC_2.0\n   Requests, notifications and batches, with examples.",
        "4. Stdio or HTTP?\n   https://forum.example.org/t/stdio-or-http/4711\n   A long thread with measurements of both transports.",
        "5. Course: agents and their tools, week 3\n   https://example.edu/courses/agents/week-3\n   Slides and exercises about calling tools safely.",
      ].join("\n\n"),
    );
    expect(answer).toMatchObject({
      structured: { query: "MCP protocol", provider: "DuckDuckGo", results: { length: 5 }, untrusted: true },
    });
    expect((answer as ToolData).structured["results"]).toContainEqual({
      title: "JSON-RPC 2.0 explained",
      url: "https://wiki.example.com/JSON-RPC_2.0",
      snippet: "Requests, notifications and batches, with examples.",
    });
    expect(service.requests).toMatchObject([{ method: "POST", path: "/html/", query: "MCP protocol" }]);
  });

  it.each([
    [3, 3],
    [20, 20],
    [500, 20],
    [0, 1],
    [-7, 1],
  ])("with max_results %i gives %i", async (max_results, count) => {
    expect(entries(await search("many results", { max_results }))).toHaveLength(count);
  });

  it.each([
    ["nothing at all", "Search results for: nothing at all\n\nNothing was found."],
    ["only advertisements", "Search results for: only advertisements\n\nNothing was found."],
    ["are you human", /^Search error: DuckDuckGo refused the search: it answered with status 202\. Try again/],
    ["are you human, politely", /^Search error: DuckDuckGo refused the search: it asked to prove/],
    ["too many requests", /^Search error: DuckDuckGo refused the search: it answered with status 429/],
    ["a new design", /^Search error: The answer of DuckDuckGo was not understood: the page holds no results/],
    ["an endless page", "Search error: The answer is larger than 1048576 bytes."],
    ["  ", "Search error: The query is empty."],
  ])("answers %j in its own way", async (query, expected) => {
    const answer = await search(query);
    const text = wordsOf(answer);
    expect(text).toEqual(typeof expected === "string" ? expected : expect.stringMatching(expected));
    expect("failed" in (answer as object)).toBe(!text.startsWith("Search results"));
  });

  it("drops links that lead elsewhere than they say", async () => {
    expect(entries(await search("strange links", { max_results: 20 }))).toEqual(["1. Notes on tool servers"]);
    expect(wordsOf(await search("a big page"))).toContain("1. Context protocol overview");
  });

  it("says why a search did not reach the service", async () => {
    const denied = createFetch(() => ({ allowed: false, rule: "default deny" }));
    expect(await webSearch(duckDuckGo()).run({ query: "x" }, powers({ fetch: denied }))).toEqual({
      failed:
        "Search error: The policy does not allow requests to https://html.duckduckgo.com (default deny); add the host to network.allowed_endpoints to allow them.",
      rule: "default deny",
    });
    const broken = () => Promise.reject(new TypeError("a fault of ours"));
    await expect(webSearch(duckDuckGo()).run({ query: "x" }, powers({ fetch: broken }))).rejects.toThrow(TypeError);
  });

  it("never sends a command to the service", async () => {
    expect(formQuery("!w cats")).toBe('"!w" cats');
    expect(formQuery('say !g and \\ now "!x"')).toBe('say "!g" and "\\" now "!x"');
    expect(formQuery("wow! a!b")).toBe("wow! a!b");
    expect(formQuery("x".repeat(498) + "👩")).toBe("x".repeat(498));
    expect(wordsOf(await search("!w cats"))).toContain("Search results for: !w cats");
    expect(service.requests[0]?.query).toBe('"!w" cats');
  });
});

describe("SearXNG", () => {
  it.each(["", "/", "/search", "/search/"])("is asked for JSON at an endpoint ending in %j", async (suffix) => {
    const provider = searxng({ endpoint: service.searxngUrl + suffix });
    expect(wordsOf(await search("MCP & more", { provider, max_results: 1 }))).toMatch(
      /^Search results for: MCP & more\n\n1\. Context/,
    );
    expect(service.requests[0]).toMatchObject({ method: "GET", path: "/search", query: "MCP & more" });
  });

  it.each([
    ["nothing at all", "Nothing was found."],
    ["are you human", "SearXNG refused the search: none of its search engines answered."],
    ["json is off", "json must be among its search.formats"],
    ["a new design", "The answer of SearXNG was not understood"],
  ])("tells %j apart", async (query, part) => {
    const answer = await search(query, { provider: searxng({ endpoint: service.searxngUrl }) });
    expect(wordsOf(answer)).toContain(part);
  });
});

it.each(["<div>".repeat(80_000) + "</p>".repeat(150_000), "<b>".repeat(150_000) + "</x>".repeat(140_000)])(
  "a page nested without end is read no further",
  async (html) => {
    const started = threadMilliseconds();
    expect((await readResultsPage(html)).cards).toEqual([]);
    expect(threadMilliseconds() - started).toBeLessThan(2_000);
  },
);

describe("links", () => {
  const page = "https://html.duckduckgo.com/html/";
  it.each([
    ["https://bücher.example/ä b", undefined],
    ["https://bücher.example/ä", "https://xn--bcher-kva.example/%C3%A4"],
    ["/l/?uddg=https%3A%2F%2Fa.example%2F%3Fx%3D1%26y%3D2&rut=1", "https://a.example/?x=1&y=2"],
    ["//duckduckgo.com/l/?uddg=https%3A%2F%2Fa.example%2F%0D%0Aevil", undefined],
    ["//duckduckgo.com/l/?uddg=%2F%2Fduckduckgo.com%2Fl%2F", undefined],
    ["https://links.duckduckgo.com/y.js?x", undefined],
    ["https://duckduckgo.com/about", "https://duckduckgo.com/about"],
    ["ftp://a.example/", undefined],
    ["https://a.example/\u200b", undefined],
    ["http://", undefined],
    ["//[", undefined],
    ["", undefined],
  ])("%j becomes %j", (href, url) => {
    expect(unwrapLink(href, page)).toBe(url);
  });

  it("that are overlong are dropped", () => {
    expect(shownLink(`https://a.example/${"x".repeat(3_000)}`)).toBeUndefined();
  });
});

describe("the pace", () => {
  it("leaves a gap between searches, a longer one after a refusal", async () => {
    const clock = fakeClock();
    const provider = duckDuckGo({ endpoint: service.url, gapMs: 1_500 });
    const request = { count: 1, fetch, clock, signal: new AbortController().signal };
    for (const query of ["a", "b", "are you human", "c", "d", "e"]) await provider.search(query, request);
    expect(clock.slept).toEqual([1_500, 1_500, 3_000, 1_500, 1_500]);
  });

  it("lets few wait, and nobody who has gone", async () => {
    const wakers: (() => void)[] = [];
    const clock = { ...fakeClock(), sleep: () => new Promise<void>((resolve) => wakers.push(resolve)) };
    const pacer = new RequestPacer(1_000);
    const signal = new AbortController().signal;
    const turns = Array.from({ length: 9 }, () => pacer.turn(clock, signal));
    await expect(pacer.turn(clock, signal)).rejects.toThrow(SearchBusyError);
    for (const wake of wakers) wake();
    await Promise.all(turns);
    expect(wakers).toHaveLength(8);
    await expect(pacer.turn(fakeClock(), AbortSignal.abort(new Error("gone")))).rejects.toThrow("gone");
  });
});
