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
