// What a wall is: a way to start a program that reaches only what it was handed, some of it as bytes in files without a
// name.
import type { Buffer } from "node:buffer";
import { closeSync, mkdtempSync, openSync, realpathSync, rmSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** The very file or folder that was found and judged, held open so that no other can get its number. */
export interface Held {
  readonly dev: bigint;
  readonly ino: bigint;
  close(): void;
}

/**
 * Whether the guard lets this be done to a path, absolute and free of links, in a folder that is seen inside; `folder` makes one, `mode`
 * says who may use it, `bring` puts a link there, `fill` a folder with all that lies in it.
 */
export type Judge = (path: string, op: "read" | "write" | "list" | "folder" | "mode" | "bring" | "fill") => boolean;

/** One file or folder of this machine that is seen inside. */
export interface Reach {
  /** Absolute and free of links. */
  readonly path: string;
  /** Where it is seen, when not under the same path. */
  readonly at?: string;
  /** It is another name of what is seen anyway: left out where the folder it stands in is seen, with whatever stands there. */
  readonly spare?: boolean;
  /** `hidden` covers what lies in a path that is reached: a file reads as empty; a folder, written with a `/` at its end, too. */
  readonly access: "read" | "write" | "hidden";
  /** Part of the very program that is started: read, and no more, in folders too in which a judge or a cover would keep it back. */
  readonly apart?: boolean;
  /** Nothing begins unless this is what is seen there. */
  readonly held?: Held;
  /** Asked for each look-up in the folder; undefined: all that lies in it may be used as `access` says. */
  readonly judge?: Judge;
  /** Hears of what was refused in the folder: by the judge, or because it may only be read. */
  readonly refused?: (path: string, op: Parameters<Judge>[1]) => void;
  /** Hears of a file that was made in the folder, with its number. */
  readonly made?: (path: string, inode: bigint) => void;
  /** Whether an answer about a path holds at this moment only, since it depends on what lies beside it. */
  readonly passing?: (path: string) => boolean;
  /** Takes what git wrote for the configuration of the repository in this folder; undefined: git is not worked with. */
  readonly takeGitConfig?: (folder: string) => boolean;
}

/** A file made of bytes, read-only inside. */
export interface Handed {
  readonly path: string;
  readonly bytes: Buffer | KeptBytes;
  /** Whether it may be run. */
  readonly executable?: boolean;
}

/** What one sandbox may use; each number holds for each process, but for `processes`. */
export interface WallLimits {
  readonly processes: number;
  readonly memoryMb: number;
  readonly cpuSeconds: number;
  readonly fileMb: number;
}

/** A program to start behind a wall. */
export interface WalledCommand {
  /** Absolute path, the same inside and outside; `reach` must hold it unless it lies in a system folder. */
  readonly executable: string;
  readonly args: readonly string[];
  /** Beside PATH, HOME, TMPDIR and LANG, which every program gets; nothing is inherited. */
  readonly env?: Readonly<Record<string, string>>;
  /** Absolute; `reach` must hold it. Undefined: an empty folder that vanishes with the sandbox. */
  readonly workingDirectory?: string | undefined;
  readonly reach?: readonly Reach[];
  readonly handed?: readonly Handed[];
  /**
   * Path of the Unix socket of an egress proxy, for `sandbox-exec` the URL of one on loopback; without one there is no network, not
   * even a way to make Unix sockets.
   */
  readonly egress?: string | undefined;
  /** Whether look-ups are judged though no folder is: what was handed over open is not to be opened anew for more. */
  readonly keeper?: boolean;
  readonly limits: WallLimits;
}

/** What the wall's program finds under one file descriptor: bytes, or the gate. */
export type Feed = Buffer | KeptBytes | "gate";

/** How the operating system is asked to start it. */
export interface Launch {
  readonly file: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd?: string;
  /**
   * What is under file descriptors 3, 4, …. At the gate a line tells that the sandbox stands and dies with this process, and
   * one is waited for that lets the command begin.
   */
  readonly feeds: readonly Feed[];
  /** What has to be seen inside, looked at before the command begins. */
  readonly held?: readonly Reach[];
  /** Folders whose look-ups the sandbox asks for at the gate. */
  readonly judged?: readonly Reach[];
}

export interface Wall {
  /** For people and the audit log. */
  readonly name: "bubblewrap" | "sandbox-exec" | "none";
  launch(command: WalledCommand): Launch;
}

/** Why nothing was started; `message` says what to install or to change. */
export class WallError extends Error {
  override readonly name = "WallError";
  /** The rule behind a refusal, for the audit record; undefined where no rule refuses it. */
  readonly rule: string | undefined;

  constructor(message: string, rule?: string) {
    super(message);
    this.rule = rule;
  }
}

/** Folder inside in which a sandbox finds what this program hands it. */
export const HANDED_FOLDER = "/run/mcp-secure-local";

/** Where a home that is kept is seen inside. */
export const KEPT_HOME = "/home/sandbox";

/** For a program whose home is kept. uv looks for its cache by a name of its own. */
export function homeEnvironment(folder: string): Record<string, string> {
  return { HOME: folder, XDG_CACHE_HOME: `${folder}/.cache`, UV_CACHE_DIR: `${folder}/.cache/uv` };
}

/** What every program behind a wall has in its environment. */
export const BASE_ENVIRONMENT: Readonly<Record<string, string>> = {
  PATH: "/usr/local/bin:/usr/bin:/bin",
  HOME: "/tmp",
  TMPDIR: "/tmp",
  LANG: "C.UTF-8",
};

// What is the same for all programs that may use the network: where they find the proxy, the certificates, and Node.

/** Where a company's own authority is made known to programs; seen inside when it lies with the system's certificates. */
const CERTIFICATES = ["NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "PIP_CERT", "CURL_CA_BUNDLE"];
const CERTIFICATE_FOLDERS = /^\/(?:etc\/ssl\/certs|etc\/pki|usr\/share)\//;

/** The very Node this program runs on, wherever it was installed. */
export function nodeReach(): Reach {
  return { path: realpathSync(process.execPath), access: "read" };
}

/** By what programs find the proxy. Nothing goes past it: `NO_PROXY` is empty. */
export function proxyEnvironment(place: string): Record<string, string> {
  const env: Record<string, string> = { NO_PROXY: "", no_proxy: "", NODE_USE_ENV_PROXY: "1" };
  for (const name of ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"])
    env[name] = env[name.toLowerCase()] = `http://${place}`;
  return env;
}

/** For programs that speak SOCKS alone. Not in ALL_PROXY: some HTTP clients give up at a kind of proxy they were installed without. */
export function socksEnvironment(place: string): Record<string, string> {
  return { SOCKS_PROXY: `socks5h://${place}`, socks_proxy: `socks5h://${place}` };
}

/** This process's own settings for certificates, as far as they name files that are seen inside. */
export function certificateEnvironment(): Record<string, string> {
  const set = CERTIFICATES.map((name) => [name, process.env[name] ?? ""] as const);
  return Object.fromEntries(set.filter(([, path]) => CERTIFICATE_FOLDERS.test(path) && !path.includes("/..")));
}

// Bytes kept in a file that has no name: many sandboxes read them without their passing through this process again.

/** Where the system shows the open files of this process; only there can one be opened anew. */
const OPEN_FILES = "/proc/self/fd";
const UNUSED = new FinalizationRegistry<number>(closeSync);

/** The file goes when nobody holds this any more. */
export class KeptBytes {
  readonly #fd: number;

  private constructor(fd: number) {
    this.#fd = fd;
    // Not before: a number that is used again would be another file.
    UNUSED.register(this, fd);
  }

  /** Linux only. @throws Error of the file system */
  static of(...pieces: readonly Buffer[]): KeptBytes {
    const { fd, name } = nameless();
    try {
      for (const piece of pieces) writeAll(fd, piece);
      return new KeptBytes(openSync(name, "r"));
    } finally {
      closeSync(fd);
    }
  }

  /** Each piece is written before the next is asked for. Linux only. @throws Error of the file system */
  static async from(pieces: AsyncIterable<Buffer>): Promise<KeptBytes> {
    const { fd, name } = nameless();
    try {
      for await (const piece of pieces) writeAll(fd, piece);
      return new KeptBytes(openSync(name, "r"));
    } finally {
      closeSync(fd);
    }
  }

  /** At its beginning, to be read once; the caller closes it. */
  open(): number {
    return openSync(`${OPEN_FILES}/${this.#fd}`, "r");
  }
}

function writeAll(fd: number, bytes: Buffer): void {
  for (let at = 0; at < bytes.length;) at += writeSync(fd, bytes, at);
}

/** A file that nobody else can open: its folder is this user's alone, and it is gone from there before a byte is written. */
function nameless(): { readonly fd: number; readonly name: string } {
  const folder = mkdtempSync(join(tmpdir(), "mcp-kept-"));
  try {
    const fd = openSync(join(folder, "bytes"), "wx+", 0o600);
    return { fd, name: `${OPEN_FILES}/${fd}` };
  } finally {
    rmSync(folder, { recursive: true });
  }
}
