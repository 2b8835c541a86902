// Whether two URIs stand for the same: what is denied or withheld under one spelling is so under all that are read as the same.
import type { Rule } from "./faults.js";
import type { NameMatcher } from "./host-matcher.js";

/** Who reads a URI: this program, which knows what each means, or a server, which may take more for the same than it says. */
export type UriReader = "ours" | "server";

/** What one URI stands for. */
interface Meaning {
  /** Scheme, host and path, without a fragment, as the most forgiving reader has them. */
  readonly place: string;
  /** The place with the slash at its end that it was written with. */
  readonly open: string;
  readonly query: string;
  readonly members: ReadonlySet<string>;
}

const PIECES = /^([^?#]*)(?:\?([^#]*))?/s;
const AUTHORITY = /^([a-z][a-z0-9+.-]*:)[/\\]{2}([^/\\]*)(.*)$/is;
const HOSTED = /^[^/]*:\/\/[^/]/;
/** Readers of URLs leave these out wherever they stand, and blanks at both ends. A row of blanks is looked at from its first alone. */
// oxlint-disable-next-line no-control-regex -- finding control characters is the purpose
const LEFT_OUT = /^[\x00-\x20]+|(?<![\x00-\x20])[\x00-\x20]+$|[\t\n\r]+/g;
/** Nobody decodes more often; what is encoded more often than that stays as it is. What this program reads it decodes once. */
const DECODINGS: Readonly<Record<UriReader, number>> = { ours: 1, server: 4 };

/** The rule that names what the URI stands for; doubt is answered by naming it, so this is for denials alone. */
export function namedUri(rules: NameMatcher, uri: string, reader: UriReader): Rule | "too many" | undefined {
  if (rules.rules.length === 0) return undefined;
  const spellings = uriSpellings(uri);
  if (spellings === undefined) return "too many";
  // What was decoded for a spelling is not decoded again for what we read ourselves.
  const compared = new Set(reader === "ours" ? [uri] : spellings);
  for (const spelling of new Set([...spellings, uri])) {
    const same = (): Rule | undefined => meant(folded(rules, reader), spelling, reader);
    const rule = rules.find(spelling) ?? (compared.has(spelling) ? same() : undefined);
    if (rule !== undefined) return rule;
  }
  return undefined;
}

/** Whether a server that is asked for `asked` may answer with `known`. */
export function mayBeSame(known: string, asked: string): boolean {
  const meaning = meaningOf(known, "server");
  return meaningsOf(asked, "server").some((each) => each.place === meaning.place && holds(each, meaning, "server"));
}

/** The URI as it is, and without what a reader may leave out or decode; its letters keep their case. */
export function readings(uri: string): readonly string[] {
  const bare = PIECES.exec(uri)?.[1] ?? uri;
  const resolved = URL.canParse(bare) ? new URL(bare).href : bare;
  return [...new Set([uri, uri.replace(/#.*$/s, ""), bare, resolved, decoded(bare), decoded(resolved)])];
}

/** The rules of one matcher as they are compared with meanings. */
interface FoldedRules {
  readonly exact: ReadonlyMap<string, readonly { readonly meaning: Meaning; readonly rule: Rule }[]>;
  readonly prefixes: readonly { readonly prefix: string; readonly rule: Rule }[];
}

const foldedRules: Readonly<Record<UriReader, WeakMap<NameMatcher, FoldedRules>>> = {
  ours: new WeakMap(),
  server: new WeakMap(),
};

function folded(matcher: NameMatcher, reader: UriReader): FoldedRules {
  const known = foldedRules[reader].get(matcher);
  if (known !== undefined) return known;
  const exact = new Map<string, { meaning: Meaning; rule: Rule }[]>();
  const prefixes: { prefix: string; rule: Rule }[] = [];
  for (const { pattern, rule } of matcher.rules) {
    if (pattern.endsWith("*")) {
      prefixes.push({ prefix: flat(withHost(pattern.slice(0, -1)), reader), rule });
      continue;
    }
    const meaning = meaningOf(pattern, reader);
    exact.set(meaning.place, [...(exact.get(meaning.place) ?? []), { meaning, rule }]);
  }
  const made = { exact, prefixes };
  foldedRules[reader].set(matcher, made);
  return made;
}

function meant({ exact, prefixes }: FoldedRules, uri: string, reader: UriReader): Rule | undefined {
  const whole = flat(withHost(uri), reader);
  for (const meaning of meaningsOf(uri, reader)) {
    const found = exact.get(meaning.place)?.find((each) => holds(meaning, each.meaning, reader));
    if (found !== undefined) return found.rule;
    const texts = [whole, meaning.open + (meaning.query === "" ? "" : `?${meaning.query}`)];
    const begun = prefixes.find(({ prefix }) => texts.some((text) => text.startsWith(prefix)));
    if (begun !== undefined) return begun.rule;
  }
  return undefined;
}

/** Members that nobody knows are passed over by most servers, and so what was asked with more of them may be the same. */
function holds(asked: Meaning, known: Meaning, reader: UriReader): boolean {
  if (reader === "ours" && asked.members.size !== known.members.size) return false;
  return [...known.members].every((member) => asked.members.has(member));
}

/** As it is written, and without the name before its host, which most readers pass over. */
function meaningsOf(uri: string, reader: UriReader): readonly Meaning[] {
  const nameless = uri.replace(/^([a-z][a-z0-9+.-]*:[/\\]{2})[^/\\?#]*@/i, "$1");
  return [...new Set([uri, nameless])].map((each) => meaningOf(each, reader));
}

function meaningOf(given: string, reader: UriReader): Meaning {
  const uri = given.replaceAll(LEFT_OUT, "");
  const [, before = "", query = ""] = PIECES.exec(uri) ?? [];
  const hosted = withHost(before);
  const open = withoutDots(flat(hosted, reader), HOSTED.test(hosted) ? 2 : 1);
  const members = query
    .split("&")
    .filter(Boolean)
    .map((member) => flat(member, reader));
  return { place: open.replace(/\/$/, ""), open, query: flat(query, reader), members: new Set(members) };
}

/** The host as URL has it: without an empty or usual port, in one alphabet. A beginning that may end within its host stays as it is. */
function withHost(text: string): string {
  const [, scheme = "", authority = "", path = ""] = AUTHORITY.exec(text.replaceAll(LEFT_OUT, "")) ?? [];
  if (scheme === "" || path === "") return text.replaceAll(LEFT_OUT, "");
  const at = authority.lastIndexOf("@") + 1;
  const url = `${scheme}//${authority.slice(at)}/`;
  return `${scheme}//${authority.slice(0, at)}${URL.canParse(url) ? new URL(url).host : authority.slice(at)}${path}`;
}

/** In lower case, decoded, with single slashes. */
function flat(text: string, reader: UriReader): string {
  let plainText = text;
  for (let times = 0; times < DECODINGS[reader]; times++) plainText = decoded(plainText);
  return plainText
    .normalize("NFC")
    .toLowerCase()
    .replaceAll(/[/\\]+/g, "/");
}

/** What cannot be decoded stays as it is, and spoils nothing beside it. */
function decoded(text: string): string {
  return text
    .replaceAll(/%[0-7][0-9a-f]/gi, (each) => String.fromCharCode(Number.parseInt(each.slice(1), 16)))
    .replaceAll(/(?:%[89a-f][0-9a-f])+/gi, plain);
}

/** One slash behind the scheme is as good as two. `fixed`: how many of the first segments no dots lead out of, with the host or without. */
function withoutDots(text: string, fixed: number): string {
  const names = text.split("/");
  const kept: string[] = [];
  for (const name of names) {
    if (name === "..") {
      if (kept.length > fixed) kept.pop();
    } else if (name !== "" && name !== ".") kept.push(name);
  }
  return kept.join("/") + (["", ".", ".."].includes(names.at(-1) ?? "") ? "/" : "");
}

// The other ways to write one URI of our own.

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
function uriSpellings(uri: string): readonly string[] | undefined {
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
