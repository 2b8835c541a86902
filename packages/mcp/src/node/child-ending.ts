// Ends a process tree: asked politely first, killed in the end, looked for until nobody is found.
import type { ChildTree, TreeView } from "./child-tree.js";

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
    await pause(FIRST_PAUSE_MS);
    view = await tree.look();
  }
  return view;
}

/** With `remind` a signal at each look, for those who were born while the others were ended. */
async function untilEmpty(tree: ChildTree, ms: number, remind?: "SIGKILL"): Promise<TreeView["members"]> {
  const deadline = performance.now() + ms;
  for (let wait = FIRST_PAUSE_MS; ; wait = Math.min(wait * 2, LONGEST_PAUSE_MS)) {
    await pause(Math.max(1, Math.min(wait, deadline - performance.now())));
    const { members } = await settledView(tree);
    if (members.length === 0 || performance.now() >= deadline) return members;
    if (remind !== undefined) tree.signal(members, remind);
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** Resolves with true when `event` does, with false when `ms` have passed before. */
export async function within(event: Promise<unknown>, ms: number): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<false>((resolve) => {
    timer = setTimeout(resolve, ms, false);
  });
  const outcome = await Promise.race([event.then(() => true), late]);
  clearTimeout(timer);
  return outcome;
}
