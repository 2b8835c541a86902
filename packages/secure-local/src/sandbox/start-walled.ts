// Starts a program behind a wall, and ends it with everything it started.
import { Buffer } from "node:buffer";
import { type ChildProcess, spawn, type StdioOptions } from "node:child_process";
import { randomBytes } from "node:crypto";
import {
  closeSync,
  fstatSync,
  lstatSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  type Stats,
} from "node:fs";
import { readdir } from "node:fs/promises";
import { constants } from "node:os";
import type { Duplex } from "node:stream";
import { childrenOf, type ControlGroup, controlGroup } from "./control-group.js";
import { exactText } from "./exact-text.js";
import {
  type Feed,
  type Judge,
  KeptBytes,
  type Launch,
  type Reach,
  type Wall,
  type WalledCommand,
  WallError,
} from "./wall.js";

// Finds the files this process was started with: whatever it starts would have them open, too.

interface InheritedFiles {
  /** File descriptors from 3 on, in order. */
  readonly places: readonly number[];
  /** The empty device, open, to put in their places. */
  readonly empty: number;
}

/** Linux's flag for a file that a started program does not get; Node sets it for every file it opens itself. */
const CLOSE_ON_EXEC = 0o2000000;

let known: InheritedFiles | undefined;

/** Looked up once: later files are all opened by Node. Elsewhere than on Linux there is nothing to look at, and the list is empty. */
function inheritedFiles(): InheritedFiles {
  known ??= { places: places(), empty: openSync("/dev/null", "r+") };
  return known;
}

function places(): number[] {
  if (process.platform !== "linux") return [];
  const found = readdirSync("/proc/self/fdinfo")
    .map(Number)
    .filter((fd) => fd >= 3 && isPassedOn(fd));
  return found.sort((a, b) => a - b);
}

function isPassedOn(fd: number): boolean {
  try {
    const flags = /^flags:\s*([0-7]+)$/m.exec(readFileSync(`/proc/self/fdinfo/${fd}`, "utf8"))?.[1];
    return flags !== undefined && (Number.parseInt(flags, 8) & CLOSE_ON_EXEC) === 0;
  } catch {
    // The list's own descriptor, closed meanwhile.
    return false;
  }
}

// Answers what the keeper of a sandbox's folders asks: whether something may be done to a path inside.

/** What the keeper's asks begin with. */
const OPS: Readonly<Record<string, Parameters<Judge>[1]>> = {
  r: "read",
  w: "write",
  d: "folder",
  h: "mode",
  l: "list",
  s: "bring",
};
/** A folder is moved with all that lies in it; one with more entries is copied by whoever moves it. */
const MOST_MOVED = 10_000;
/** How long names are judged at a time, and all of one folder that is moved: more is refused. */
const TURN_MS = 5;
const MOST_JUDGED_MS = 30_000;
/** No ask is longer: two paths of the longest kind. */
const LONGEST_ASK = 16_384;
const LENGTH = 4;
const MAY = 0;
/** An answer that the keeper is to ask for anew the next time; no error has this number. */
const MAY_NOW = 255;
const EACCES = 13;
/** What a program is told of a disk that cannot be written. */
const EROFS = 30;
/** What a program is told when two places are on different disks: it copies. */
const EXDEV = 18;
/** How the kernel marks the path of what has no name any more. */
const DELETED = / \(deleted\)(?:\/|$)/;

/** Serves until the stream ends; whatever cannot be read or judged is refused. */
async function serveKeeper(gate: Duplex, judged: readonly Reach[]): Promise<void> {
  // The longest path that fits decides.
  const places = [...judged].sort((a, b) => seenAt(b).length - seenAt(a).length);
  let waiting: Buffer = Buffer.alloc(0);
  for await (const bytes of gate as AsyncIterable<Buffer>) {
    waiting = waiting.length === 0 ? bytes : Buffer.concat([waiting, bytes]);
    for (let length = askIn(waiting); length !== undefined; length = askIn(waiting)) {
      const said = await answer(places, waiting.subarray(LENGTH, length)).catch(() => EACCES);
      waiting = waiting.subarray(length);
      gate.write(Buffer.from([said]));
    }
  }
}

/** How long the first ask is with what says so; undefined while not all of it is there. @throws Error for one that is too long */
function askIn(waiting: Buffer): number | undefined {
  if (waiting.length < LENGTH) return undefined;
  const length = LENGTH + waiting.readUInt32BE(0);
  if (length > LONGEST_ASK) throw new Error("The keeper of a sandbox asked for a path that is none.");
  return waiting.length < length ? undefined : length;
}

async function answer(places: readonly Reach[], ask: Buffer): Promise<number> {
  const kind = ask.toString("latin1", 0, 1);
  if (kind === "m") {
    const length = ask.readUInt32BE(1);
    const from = exactText(ask.subarray(1 + LENGTH, 1 + LENGTH + length));
    const to = exactText(ask.subarray(1 + LENGTH + length));
    return from === undefined || to === undefined ? EACCES : await mayMove(places, from, to);
  }
  const inside = exactText(ask.subarray(1));
  // No rule can name it.
  if (inside === undefined) return EACCES;
  if (kind === "v") return await mayLieIn(places, inside);
  if (kind === "c") return takeConfig(places, inside);
  if (kind === "n") return noteMade(places, inside);
  const op = OPS[kind];
  if (op === undefined) return EACCES;
  const place = placeOf(places, inside);
  if (op !== "read" && op !== "list" && place?.access === "read") {
    place.refused?.(place.path, op);
    return EROFS;
  }
  if (!may(places, inside, op)) return EACCES;
  return place?.passing?.(inside) ? MAY_NOW : MAY;
}

/** `inside` is the number of a file that was made, and its path. */
function noteMade(places: readonly Reach[], inside: string): number {
  const [, inode, path] = /^(\d+) (.*)$/s.exec(inside) ?? [];
  const place = path === undefined ? undefined : placeOf(places, path);
  if (inode !== undefined) place?.made?.(place.path, BigInt(inode));
  return MAY;
}

/** `inside` is the configuration of a repository: what lies beside it, locked, is to take its place. */
function takeConfig(places: readonly Reach[], inside: string): number {
  const place = placeOf(places, inside);
  if (place?.access !== "write" || place.takeGitConfig === undefined || DELETED.test(inside)) return EACCES;
  const lock = `${place.path}.lock`;
  if (!place.judge(lock, "write")) return EACCES;
  return place.takeGitConfig(place.path.slice(0, place.path.lastIndexOf("/"))) ? MAY : EACCES;
}

function may(places: readonly Reach[], inside: string, op: Parameters<Judge>[1]): boolean {
  const place = placeOf(places, inside);
  const allowed = place !== undefined && !DELETED.test(inside) && place.judge(place.path, op);
  if (!allowed) place?.refused?.(place.path, op);
  return allowed;
}

/** Where a path that is seen inside really is, and who judges it; undefined where no judged folder holds it. */
function placeOf(
  places: readonly Reach[],
  inside: string,
):
  | (Pick<Reach, "path" | "access" | "passing" | "refused" | "made" | "takeGitConfig"> & { readonly judge: Judge })
  | undefined {
  const place = places.find((each) => inside === seenAt(each) || inside.startsWith(`${seenAt(each)}/`));
  if (place?.judge === undefined) return undefined;
  return { ...place, path: place.path + inside.slice(seenAt(place).length), judge: place.judge };
}

function seenAt({ path, at = path }: Reach): string {
  return at;
}

/** All that lies in a folder gets another path with it: each is judged where it is, and where it will be. */
async function mayMove(places: readonly Reach[], from: string, to: string): Promise<number> {
  const root = placeOf(places, from);
  // What comes from a folder of the sandbox's own cannot be seen from here.
  if (root === undefined) return EXDEV;
  // Others may make names in it at this moment: where protected names begin, it is copied, each name judged where it comes to be.
  const there = placeOf(places, to);
  if (there !== undefined && !there.judge(there.path, "fill")) return EXDEV;
  const names = await namesIn(root.path);
  if (!Array.isArray(names)) return names.no;
  const turns = new Turns();
  for (const below of names) {
    if (!may(places, from + below, "write")) return EACCES;
    if (there !== undefined && !may(places, to + below, "write")) return EACCES;
    if (await turns.areOver()) return EACCES;
  }
  return MAY;
}

/** What a folder was moved with came to lie in it before it was moved, and was perhaps not there when that was judged. */
async function mayLieIn(places: readonly Reach[], folder: string): Promise<number> {
  const there = placeOf(places, folder);
  if (there === undefined) return MAY;
  const names = await namesIn(there.path);
  if (!Array.isArray(names)) return EACCES;
  const turns = new Turns();
  for (const below of names) if (!may(places, folder + below, "write") || (await turns.areOver())) return EACCES;
  return MAY;
}

/** All names below a folder, each with a `/` before it; or the error, if there are too many, or one that is no text. */
async function namesIn(folder: string): Promise<string[] | { readonly no: number }> {
  const names: string[] = [];
  const folders = [""];
  for (let above = folders.pop(); above !== undefined; above = folders.pop()) {
    const entries = await readdir(folder + above, { withFileTypes: true, encoding: "buffer" });
    if (names.length + entries.length > MOST_MOVED) return { no: EXDEV };
    for (const entry of entries) {
      const name = exactText(entry.name);
      if (name === undefined) return { no: EACCES };
      const below = `${above}/${name}`;
      names.push(below);
      if (entry.isDirectory()) folders.push(below);
    }
  }
  return names;
}

/** Lets everything else have its turn while many names are judged: a program decides how many. */
class Turns {
  readonly #began = performance.now();
  #turn = this.#began;

  /** Call after each; true once it took longer than it may. */
  async areOver(): Promise<boolean> {
    const now = performance.now();
    if (now - this.#turn >= TURN_MS) {
      await new Promise((resolve) => setImmediate(resolve));
      this.#turn = performance.now();
    }
    return now - this.#began > MOST_JUDGED_MS;
  }
}

/** What becomes of stdin, stdout and stderr. */
type Streams = readonly ["pipe" | "ignore" | "inherit", "pipe" | "ignore" | "inherit", "pipe" | "inherit" | "ignore"];

const FIRST_FEED = 3;
/** Within this a sandbox is built, even by a machine under load. */
const BUILT_MS = 10_000;
/** Sandboxes that are being built. */
const CLOSED_GATES = new WeakMap<ChildProcess, Duplex>();

/** Listen to `error` and `exit`: a program that cannot be started tells it there. @throws WallError for what the wall cannot do */
export function startWalled(wall: Wall, command: WalledCommand, streams: Streams): ChildProcess {
  const launch = {
    ...wall.launch(handsFile(wall, streams) ? { ...command, keeper: true } : command),
    limits: command.limits,
  };
  const { file, args, env, cwd, feeds } = launch;
  const files = feeds.map((feed) => (feed instanceof KeptBytes ? feed.open() : undefined));
  try {
    const child = spawn(file, args, {
      stdio: stdioOf(streams, files),
      env,
      cwd: cwd ?? "/",
      // Without a namespace the process group is what can be ended as a whole.
      detached: wall.name !== "bubblewrap",
      windowsHide: true,
    });
    if (wall.name !== "bubblewrap") endWithUs(wall, child);
    for (const [index, feed] of feeds.entries())
      feedTo(child, child.stdio[FIRST_FEED + index] as Duplex | null | undefined, feed, launch);
    return child;
  } finally {
    for (const fd of files) if (fd !== undefined) closeSync(fd);
  }
}

/**
 * Whether the command gets something of this program's own that has a path, and so could be opened anew, for more than it was open for.
 * @throws WallError for a socket by which it could reach others
 */
function handsFile({ name }: Wall, streams: Streams): boolean {
  if (name !== "bubblewrap") return false;
  const handed = [0, 1, 2].filter((fd) => streams[fd] === "inherit").map((fd) => ({ fd, stats: statsOf(fd) }));
  for (const { fd, stats } of handed) {
    if (stats?.isSocket() === true && !isPrivate(stats.ino))
      throw new WallError(`${STREAM_NAMES[fd]} is a socket that could be pointed elsewhere; hand over a pipe instead.`);
  }
  return handed.some(({ fd, stats }) => stats !== undefined && !stats.isCharacterDevice() && hasPath(fd));
}

const STREAM_NAMES = ["stdin", "stdout", "stderr"];

function statsOf(fd: number): Stats | undefined {
  try {
    return fstatSync(fd);
  } catch {
    // Closed, or nothing that can be looked at.
    return undefined;
  }
}

function hasPath(fd: number): boolean {
  try {
    return readlinkSync(`/proc/self/fd/${fd}`).startsWith("/");
  } catch {
    return true;
  }
}

/** A Unix socket of a stream has one peer for good. The list has one line for each socket: number, count, protocol, flags, kind, state, inode. */
function isPrivate(inode: number): boolean {
  const lines = readFileSync("/proc/self/net/unix", "latin1").split("\n");
  const kind = lines.map((line) => line.split(/\s+/)).find((words) => words[6] === String(inode))?.[4];
  return kind === "0001" || kind === "0005";
}

/** What is started, and what all of it together may use. */
interface Limited extends Launch {
  readonly limits: WalledCommand["limits"];
}

function feedTo(child: ChildProcess, stream: Duplex | null | undefined, feed: Feed, launch: Limited): void {
  if (feed === "gate") letThrough(child, stream, launch);
  else if (!(feed instanceof KeptBytes)) hand(stream, feed);
}

/**
 * Ends it at once: behind bubblewrap all processes of the sandbox die with the first, elsewhere those of its group.
 */
export function endWalled(wall: Wall, child: ChildProcess): void {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
  if (wall.name === "bubblewrap") {
    const gate = CLOSED_GATES.get(child);
    if (gate === undefined) endStanding(child);
    else closeForGood(child, gate);
    return;
  }
  try {
    process.kill(-child.pid, "SIGKILL");
  } catch {
    child.kill("SIGKILL");
  }
}

/** Programs that no sandbox ends when this process ends. */
const OUTLIVING = new Set<() => void>();

/** However this process ends, but by a signal that it cannot hear: a command that is interrupted, too. */
function endWithUs(wall: Wall, child: ChildProcess): void {
  if (OUTLIVING.size === 0) process.once("exit", endOutliving);
  const end = (): void => endWalled(wall, child);
  OUTLIVING.add(end);
  child.once("exit", () => {
    OUTLIVING.delete(end);
    if (OUTLIVING.size === 0) process.removeListener("exit", endOutliving);
  });
}

function endOutliving(): void {
  for (const end of OUTLIVING) end();
}

// A program that no sandbox holds, and all that it starts.

/** Carries the marks of the trees of processes that one belongs to, joined by colons: clients that start programs add theirs. */
const TREE = "MCP_SECURE_LOCAL_TREE";
/** Milliseconds between two looks. One that has just become another program is seen at the second. */
const LOOK_MS = 20;
const [EMPTY_LOOKS, MOST_LOOKS] = [2, 100];

/**
 * What such a program has started ends with it, as it would behind bubblewrap: all of its process group, and on Linux what
 * has left the group and was started with the mark in its environment.
 */
export class UnwalledTree {
  readonly #mark = randomBytes(8).toString("hex");
  /** To be in the environment of the program. */
  readonly env: Readonly<Record<string, string>> = {
    [TREE]: [process.env[TREE], this.#mark].filter(Boolean).join(":"),
  };

  /** Resolves once it has ended and nothing of it is left. To be called in the tick in which it was started. */
  async endsWith(child: ChildProcess): Promise<void> {
    await new Promise<void>((resolve) => {
      child.once("exit", () => {
        // The last moment at which the group is known to be this one: its number is free once nobody is in it.
        kill(-(child.pid ?? Number.NaN));
        resolve();
      });
    });
    for (let [looks, empty] = [0, 0]; empty < EMPTY_LOOKS && looks < MOST_LOOKS; looks++) {
      const left = this.#marked();
      empty = left.length === 0 ? empty + 1 : 0;
      for (const pid of left) kill(pid);
      await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
    }
  }

  /** Those that have ended have no environment. Nobody is listed where there is no /proc. */
  #marked(): readonly number[] {
    try {
      return readdirSync("/proc")
        .map(Number)
        .filter((pid) => pid > 0 && environmentOf(pid).includes(this.#mark));
    } catch {
      return [];
    }
  }
}

function environmentOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/environ`, "latin1");
  } catch {
    return "";
  }
}

/** @param pid Below zero: of a group. */
function kill(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // Nobody is there.
  }
}

/** Files this process was started with would be open inside as well; in their places comes the empty device. */
function stdioOf(streams: Streams, files: readonly (number | undefined)[]): StdioOptions {
  const stdio: Exclude<StdioOptions, string> = [...streams, ...files.map((fd) => fd ?? ("pipe" as const))];
  const { places, empty } = inheritedFiles();
  for (const place of places) {
    while (stdio.length < place) stdio.push("ignore");
    if (stdio.length === place) stdio.push(empty);
  }
  return stdio;
}

/** Lets the command begin once its sandbox stands and shows what it is to show. */
function letThrough(
  child: ChildProcess,
  gate: Duplex | null | undefined,
  { held = [], judged = [], limits }: Pick<Limited, "held" | "judged" | "limits">,
): void {
  if (!gate) return;
  const group = controlGroup(limits);
  group?.prepare(child.pid);
  CLOSED_GATES.set(child, gate);
  gate.on("error", () => undefined);
  gate.once("data", () => {
    CLOSED_GATES.delete(child);
    const other = held.find((reach) => !isSeen(child, reach));
    const fault =
      other === undefined
        ? notHeld(child, group)
        : `"${other.at ?? other.path}" was exchanged while its sandbox was built, so nothing was started; try again.`;
    if (fault !== undefined) {
      gate.destroy();
      child.emit("error", new WallError(fault));
      return;
    }
    if (judged.length > 0) {
      gate.write("\n");
      serveKeeper(gate, judged).catch(() => gate.destroy());
    } else gate.end("\n");
  });
  child.once("exit", () => {
    gate.destroy();
    group?.remove();
  });
}

/** Puts what runs inside into its group; says why it could not be. */
function notHeld(child: ChildProcess, group: ControlGroup | undefined): string | undefined {
  try {
    for (const inside of childrenOf(child.pid)) group?.hold(inside);
    return undefined;
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    return `The sandbox could not be put into its control group (${code ?? message}), so nothing was started; try again.`;
  }
}

/** What was mounted is compared with what was judged: bubblewrap looked the path up again. */
function isSeen(child: ChildProcess, { path, at = path, held }: Reach): boolean {
  try {
    const [inside] = childrenOf(child.pid);
    const { dev, ino } = lstatSync(`/proc/${inside}/root${at}`, { bigint: true });
    return dev === held?.dev && ino === held.ino;
  } catch {
    return false;
  }
}

/**
 * The first process inside is ended too: on a busy machine the command runs before that process has asked the kernel to end
 * with the one outside, and then it would stay. The one outside is held meanwhile: it would note that end, let go of the
 * number, and end as if nobody had ended it.
 */
function endStanding(child: ChildProcess): void {
  child.kill("SIGSTOP");
  for (const inside of childrenOf(child.pid)) kill(inside);
  child.kill("SIGKILL");
}

/**
 * Half of a sandbox cannot be killed as a whole, so it is built to its end, which is at the gate: nothing of the command has
 * begun, and nothing will.
 */
function closeForGood(child: ChildProcess, gate: Duplex): void {
  gate.destroy();
  const timer = setTimeout(() => endStanding(child), BUILT_MS).unref();
  child.once("exit", () => clearTimeout(timer));
}

/** A program that ends before it has read everything is told by its exit, not here. */
function hand(stream: Duplex | null | undefined, bytes: Buffer): void {
  stream?.on("error", () => undefined);
  stream?.end(bytes);
}

// Says which limit of a sandbox ended a program, by the signal the kernel ends it with.

/** The key to raise, and what went over it. */
const LIMITS: Partial<Record<NodeJS.Signals, string>> = {
  SIGXFSZ: "it wrote a file longer than sandbox.file_mb allows",
  SIGXCPU: "it computed longer than sandbox.cpu_seconds allows",
};

/** @param code Of a sandbox: it passes on what ended the program inside as 128 and the signal's number. */
export function signalOf(code: number | null | undefined, signal?: string | null): string | undefined {
  return signal ?? Object.entries(constants.signals).find(([, number]) => number + 128 === code)?.[0];
}

/** Undefined where no limit did it, as far as the kernel says. */
export function endedByLimit(code: number | null | undefined, signal?: string | null): string | undefined {
  return LIMITS[signalOf(code, signal) as NodeJS.Signals];
}
