// `mcp-secure-local install CLIENT` and `uninstall CLIENT`: changes a client's file in its own format, and undoes it
// byte by byte.

import { createHash } from "node:crypto";
import * as fs from "node:fs";
import { dirname, join, resolve } from "node:path";
import { makeFolder } from "../audit/make-folder.js";
import { redactString } from "../audit/redact.js";
import { cleanLine, cleanText } from "../guard/cleaning/clean-text.js";
import { stateFolder } from "../policy/own-places.js";
import { clientEnvironment } from "../remote/config-locations.js";
import { CLIENT_FILES, type ClientFile, type ClientLaunch, SERVER, fileOf, section } from "./client-files.js";
import { type CommandLine, UsageError, nearest } from "./command-line.js";
import { policyFile } from "./settings.js";
import { ExitCode, askInTerminal, askYesNo, complain, print, printJson, styled, tell } from "./terminal.js";
import { launch } from "./welcome.js";
import type { ParseError } from "jsonc-parser";

/** What is to be different in a file. */
export interface Edit {
  /** The entry to write, by its name; undefined writes none. */
  readonly put?: { readonly name: string; readonly entry: object } | undefined;
  /** Entries that are to go, by their names. */
  readonly take: readonly string[];
}

/** @throws UsageError for a text that is not of the form the client reads */
export async function editedText(file: ClientFile, text: string, edit: Edit): Promise<string> {
  if (file.form === "json") return editedJson(file, text, edit);
  return file.form === "toml" ? editedToml(file, text, edit) : editedYaml(file, text, edit);
}

const BOM = "\ufeff";

async function editedJson({ member, client }: ClientFile, given: string, { put, take }: Edit): Promise<string> {
  const { applyEdits, modify, parse, printParseErrorCode } = await import("jsonc-parser");
  const mark = given.startsWith(BOM) ? BOM : "";
  let text = given.slice(mark.length).trim() === "" ? "{}\n" : given.slice(mark.length);
  const errors: ParseError[] = [];
  parse(text, errors, { allowTrailingComma: true });
  const [fault] = errors;
  if (fault !== undefined) {
    const line = text.slice(0, fault.offset).split("\n").length;
    throw new UsageError(
      `the file of ${client} cannot be read (line ${line}: ${printParseErrorCode(fault.error)}); mend it first`,
    );
  }
  const formattingOptions = { ...indentation(text), eol: text.includes("\r\n") ? "\r\n" : "\n" };
  const set = (path: string[], value: unknown): void => {
    text = applyEdits(text, modify(text, path, value, { formattingOptions }));
  };
  for (const name of take) set([member, name], undefined);
  if (put !== undefined) set([member, put.name], put.entry);
  return mark + text;
}

/** As the file has it: tabs, or so many spaces. */
function indentation(text: string): { readonly insertSpaces: boolean; readonly tabSize: number } {
  const [, white = "  "] = /^([ \t]+)\S/m.exec(text) ?? [];
  return white.startsWith("\t") ? { insertSpaces: false, tabSize: 1 } : { insertSpaces: true, tabSize: white.length };
}

/** Tables are whole runs of lines: what stands between them stays as it is. */
async function editedToml({ member, client }: ClientFile, text: string, { put, take }: Edit): Promise<string> {
  const { parse } = await import("smol-toml");
  const read = (toml: string): Readonly<Record<string, unknown>> => {
    try {
      return (parse(toml)[member] ?? {}) as Readonly<Record<string, unknown>>;
    } catch (error) {
      throw new UsageError(
        `the file of ${client} cannot be read (${(error as Error).message.split("\n")[0]}); mend it first`,
      );
    }
  };
  const before = read(text);
  const names = new Set([...take, ...(put === undefined ? [] : [put.name])]);
  let inside = false;
  const kept = text.split(/(?<=\n)/).filter((line) => {
    const table = /^\s*\[([^\]]+)\]/.exec(line)?.[1]?.trim();
    if (table !== undefined) {
      inside = [...names].some((name) =>
        [name, JSON.stringify(name)].some((each) => isTable(table, `${member}.${each}`)),
      );
    }
    return !inside;
  });
  const rest = kept.join("");
  const gap = rest === "" || rest.endsWith("\n\n") ? "" : rest.endsWith("\n") ? "\n" : "\n\n";
  const after = put === undefined ? rest : `${rest}${gap}${tomlTable(`${member}.${put.name}`, put.entry)}`;
  const wanted = Object.keys(before).filter((name) => !names.has(name));
  if (put !== undefined) wanted.push(put.name);
  if (JSON.stringify(Object.keys(read(after)).sort()) !== JSON.stringify(wanted.sort()))
    throw new UsageError(
      `the file of ${client} has its servers in a form that cannot be changed safely; change it by hand`,
    );
  return after;
}

function isTable(table: string, name: string): boolean {
  return table === name || table.startsWith(`${name}.`);
}

/** Its strings are written as JSON writes them. */
function tomlTable(name: string, entry: object): string {
  const lines = Object.entries(entry).map(([key, value]) => `${key} = ${JSON.stringify(value)}`);
  return [`[${name}]`, ...lines, ""].join("\n");
}

async function editedYaml({ member, client }: ClientFile, text: string, { put, take }: Edit): Promise<string> {
  const { isMap, isSeq, parseDocument } = await import("yaml");
  const document = parseDocument(text);
  const [fault] = document.errors;
  if (fault !== undefined)
    throw new UsageError(`the file of ${client} cannot be read (${fault.message}); mend it first`);
  const names = new Set([...take, ...(put === undefined ? [] : [put.name])]);
  const list = document.get(member);
  if (isSeq(list)) list.items = list.items.filter((item) => !(isMap(item) && names.has(String(item.get("name")))));
  if (put !== undefined) {
    const entry = document.createNode({ name: put.name, ...put.entry });
    if (isSeq(list)) list.add(entry);
    else document.set(member, document.createNode([{ name: put.name, ...put.entry }]));
  }
  return document.toString({ lineWidth: 0 });
}

/** What was done to a client's file, so that it can be undone. */
interface Installed {
  readonly file: string;
  /** The file as it was; undefined: there was none. */
  readonly copy: string | undefined;
  /** Of the file as it was left. */
  readonly sha256: string;
  /** Servers that went from it under the policy. */
  readonly moved: readonly string[];
  /** The first folder that was made for it. */
  readonly folder: string | undefined;
}

export async function installCommand(line: CommandLine): Promise<number> {
  // A profile that is misspelt would be found out by the client, which says nothing.
  if (line.profile !== undefined)
    await (await import("../policy/load-policy.js")).loadPolicy(policyFile(line), line.profile);
  if (line.print) {
    const wanted = line.words.length === 0 ? CLIENT_FILES : [clientOf(line, "install")];
    const entries = await Promise.all(wanted.map((each) => entryOf(each, launchOf(line))));
    if (line.json) printJson(entries);
    else for (const { client, file, entry } of entries) print(`${section(client, file)}\n${entry}\n`);
    return ExitCode.Ok;
  }
  const client = clientOf(line, "install");
  const undo = `mcp-secure-local uninstall ${client.id}`;
  const file = realFile(fileOf(client, clientEnvironment()));
  const about = { client: client.id, file, undo };
  if (recordOf(client) !== undefined && readIfThere(file)?.includes(SERVER) === true) {
    const move = line.move ? `. To bring its other servers under the policy, do that first, then repeat this` : "";
    tell(line, { ...about, written: false }, `${client.client} has ${SERVER} already; to undo it: ${undo}${move}`);
    return ExitCode.Ok;
  }
  const moved = line.move ? await moveServers(line, file) : [];
  if (moved === undefined) return notWritten(line, about);
  const before = readIfThere(file);
  const after = await editedText(client, before ?? "", {
    put: { name: SERVER, entry: client.entry(launchOf(line)) },
    take: moved,
  });
  if (!line.json) {
    print(section(client.client, file));
    await printDifference(before ?? "", after);
  }
  if (!(await agreed(line, `Write this into ${file}?`))) return notWritten(line, about);
  const folder = firstMissing(dirname(file));
  const copy = before === undefined ? undefined : keepCopy(client, file);
  keepRecord(client, { file, copy, sha256: digest(after), moved, folder });
  writeInPlace(file, after);
  const rest = await unguarded(file);
  const said = [
    ...(copy === undefined ? [] : [`The file as it was: ${copy}`]),
    `${file} is written; start ${client.client} anew. To undo it: ${undo}`,
    ...(rest.length === 0
      ? []
      : [
          `Not under the policy: ${rest.join(", ")}. ${client.client} still starts them itself. ` +
            `To bring them: ${undo}, then mcp-secure-local install ${client.id} --move`,
        ]),
  ];
  tell(line, { ...about, written: true, copy, moved, unguarded: rest }, cleanText(said.join("\n")));
  return ExitCode.Ok;
}

/** With --json nobody is asked: without --yes it says what it has not done. */
function notWritten(line: CommandLine, about: object): number {
  if (line.json) printJson({ ...about, written: false });
  return ExitCode.Failed;
}

/** Servers that the client goes on starting by itself, past the policy. */
async function unguarded(file: string): Promise<string[]> {
  const { everyServer } = await import("../remote/configured-servers.js");
  const all = await everyServer({ file, around: clientEnvironment() }).catch(() => []);
  return all.filter(({ name, found }) => name !== SERVER && found?.server.disabled !== true).map(({ name }) => name);
}

export async function uninstallCommand(line: CommandLine): Promise<number> {
  const client = clientOf(line, "uninstall");
  const record = recordOf(client);
  const file = record?.file ?? realFile(fileOf(client, clientEnvironment()));
  const now = readIfThere(file);
  const about = { client: client.id, file };
  if (record !== undefined && now !== undefined && digest(now) === record.sha256) {
    const left = restore(file, record);
    const how = left === "restored" ? "is as it was" : "is gone, as it was not there before";
    tell(line, { ...about, state: left }, `${file} ${how}.`);
  } else if (now === undefined || !now.includes(SERVER))
    tell(line, { ...about, state: "unchanged" }, `${file} has no ${SERVER}: nothing is changed.`);
  else {
    writeInPlace(file, await editedText(client, now, { take: [SERVER] }));
    const moved = record?.moved ?? [];
    const where =
      moved.length === 0
        ? ""
        : `\nServers that were moved under the policy stand in ${record?.copy}: ${moved.join(", ")}`;
    const words = `${file} was changed since: ${SERVER} is taken out of it, and the rest stays.${where}`;
    tell(line, { ...about, state: "edited", copy: record?.copy, moved }, words);
  }
  fs.rmSync(recordFile(client), { force: true });
  return ExitCode.Ok;
}

/** The very bytes there were before; a file that was not there is gone again, with the folders made for it. */
function restore(file: string, { copy, folder }: Installed): "restored" | "removed" {
  if (copy !== undefined) {
    writeInPlace(file, fs.readFileSync(copy));
    return "restored";
  }
  fs.rmSync(file);
  if (folder !== undefined) removeEmpty(dirname(file), folder);
  return "removed";
}

/** Folders that nobody put anything else into, up to and with the outer one. */
function removeEmpty(inner: string, outer: string): void {
  try {
    for (let folder = inner; folder.startsWith(outer); folder = dirname(folder)) fs.rmdirSync(folder);
  } catch {
    // Somebody put something there.
  }
}

function clientOf({ words }: CommandLine, command: string): ClientFile {
  const [id, ...more] = words;
  const ids = CLIENT_FILES.map((each) => each.id);
  if (id === undefined || more.length > 0) throw new UsageError(`${command} takes one client: ${ids.join(", ")}`);
  const found = CLIENT_FILES.find((each) => each.id === id.toLowerCase());
  if (found === undefined)
    throw new UsageError(`there is no client "${id}"${nearest(id, ids) || `; there are ${ids.join(", ")}`}`);
  return found;
}

/** Paths in full; the policy is named where it is not the usual one. */
function launchOf(line: CommandLine): ClientLaunch {
  const { command, args } = launch(process.argv[1] ?? "");
  const named = line.policy === undefined ? [] : ["--policy", resolve(line.policy)];
  const profile = line.profile === undefined ? [] : ["--profile", line.profile];
  return { command, args: [...args, ...(line.attach ? ["attach"] : []), ...named, ...profile] };
}

async function moveServers(line: CommandLine, file: string): Promise<readonly string[] | undefined> {
  const policy = policyFile(line);
  if (policy === undefined || !fs.existsSync(policy))
    throw new UsageError(
      "install --move needs a policy file to move servers into; make one: mcp-secure-local policy init FILE",
    );
  if (!fs.existsSync(file)) return [];
  const [{ loadPolicy }, { importFrom }] = await Promise.all([
    import("../policy/load-policy.js"),
    import("./servers-import.js"),
  ]);
  const { json, yes } = line;
  const imported = await importFrom(file, { policy: await loadPolicy(policy), file: policy, yes, json });
  if (imported === undefined) return undefined;
  if (imported.names.length > 0 && !json)
    print("Nothing of them is offered until you have approved it: mcp-secure-local servers review");
  return imported.names;
}

async function agreed({ yes, json }: CommandLine, question: string): Promise<boolean> {
  if (yes) return true;
  if (json) return false;
  if (process.stdin.isTTY) return askInTerminal((ask) => askYesNo(ask, question, true));
  complain("Nothing is written: read what stands above, then run it again with --yes.");
  return false;
}

interface Entry {
  readonly id: string;
  readonly client: string;
  readonly file: string;
  /** What belongs into the file. */
  readonly entry: string;
}

async function entryOf(client: ClientFile, started: ClientLaunch): Promise<Entry> {
  const entry = await editedText(client, "", { put: { name: SERVER, entry: client.entry(started) }, take: [] });
  return { id: client.id, client: client.client, file: fileOf(client, clientEnvironment()), entry: entry.trim() };
}

/** Lines that come and go, without the secrets that are known by then. */
async function printDifference(before: string, after: string): Promise<void> {
  const { diffLines } = await import("diff");
  for (const { added, removed, value } of diffLines(before, after)) {
    if (!added && !removed) continue;
    for (const line of value.replace(/\n$/, "").split("\n")) {
      const text = cleanLine(redactString(line));
      print(styled(added ? "green" : "red", `${added ? "+" : "-"} ${text}`));
    }
  }
}

// Keeps what `uninstall` needs, for its owner only.

function installs(): string {
  return join(stateFolder(), "installs");
}

function recordFile({ id }: ClientFile): string {
  return join(installs(), `${id}.json`);
}

function recordOf(client: ClientFile): Installed | undefined {
  const text = readIfThere(recordFile(client));
  if (text === undefined) return undefined;
  try {
    return JSON.parse(text) as Installed;
  } catch {
    throw new UsageError(
      `${recordFile(client)} cannot be read; remove it, and the entry ${SERVER} from the client's file by hand`,
    );
  }
}

function keepRecord(client: ClientFile, record: Installed): void {
  makeFolder(installs());
  fs.writeFileSync(recordFile(client), JSON.stringify(record, null, 2), { mode: 0o600 });
}

/** The bytes as they are, under the date. */
function keepCopy({ id }: ClientFile, file: string): string {
  makeFolder(installs());
  const date = new Date().toISOString().replace(/[:.]/g, "-");
  const copy = join(installs(), `${id}-${date}.copy`);
  fs.writeFileSync(copy, fs.readFileSync(file), { mode: 0o600, flag: "wx" });
  return copy;
}

/** Whole or not at all, with the rights it had. */
function writeInPlace(file: string, content: string | Buffer): void {
  const mode = fs.statSync(file, { throwIfNoEntry: false })?.mode ?? 0o600;
  fs.mkdirSync(dirname(file), { recursive: true });
  const draft = `${file}.${process.pid}.new`;
  fs.writeFileSync(draft, content, { mode: mode & 0o777, flag: "wx" });
  fs.renameSync(draft, file);
}

/** Where a link leads is what is changed; the link stays. */
function realFile(path: string): string {
  try {
    return fs.realpathSync(path);
  } catch {
    return path;
  }
}

function firstMissing(folder: string): string | undefined {
  let missing: string | undefined;
  for (let each = folder; !fs.existsSync(each); each = dirname(each)) missing = each;
  return missing;
}

function readIfThere(file: string): string | undefined {
  try {
    return fs.readFileSync(file, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw new UsageError(`${file} cannot be read (${(error as Error).message})`);
  }
}

function digest(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}
