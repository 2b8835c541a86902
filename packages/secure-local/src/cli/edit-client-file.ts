// Changes the servers of a client's file in the file's own format; what else stands there stays as it is.
import type { Node, ParseError } from "jsonc-parser";
import { clientEnvironment } from "@secure-local/mcp-tools/config-locations";
import { type ClientFile, fileOf } from "./client-files.js";
import { UsageError } from "./command-line.js";

/** What is to be different in a file. */
export interface Edit {
  /** The entries to write, by their names. */
  readonly put: ReadonlyMap<string, object>;
  /** Entries that are to go, by their names. */
  readonly take: readonly string[];
}

/** @throws UsageError for a text that is not of the form the client reads */
export async function editedText(file: ClientFile, text: string, edit: Edit): Promise<string> {
  if (file.form === "json") return editedJson(file, text, edit);
  return file.form === "toml" ? editedToml(file, text, edit) : editedYaml(file, text, edit);
}

/** Its client and where it lies. */
function named(client: ClientFile): string {
  return `the file of ${client.client}, ${fileOf(client, clientEnvironment())},`;
}

const BOM = "\ufeff";

/** The entries of a file as they are, by their names. @throws UsageError for a text that is not of the form the client reads */
export async function entriesOf(file: ClientFile, text: string): Promise<ReadonlyMap<string, object>> {
  // What cannot be changed cannot be read either, and is said in the same words.
  await editedText(file, text, { put: new Map(), take: [] });
  const servers = await membersOf(file, text);
  const isEntry = (each: readonly [string, unknown]): each is [string, object] =>
    typeof each[1] === "object" && each[1] !== null;
  return new Map(servers.filter(isEntry));
}

async function membersOf({ form, member }: ClientFile, text: string): Promise<(readonly [string, unknown])[]> {
  if (form === "json") {
    const { parse } = await import("jsonc-parser");
    const whole = parse(text.replace(BOM, ""), [], { allowTrailingComma: true }) as Members;
    return Object.entries(whole?.[member] ?? {});
  }
  if (form === "toml") {
    const { parse } = await import("smol-toml");
    return Object.entries((parse(text)[member] ?? {}) as object);
  }
  const { parse } = await import("yaml");
  const list = (parse(text) as Members)?.[member];
  const items = (Array.isArray(list) ? list : []) as readonly { readonly name?: unknown }[];
  return items.map(({ name, ...entry }) => [String(name), entry] as const);
}

type Members = Readonly<Record<string, unknown>> | null | undefined;

async function editedJson(client: ClientFile, given: string, { put, take }: Edit): Promise<string> {
  const { applyEdits, findNodeAtLocation, modify, parse, parseTree } = await import("jsonc-parser");
  const { member } = client;
  const mark = given.startsWith(BOM) ? BOM : "";
  let text = given.slice(mark.length).trim() === "" ? "{}\n" : given.slice(mark.length);
  const errors: ParseError[] = [];
  parse(text, errors, { allowTrailingComma: true });
  const [fault] = errors;
  if (fault !== undefined) {
    const line = text.slice(0, fault.offset).split("\n").length;
    throw new UsageError(`${named(client)} cannot be read: line ${line} is not JSON; mend it first`);
  }
  const formattingOptions = { ...indentation(text), eol: text.includes("\r\n") ? "\r\n" : "\n" };
  const set = (path: string[], value: unknown): void => {
    text = applyEdits(text, modify(text, path, value, { formattingOptions }));
  };
  const entriesIn = (): Node | undefined => {
    const tree = parseTree(text, [], { allowTrailingComma: true });
    return tree && findNodeAtLocation(tree, [member]);
  };
  for (const name of take) {
    const without = withoutMember(text, entriesIn(), name);
    if (without !== undefined) text = without;
    else set([member, name], undefined);
    // The comma behind the last entry stays where that was the only one.
    const entries = entriesIn();
    if (entries?.children?.length === 0)
      text = text.slice(0, entries.offset) + text.slice(entries.offset).replace(/^\{\s*,/, "{");
  }
  for (const [name, entry] of put) {
    const more = withMember(text, entriesIn(), { name, entry, eol: formattingOptions.eol });
    if (more !== undefined) text = more;
    else set([member, name], entry);
  }
  return mark + text;
}

// A member is taken out, or put behind the last, without a look at how the others are written: the library would write those anew
// that stand beside it.

/** Undefined where it is the only one, or there is none of that name. */
function withoutMember(text: string, entries: Node | undefined, name: string): string | undefined {
  const all = entries?.children ?? [];
  const at = all.findIndex(({ children }) => children?.[0]?.value === name);
  const [own, before] = [all[at], all[at - 1]];
  if (own === undefined || all.length < 2) return undefined;
  const rest = text.slice(own.offset + own.length);
  if (before !== undefined) return text.slice(0, before.offset + before.length) + rest;
  // Its comma, and what stands behind that on its line.
  return text.slice(0, own.offset) + rest.replace(/^\s*,[ \t]*(?:\/\/[^\n]*)?\s*/, "");
}

/** Undefined where there is no other one, one of that name, or one beside which no line begins. */
function withMember(
  text: string,
  entries: Node | undefined,
  { name, entry, eol }: { readonly name: string; readonly entry: object; readonly eol: string },
): string | undefined {
  const all = entries?.children ?? [];
  const last = all.at(-1);
  if (last === undefined || all.some(({ children }) => children?.[0]?.value === name)) return undefined;
  const end = last.offset + last.length;
  const [, white] = /(?:^|\n)([ \t]*)$/.exec(text.slice(0, last.offset)) ?? [];
  if (white === undefined) return undefined;
  const { insertSpaces, tabSize } = indentation(text);
  const written = JSON.stringify(entry, undefined, insertSpaces ? tabSize : "\t").replaceAll("\n", `${eol}${white}`);
  return `${text.slice(0, end)},${eol}${white}${JSON.stringify(name)}: ${written}${text.slice(end)}`;
}

/** As the file has it: tabs, or so many spaces. */
function indentation(text: string): { readonly insertSpaces: boolean; readonly tabSize: number } {
  const [, white = "  "] = /^([ \t]+)\S/m.exec(text) ?? [];
  return white.startsWith("\t") ? { insertSpaces: false, tabSize: 1 } : { insertSpaces: true, tabSize: white.length };
}

/** Tables are whole runs of lines: what stands between them stays as it is. */
async function editedToml(client: ClientFile, text: string, { put, take }: Edit): Promise<string> {
  const { parse, stringify } = await import("smol-toml");
  const { member } = client;
  const read = (toml: string): Readonly<Record<string, unknown>> => {
    try {
      return (parse(toml)[member] ?? {}) as Readonly<Record<string, unknown>>;
    } catch (error) {
      const why = (error as Error).message.split("\n")[0];
      throw new UsageError(`${named(client)} cannot be read (${why}); mend it first`);
    }
  };
  const before = read(text);
  const names = new Set([...take, ...put.keys()]);
  let inside = false;
  const kept = text.split(/(?<=\n)/).filter((line) => {
    const table = /^\s*\[\[?([^\]]+)\]/.exec(line)?.[1]?.trim();
    if (table !== undefined) {
      inside = [...names].some((name) =>
        [name, JSON.stringify(name)].some((each) => isTable(table, `${member}.${each}`)),
      );
    }
    return !inside;
  });
  const rest = kept.join("");
  const gap = rest === "" || rest.endsWith("\n\n") ? "" : rest.endsWith("\n") ? "\n" : "\n\n";
  const after = put.size === 0 ? rest : `${rest}${gap}${stringify({ [member]: Object.fromEntries(put) })}`;
  const wanted = [...Object.keys(before).filter((name) => !names.has(name)), ...put.keys()];
  if (JSON.stringify(Object.keys(read(after)).sort()) !== JSON.stringify(wanted.sort()))
    throw new UsageError(`${named(client)} has its servers in a form that cannot be changed safely; change it by hand`);
  return after;
}

function isTable(table: string, name: string): boolean {
  return table === name || table.startsWith(`${name}.`);
}

async function editedYaml(client: ClientFile, text: string, { put, take }: Edit): Promise<string> {
  const { isMap, isSeq, parseDocument } = await import("yaml");
  const document = parseDocument(text);
  const [fault] = document.errors;
  if (fault !== undefined) throw new UsageError(`${named(client)} cannot be read (${fault.message}); mend it first`);
  const { member } = client;
  const names = new Set([...take, ...put.keys()]);
  const list = document.get(member);
  if (isSeq(list)) list.items = list.items.filter((item) => !(isMap(item) && names.has(String(item.get("name")))));
  const entries = [...put].map(([name, entry]) => document.createNode({ name, ...entry }));
  if (isSeq(list)) list.items.push(...entries);
  else if (entries.length > 0) document.set(member, entries);
  return document.toString({ lineWidth: 0 });
}
