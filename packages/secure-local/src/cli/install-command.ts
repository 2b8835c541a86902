// `mcp-secure-local install CLIENT` and `uninstall CLIENT`: tells a client of this program, and undoes it byte by byte.
import { createHash } from "node:crypto";
import * as fs from "node:fs";
import { dirname, join, resolve } from "node:path";
import { makeFolder } from "../audit/make-folder.js";
import { redactString } from "../audit/redact.js";
import { cleanLine } from "../guard/cleaning/clean-text.js";
import { stateFolder } from "../policy/own-places.js";
import { clientEnvironment } from "../remote/config-locations.js";
import { section, SERVER } from "./client-config-paths.js";
import { editedText } from "./client-edits.js";
import { CLIENT_FILES, type ClientFile, fileOf, type ClientLaunch } from "./client-files.js";
import { type CommandLine, nearest, UsageError } from "./command-line.js";
import { policyFile } from "./settings.js";
import { askInTerminal, askYesNo, complain, ExitCode, print, styled } from "./terminal.js";
import { launch } from "./welcome.js";

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
  if (line.print && line.words.length === 0) {
    for (const file of CLIENT_FILES) await printEntry(file, launchOf(line));
    return ExitCode.Ok;
  }
  const client = clientOf(line, "install");
  if (line.print) {
    await printEntry(client, launchOf(line));
    return ExitCode.Ok;
  }
  const file = realFile(fileOf(client, clientEnvironment()));
  if (recordOf(client) !== undefined && readIfThere(file)?.includes(SERVER) === true) {
    print(`${client.client} has ${SERVER} already; to undo it: mcp-secure-local uninstall ${client.id}`);
    return ExitCode.Ok;
  }
  const moved = line.move ? await moveServers(line, file) : [];
  if (moved === undefined) return ExitCode.Failed;
  const before = readIfThere(file);
  const after = await editedText(client, before ?? "", {
    put: { name: SERVER, entry: client.entry(launchOf(line)) },
    take: moved,
  });
  print(section(client.client, file));
  await printDifference(before ?? "", after);
  if (!(await agreed(line, `Write this into ${file}?`))) return ExitCode.Failed;
  const folder = firstMissing(dirname(file));
  const copy = before === undefined ? undefined : keepCopy(client, file);
  keepRecord(client, { file, copy, sha256: digest(after), moved, folder });
  writeInPlace(file, after);
  if (copy !== undefined) print(`The file as it was: ${copy}`);
  print(`${file} is written; start ${client.client} anew. To undo it: mcp-secure-local uninstall ${client.id}`);
  return ExitCode.Ok;
}

export async function uninstallCommand(line: CommandLine): Promise<number> {
  const client = clientOf(line, "uninstall");
  const record = recordOf(client);
  const file = record?.file ?? realFile(fileOf(client, clientEnvironment()));
  const now = readIfThere(file);
  if (record !== undefined && now !== undefined && digest(now) === record.sha256) restore(file, record);
  else if (now === undefined || !now.includes(SERVER)) print(`${file} has no ${SERVER}: nothing is changed.`);
  else {
    writeInPlace(file, await editedText(client, now, { take: [SERVER] }));
    print(`${file} was changed since: ${SERVER} is taken out of it, and the rest stays.`);
    if (record?.moved.length)
      print(`Servers that were moved under the policy stand in ${record.copy}: ${record.moved.join(", ")}`);
  }
  fs.rmSync(recordFile(client), { force: true });
  return ExitCode.Ok;
}

/** The very bytes there were before; a file that was not there is gone again, with the folders made for it. */
function restore(file: string, { copy, folder }: Installed): void {
  if (copy !== undefined) {
    writeInPlace(file, fs.readFileSync(copy));
    print(`${file} is as it was.`);
    return;
  }
  fs.rmSync(file);
  if (folder !== undefined) removeEmpty(dirname(file), folder);
  print(`${file} is gone, as it was not there before.`);
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
  const names = await importFrom(file, { policy: await loadPolicy(policy), file: policy, yes: line.yes });
  if (names !== undefined && names.length > 0)
    print("Nothing of them is offered until you have approved it: mcp-secure-local servers review");
  return names;
}

async function agreed({ yes }: CommandLine, question: string): Promise<boolean> {
  if (yes) return true;
  if (process.stdin.isTTY) return askInTerminal((ask) => askYesNo(ask, question, true));
  complain("Nothing is written: read what stands above, then run it again with --yes.");
  return false;
}

async function printEntry(client: ClientFile, started: ClientLaunch): Promise<void> {
  print(section(client.client, fileOf(client, clientEnvironment())));
  print((await editedText(client, "", { put: { name: SERVER, entry: client.entry(started) }, take: [] })).trim());
  print("");
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
