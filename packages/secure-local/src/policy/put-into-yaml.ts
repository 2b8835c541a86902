// Puts members and items into the text of a YAML document or takes them out, and leaves every other character of it as people wrote it.
import { type Document, isMap, isNode, isPair, isSeq, type Pair, parseDocument, stringify, type YAMLMap } from "yaml";

/** Undefined where the text has a form that this cannot add to: the whole document is written anew then. */
type Text = string | undefined;

/** `section: { key: value }`, the section made where there is none. */
export function putMember(text: string, { section, key, value }: Member): Text {
  const document = parseDocument(text);
  const found = sectionOf(document, section);
  if (found === undefined) return atEnd(text, document, { [section]: { [key]: value } });
  return isMap(found) && !found.has(key) ? intoMap(text, found, { [key]: value }) : undefined;
}

export interface Member {
  readonly section: string;
  readonly key: string;
  readonly value: unknown;
}

/** One item more in `section: { key: [...] }`, each made where there is none. */
export function putItem(text: string, { section, key, value }: Member): Text {
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
export function takeMember(text: string, { section, key }: Omit<Member, "value">): Text {
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
export function takeItem(text: string, path: readonly string[], word: string): Text {
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
