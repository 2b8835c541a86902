// The only file power of a tool: what it can ask for. Every method refuses what the policy, the built-in protections or
// the client's roots do not allow, whatever links, renames and races stand on the way.
import { matchSegments } from "../../policy/path-matcher.js";

/** What stands behind a name. Links are reported as what they lead to where that is allowed, and otherwise not at all. */
type EntryKind = "file" | "folder";

export interface FileInfo {
  /** Absolute, free of links, as the policy writes it. */
  readonly path: string;
  readonly kind: EntryKind;
  /** Bytes; 0 for folders. */
  readonly size: number;
  /** Milliseconds since 1970. */
  readonly modifiedMs: number;
}

export interface FileContents extends FileInfo {
  readonly bytes: Uint8Array;
}

export interface FolderEntry extends FileInfo {
  readonly name: string;
}

export interface FolderListing {
  readonly path: string;
  /** By name, in the order of their code points. */
  readonly entries: readonly FolderEntry[];
  /** Whether there are more than the limit allowed. */
  readonly truncated: boolean;
}

/** A file opened for reading: the very file that was judged, whatever its name stands for later. Close it. */
export interface OpenFile extends FileInfo {
  /** Fills `into` from byte `position` on; resolves with the number of bytes, 0 at the end. */
  read(into: Uint8Array, position: number): Promise<number>;
  /**
   * A path under which this process reaches the very file, for libraries that open by name: on Linux `/proc/self/fd/N`, valid
   * until `close`; elsewhere the file's own path, which somebody else could exchange.
   */
  readonly handlePath: string;
  close(): void;
}

export interface ReadOptions {
  /** More bytes than this are refused. Default and most: 8 MiB. */
  readonly maxBytes?: number;
  readonly signal?: AbortSignal;
}

export interface WriteOptions {
  /** `create`: only a new file. `replace`: only one that exists. Default: either. */
  readonly mode?: "create" | "replace" | "either";
  /** Make the folders that are missing. Default false. */
  readonly folders?: boolean;
  readonly signal?: AbortSignal;
}

export interface WrittenFile {
  readonly path: string;
  readonly created: boolean;
  readonly size: number;
}

export interface WalkOptions {
  /** Folders below the first one that are entered; 0 lists only the first. Default and most: 64. */
  readonly depth?: number;
  /** Whether to look into a folder; every one when absent. */
  readonly enter?: (folder: FolderEntry) => boolean;
  /** Entries looked at before it stops. Default and most: 100,000. */
  readonly maxEntries?: number;
  readonly signal?: AbortSignal;
}

/** @throws FileError from every method for everything but an abort, whose reason is thrown as it is. */
export interface Files {
  /** The folders everything allowed lies in, as the policy writes them, narrowed by the client's roots. */
  roots(): Promise<readonly string[]>;
  /** Throws what an operation of any tool would throw for the words of a path alone. */
  judge(path: string, op: "read" | "list"): Promise<void>;
  info(path: string): Promise<FileInfo>;
  read(path: string, options?: ReadOptions): Promise<FileContents>;
  open(path: string): Promise<OpenFile>;
  /** What is there now or a whole new content, never something between; safe on disk when it resolves. */
  write(path: string, bytes: Uint8Array, options?: WriteOptions): Promise<WrittenFile>;
  /**
   * Replaces a file's content by what `change` makes of it (undefined: leave it). Fails with `changed` when somebody else
   * wrote the file meanwhile.
   */
  edit(
    path: string,
    change: (bytes: Uint8Array) => Uint8Array | undefined,
    options?: ReadOptions,
  ): Promise<WrittenFile>;
  /** Removes a file or an empty folder. Fails with `system` where the folder it stands in cannot be held: outside Linux. */
  remove(path: string): Promise<void>;
  /** The allowed entries of a folder. `limit`: default and most 10,000. */
  list(path: string, options?: { readonly limit?: number; readonly signal?: AbortSignal }): Promise<FolderListing>;
  /** Everything allowed below a folder, folders before what is in them, by name. Links are not followed. */
  walk(path: string, options?: WalkOptions): AsyncIterable<FolderEntry>;
}

// The error of a file operation that was refused or failed: what happened, never what lies outside the allowed folders.

/** Why an operation did not happen. */
type FileFailure =
  /** The path is no plain absolute path. */
  | "bad-path"
  /** A rule refuses it. */
  | "denied"
  | "not-found"
  | "exists"
  | "not-a-file"
  | "not-a-folder"
  /** Too many bytes or entries. */
  | "too-large"
  | "hard-link"
  | "link"
  /** It was changed by somebody else meanwhile. */
  | "changed"
  /** No space, no permission of the system, too many open files. */
  | "system";

/** `message` is a sentence fit for the model and the user; the only paths in it are the caller's own and the policy's. */
export class FileError extends Error {
  readonly code: FileFailure;
  /** The rule behind a refusal, for the audit record. */
  readonly rule: string | undefined;

  constructor(code: FileFailure, message: string, rule?: string) {
    super(message);
    this.name = "FileError";
    this.code = code;
    this.rule = rule;
  }
}

// How much one file operation may take.

/** Bytes read at once: more than a model can use, and a call's memory stays small. */
export const MAX_READ_BYTES: number = 8 * 1024 * 1024;
/** Bytes written at once; arguments of a call cannot be much longer. */
export const MAX_WRITE_BYTES: number = 8 * 1024 * 1024;
/** Entries of one listing. */
export const MAX_ENTRIES = 10_000;
/** Entries looked at by one walk through a tree. */
export const MAX_WALK_ENTRIES = 100_000;
/** Folders one inside the other that a walk enters. */
export const MAX_DEPTH = 64;
/** Files and folders watched at the same time, in the whole process: each costs the system a watch. */
export const MAX_WATCHES = 256;
/** Changes within this time are told once. */
export const WATCH_PAUSE_MS = 100;

// Shows names of files in texts of one line each: whoever may name a file must not write lines of his own with it.

// Nearly every name is printable ASCII, and a start does not wait for Unicode's tables.
const PLAIN = /^(?!")[\x20-\x7e]*$/;
let steering: RegExp | undefined;

/** What breaks a line, steers a terminal, turns the direction of writing or is not seen; joiners of emoji and of words are none of it. */
function unshown(): RegExp {
  return (steering ??=
    /\u034f|\u17b4|\u17b5|[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}\p{Cs}\p{Co}\p{Noncharacter_Code_Point}\u00ad\u115f\u1160\u180e\u200b\u2060-\u2065\u2800\u3164\ufeff\uffa0\ufff0-\ufffb\u{1D159}\u{1D173}-\u{1D17A}\u{E0000}-\u{E007F}]/gu);
}

/**
 * A name or path as it stands. With a character in it that is not seen, or that begins a line, it is a JSON string with that character
 * escaped; so is a name that begins with a quote, so that no name passes for another.
 */
export function shownName(name: string): string {
  if (PLAIN.test(name) || (!name.startsWith('"') && name.search(unshown()) < 0)) return name;
  return JSON.stringify(name).replace(unshown(), escapedUnits);
}

/** The same for a name that a URI is made of: what is not seen is percent-encoded, so that the URI still leads to the file. */
export function completedName(name: string): string {
  return PLAIN.test(name) ? name : name.replace(unshown(), percentEncoded);
}

function escapedUnits(character: string): string {
  return character.replace(/[^]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

function percentEncoded(character: string): string {
  return [...new TextEncoder().encode(character)]
    .map((byte) => `%${byte.toString(16).toUpperCase().padStart(2, "0")}`)
    .join("");
}

// Matches paths below a folder against a glob, in time that grows with glob times path, whatever they are.

/** Alternatives one pattern may stand for: more is a mistake, or meant to take long. */
const MOST_ALTERNATIVES = 64;
const LONGEST = 1_024;

/** Tells whether a path relative to the folder that was searched fits. */
export type GlobTest = (path: string) => boolean;

/**
 * `*` and `?` stay inside a name, `**` as a whole name is any number of folders, `{a,b}` is either, without nesting. A glob
 * without a slash is compared with the last name alone. Returns a sentence about what is wrong with a glob that cannot be used.
 */
export function globTest(glob: string): GlobTest | string {
  if (glob.length > LONGEST) return `a pattern has at most ${LONGEST} characters`;
  if (/[[\]!]/.test(glob)) return "a pattern knows *, **, ? and {a,b}; [, ] and ! stand for nothing";
  const alternatives = expand(glob);
  if (alternatives === undefined)
    return `braces stand for at most ${MOST_ALTERNATIVES} alternatives, and not one in another`;
  const patterns = alternatives.map((text) => text.split("/").filter((name) => name !== "" && name !== "."));
  const byName = !glob.includes("/");
  return (path) => {
    const names = path.split("/");
    const compared = byName ? names.slice(-1) : names;
    return patterns.some((pattern) => matchSegments(pattern, compared));
  };
}

function expand(glob: string): string[] | undefined {
  const parts = glob.split(/\{([^{}]*)\}/);
  if (parts.some((part, index) => index % 2 === 0 && /[{}]/.test(part))) return undefined;
  let texts = [""];
  for (const [index, part] of parts.entries()) {
    const choices = index % 2 === 0 ? [part] : part.split(",");
    texts = texts.flatMap((text) => choices.map((choice) => text + choice));
    if (texts.length > MOST_ALTERNATIVES) return undefined;
  }
  return texts;
}
