// Reads where and how `serve` listens and shares (option first, then environment, then the default), and the secrets
// that takes.
import { randomBytes } from "node:crypto";
import * as fs from "node:fs";
import { dirname, join, resolve } from "node:path";
import { makeFolder, whyUnread } from "../audit/owned-files.js";
import type { ClusterPlace } from "../cluster/open-cluster.js";
import { configFolder } from "../policy/own-places.js";
import { didYouMean } from "../policy/section.js";
import { type CommandLine, UsageError } from "./command-line.js";
import { VARIABLES } from "./option-reference.js";

export interface ServeSettings {
  readonly host: string;
  readonly port: number;
  readonly socketPath: string | undefined;
  /** Requests a second one caller may send for as long as it likes. */
  readonly perSecond: number;
  /** Whether a token is asked for. */
  readonly auth: boolean;
  /** The file of those who have tokens of their own. */
  readonly tokens: string | undefined;
  readonly sse: boolean;
  readonly quiet: boolean;
  /** Origins of web pages that may call, as browsers write them. */
  readonly origins: readonly string[];
  /** Values of Host that are served besides the own address, in small letters: the names of a proxy in front. */
  readonly publicHosts: readonly string[];
}

type ServeLine = Pick<
  CommandLine,
  "words" | "host" | "port" | "socket" | "rate" | "tokens" | "noAuth" | "sse" | "quiet" | "origins" | "publicHosts"
>;

const PORT = "3333";
const MAX_PORT = 65_535;
/** What the guard takes of one caller in a minute, a second: who stays under it meets the policy's limits and no other. */
const PER_SECOND = "100";
/** More than this process can answer. */
const MAX_PER_SECOND = 1_000_000;

/** @throws UsageError for what cannot be listened on, and for an open door to other machines */
export function serveSettings(
  line: ServeLine,
  environment: Readonly<Record<string, string | undefined>> = process.env,
): ServeSettings {
  if (line.words.length > 0) throw new UsageError(`serve takes no "${line.words[0]}"; see mcp-secure-local --help`);
  if (line.socket !== undefined && (line.port ?? line.host) !== undefined)
    throw new UsageError("--socket takes the place of --host and --port; keep one or the other");
  const host = line.host ?? (environment["MCP_SECURE_LOCAL_HOST"] || "127.0.0.1");
  const socketPath = line.socket === undefined ? undefined : resolve(line.socket);
  if (line.noAuth && socketPath === undefined && !bindsToLoopback(host))
    throw new UsageError(`--no-auth is for this machine alone: leave it out, or leave out the host ${host}`);
  const publicHosts = publicHostsOf(line.publicHosts, environment["MCP_SECURE_LOCAL_PUBLIC_HOST"]);
  if (line.noAuth && publicHosts.length > 0)
    throw new UsageError("--no-auth is for this machine alone: leave it out, or leave out the public host");
  if (line.noAuth && line.tokens !== undefined)
    throw new UsageError(
      "--no-auth asks nobody for a token, and --tokens lists those who have one; keep one or the other",
    );
  return {
    host,
    port: portOf(line.port ?? (environment["MCP_SECURE_LOCAL_PORT"] || PORT)),
    socketPath,
    perSecond: rateOf(line.rate ?? PER_SECOND),
    auth: !line.noAuth,
    tokens: line.tokens,
    sse: line.sse,
    quiet: line.quiet,
    origins: line.origins.map(originOf),
    publicHosts,
  };
}

/** Whether only programs on this machine reach an address. */
export function bindsToLoopback(host: string): boolean {
  return host === "localhost" || host === "::1" || /^127(?:\.\d{1,3}){3}$/.test(host);
}

const HOST = /^(?:\[[0-9a-f:.]+\]|[a-z0-9_](?:[a-z0-9_.-]*[a-z0-9_])?)(?::\d{1,5})?$/;
/** Ports that clients leave out of Host. */
const USUAL_PORT = /:(?:80|443)$/;

/** What clients send as Host: a name, with its port where that is not the usual one. */
function publicHostsOf(given: readonly string[], variable = ""): readonly string[] {
  const named = given.length > 0 ? given : variable.split(/[\s,]+/).filter((name) => name !== "");
  return named.flatMap((text) => {
    const name = text.toLowerCase();
    if (!HOST.test(name) || Number(/:(\d+)$/.exec(name)?.[1] ?? 1) > MAX_PORT)
      throw new UsageError(
        `--public-host needs the name that clients ask for, and its port where that is not 80 or 443, as in --public-host mcp.example.com, not "${text}"`,
      );
    return USUAL_PORT.test(name) ? [name, name.replace(USUAL_PORT, "")] : [name];
  });
}

/** As a browser sends it: scheme, host, and a port that is not the usual one. */
function originOf(text: string): string {
  const { origin, protocol } = URL.canParse(text) ? new URL(text) : { origin: "null", protocol: "" };
  if (origin === text.replace(/\/$/, "").toLowerCase() && origin !== "null") return origin;
  const like = /^https?:$/.test(protocol) ? `; did you mean ${origin}?` : "";
  throw new UsageError(
    `--origin needs the origin of a web page, as in --origin https://app.example, not "${text}"${like}`,
  );
}

function portOf(text: string): number {
  const port = Number(text);
  if (/^\d+$/.test(text) && port <= MAX_PORT) return port;
  throw new UsageError(`"${text}" is not a port: give a number from 0 (any that is free) to ${MAX_PORT}`);
}

function rateOf(text: string): number {
  const rate = Number(text);
  if (/^[1-9]\d*$/.test(text) && rate <= MAX_PER_SECOND) return rate;
  throw new UsageError(`"${text}" is no rate: give the requests a second that one caller may send, from 1 to 1000000`);
}

// Reads where the processes of a server share: option first, then environment. The key is a file's, made once like the token.

export interface ClusterSettings {
  readonly redis: string;
  readonly prefix: string | undefined;
  readonly address: string | undefined;
  readonly keyFile: string;
  /** Whether somebody named that file: in a folder that exists, or the name is misspelt. */
  readonly isNamed: boolean;
}

type ClusterLine = Pick<CommandLine, "redis" | "prefix" | "address" | "shareKey">;

/** Undefined where nothing is shared. @throws UsageError for an option that says nothing without `--redis` */
export function clusterSettings(
  line: ClusterLine,
  environment: Readonly<Record<string, string | undefined>> = process.env,
): ClusterSettings | undefined {
  // A password in it would stand in the list of processes, so there is a variable too.
  const redis = line.redis ?? environment["MCP_SECURE_LOCAL_REDIS"];
  // Whoever set it meant to share; a process that shares nothing without a word has limits and consents of its own.
  if (redis === "")
    throw new UsageError("MCP_SECURE_LOCAL_REDIS is empty: give it an address, as in redis://127.0.0.1, or unset it");
  if (redis === undefined) {
    const lonely = Object.entries({ "--share-key": line.shareKey, "--address": line.address, "--prefix": line.prefix });
    const [given] = lonely.find(([, value]) => value !== undefined) ?? [];
    if (given === undefined) return undefined;
    throw new UsageError(`${given} belongs to --redis: say where the processes share, as in --redis redis://127.0.0.1`);
  }
  const keyFile = line.shareKey ?? join(configFolder(environment), "share-key");
  return { redis, prefix: line.prefix, address: line.address, keyFile, isNamed: line.shareKey !== undefined };
}

/**
 * With the keys of the file. `onMade`: where there is none one is made, and its file told; without it that is refused, since whoever
 * only looks must not leave a key that belongs to nobody. @throws UsageError for a file not fit to hold them
 */
export function clusterPlace(
  { redis, prefix, keyFile, isNamed }: ClusterSettings,
  onMade?: (file: string) => void,
): ClusterPlace {
  if (isNamed && onMade !== undefined && !fs.existsSync(dirname(keyFile)))
    throw new UsageError(`there is no folder ${dirname(keyFile)}: make it, or name a file elsewhere with --share-key`);
  return { redis, prefix, keys: storedShareKeys(keyFile, onMade) };
}

const OWN = "MCP_SECURE_LOCAL_";
/** What this program tells the programs it starts, which may be itself. */
const TOLD: readonly string[] = ["TREE", "LAUNCH", "REACH", "PARENT", "SANDBOX_ENV", "SANDBOX_TRUSTED"];

/** Variables that are named as ours are and that nobody reads, in one line; undefined where there are none. */
export function unknownVariables(
  environment: Readonly<Record<string, string | undefined>> = process.env,
): string | undefined {
  const known = VARIABLES.flatMap(([name]) => (name.startsWith(OWN) ? [name.slice(OWN.length)] : []));
  const lines = Object.keys(environment).flatMap((name) => {
    const rest = name.startsWith(OWN) ? name.slice(OWN.length) : undefined;
    if (rest === undefined || known.includes(rest) || TOLD.includes(rest)) return [];
    const near = didYouMean(rest, known) || didYouMean(known.find((each) => rest.startsWith(each)) ?? "", known);
    return [`${name} is a variable that nobody reads${near.replace('"', `"${OWN}`)}`];
  });
  return lines.length === 0 ? undefined : lines.join(" ");
}

// Keeps the secrets of `serve`, its token and the key that processes share: made once, in files only their owner can read.

/** Nobody guesses 256 bits. */
const SECRET_BYTES = 32;
/** Room for some keys, and to notice that a file holds something else. */
const MAX_FILE_BYTES = 1024;
const OTHERS = 0o077;

interface SecretKind {
  readonly noun: string;
  readonly pattern: RegExp;
  readonly encoding: "base64" | "base64url";
  /** Lines of a file, each a secret. */
  readonly most: number;
  /** What to do about a file that is not fit: where it is not one process's own, a new one would lead away from the others. */
  readonly mend: {
    readonly wrong: string;
    readonly link: string;
    readonly foreign: string;
    readonly known: (file: string) => string;
    readonly other: string;
  };
}

const TOKEN: SecretKind = {
  noun: "token",
  pattern: /^[A-Za-z0-9_-]{43}$/,
  encoding: "base64url",
  most: 1,
  mend: {
    wrong: "copy it anew where other machines have it; else remove it, and the next start makes a new one",
    link: "remove it, and the next start makes one",
    foreign: "remove it, and the next start makes a token of your own",
    known: (file) =>
      `if you copied it and nobody else could read it, chmod 600 ${file}; otherwise remove it, and the next start makes a new one`,
    other: "see to its rights, or remove it",
  },
};
const COPY = "copy it anew from a machine that has it";
const SHARE_KEY: SecretKind = {
  noun: "key",
  pattern: /^[A-Za-z0-9+/]{43}=$/,
  encoding: "base64",
  most: 4,
  mend: {
    wrong: `${COPY}; only where no process has one, remove it, and the next start of serve makes a new one`,
    link: "put a copy in its place, readable by you alone",
    foreign: `${COPY}, as the one who runs this`,
    known: (file) =>
      `if you copied it and nobody else could read it, chmod 600 ${file}; otherwise change the key in all processes, as docs/scale.md says`,
    other: "see to its rights",
  },
};

/** The token of a file, which is made if there is none. @throws UsageError when the file is not fit to hold a secret */
export function storedToken(file: string): string {
  return storedSecrets(file, TOKEN, () => undefined)[0] as string;
}

/**
 * The keys of a file, one a line. While keys are changed it holds several: the first is used, all are accepted. Where there is none
 * one is made, and `onMade` told of it; without `onMade` that is refused. @throws UsageError when the file is not fit to hold a secret
 */
export function storedShareKeys(file: string, onMade?: (file: string) => void): readonly string[] {
  return storedSecrets(file, SHARE_KEY, onMade);
}

function storedSecrets(file: string, kind: SecretKind, onMade?: (file: string) => void): readonly string[] {
  try {
    const found = readSecrets(file, kind);
    if (found !== undefined) return found;
    if (onMade !== undefined) return [makeSecret(file, kind, onMade)];
  } catch (error) {
    if (error instanceof UsageError) throw error;
    const why = whyUnread(error);
    throw new UsageError(`the ${kind.noun} file ${file} cannot be used: ${why}; ${kind.mend.other}`, { cause: error });
  }
  throw new UsageError(
    `there is no key at ${file}: copy it from a machine where serve shares, or name it with --share-key FILE`,
  );
}

/** Undefined when there is no file. The checks are made on the open file, which nobody can swap any more. */
function readSecrets(file: string, kind: SecretKind): readonly string[] | undefined {
  const { noun, pattern, most, mend } = kind;
  const descriptor = openExisting(file, kind);
  if (descriptor === undefined) return undefined;
  try {
    checkOwner(file, fs.fstatSync(descriptor), kind);
    const bytes = Buffer.alloc(MAX_FILE_BYTES);
    const lines = bytes.toString("latin1", 0, fs.readSync(descriptor, bytes)).trimEnd().split(/\r?\n/);
    if (lines.length > most || !lines.every((line) => pattern.test(line)))
      throw new UsageError(`${file} holds no ${noun}: ${mend.wrong}`);
    return lines;
  } finally {
    fs.closeSync(descriptor);
  }
}

function openExisting(file: string, { noun, mend }: SecretKind): number | undefined {
  try {
    // A link or pipe planted under the name must neither be followed nor waited for. Windows has no such flags, and "or" takes them for 0.
    return fs.openSync(file, fs.constants.O_RDONLY | fs.constants.O_NOFOLLOW | fs.constants.O_NONBLOCK);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT") return undefined;
    if (code === "ELOOP")
      throw new UsageError(`${file} is a link, and the ${noun} has to be in a file of its own: ${mend.link}`);
    throw error;
  }
}

function checkOwner(file: string, stats: fs.Stats, { noun, mend }: SecretKind): void {
  if (!stats.isFile()) throw new UsageError(`${file} is no file, so the ${noun} cannot be kept there: ${mend.link}`);
  if (process.platform === "win32") return;
  if (stats.uid !== process.getuid?.()) throw new UsageError(`${file} belongs to somebody else: ${mend.foreign}`);
  if ((stats.mode & OTHERS) === 0) return;
  const mode = (stats.mode & 0o777).toString(8).padStart(4, "0");
  const why = noun === "token" ? ", so its token may be known" : "";
  throw new UsageError(`${file} may be read by others (mode ${mode})${why}: ${mend.known(file)}`);
}

/** Writes a file of another name and links it to the right one, so that it is whole and of two first starts only one wins. */
function makeSecret(file: string, kind: SecretKind, onMade: (file: string) => void): string {
  const folder = dirname(file);
  makeFolder(folder);
  const secret = randomBytes(SECRET_BYTES).toString(kind.encoding);
  const draft = `${file}.${randomBytes(8).toString("hex")}`;
  const descriptor = fs.openSync(draft, "wx", 0o600);
  try {
    fs.writeSync(descriptor, `${secret}\n`);
    fs.fsyncSync(descriptor);
  } finally {
    fs.closeSync(descriptor);
  }
  if (!place(draft, file)) return readSecrets(file, kind)?.[0] ?? secret;
  onMade(file);
  return secret;
}

/** False when another start was faster. */
function place(draft: string, file: string): boolean {
  try {
    fs.linkSync(draft, file);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "EEXIST") return false;
    // Some file systems have no links.
    fs.renameSync(draft, file);
    return true;
  } finally {
    fs.rmSync(draft, { force: true });
  }
  return true;
}
