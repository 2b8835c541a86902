// A search service on this machine, for the demo and the tests: pages shaped like those of a real one, all text our own.
import { createServer } from "node:http";

const RESULTS = [
  {
    url: "https://docs.example.org/protocol/overview",
    title: "Context protocol overview",
    snippet: "How a client and a server agree on a revision, list tools and call them.",
    form: "redirect",
  },
  {
    url: "https://notes.example.net/2026/tool-servers?part=1&view=full",
    title: "Notes on tool servers",
    snippet: "Why default deny & cleaned answers matter when a model reads them.",
    form: "direct",
    date: "2026-02-24T00:00:00.0000000",
  },
  {
    url: "https://wiki.example.com/JSON-RPC_2.0",
    title: "JSON-RPC 2.0 explained",
    snippet: "Requests, notifications and batches, with examples.",
    form: "redirect",
  },
  {
    url: "https://forum.example.org/t/stdio-or-http/4711",
    title: "Stdio or HTTP?",
    snippet: "A long thread with measurements of both transports.",
    form: "direct",
  },
  {
    url: "https://example.edu/courses/agents/week-3",
    title: "Course: agents and their tools, week 3",
    snippet: "Slides and exercises about calling tools safely.",
    form: "redirect",
  },
  {
    url: "https://blog.example.com/caf%C3%A9-search",
    title: "Searching from a café",
    snippet: "What a search page sees of its visitors.",
    form: "direct",
  },
];

/** Pages by the query that asks for them; any other query gets results. */
const SPECIAL = {
  "nothing at all": () => [200, page(noResult("nothing at all"))],
  "are you human": () => [202, challenge()],
  "are you human, politely": () => [200, challenge()],
  "too many requests": () => [429, page("")],
  "a new design": () => [200, "<!doctype html><main><article><h3>Entry</h3><p>Text</p></article></main>"],
  "only advertisements": () => [200, page(advertisement() + advertisement())],
  "strange links": () => [200, page(strangeLinks() + card(RESULTS[1]))],
  "a big page": () => [200, page(card(RESULTS[0]) + `<p>${"padding ".repeat(20_000)}</p>`)],
  "an endless page": () => [200, page("<p>padding</p>".repeat(200_000))],
  "many results": () => [200, page(Array.from({ length: 30 }, (_, index) => card(numbered(index + 1))).join(""))],
};

/**
 * Starts the service on a free port of the loopback interface. `requests` lists what was asked: method, path, query, headers.
 * @returns {Promise<{ url: string, searxngUrl: string, requests: { method: string, path: string, query: string, headers: object }[], close(): Promise<void> }>}
 */
export async function startSearchStandIn() {
  const requests = [];
  const server = createServer(async (request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? "/", "http://localhost");
    const form = request.method === "POST" ? new URLSearchParams(await bodyOf(request)) : searchParams;
    const query = form.get("q") ?? "";
    requests.push({ method: request.method, path: pathname, query, headers: request.headers });
    if (pathname === "/html/") return answer(response, ...htmlAnswer(query));
    if (pathname === "/search") return answer(response, ...jsonAnswer(query), "application/json");
    answer(response, 404, "not here");
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const base = `http://127.0.0.1:${server.address().port}`;
  const close = () =>
    new Promise((resolve) => {
      server.close(resolve);
      server.closeAllConnections();
    });
  return { url: `${base}/html/`, searxngUrl: base, requests, close };
}

function htmlAnswer(query) {
  if (/(?:^|\s)!/.test(query)) return [303, ""]; // an unquoted bang leaves for another site
  return Object.hasOwn(SPECIAL, query)
    ? SPECIAL[query]()
    : [200, page(advertisement() + RESULTS.map(card).join(""), query)];
}

function jsonAnswer(query) {
  if (query === "json is off") return [403, "Forbidden"];
  if (query === "a new design") return [200, "<!doctype html><p>no JSON</p>"];
  const silent = query === "are you human" ? [["engine", "CAPTCHA"]] : [];
  const found = query === "nothing at all" || query === "are you human" ? [] : RESULTS;
  const results = found.map(({ url, title, snippet }) => ({ url, title, content: snippet, engine: "stand-in" }));
  return [200, JSON.stringify({ query, number_of_results: results.length, results, unresponsive_engines: silent })];
}

function answer(response, status, body, type = "text/html; charset=UTF-8") {
  const headers = status === 303 ? { location: "https://elsewhere.example/" } : {};
  response.writeHead(status, { "content-type": type, ...headers }).end(body);
}

async function bodyOf(request) {
  let body = "";
  for await (const chunk of request) body += chunk;
  return body;
}

function page(cards, query = "") {
  const q = escape(query);
  const next = `<div class="nav-link"><form action="/html/" method="post"><input type="submit" class='btn btn--alt' value="Next" />
    <input type="hidden" name="q" value="${q}" /><input type="hidden" name="s" value="10" /><input type="hidden" name="vqd" value="4-123456789" /></form></div>`;
  const form = `<form name="x" class="header__form" action="/html/" method="post"><input name="q" class="search__input" value="${q}" /></form>`;
  return `<!DOCTYPE html><html lang="en"><head><title>${q} - search</title></head><body class="body--html"><div class="header">${form}</div>
    <div class="serp__results"><div id="links" class="results">${cards}${next}<div class="feedback-btn">Feedback</div></div></div></body></html>`;
}

function card({ url, title, snippet, form, date }, ad = "") {
  const href = escape(form === "redirect" ? `//duckduckgo.com/l/?uddg=${encodeURIComponent(url)}&rut=0badc0de` : url);
  const dated = date === undefined ? "" : `<span>&nbsp; &nbsp; ${date}</span>`;
  return `<div class="result results_links results_links_deep ${ad || "web-result"} "><div class="links_main links_deep result__body">
    <h2 class="result__title"><a rel="nofollow" class="result__a" href="${href}">${highlighted(title)}</a></h2>
    <div class="result__extras"><div class="result__extras__url"><span class="result__icon"><a rel="nofollow" href="${href}"><img class="result__icon__img" width="16" height="16" alt="" src="//external-content.duckduckgo.com/ip3/example.org.ico" name="i15" /></a></span>
    <a class="result__url" href="${href}">  ${escape(url.replace(/^https?:\/\//, ""))}  </a>${dated}</div></div>
    <a class="result__snippet" href="${href}">${highlighted(snippet)}</a><div class="clear"></div></div></div>`;
}

function advertisement() {
  const url = "https://duckduckgo.com/y.js?ad_domain=shop.example&ad_provider=none&uddg=https%3A%2F%2Fshop.example%2F";
  return card(
    { url, title: "Buy protocols here", snippet: "Sponsored.", form: "direct" },
    "result--ad result--ad--small",
  );
}

function strangeLinks() {
  const links = [
    "javascript:alert(1)",
    "https://user:secret@example.org/",
    "https://example.org/\u202Egpj.exe",
    "//duckduckgo.com/l/?uddg=file%3A%2F%2F%2Fetc%2Fpasswd",
    "//duckduckgo.com/l/?uddg=https%3A%2F%2Fduckduckgo.com%2Fy.js%3Fad%3D1",
    "//duckduckgo.com/l/?rut=1",
    "https://duckduckgo.com/y.js?ad=2",
    "relative/path",
  ];
  return links.map((url) => card({ url, title: "Strange", snippet: "", form: "direct" })).join("");
}

function noResult(query) {
  return `<div class="result results_links results_links_deep result--no-result"><div class="links_main links_deep result__body">
    <div class="no-results">No results found for <strong>${escape(query)}</strong></div></div></div>`;
}

function challenge() {
  return `<!DOCTYPE html><html><body><form id="challenge-form" action="//duckduckgo.com/anomaly.js?sv=html&cc=botnet" method="POST">
    <div class="anomaly-modal__mask"><div class="anomaly-modal__modal"><div class="anomaly-modal__title">Please show that you are not a robot.</div>
    </div></div></form><script src="/dist/anomaly.js"></script></body></html>`;
}

function numbered(number) {
  return {
    url: `https://example.org/${number}`,
    title: `Result ${number}`,
    snippet: `Snippet ${number}`,
    form: "direct",
  };
}

function highlighted(text) {
  return escape(text).replace(/^\S+/, "<b>$&</b>");
}

function escape(text) {
  return text.replace(/[&<>"]/g, (sign) => `&#${sign.charCodeAt(0)};`);
}
