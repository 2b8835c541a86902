// The other ways to write one URI: a denial holds for all of them.

/** Encoded characters and such as could be, doubled slashes behind the beginning, and this machine by its name. */
const OTHERWISE = /[^\w.~:/?#=&{}+,*-]|[^:/]\/\/|:\/\/\/\/|^file:\/\/[^/]/;
const PARTS = /^([a-z][a-z0-9+.-]*:\/\/)([^/?#]*)([^?#]*)(.*)$/s;

/**
 * The URI as it is, then decoded, then with each name of its path encoded as clients do it. One that cannot be decoded is only
 * itself: whoever reads it refuses it. The scheme is in lower case.
 */
export function uriSpellings(uri: string): readonly string[] {
  if (!OTHERWISE.test(uri)) return [uri];
  const [, scheme = "", host = "", path = "", rest = ""] = PARTS.exec(uri) ?? [];
  if (scheme === "") return [uri];
  try {
    const names = path.split("/").filter(Boolean).map(decodeURIComponent);
    const place = scheme + (scheme === "file://" && /^localhost$/i.test(host) ? "" : decodeURIComponent(host));
    const behind = decodeURIComponent(rest);
    const end = path.endsWith("/") && names.length > 0 ? "/" : "";
    const written = (each: readonly string[]): string =>
      `${place}${path === "" ? "" : "/"}${each.join("/")}${end}${behind}`;
    return [...new Set([uri, written(names), written(names.map(encodeURIComponent))])];
  } catch {
    return [uri];
  }
}
