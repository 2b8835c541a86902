// Writes an entry of the section servers into the text of a policy, or takes one out; what else stands there stays as it is.
import {
  type Document,
  isMap,
  isNode,
  isPair,
  isScalar,
  isSeq,
  type Pair,
  parseDocument,
  stringify,
  type YAMLMap,
} from "yaml";
import { isDeepStrictEqual } from "node:util";
import { PolicyError } from "./faults.js";

/** Long lines and narrow brackets stay as people write them. */
const AS_WRITTEN = { lineWidth: 0, flowCollectionPadding: false } as const;

/** An entry as it is written; members that are undefined are left out. */
export interface ServerEntry {
  readonly command?: readonly string[] | undefined;
  readonly url?: string | undefined;
  readonly working_directory?: string | undefined;
  readonly env?: Readonly<Record<string, string>> | undefined;
  readonly login?: "oauth" | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly filesystem?:
    | {
        readonly readable_paths?: readonly string[] | undefined;
        readonly allowed_paths?: readonly string[] | undefined;
      }
    | undefined;
  readonly network?: { readonly allowed_endpoints: readonly { readonly host: string }[] } | undefined;
}

/** A secret as it is written. */
export interface SecretEntry {
  readonly from: string;
  readonly hosts: readonly (string | { readonly host: string; readonly ports: readonly number[] })[];
}

/** The text with the server in it, its tools and prompts allowed by name. @throws PolicyError for a text that is no YAML */
export function withServer(
  text: string,
  name: string,
  entry: ServerEntry,
  secrets: Readonly<Record<string, SecretEntry>> = {},
): string {
  const document = read(text);
  // A section of which only the name is written.
  for (const section of ["secrets", "servers", "tools", "prompts"])
    if (isScalar(document.get(section, true))) document.delete(section);
  for (const [secret, from] of Object.entries(secrets)) document.setIn(["secrets", secret], document.createNode(from));
  document.setIn(["servers", name], document.createNode(written(entry)));
  for (const section of ["tools", "prompts"]) {
    const allowed = document.getIn([section, "allowed"]);
    if (isSeq(allowed)) allowed.add(`${name}__*`);
    else document.setIn([section, "allowed"], document.createNode([`${name}__*`]));
  }
  return asEdited(putServer(text, name, { entry, secrets }), document);
}

function putServer(
  text: string,
  name: string,
  { entry, secrets }: { readonly entry: ServerEntry; readonly secrets: Readonly<Record<string, SecretEntry>> },
): string | undefined {
  let now: string | undefined = text;
  for (const [key, value] of Object.entries(secrets)) now = now && putMember(now, { section: "secrets", key, value });
  now = now && putMember(now, { section: "servers", key: name, value: written(entry) });
  for (const section of ["tools", "prompts"])
    now = now && putItem(now, { section, key: "allowed", value: `${name}__*` });
  return now;
}

function written(members: object): object {
  const there = Object.entries(members).filter(([, value]) => value !== undefined) as [string, unknown][];
  return Object.fromEntries(
    there.map(([key, value]) => [key, key === "filesystem" ? written(value as object) : value]),
  );
}

/**
 * The text without the server, its name in profiles and the permissions that were written with it. A profile that named no other names
 * none then: without its list it would have all of them. @throws PolicyError
 */
export function withoutServer(text: string, name: string): string {
  const document = read(text);
  const profiles = profilesOf(document, name);
  for (const profile of profiles) takeOut(document, ["profiles", profile, "servers"], name);
  document.deleteIn(["servers", name]);
  const servers = document.get("servers");
  if (isMap(servers) && servers.items.length === 0) document.delete("servers");
  for (const section of ["tools", "prompts"]) takeOut(document, [section, "allowed"], `${name}__*`);
  return asEdited(takenServer(text, name, profiles), document);
}

function takenServer(text: string, name: string, profiles: readonly string[]): string | undefined {
  let now: string | undefined = text;
  for (const profile of profiles) now = now && takeItem(now, ["profiles", profile, "servers"], name);
  now = now && takeMember(now, { section: "servers", key: name });
  for (const section of ["tools", "prompts"]) now = now && takeItem(now, [section, "allowed"], `${name}__*`);
  return now;
}

/** The text with all the rest as it stands, where it means the very same as the document; else all of it anew. */
function asEdited(text: string | undefined, document: Document): string {
  const same = text !== undefined && isDeepStrictEqual(parseDocument(text).toJS(), document.toJS());
  return same ? text : document.toString(AS_WRITTEN);
}

/** The profiles that name a server. @throws PolicyError for a text that is no YAML */
export function profilesWith(text: string, server: string): string[] {
  return profilesOf(read(text), server);
}

function profilesOf(document: Document, server: string): string[] {
  const profiles = document.get("profiles");
  if (!isMap(profiles)) return [];
  return profiles.items
    .map(({ key }) => String(key))
    .filter((profile) => {
      const servers = document.getIn(["profiles", profile, "servers"]);
      return isSeq(servers) && servers.items.some((item) => String(item) === server);
    });
}

function takeOut(document: Document, path: readonly string[], word: string): void {
  const list = document.getIn(path);
  if (isSeq(list)) list.items = list.items.filter((item) => String(item) !== word);
}

function read(text: string): Document {
  const document = parseDocument(text);
  const [fault] = document.errors;
  if (fault === undefined) return document;
  throw new PolicyError([{ file: "the policy", line: 1, column: 1, message: fault.message, placeless: true }]);
}

// Puts members and items into the text of a YAML document or takes them out, and leaves every other character of it as people wrote it.

/** Undefined where the text has a form that this cannot add to: the whole document is written anew then. */
type Text = string | undefined;

/** `section: { key: value }`, the section made where there is none. */
function putMember(text: string, { section, key, value }: Member): Text {
  const document = parseDocument(text);
  const found = sectionOf(document, section);
  if (found === undefined) return atEnd(text, document, { [section]: { [key]: value } });
  return isMap(found) && !found.has(key) ? intoMap(text, found, { [key]: value }) : undefined;
}

interface Member {
  readonly section: string;
  readonly key: string;
  readonly value: unknown;
}

/** One item more in `section: { key: [...] }`, each made where there is none. */
function putItem(text: string, { section, key, value }: Member): Text {
  const found = sectionOf(parseDocument(text), section);
  const list = isMap(found) ? found.get(key, true) : undefined;
  if (!isSeq(list)) return putMember(text, { section, key, value: [value] });
  const item = stringify(value, WIDE).trimEnd();
  const last = list.items.at(-1);
  if (list.flow === true) {
    const open = list.range?.[0];
    if (last === undefined) return open === undefined ? undefined : spliced(text, open + 1, item);
    const end = isNode(last) ? last.range?.[1] : undefined;
    return end === undefined ? undefined : spliced(text, end, `, ${item}`);
  }
  const start = isNode(last) ? last.range?.[0] : undefined;
  const dash = start === undefined ? undefined : text.slice(lineStart(text, start), start);
  if (dash === undefined || !/^ *- +$/.test(dash)) return undefined;
  return spliced(text, lineEnd(text, endOf(last)), `${dash}${item}\n`);
}

/** Without `section: { key: … }`, and without the section where that was all of it. */
function takeMember(text: string, { section, key }: Omit<Member, "value">): Text {
  const { contents } = parseDocument(text);
  const outer = pairOf(contents, section);
  const map = outer?.value;
  const pair = pairOf(map, key);
  if (pair === undefined) return text;
  const gone = isMap(map) && map.items.length === 1 ? outer : pair;
  const parent = gone === outer ? contents : map;
  if (!isMap(parent) || parent.flow === true || !isNode(gone?.key)) return undefined;
  const start = lineStart(text, gone.key.range?.[0] ?? 0);
  return text.slice(0, start) + text.slice(lineEnd(text, endOf(gone.value ?? gone.key)));
}

/** Without the items of a list that are this word. */
function takeItem(text: string, path: readonly string[], word: string): Text {
  const list = parseDocument(text).getIn(path, true);
  const at = isSeq(list) ? list.items.findIndex((item) => String(item) === word) : -1;
  if (!isSeq(list) || at < 0) return text;
  const [before, item, after] = [list.items[at - 1], list.items[at], list.items[at + 1]].map((each) =>
    isNode(each) ? each.range : undefined,
  );
  if (!item) return undefined;
  const [start, end] =
    list.flow !== true
      ? [lineStart(text, item[0]), lineEnd(text, item[1])]
      : after
        ? [item[0], after[0]]
        : [before?.[1] ?? item[0], item[1]];
  return takeItem(text.slice(0, start) + text.slice(end), path, word);
}

const WIDE = { lineWidth: 0 } as const;

function sectionOf(document: Document, section: string): unknown {
  return isMap(document.contents) ? document.contents.get(section, true) : undefined;
}

function pairOf(map: unknown, key: string): Pair | undefined {
  return isMap(map) ? map.items.find((pair) => String(pair.key) === key) : undefined;
}

function atEnd(text: string, { contents }: Document, members: object): Text {
  if (contents !== null && (!isMap(contents) || contents.flow === true)) return undefined;
  return `${text}${text === "" || text.endsWith("\n") ? "" : "\n"}${stringify(members, WIDE)}`;
}

function intoMap(text: string, map: YAMLMap, members: object): Text {
  const last = map.items.at(-1);
  const key = isNode(last?.key) ? last.key.range?.[0] : undefined;
  if (map.flow === true || last === undefined || key === undefined) return undefined;
  const indent = text.slice(lineStart(text, key), key);
  if (!/^ +$/.test(indent)) return undefined;
  const lines = stringify(members, WIDE).replace(/^(?=.)/gm, indent);
  return spliced(text, lineEnd(text, isNode(last.value) ? endOf(last.value) : key), lines);
}

/** Where the last character of a node stands, and not what follows it: of a block, that of its last item. */
function endOf(node: unknown): number {
  const within = (isMap(node) || isSeq(node)) && node.flow !== true ? node.items.at(-1) : undefined;
  if (within !== undefined) return endOf(isPair(within) ? (within.value ?? within.key) : within);
  return isNode(node) ? (node.range?.[1] ?? 0) : 0;
}

function spliced(text: string, at: number, more: string): string {
  const gap = at > 0 && more.endsWith("\n") && text[at - 1] !== "\n" ? "\n" : "";
  return text.slice(0, at) + gap + more + text.slice(at);
}

function lineStart(text: string, at: number): number {
  return text.lastIndexOf("\n", at - 1) + 1;
}

/** Behind the line that something ends in; what ends with its line is behind it already. */
function lineEnd(text: string, at: number): number {
  if (text[at - 1] === "\n") return at;
  const end = text.indexOf("\n", at);
  return end < 0 ? text.length : end + 1;
}
