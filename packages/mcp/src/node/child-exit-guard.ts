// Takes the children along when this process ends without having closed them.
import { endTree } from "./child-ending.js";
import type { ChildTree } from "./child-tree.js";

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
  for (const signal of SIGNALS) process.on(signal, endAll);
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
