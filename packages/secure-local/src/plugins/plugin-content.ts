// What a plugin consists of: its files, folders and links, read by handles, hashed in one canonical form, and copied as they are read.
import { createHash, type Hash } from "node:crypto";
import * as fs from "node:fs";
import { extname, join, posix } from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";
import { keptName, SeveralNames } from "../capabilities/files/second-names.js";
import { PluginError } from "./plugin-description.js";

/** What a plugin is made of, and by which hash that is known. */
export interface PluginContent {
  /** SHA-256 in lower-case hexadecimal; see `hashOf`. */
  readonly hash: string;
  readonly kind: "file" | "folder";
}

/** Another form of what is hashed has another number: no hash of one form passes for one of another. */
const FORM = 2;
/** A plugin with its packages. All of it is read and copied when it is started. */
const MAX_ENTRIES = 50_000;
const MAX_BYTES = 512 * 1024 * 1024;
/** Folders in folders. Each costs an open handle while it is read. */
const MAX_DEPTH = 64;
const PIECE_BYTES = 1024 * 1024;
/** Others are served in between. */
const TURN_MS = 5;
/** A repository beside the plugin: it changes with every look of git's, and holds what files no longer say. */
const LEFT_OUT = /^\.git$/i;
/** What only the system's administrator changes. Links may lead there; a virtual environment of Python does. */
const SYSTEM =
  /^\/(?:usr|bin|sbin|lib|lib32|lib64|libx32|etc|nix\/store|gnu\/store|System|Library|opt\/homebrew)\/|^\/dev\/null$/;
// oxlint-disable-next-line no-control-regex
const CONTROL = /[\u0000-\u001f\u007f-\u009f\u2028\u2029]/;
const MAX_HOPS = 40;

const { O_RDONLY, O_DIRECTORY, O_NOFOLLOW, O_NONBLOCK, O_WRONLY, O_CREAT, O_EXCL } = fs.constants;
const UTF8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** Path, kind, and: of a file whether it may be run and the SHA-256 of its bytes, of a link its target. */
type Entry =
  | readonly [path: string, kind: "folder"]
  | readonly [path: string, kind: "link", target: string]
  | readonly [path: string, kind: "file", executable: boolean, sha256: string];

/** Whether a path belongs to the system, which its administrator alone changes. */
export function isSystem(path: string): boolean {
  return SYSTEM.test(posix.normalize(path));
}

/** What a plugin is called in its copy: the same wherever it lies, since names are hashed. */
export function nameInCopy(path: string, kind: PluginContent["kind"]): string {
  return kind === "folder" ? "plugin" : `plugin${extname(path)}`;
}

/** @throws PluginError for what cannot be read, copied or hashed */
export function hashPlugin(path: string): string {
  const work = readContent(path);
  for (;;) {
    const step = work.next();
    if (step.done === true) return step.value.hash;
  }
}

/** What may not be part of it. */
export interface Apart {
  /** Files and folders of the program's own: no plugin reads one, under whatever name. */
  readonly own: readonly string[];
  /** Among those: where copies of plugins are. */
  readonly copies: readonly string[];
  /** How many names are looked at for other names of its files, for tests. */
  readonly most?: number | undefined;
}

/**
 * Reads a plugin and, with `into`, writes a copy of it there: the hash is of the very bytes that were written. With `apart` a file
 * that is another name of one that no tool reads is refused; as a `copy`, any file that somebody gave another name. Lets others run in
 * between. @throws PluginError
 */
export async function takeContent(
  path: string,
  { into, apart }: { readonly into?: string; readonly apart?: Apart | "copy" } = {},
): Promise<PluginContent> {
  const work = readContent(path, into, apart);
  for (;;) {
    for (const until = performance.now() + TURN_MS; performance.now() < until;) {
      const step = work.next();
      if (step.done === true) return step.value;
    }
    await nextTurn();
  }
}

/** Stops after each piece of work. @param path Free of links */
function* readContent(path: string, into?: string, apart?: Apart | "copy"): Generator<undefined, PluginContent> {
  try {
    const status = fs.lstatSync(path);
    const kind = status.isDirectory() ? "folder" : "file";
    if (kind === "file" && !status.isFile())
      throw new PluginError(`${path} is neither a file nor a folder: name the file or folder of a plugin.`);
    const reader = new Reader(path);
    const name = nameInCopy(path, kind);
    const copy = into === undefined ? undefined : join(into, name);
    if (kind === "folder") yield* reader.folder({ at: path, path: "", copy });
    else yield* reader.file({ at: path, path: name, copy });
    if (apart !== undefined) yield* reader.refuseOtherNames(apart);
    return { hash: hashOf(kind, reader.entries), kind };
  } catch (error) {
    if (error instanceof PluginError) throw error;
    const { code, message } = error as NodeJS.ErrnoException;
    throw new PluginError(
      CHANGED.has(code ?? "")
        ? `${path} was changed while it was read; try again when it rests.`
        : `${path} cannot be read whole: ${message}.`,
    );
  }
}

const COPY =
  "Put a copy of its own there (cp; pnpm install --config.package-import-method=copy; uv with --link-mode=copy)";

const CHANGED: ReadonlySet<string> = new Set(["ENOENT", "ENOTDIR", "ELOOP", "EINVAL"]);

/** SHA-256 of JSON: the form's number, the kind, and every entry in the order of their paths. */
function hashOf(kind: PluginContent["kind"], entries: readonly Entry[]): string {
  const sorted = [...entries].sort(([a], [b]) => (a < b ? -1 : 1));
  return createHash("sha256")
    .update(JSON.stringify({ form: FORM, kind, entries: sorted }))
    .digest("hex");
}

interface Place {
  /** Where it is opened. */
  readonly at: string;
  /** Where it lies in the plugin. */
  readonly path: string;
  /** Where its copy is written. */
  readonly copy: string | undefined;
}

class Reader {
  readonly entries: Entry[] = [];
  readonly #root: string;
  readonly #piece: Buffer = Buffer.allocUnsafe(PIECE_BYTES);
  readonly #several = new SeveralNames();
  #bytes = 0;

  constructor(root: string) {
    this.#root = root;
  }

  *folder({ at, path, copy }: Place, depth = 0): Generator<undefined, void> {
    if (depth > MAX_DEPTH) throw new PluginError(`${this.#root} has more than ${MAX_DEPTH} folders in folders.`);
    const fd = fs.openSync(at, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
    try {
      if (copy !== undefined) fs.mkdirSync(copy, { mode: 0o700 });
      // By the handle: who puts a link in the place of this folder now leads nobody anywhere.
      const inside = process.platform === "linux" ? `/proc/self/fd/${fd}` : at;
      for (const entry of fs.readdirSync(inside, { withFileTypes: true, encoding: "buffer" })) {
        const name = this.#nameOf(entry.name, path);
        if (LEFT_OUT.test(name)) continue;
        const place = {
          at: `${inside}/${name}`,
          path: path === "" ? name : `${path}/${name}`,
          copy: copy === undefined ? undefined : join(copy, name),
        };
        if (entry.isDirectory()) {
          this.#add([place.path, "folder"]);
          yield* this.folder(place, depth + 1);
        } else if (entry.isSymbolicLink()) this.#link(place);
        else if (entry.isFile()) yield* this.file(place);
      }
      if (copy !== undefined) fs.chmodSync(copy, 0o500);
    } finally {
      fs.closeSync(fd);
    }
    if (depth === 0) this.#refuseLinksOut();
  }

  *file({ at, path, copy }: Place): Generator<undefined, void> {
    const fd = fs.openSync(at, O_RDONLY | O_NOFOLLOW | (O_NONBLOCK ?? 0));
    let out: number | undefined;
    try {
      const status = fs.fstatSync(fd, { bigint: true });
      if (!status.isFile()) throw new PluginError(`${this.#root}: ${path} is no file any more; try again.`);
      this.#several.add(path, status);
      const executable = (status.mode & 0o111n) !== 0n;
      const mode = executable ? 0o500 : 0o400;
      if (copy !== undefined) out = fs.openSync(copy, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode);
      const hash = createHash("sha256");
      yield* this.#bytesOf(fd, hash, out);
      if (out !== undefined) fs.fchmodSync(out, mode);
      this.#add([path, "file", executable, hash.digest("hex")]);
    } finally {
      fs.closeSync(fd);
      if (out !== undefined) fs.closeSync(out);
    }
  }

  /** Who reads a plugin reads each of its files, whatever other names that has. */
  *refuseOtherNames(apart: Apart | "copy"): Generator<undefined, void> {
    if (apart === "copy") {
      const [file] = this.#several.elsewhere.values();
      if (file !== undefined) throw new PluginError(`${this.#root}: ${file.path} was given another name.`);
      return;
    }
    const { own, copies: except, most } = apart;
    const found = yield* keptName(this.#several, { folder: this.#root, own, except, most });
    if (found === undefined) return;
    const why =
      found.of === undefined
        ? "has several names (hard links), and there are too many files at home to see that none of those is protected"
        : `is another name (hard link) of ${found.of}, which no plugin may read`;
    throw new PluginError(`${this.#root}: ${found.path} ${why}. ${COPY}, or take it away.`);
  }

  *#bytesOf(fd: number, hash: Hash, out: number | undefined): Generator<undefined, void> {
    for (;;) {
      const read = fs.readSync(fd, this.#piece, 0, PIECE_BYTES, null);
      if (read === 0) return;
      this.#bytes += read;
      if (this.#bytes > MAX_BYTES) throw this.#tooMuch();
      const piece = this.#piece.subarray(0, read);
      hash.update(piece);
      if (out !== undefined) for (let at = 0; at < read;) at += fs.writeSync(out, piece, at);
      yield;
    }
  }

  #link({ at, path, copy }: Place): void {
    const target = this.#textOf(fs.readlinkSync(at, { encoding: "buffer" }), `the target of ${path}`);
    if (copy !== undefined) fs.symlinkSync(target, copy);
    this.#add([path, "link", target]);
  }

  #add(entry: Entry): void {
    if (this.entries.push(entry) > MAX_ENTRIES) throw this.#tooMuch();
  }

  #tooMuch(): PluginError {
    const most = `${MAX_ENTRIES} files and ${MAX_BYTES / 2 ** 20} MiB`;
    return new PluginError(`${this.#root} has more than ${most}; keep what it does not need elsewhere.`);
  }

  #nameOf(bytes: Buffer, folder: string): string {
    return this.#textOf(bytes, `a name in ${folder === "" ? "it" : folder}`);
  }

  #textOf(bytes: Buffer, what: string): string {
    let text: string | undefined;
    try {
      text = UTF8.decode(bytes);
    } catch {
      // Told below.
    }
    if (text !== undefined && !CONTROL.test(text)) return text;
    throw new PluginError(
      `${this.#root}: ${what} has line breaks, control characters or bytes that are no UTF-8 (${JSON.stringify(bytes.toString("latin1").slice(0, 80))}); rename it.`,
    );
  }

  /** What a link leads to outside is in no copy and in no hash: nobody would know what is started. */
  #refuseLinksOut(): void {
    const links = new Map(
      this.entries.flatMap((entry) => (entry[1] === "link" ? [[entry[0], entry[2]] as const] : [])),
    );
    for (const [path, target] of links) {
      const end = followed(links, path);
      if (end === undefined || isSystem(end)) continue;
      throw new PluginError(
        `${this.#root}: the link ${path} leads out of the plugin, to ${target}. Put what it leads to into the plugin's folder.`,
      );
    }
  }
}

/** Where a link ends outside of the plugin; undefined when it stays in it, or leads nowhere. */
function followed(links: ReadonlyMap<string, string>, link: string): string | undefined {
  const way = link.split("/");
  const at: string[] = [];
  for (let hops = 0; way.length > 0;) {
    const name = way.shift() as string;
    if (name === "" || name === ".") continue;
    if (name === "..") {
      if (at.pop() === undefined) return posix.normalize(`../${way.join("/")}`);
      continue;
    }
    const target = links.get([...at, name].join("/"));
    if (target === undefined) at.push(name);
    else if (target.startsWith("/")) return posix.normalize([target, ...way].join("/"));
    else if ((hops += 1) > MAX_HOPS) return undefined;
    else way.unshift(...target.split("/"));
  }
  return undefined;
}
