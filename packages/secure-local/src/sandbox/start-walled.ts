// Starts a program behind a wall, and ends it with everything it started.
import { type ChildProcess, spawn, type StdioOptions } from "node:child_process";
import type { Buffer } from "node:buffer";
import { closeSync, lstatSync, readFileSync } from "node:fs";
import type { Duplex } from "node:stream";
import { inheritedFiles } from "./inherited-files.js";
import { KeptBytes } from "./kept-bytes.js";
import { serveKeeper } from "./serve-keeper.js";
import { type Feed, type Launch, type Reach, type Wall, type WalledCommand, WallError } from "./wall.js";

/** What becomes of stdin, stdout and stderr. */
export type Streams = readonly [
  "pipe" | "ignore" | "inherit",
  "pipe" | "ignore" | "inherit",
  "pipe" | "inherit" | "ignore",
];

const FIRST_FEED = 3;
/** Within this a sandbox is built, even by a machine under load. */
const BUILT_MS = 10_000;
/** Sandboxes that are being built. */
const CLOSED_GATES = new WeakMap<ChildProcess, Duplex>();

/** Listen to `error` and `exit`: a program that cannot be started tells it there. @throws WallError for what the wall cannot do */
export function startWalled(wall: Wall, command: WalledCommand, streams: Streams): ChildProcess {
  const launch = wall.launch(command);
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
    for (const [index, feed] of feeds.entries())
      feedTo(child, child.stdio[FIRST_FEED + index] as Duplex | null | undefined, feed, launch);
    return child;
  } finally {
    for (const fd of files) if (fd !== undefined) closeSync(fd);
  }
}

function feedTo(child: ChildProcess, stream: Duplex | null | undefined, feed: Feed, launch: Launch): void {
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
  { held = [], judged = [] }: Pick<Launch, "held" | "judged">,
): void {
  if (!gate) return;
  CLOSED_GATES.set(child, gate);
  gate.on("error", () => undefined);
  gate.once("data", () => {
    CLOSED_GATES.delete(child);
    const other = held.find((reach) => !isSeen(child, reach));
    if (other !== undefined) {
      gate.destroy();
      const words = `"${other.at ?? other.path}" was exchanged while its sandbox was built, so nothing was started; try again.`;
      child.emit("error", new WallError(words));
    } else if (judged.length > 0) {
      gate.write("\n");
      serveKeeper(gate, judged).catch(() => gate.destroy());
    } else gate.end("\n");
  });
  child.once("exit", () => gate.destroy());
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
  for (const inside of childrenOf(child.pid)) {
    try {
      process.kill(inside, "SIGKILL");
    } catch {
      // It ended meanwhile.
    }
  }
  child.kill("SIGKILL");
}

/** None where the kernel was built without this list; a process that we have not yet been told the end of keeps its number. */
function childrenOf(pid: number | undefined): readonly number[] {
  try {
    return readFileSync(`/proc/${pid}/task/${pid}/children`, "latin1").split(" ").filter(Boolean).map(Number);
  } catch {
    return [];
  }
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
