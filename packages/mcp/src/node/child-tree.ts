// A child, what it sees of our environment, and everything it has started, found again even where a part of it has left
// for a session of its own.
import { spawn, spawnSync } from "node:child_process";
import { pause } from "../jsonrpc/outgoing.js";
import { initialEnvironment, type ProcessEntry, processEntry, processTable } from "./process-table.js";

// What a child sees of our environment: what programs need to run, and nothing else.

const POSIX_NAMES = ["HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER"];
const WINDOWS_NAMES = [
  "APPDATA",
  "HOMEDRIVE",
  "HOMEPATH",
  "LOCALAPPDATA",
  "PATH",
  "PROCESSOR_ARCHITECTURE",
  "PROGRAMFILES",
  "SYSTEMDRIVE",
  "SYSTEMROOT",
  "TEMP",
  "USERNAME",
  "USERPROFILE",
];

/** Carries the marks of the trees a process belongs to, joined by colons, for finding it again. */
export const TREE_VARIABLE = "MCP_SECURE_LOCAL_TREE";

// Marks of sixty trees one in the other: whatever is longer was not made by us.
const MARKS = /^[0-9a-f]{16}(?::[0-9a-f]{16}){0,59}$/;

/** Variables by name; undefined takes one away. */
export type Environment = Readonly<Record<string, string | undefined>>;

export interface EnvironmentOptions {
  /** Set in the child, over anything inherited. Undefined takes a variable away. */
  readonly env?: Environment | undefined;
  /** More names to inherit, or true for all of the parent's environment. Default: none. */
  readonly inheritEnv?: boolean | readonly string[] | undefined;
}

/** Inherits a fixed list of names, `inheritEnv` beside it; values that are shell functions are never passed on. */
export function childEnvironment(
  { env = {}, inheritEnv = [] }: EnvironmentOptions,
  mark: string,
  parent: NodeJS.ProcessEnv = process.env,
): Record<string, string> {
  const windows = process.platform === "win32";
  const child = new Map<string, [string, string]>();
  const set = (name: string, value: string | undefined): void => {
    const key = windows ? name.toUpperCase() : name;
    if (value === undefined) child.delete(key);
    else child.set(key, [name, value]);
  };
  const wanted = inheritedNames(inheritEnv, windows);
  for (const [name, value] of Object.entries(parent)) {
    if (value === undefined || value.startsWith("()")) continue;
    if (wanted === undefined || wanted.has(windows ? name.toUpperCase() : name)) set(name, value);
  }
  for (const [name, value] of Object.entries(env)) set(name, value);
  const outer = parent[TREE_VARIABLE];
  set(TREE_VARIABLE, outer !== undefined && MARKS.test(outer) ? `${outer}:${mark}` : mark);
  return Object.fromEntries(child.values());
}

function inheritedNames(inheritEnv: boolean | readonly string[], windows: boolean): Set<string> | undefined {
  if (inheritEnv === true) return undefined;
  const names = [...(windows ? WINDOWS_NAMES : POSIX_NAMES), ...(inheritEnv === false ? [] : inheritEnv)];
  return new Set(windows ? names.map((name) => name.toUpperCase()) : names);
}

/** Whoever is in the tree now. */
interface TreeView {
  readonly members: readonly ProcessEntry[];
  /** A process was between two programs and could not be asked whose it is: look again. */
  readonly uncertain: boolean;
}

/**
 * On Linux a process belongs to the tree when it carries the tree's mark in its environment, is in the child's process
 * group, descends from a member, or was a member earlier. What clears its environment, leaves the group and outlives
 * its parent before anybody looked is lost. No process is signalled without a look at when it started. Elsewhere
 * the tree is the process group (on Windows: what `taskkill /T` finds).
 */
export class ChildTree {
  readonly #leader: number;
  readonly #mark: string;
  /** Undefined where there is no /proc. */
  readonly #start: number | undefined;
  /** Members seen, by process number: when each started. */
  #known = new Map<number, number>();
  #leaderGone = false;

  /** To be made in the tick in which the child was started. */
  constructor(leader: number, mark: string) {
    this.#leader = leader;
    this.#mark = mark;
    this.#start = processEntry(leader)?.start;
    if (this.#start !== undefined) this.#known.set(leader, this.#start);
  }

  /** The child has just ended; from the next tick on its number may be given to another process. */
  leaderExited(): void {
    // Without /proc this is the last moment at which the group is known to be ours.
    if (this.#start === undefined && process.platform !== "win32") send(-this.#leader, "SIGKILL");
    this.#leaderGone = true;
  }

  async look(): Promise<TreeView> {
    if (this.#start === undefined) return this.#leaderOnly();
    const steps = this.#search();
    for (;;) {
      const step = steps.next();
      if (step.done === true) return step.value;
      await new Promise((resolve) => setImmediate(resolve));
    }
  }

  /** Without leaving the tick, for a process that is about to end. */
  lookNow(): TreeView {
    if (this.#start === undefined) return this.#leaderOnly();
    const steps = this.#search();
    for (;;) {
      const step = steps.next();
      if (step.done === true) return step.value;
    }
  }

  signal(members: readonly ProcessEntry[], signal: "SIGTERM" | "SIGKILL"): void {
    if (process.platform === "win32") return this.#signalOnWindows(signal);
    if (this.#start === undefined) {
      if (!this.#leaderGone) send(-this.#leader, signal);
      return;
    }
    // The group in one step first, so that nobody slips away by forking in between.
    if (this.#leaderLives()) send(-this.#leader, signal);
    for (const { pid, start, group } of members) {
      const reached = group === this.#leader && signal === "SIGTERM" && this.#leaderLives();
      if (!reached && processEntry(pid)?.start === start) send(pid, signal);
    }
  }

  /** SIGKILL to all that can be found, before this process ends. */
  killNow(): void {
    if (process.platform === "win32") {
      if (!this.#leaderGone) spawnSync("taskkill", ["/pid", String(this.#leader), "/T", "/F"], { windowsHide: true });
      return;
    }
    this.signal(this.lookNow().members, "SIGKILL");
    const missed = this.lookNow().members;
    if (missed.length > 0) this.signal(missed, "SIGKILL");
  }

  // There is no asking first on Windows: a console program gets no message to end by.
  #signalOnWindows(signal: "SIGTERM" | "SIGKILL"): void {
    if (signal === "SIGTERM" || this.#leaderGone) return;
    const options = { windowsHide: true, stdio: "ignore" } as const;
    spawn("taskkill", ["/pid", String(this.#leader), "/T", "/F"], options).on("error", () => undefined);
  }

  #leaderOnly(): TreeView {
    const leader = { pid: this.#leader, parent: process.pid, group: this.#leader, start: 0, ended: false };
    return { members: this.#leaderGone ? [] : [leader], uncertain: false };
  }

  #leaderLives(): boolean {
    return !this.#leaderGone && processEntry(this.#leader)?.start === this.#start;
  }

  *#search(): Generator<void, TreeView> {
    const oldest = this.#start as number;
    // Nothing the child started is older than the child.
    const table = (yield* processTable()).filter(({ start, ended }) => start >= oldest && !ended);
    const grouped = this.#leaderLives();
    const members = new Map<number, ProcessEntry>();
    let uncertain = false;
    for (const entry of table) {
      if (this.#known.get(entry.pid) === entry.start || (grouped && entry.group === this.#leader)) {
        members.set(entry.pid, entry);
        continue;
      }
      const environment = initialEnvironment(entry.pid);
      if (environment === "") uncertain = true;
      if (environment !== undefined && isMarked(environment, this.#mark)) members.set(entry.pid, entry);
    }
    addDescendants(members, table);
    this.#known = new Map([...members.values()].map(({ pid, start }) => [pid, start]));
    return { members: [...members.values()], uncertain };
  }
}

function addDescendants(members: Map<number, ProcessEntry>, table: readonly ProcessEntry[]): void {
  for (let before = -1; before !== members.size;) {
    before = members.size;
    for (const entry of table) {
      if (!members.has(entry.pid) && members.has(entry.parent)) members.set(entry.pid, entry);
    }
  }
}

function isMarked(environment: string, mark: string): boolean {
  const name = `\0${TREE_VARIABLE}=`;
  const at = `\0${environment}`.indexOf(name);
  if (at < 0) return false;
  const end = environment.indexOf("\0", at);
  const value = environment.slice(at + name.length - 1, end < 0 ? undefined : end);
  return value.split(":").includes(mark);
}

function send(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // It has just ended, or it belongs to somebody else now (a program with more rights than ours).
  }
}

// Ends a process tree: asked politely first, killed in the end, looked for until nobody is found.

/** Milliseconds a program gets to end by itself, and then after being asked to. */
export interface CloseTimeouts {
  /** How long a server may take to end by itself once its input has ended. Default 2,000 ms. */
  readonly inputEndMs?: number | undefined;
  /** How long it may take to end after SIGTERM. Default 2,000 ms. */
  readonly terminateMs?: number | undefined;
}

// Enough to write a file and close a database; a person who waits for a program to end does not wait much longer.
export const INPUT_END_MS = 2_000;
export const TERMINATE_MS = 2_000;
// A killed process is gone once the kernel gets round to it; one that hangs in the kernel is given up after this.
const KILL_MS = 2_000;
// Between two looks: short at first, for most processes end at once.
const FIRST_PAUSE_MS = 5;
const LONGEST_PAUSE_MS = 100;
// A process between two programs is settled within one or two of these.
const UNCERTAIN_LOOKS = 4;

/** What was done to end a tree. */
export interface Ending {
  /** Processes that had to be sent a signal. */
  readonly signalled: number;
  /** Somebody could not be ended. */
  readonly survivors: boolean;
}

/** Resolves once nobody is left, or nothing more can be done about it. */
export async function endTree(tree: ChildTree, terminateMs: number): Promise<Ending> {
  let { members } = await settledView(tree);
  const signalled = members.length;
  if (signalled > 0) {
    tree.signal(members, "SIGTERM");
    members = await untilEmpty(tree, terminateMs);
  }
  if (members.length > 0) {
    tree.signal(members, "SIGKILL");
    members = await untilEmpty(tree, KILL_MS, "SIGKILL");
  }
  return { signalled, survivors: members.length > 0 };
}

async function settledView(tree: ChildTree): Promise<TreeView> {
  let view = await tree.look();
  for (let looks = 1; looks < UNCERTAIN_LOOKS && view.members.length === 0 && view.uncertain; looks++) {
    await pause(FIRST_PAUSE_MS, undefined);
    view = await tree.look();
  }
  return view;
}

/** With `remind` a signal at each look, for those who were born while the others were ended. */
async function untilEmpty(tree: ChildTree, ms: number, remind?: "SIGKILL"): Promise<TreeView["members"]> {
  const deadline = performance.now() + ms;
  for (let wait = FIRST_PAUSE_MS; ; wait = Math.min(wait * 2, LONGEST_PAUSE_MS)) {
    await pause(Math.max(1, Math.min(wait, deadline - performance.now())), undefined);
    const { members } = await settledView(tree);
    if (members.length === 0 || performance.now() >= deadline) return members;
    if (remind !== undefined) tree.signal(members, remind);
  }
}

// Takes the children along when this process ends without having closed them.

// Those by which terminals, shells and service managers end a program.
const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
// People who press Ctrl-C wait; the children are told to end and killed after this.
const SIGNAL_MS = 500;

const trees = new Set<ChildTree>();

/**
 * Ends the tree when this process exits (by itself, by `process.exit`, or by an exception nobody caught) or is ended
 * by SIGINT, SIGTERM or SIGHUP to which nobody else listens; the signal then takes its course. What SIGKILL ends runs
 * no code: its children see the end of their input. Returns the function that lets go.
 */
export function endAtExit(tree: ChildTree): () => void {
  // One listener for all trees: Node warns of more than ten.
  if (trees.size === 0) listen();
  trees.add(tree);
  return () => {
    if (trees.delete(tree) && trees.size === 0) stopListening();
  };
}

function listen(): void {
  process.on("exit", killAll);
  // Before the others: those that listen once are gone from the list when they have been told.
  for (const signal of SIGNALS) process.prependListener(signal, endAll);
}

function stopListening(): void {
  process.off("exit", killAll);
  for (const signal of SIGNALS) process.off(signal, endAll);
}

function killAll(): void {
  for (const tree of trees) tree.killNow();
}

// Whoever else listens decides what becomes of this process: exiting, it comes by `killAll`.
function endAll(signal: NodeJS.Signals): void {
  if (process.listenerCount(signal) > 1) return;
  // A second signal ends this process at once.
  for (const name of SIGNALS) process.off(name, endAll);
  void Promise.all([...trees].map((tree) => endTree(tree, SIGNAL_MS))).finally(() => process.kill(process.pid, signal));
}
