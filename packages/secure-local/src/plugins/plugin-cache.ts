// Keeps what plugins consist of in a folder of the program's own, by the hash of the content, so that what was looked at is what is started.
import { randomBytes } from "node:crypto";
import * as fs from "node:fs";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import { type Apart, nameInCopy, type PluginContent, takeContent } from "./plugin-content.js";
import { PluginError } from "./plugin-description.js";
import { isMoved } from "../capabilities/files/bases.js";
import { makeFolder } from "../audit/owned-files.js";

/** A plugin's content as it was taken. Release it when nothing of it runs any more. */
export interface CachedPlugin extends PluginContent {
  /** The copy: a folder, or a file. Nobody changes it. */
  readonly root: string;
  /** Where it was taken from, free of links. */
  readonly source: string;
  /** What the operator should know of the source; empty when it is as the copy. */
  readonly note: string;
  release(): void;
}

export interface TakeOptions {
  /** The only content that is wanted. */
  readonly sha256?: string | undefined;
  /** The program's own files and folders: no plugin holds one. */
  readonly own: readonly string[];
  /** Those of which no file of a plugin may be another name. Default: `own`. */
  readonly unread?: readonly string[] | undefined;
}

/** Copies that nothing runs from, of all servers of a user: enough to go back and forth between some versions. */
const MOST_IDLE = 32;
/** One that was not used for so long is not missed. */
const IDLE_MS = 30 * 24 * 60 * 60_000;
/** Whoever began a copy has ended or finished by then. */
const DRAFT_MS = 60 * 60_000;
const DRAFT = ".new-";
const GONE = ".gone-";
const COPY = /^[0-9a-f]{64}$/;
/** A copy that a process holds: its hash, the process, and whose it is in there. */
const HELD = /^([0-9a-f]{64})\.(\d+)\.[0-9a-f]+$/;

export class PluginCache {
  readonly #given: string | undefined;
  #made: string | undefined;
  #closed = false;
  /** Names the marks of this keeper among those of this process. */
  readonly #mine: string = `${process.pid}.${randomBytes(6).toString("hex")}`;
  readonly #holders = new Map<string, number>();

  /** @param folder Made when it is needed, for this user alone; without one copies last as long as this. */
  constructor(folder: string | undefined) {
    this.#given = folder;
  }

  /** @throws PluginError */
  get #folder(): string {
    if (this.#closed) throw new PluginError("The server is being stopped.");
    if (this.#made !== undefined) return this.#made;
    try {
      this.#made = fs.realpathSync(
        this.#given === undefined ? fs.mkdtempSync(join(tmpdir(), "mcp-plugins-")) : made(this.#given),
      );
      this.sweep();
      return this.#made;
    } catch (error) {
      throw new PluginError(
        `${this.#given} cannot be used, where copies of plugins are kept: ${(error as Error).message}.`,
      );
    }
  }

  /**
   * Takes what lies at `path` now. Where other content is wanted than lies there, the copy that was kept of it is taken in its place.
   * @throws PluginError
   */
  async take(path: string, options: TakeOptions): Promise<CachedPlugin> {
    for (let time = 1; ; time += 1) {
      try {
        return await this.#taken(path, options);
      } catch (error) {
        // Another process removed or made the same copy in the meantime: what it left is looked at anew.
        if (!MEANWHILE.has((error as NodeJS.ErrnoException).code ?? "") || time === MOST_TRIES)
          throw inWords(error, this.#folder);
      }
    }
  }

  async #taken(path: string, { sha256, own, unread = own }: TakeOptions): Promise<CachedPlugin> {
    const ours = this.#made ?? this.#given;
    const source = sourceAt(path, ours === undefined ? own : [...own, ours]);
    const copies = [this.#made, this.#given].flatMap((each) => each ?? []);
    const apart: Apart = { own: unread, copies };
    const now = await takeContent(source, { apart }).catch(asFault);
    if (sha256 !== undefined && (now instanceof PluginError || now.hash !== sha256))
      return this.#wanted(sha256, { path, source, now });
    if (now instanceof PluginError) throw now;
    const kept = (await this.#kept(now.hash)) ?? (await this.#copied(source, now, apart));
    if (sha256 === undefined || kept.hash === sha256) return this.#held(kept, source, "");
    return this.#wanted(sha256, { path, source, now: kept });
  }

  /** Removes what nobody will miss. Never throws. */
  sweep(): void {
    try {
      this.#sweep(Date.now());
    } catch {
      // Another process sweeps too, or the folder is gone.
    }
  }

  /** Removes the copies that were to last as long as this. Call it when nothing runs any more. */
  close(): void {
    for (const hash of this.#holders.keys()) fs.rmSync(this.#mark(hash), { force: true });
    this.#holders.clear();
    if (this.#given === undefined && this.#made !== undefined) removeTree(this.#made);
    this.#closed = true;
  }

  async #wanted(
    sha256: string,
    {
      path,
      source,
      now,
    }: { readonly path: string; readonly source: string; readonly now: PluginContent | PluginError },
  ): Promise<CachedPlugin> {
    const kept = await this.#kept(sha256);
    const fault = now instanceof PluginError ? now : undefined;
    const advice = now instanceof PluginError ? now.message : `If it was changed on purpose: sha256: ${now.hash}`;
    if (kept === undefined)
      throw (
        fault ??
        new PluginError(
          `Its content is not the one the policy knows. ${advice} (a hash that an earlier version made counts no more: it left out which files may be run)`,
        )
      );
    const note = `${path} is no longer what the policy's sha256 names; the content that was approved goes on being started. ${advice}`;
    return this.#held(kept, source, note);
  }

  /** A copy whose content still is what its name says. One that is not was not made whole, or was touched: it goes. */
  async #kept(hash: string): Promise<Copy | undefined> {
    const folder = join(this.#folder, hash);
    const seen = identityOf(folder);
    if (seen === undefined) return undefined;
    const [name, ...more] = fs.readdirSync(folder);
    // From here on nobody takes it for one that is not missed.
    fs.utimesSync(folder, new Date(), new Date());
    const root = join(folder, name ?? "");
    const whole = name !== undefined && more.length === 0;
    const content = whole ? await takeContent(root, { apart: "copy" }).catch(() => undefined) : undefined;
    if (content?.hash === hash) return { ...content, root };
    // While it was read, another process may have put a whole one in its place: that is none to remove.
    if (identityOf(folder) !== seen) return await this.#kept(hash);
    this.#remove(hash);
    return undefined;
  }

  /** Under its name a copy is there as a whole or not at all: whoever starts from it never meets half of one. */
  #remove(hash: string): void {
    const gone = join(this.#folder, `${GONE}${randomBytes(6).toString("hex")}`);
    fs.renameSync(join(this.#folder, hash), gone);
    removeTree(gone);
  }

  async #copied(source: string, { kind }: PluginContent, apart: Apart): Promise<Copy> {
    const draft = fs.mkdtempSync(join(this.#folder, DRAFT));
    try {
      const content = await takeContent(source, { into: draft, apart });
      const folder = join(this.#folder, content.hash);
      if (content.kind !== kind) throw new PluginError(`${source} was changed while it was read; try again.`);
      try {
        fs.renameSync(draft, folder);
      } catch (error) {
        // Another process was quicker, and what it copied is the same.
        const kept = await this.#kept(content.hash);
        if (kept === undefined) throw error;
        return kept;
      }
      return { ...content, root: join(folder, nameInCopy(source, content.kind)) };
    } finally {
      removeTree(draft);
    }
  }

  #held(copy: Copy, source: string, note: string): CachedPlugin {
    const { hash } = copy;
    const mark = this.#mark(hash);
    fs.writeFileSync(mark, "", { mode: 0o600 });
    try {
      // Where another process removed it before the mark was there, this says so.
      const now = new Date();
      fs.utimesSync(join(this.#folder, hash), now, now);
    } catch (error) {
      if (!this.#holders.has(hash)) fs.rmSync(mark, { force: true });
      throw error;
    }
    const held = this.#holders.get(hash) ?? 0;
    this.#holders.set(hash, held + 1);
    let released = false;
    const release = (): void => {
      if (released) return;
      released = true;
      this.#release(hash);
    };
    return { ...copy, source, note, release };
  }

  #release(hash: string): void {
    if (this.#closed) return;
    const left = (this.#holders.get(hash) ?? 1) - 1;
    if (left > 0) return void this.#holders.set(hash, left);
    if (!this.#holders.delete(hash)) return;
    fs.rmSync(this.#mark(hash), { force: true });
    this.sweep();
  }

  #mark(hash: string): string {
    return join(this.#folder, `${hash}.${this.#mine}`);
  }

  #sweep(now: number): void {
    const names = fs.readdirSync(this.#folder);
    const held = new Set<string>();
    for (const name of names) {
      const [, hash = "", pid] = HELD.exec(name) ?? [];
      if (pid === undefined) continue;
      if (isAlive(Number(pid))) held.add(hash);
      else fs.rmSync(join(this.#folder, name), { force: true });
    }
    // What another process has removed since is of no age at all.
    const age = (name: string): number =>
      now - (fs.statSync(join(this.#folder, name), { throwIfNoEntry: false })?.mtimeMs ?? now);
    for (const name of names)
      if ((name.startsWith(DRAFT) || name.startsWith(GONE)) && age(name) > DRAFT_MS)
        removeTree(join(this.#folder, name));
    const idle = names
      .filter((name) => COPY.test(name) && !held.has(name))
      .map((name) => ({ name, age: age(name) }))
      .sort((a, b) => a.age - b.age);
    for (const [at, copy] of idle.entries())
      if ((at >= MOST_IDLE || copy.age > IDLE_MS) && !this.#isWanted(copy)) this.#remove(copy.name);
  }

  /** Whether another process has come for a copy since the folder was looked through. */
  #isWanted({ name, age }: { readonly name: string; readonly age: number }): boolean {
    const { mtimeMs } = fs.statSync(join(this.#folder, name));
    return Date.now() - mtimeMs < age || fs.readdirSync(this.#folder).some((each) => each.startsWith(`${name}.`));
  }
}

/** How often a copy is looked for that other processes remove and make at the same time. */
const MOST_TRIES = 10;
/** What the system says when a folder has gone, or has come, in between. */
const MEANWHILE: ReadonlySet<string> = new Set(["ENOENT", "ENOTEMPTY", "EEXIST"]);

/** A new folder may have the number of one that was removed, and not the time it was made at as well. */
function identityOf(folder: string): string | undefined {
  const status = fs.statSync(folder, { throwIfNoEntry: false });
  return status && `${status.ino} ${status.birthtimeMs}`;
}

function inWords(error: unknown, folder: string): unknown {
  if (error instanceof PluginError || (error as NodeJS.ErrnoException).syscall === undefined) return error;
  return new PluginError(`No copy of it can be kept in ${folder}: ${(error as Error).message}; see to that folder.`);
}

function asFault(error: unknown): PluginError {
  if (error instanceof PluginError) return error;
  throw error;
}

type Copy = PluginContent & { readonly root: string };

function made(folder: string): string {
  makeFolder(folder);
  fs.chmodSync(folder, 0o700);
  return folder;
}

/** @throws PluginError for nothing, and for what holds more than a plugin */
function sourceAt(path: string, own: readonly string[]): string {
  if (!fs.existsSync(path)) throw new PluginError(`There is nothing at ${path}; correct its path in plugins.load.`);
  if (isMoved(path))
    throw new PluginError(
      `A link on the way to ${path} was exchanged since the policy was loaded; look where it leads, and start the server again.`,
    );
  const source = fs.realpathSync(path);
  if (!fs.statSync(source).isDirectory()) return source;
  for (const each of [homedir(), ...own])
    if (holds(source, each) || holds(source, real(each)))
      throw new PluginError(
        `${path} holds ${each}, so it is more than a plugin; put the plugin into a folder of its own, and correct its path in plugins.load.`,
      );
  return source;
}

function real(path: string): string {
  try {
    return fs.realpathSync(path);
  } catch {
    return path;
  }
}

function holds(folder: string, path: string): boolean {
  return path === folder || path.startsWith(folder === "/" ? "/" : `${folder}/`);
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}

/** Copies are read-only, so their folders are opened first. */
function removeTree(path: string): void {
  if (!fs.existsSync(path)) return;
  openFolders(path);
  fs.rmSync(path, { recursive: true, force: true });
}

function openFolders(folder: string): void {
  if (!fs.lstatSync(folder).isDirectory()) return;
  fs.chmodSync(folder, 0o700);
  for (const entry of fs.readdirSync(folder, { withFileTypes: true }))
    if (entry.isDirectory()) openFolders(join(folder, entry.name));
}
