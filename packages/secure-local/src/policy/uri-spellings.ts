// The other ways to write one URI: a denial holds for all of them.

/** Encoded characters and such as could be, doubled slashes behind the beginning, this machine by its name, and members. */
const OTHERWISE = /[^\w.~:/?#=&{}+,*-]|[^:/]\/\/|:\/\/\/\/|^file:\/\/[^/]|^git:|\?.*&/s;
const PARTS = /^([a-z][a-z0-9+.-]*:\/\/)([^/?#]*)([^?#]*)(.*)$/s;
/** Members of a query whose every order is looked at; four have 24. */
const MOST_MEMBERS = 4;

/**
 * The URI as it is, then decoded, then with each name of its path encoded as clients do it, each with the members of its query in
 * every order. One that cannot be decoded is only itself: whoever reads it refuses it. The scheme is in lower case. Undefined for
 * one with too many members to look at.
 */
export function uriSpellings(uri: string): readonly string[] | undefined {
  if (!OTHERWISE.test(uri)) return [uri];
  const [, scheme = "", host = "", path = "", rest = ""] = PARTS.exec(uri) ?? [];
  if (scheme === "") return [uri];
  const queries = queriesOf(scheme, rest);
  if (queries === undefined) return undefined;
  try {
    const names = path.split("/").filter(Boolean).map(decodeURIComponent);
    const place = scheme + (scheme === "file://" && /^localhost$/i.test(host) ? "" : decodeURIComponent(host));
    const end = path.endsWith("/") && names.length > 0 && scheme !== "git://" ? "/" : "";
    const written = (each: readonly string[]): string => `${place}${path === "" ? "" : "/"}${each.join("/")}${end}`;
    const bases = [written(names), written(names.map(encodeURIComponent))];
    return [...new Set([uri, ...bases.flatMap((base) => [...queries].map((query) => base + query))])];
  } catch {
    return [uri];
  }
}

/** What may stand behind the path, from `?` or `#` on. */
function queriesOf(scheme: string, rest: string): ReadonlySet<string> | undefined {
  const mark = rest.indexOf("#");
  const [query, fragment] = mark < 0 ? [rest, ""] : [rest.slice(0, mark), rest.slice(mark)];
  const members = query.slice(1).split("&").filter(Boolean);
  if (members.length > MOST_MEMBERS) return undefined;
  const found = new Set([rest, plain(rest)]);
  const sets = scheme === "git://" ? gitMembers(members) : [members];
  for (const order of sets.flatMap(ordersOf)) {
    const written = order.length === 0 ? "" : `?${order.join("&")}`;
    found.add(written + fragment).add(plain(written + fragment));
    if (scheme === "git://") found.add(`?${order.map(encodedValue).join("&")}`);
  }
  return found;
}

/** The same file at HEAD may be written with the ref and without; a path that is denied is denied at every ref. */
function gitMembers(members: readonly string[]): readonly (readonly string[])[] {
  const value = (name: string): string =>
    plain(members.find((each) => each.startsWith(`${name}=`))?.slice(name.length + 1) ?? "");
  const ref = `ref=${value("ref") || "HEAD"}`;
  const path = value("path").replace(/\/+$/, "");
  const named = path === "" ? [] : [`path=${path}`];
  return [members, [ref, ...named], named];
}

function encodedValue(member: string): string {
  const equals = member.indexOf("=");
  return member.slice(0, equals + 1) + encodeURIComponent(member.slice(equals + 1)).replaceAll("%2F", "/");
}

function ordersOf(members: readonly string[]): readonly (readonly string[])[] {
  if (members.length < 2) return [members];
  return members.flatMap((first, index) =>
    ordersOf(members.filter((_, other) => other !== index)).map((others) => [first, ...others]),
  );
}

function plain(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
