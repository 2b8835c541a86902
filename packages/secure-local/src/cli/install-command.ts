// `mcp-secure-local install CLIENT` and `uninstall CLIENT`: changes a client's file in its own format, and undoes it:
// byte by byte while nobody else changed the file, entry by entry afterwards.

import { createHash } from "node:crypto";
import * as fs from "node:fs";
import { dirname, join, resolve } from "node:path";
import { redactString } from "../audit/event-text.js";
import { readAtMost, readAtOnce, whyUnread } from "../audit/owned-files.js";
import { cleanLine, cleanText } from "../guard/cleaning/clean-text.js";
import { canonicalJson } from "@secure-local/inspection/drift";
import { configFolder, stateFolder } from "../policy/own-places.js";
import type { Policy } from "../policy/policy.js";
import { clientEnvironment } from "@secure-local/mcp-tools/config-locations";
import { CLIENT_FILES, type ClientFile, type ClientLaunch, SERVER, fileOf, section } from "./client-files.js";
import { type CommandLine, UsageError, inUse, nearest } from "./command-line.js";
import { editedText, entriesOf } from "./edit-client-file.js";
import { likelySecretsIn, withoutValues } from "./likely-secrets.js";
import { policyFile } from "./settings.js";
import { ExitCode, agreesInTerminal, complain, print, printJson, styled, tell } from "./terminal.js";
import type { ImportPlan } from "./servers-import.js";
import { launch } from "./welcome.js";
import { writeInPlace } from "./write-new-file.js";

/** What was done to a client's file, so that it can be undone. */
interface Installed {
  readonly file: string;
  /** The file as `uninstall` is to leave it: a copy; undefined: there was none. */
  readonly copy: string | undefined;
  /** Of the file as it was left. */
  readonly sha256: string;
  /** Servers that went from it under the policy; the copy has them. */
  readonly moved: readonly string[];
  /** The names that they have in the policy. */
  readonly inPolicy: readonly string[];
  /** The first folder that was made for it. */
  readonly folder: string | undefined;
}

const NOTHING_DONE = { copy: undefined, sha256: "", moved: [], inPolicy: [], folder: undefined } as const;

export async function installCommand(line: CommandLine): Promise<number> {
  const never = line.attach ? (await import("./serve-profiles.js")).whyNoAttach() : undefined;
  if (never !== undefined) throw new UsageError(never);
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
  if (line.policy !== undefined) await (await import("../policy/load-policy.js")).loadPolicy(line.policy);
  return installIn(clientOf(line, "install"), line);
}

async function installIn(client: ClientFile, line: CommandLine): Promise<number> {
  const undo = `mcp-secure-local uninstall ${client.id}`;
  const record = recordOf(client);
  const file = realFile(fileOf(client, clientEnvironment()));
  if (record !== undefined && record.file !== file)
    throw new UsageError(`${client.client} has ${SERVER} in ${record.file}, and reads ${file} now; first: ${undo}`);
  const about = { client: client.id, file, undo };
  const plan = line.move ? await moveServers(line, file) : undefined;
  const moved = plan?.names ?? [];
  const before = readIfThere(file);
  const entry = client.entry(launchOf(line));
  const there = await entriesOf(client, before ?? "");
  const same = canonicalJson(there.get(SERVER)) === canonicalJson(entry);
  const outcome = (plan?.failed ?? 0) === 0 ? ExitCode.Ok : ExitCode.Failed;
  if (record !== undefined && same && moved.length === 0) {
    tell(line, { ...about, written: false }, `${client.client} has ${SERVER} already; to undo it: ${undo}`);
    return outcome;
  }
  const put = new Map(same ? [] : [[SERVER, entry] as const]);
  const after = await editedText(client, before ?? "", { put, take: moved });
  // What cannot be undone is not begun.
  const prior = await undone(client, before, record ?? { ...NOTHING_DONE, file });
  if (!line.json) {
    print(section(client.client, file));
    await printDifference(before ?? "", after, likelySecretsIn(Object.fromEntries(there)));
  }
  const files = plan === undefined || plan.servers.length === 0 ? file : `${plan.policy} and ${file}`;
  if (!(await agreed(line, `Write this into ${files}?`))) return notWritten(line, about);
  if (readIfThere(file) !== before)
    throw new UsageError(`${file} was changed meanwhile, so it is left as it is; run the same again`);
  // The policy first: a server is at no moment in neither.
  plan?.write();
  const unapproved = plan === undefined ? [] : await notApproved(plan);
  if (unapproved.length > 0 && !line.json)
    print(
      `Nothing of ${named(unapproved)} is offered until you have approved it: mcp-secure-local servers review${inUse(line)}`,
    );
  const inPolicy = [...new Set([...(record?.inPolicy ?? []), ...(plan?.inPolicy ?? [])])];
  const copy = await keepUndo(client, { before, after, file, original: prior.text, inPolicy }, record);
  writeInPlace(file, after);
  const rest = await unguarded(file);
  const bring = `them itself. To bring them: mcp-secure-local install ${client.id} --move`;
  const whyThere = plan === undefined ? bring : "them itself, for the reasons above.";
  const said = [
    ...(copy === undefined ? [] : [`The file as it was: ${copy}`]),
    `${file} is written; start ${client.client} anew. To undo it: ${undo}`,
    ...(rest.length === 0 ? [] : [`Not under the policy: ${named(rest)}. ${client.client} still starts ${whyThere}`]),
  ];
  const { leftOut } = plan ?? {};
  tell(line, { ...about, written: true, copy, moved, unguarded: rest, leftOut }, cleanText(said.join("\n")));
  return outcome;
}

interface Change {
  readonly file: string;
  readonly before: string | undefined;
  readonly after: string;
  /** What would be left of it without us; an entry of ours that nobody knows of, as one that was pasted, is not what was there before. */
  readonly original: string | undefined;
  readonly inPolicy: readonly string[];
}

/** Those of the moved servers that nobody has approved yet, by their names in the policy. */
async function notApproved({ policy: file, inPolicy }: MovePlan): Promise<readonly string[]> {
  const [{ loadPolicy }, { approvedServers }] = await Promise.all([
    import("../policy/load-policy.js"),
    import("../server/server-reviews.js"),
  ]);
  const approved = approvedServers(await loadPolicy(file));
  return inPolicy.filter((name) => !approved.has(name));
}

/**
 * Keeps what `uninstall` will need: of a client that has us already what it would leave now, so that nothing is forgotten that was
 * moved before, and nothing undone that was changed since. @returns the copy
 */
async function keepUndo(
  client: ClientFile,
  { file, before, after, original, inPolicy }: Change,
  record: Installed | undefined,
): Promise<string | undefined> {
  const kept = record?.copy === undefined ? undefined : readIfThere(record.copy);
  // Bytes that are no text would not survive being read as one.
  const content = original === before && original !== undefined ? readAtOnce(file, null) : original;
  const copy = content === undefined ? undefined : original === kept ? record?.copy : keepCopy(client, content);
  const left = await entriesOf(client, after);
  const moved = [...(await entriesOf(client, original ?? "")).keys()].filter((name) => !left.has(name));
  const folder = record === undefined ? firstMissing(dirname(file)) : record.folder;
  keepRecord(client, { file, copy, sha256: digest(after), moved, inPolicy, folder });
  return copy;
}

/** What `uninstall` leaves of a file. */
interface Undone {
  /** Undefined: no file. */
  readonly text: string | undefined;
  /** The very bytes there were. */
  readonly exact: boolean;
  /** Moved servers that come back: `as` another name where the file has another server of theirs now. */
  readonly returned: readonly { readonly name: string; readonly as: string }[];
}

/** Every server that was moved is in it, unless the file has the very same again. */
async function undone(client: ClientFile, now: string | undefined, record: Installed): Promise<Undone> {
  const { copy, moved, sha256 } = record;
  const original = copy === undefined ? undefined : readIfThere(copy);
  if (copy !== undefined && original === undefined && moved.length > 0)
    throw new UsageError(
      `${copy} is gone, so ${named(moved)} cannot be put back into ${record.file}; ` +
        `the policy still has them. To give them up there, remove ${recordFile(client)}, then repeat this`,
    );
  if (now !== undefined && digest(now) === sha256 && (copy === undefined || original !== undefined))
    return { text: original, exact: true, returned: [] };
  const there = new Map(await entriesOf(client, now ?? ""));
  const take = there.delete(SERVER) ? [SERVER] : [];
  const put = new Map<string, object>();
  const returned: Undone["returned"][number][] = [];
  for (const [name, entry] of await entriesOf(client, original ?? "")) {
    if (!moved.includes(name) || canonicalJson(there.get(name)) === canonicalJson(entry)) continue;
    const as = freeName(name, new Set([...there.keys(), ...put.keys()]));
    put.set(as, entry);
    returned.push({ name, as });
  }
  const isSame = take.length === 0 && put.size === 0;
  const text = isSame ? now : await editedText(client, now ?? "", { put, take });
  return { text, exact: false, returned };
}

function freeName(name: string, taken: ReadonlySet<string>): string {
  for (let count = 2, free = name; ; free = `${name}-${count++}`) if (!taken.has(free)) return free;
}

/** With --json nobody is asked: without --yes it says what it has not done. */
function notWritten(line: CommandLine, about: object): number {
  if (line.json) printJson({ ...about, written: false });
  return ExitCode.Failed;
}

/** Servers that the client goes on starting by itself, past the policy. */
async function unguarded(file: string): Promise<string[]> {
  const { everyServer } = await import("@secure-local/mcp-tools/configured-servers");
  const all = await everyServer({ file, around: clientEnvironment() }).catch(() => []);
  return all.filter(({ name, found }) => name !== SERVER && found?.server.disabled !== true).map(({ name }) => name);
}

export async function uninstallCommand(line: CommandLine): Promise<number> {
  const client = clientOf(line, "uninstall");
  const kept = recordOf(client);
  const file = kept?.file ?? realFile(fileOf(client, clientEnvironment()));
  const now = readIfThere(file);
  const record = kept ?? { ...NOTHING_DONE, file };
  const { text, exact, returned } = await undone(client, now, record);
  if (text === undefined) {
    if (now !== undefined) removeWith(file, record.folder);
  } else if (exact && record.copy !== undefined) writeInPlace(file, readAtOnce(record.copy, null));
  else if (text !== now) writeInPlace(file, text);
  // What the file has again is not kept a second time, with all its secrets.
  if (exact && record.copy !== undefined) fs.rmSync(record.copy, { force: true });
  fs.rmSync(recordFile(client), { force: true });
  const state = exact ? (text === undefined ? "removed" : "restored") : text === now ? "unchanged" : "edited";
  const copies = copiesOf(client);
  const forgotten = kept === undefined && state === "edited" ? [await forgottenText(line, client)] : [];
  const left =
    forgotten.length === 0 ? howLeft(file, state, returned) : `${SERVER} is taken out of ${file}, and the rest stays.`;
  const words = [left, ...forgotten, ...(await stillKept(line, client, record)), ...copiesLeft(copies)];
  tell(line, { client: client.id, file, state, returned, moved: record.moved, copies }, cleanText(words.join("\n")));
  return ExitCode.Ok;
}

/** Names as a client's file has them, which could hold lines of their own. */
function named(names: readonly string[]): string {
  return names.map((name) => cleanLine(name)).join(", ");
}

function howLeft(file: string, state: string, returned: Undone["returned"]): string {
  if (state === "restored") return `${file} is as it was.`;
  if (state === "removed") return `${file} is gone, as it was not there before.`;
  if (state === "unchanged") return `${file} has no ${SERVER}: nothing is changed.`;
  const back = returned.map(({ name, as }) =>
    name === as ? cleanLine(name) : cleanLine(`${name} as ${as}, since there is another ${name}`),
  );
  const moved = back.length === 0 ? "" : ` What was moved under the policy is back: ${back.join(", ")}.`;
  return `${file} was changed since: ${SERVER} is taken out of it, and the rest stays.${moved}`;
}

/** Where nothing says any more what `install` did: what a person may miss in the file. */
async function forgottenText(line: CommandLine, client: ClientFile): Promise<string> {
  const gone = `${recordFile(client)} is gone, so nobody knows what else install changed there.`;
  const servers = [...((await policyIfAny(line))?.servers.keys() ?? [])];
  if (servers.length === 0) return gone;
  return `${gone} Servers that it moved are not put back; the policy has ${named(servers)}: mcp-secure-local servers list shows how each is started.`;
}

async function policyIfAny(line: CommandLine): Promise<Policy | undefined> {
  const file = policyFile(line);
  const { loadPolicy } = await import("../policy/load-policy.js");
  return file === undefined || !fs.existsSync(file) ? undefined : await loadPolicy(file).catch(() => undefined);
}

/** What of the moved servers is still in the policy, and where secrets are, as it is now: a person may have taken either away. */
async function stillKept(line: CommandLine, client: ClientFile, { moved, inPolicy }: Installed): Promise<string[]> {
  if (moved.length === 0) return [];
  const policy = await policyIfAny(line);
  if (policy === undefined) return [];
  const others = CLIENT_FILES.filter(({ id }) => id !== client.id).flatMap((each) => recordOf(each)?.inPolicy ?? []);
  const there = inPolicy.filter((name) => policy.servers.has(name) && !others.includes(name));
  const folder = join(configFolder(), "secrets");
  const secrets = fs.existsSync(folder) && fs.readdirSync(folder).length > 0 ? ` Secrets are in ${folder}.` : "";
  if (there.length === 0) return secrets === "" ? [] : [secrets.trim()];
  const remove = "What no other client needs: mcp-secure-local servers remove NAME";
  return [`The policy still has what was moved: ${named(there)}.${secrets} ${remove}`];
}

function copiesLeft(copies: readonly string[]): string[] {
  return copies.length === 0 ? [] : [`Copies of the file may hold secrets; delete them: ${copies.join(" ")}`];
}

/** A file that was not there is gone again, with the folders made for it. */
function removeWith(file: string, folder: string | undefined): void {
  fs.rmSync(file);
  if (folder !== undefined) removeEmpty(dirname(file), folder);
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

interface MovePlan extends ImportPlan {
  readonly policy: string;
}

async function moveServers(line: CommandLine, file: string): Promise<MovePlan | undefined> {
  const policy = policyFile(line);
  if (policy === undefined || !fs.existsSync(policy))
    throw new UsageError(
      "install --move needs a policy file to move servers into; make one with mcp-secure-local policy init, or name yours with --policy FILE",
    );
  if (!fs.existsSync(file)) return undefined;
  const [{ loadPolicy }, { planImport }, { tryOut }] = await Promise.all([
    import("../policy/load-policy.js"),
    import("./servers-import.js"),
    import("./try-out.js"),
  ]);
  const { json, yes } = line;
  const plan = await planImport(file, { policy: await loadPolicy(policy), file: policy, yes, json, tryOut });
  return { ...plan, policy };
}

async function agreed({ yes, json }: CommandLine, question: string): Promise<boolean> {
  if (yes) return true;
  if (json) return false;
  if (process.stdin.isTTY) return agreesInTerminal(question, true);
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
  const entry = await editedText(client, "", { put: new Map([[SERVER, client.entry(started)]]), take: [] });
  return { id: client.id, client: client.client, file: fileOf(client, clientEnvironment()), entry: entry.trim() };
}

/** Lines that come and go, without the secrets that are known by then, and without these. */
async function printDifference(before: string, after: string, secrets: readonly string[]): Promise<void> {
  const { diffLines } = await import("diff");
  for (const { added, removed, value } of diffLines(withoutValues(before, secrets), withoutValues(after, secrets))) {
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
    const record = JSON.parse(text) as Partial<Installed> & Omit<Installed, "inPolicy">;
    // One of an older version does not say it: mostly they have the names of before.
    return { ...record, inPolicy: record.inPolicy ?? record.moved };
  } catch {
    throw new UsageError(
      `${recordFile(client)} cannot be read; remove it, and the entry ${SERVER} from the client's file by hand`,
    );
  }
}

function keepRecord(client: ClientFile, record: Installed): void {
  writeInPlace(recordFile(client), JSON.stringify(record, null, 2));
}

/** Under the date. */
function keepCopy({ id }: ClientFile, content: string | Buffer): string {
  const date = new Date().toISOString().replace(/[:.]/g, "-");
  for (let count = 1; ; count++) {
    const copy = join(installs(), `${id}-${date}${count === 1 ? "" : `-${count}`}.copy`);
    if (fs.existsSync(copy)) continue;
    writeInPlace(copy, content);
    return copy;
  }
}

function copiesOf({ id }: ClientFile): string[] {
  if (!fs.existsSync(installs())) return [];
  const own = fs.readdirSync(installs()).filter((name) => /-\d{4}-[^]*\.copy$/.test(name));
  return own.filter((name) => name.replace(/-\d{4}-[^]*$/, "") === id).map((name) => join(installs(), name));
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

/** More than any configuration of a client has. */
const MOST_BYTES = 32 * 1024 * 1024;

function readIfThere(file: string): string | undefined {
  try {
    return readAtMost(file, MOST_BYTES);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw new UsageError(`${file} cannot be read: ${whyUnread(error)}; put that right, then run this again`);
  }
}

function digest(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}
