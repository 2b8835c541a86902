// Compares HTTP URIs as DPoP proofs name them: without query and fragment, in one spelling (RFC 9449 §4.3, RFC 3986 §6.2).

/** The one spelling, or undefined for what is no http(s) URL or names a user. */
export function normalizeHttpUri(text: string): string | undefined {
  if (!URL.canParse(text)) return undefined;
  const url = new URL(text);
  if ((url.protocol !== "https:" && url.protocol !== "http:") || url.username !== "" || url.password !== "") {
    return undefined;
  }
  return url.origin + normalizePath(url.pathname);
}

/** The URI of a request: its path under the origin clients address, or its own URL where none is given. */
export function requestUri(target: string, origin: string | undefined): string | undefined {
  if (origin === undefined) return normalizeHttpUri(target);
  // A target such as "//other/path" must not move to another host.
  const path = target.startsWith("/") ? target : URL.canParse(target) ? new URL(target).pathname : undefined;
  return path === undefined ? undefined : normalizeHttpUri(origin + path);
}

/** Escapes of unreserved characters are undone, those of others are written in capitals. */
function normalizePath(path: string): string {
  return path.replaceAll(/%[0-9a-f]{2}/gi, (escape) => {
    const character = String.fromCharCode(Number.parseInt(escape.slice(1), 16));
    return /[A-Za-z0-9\-._~]/.test(character) ? character : escape.toUpperCase();
  });
}
