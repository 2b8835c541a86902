// Asks the person at the terminal on stderr, so that stdout holds nothing but data.
import { type Ask, askOn } from "../terminal.js";

/** Whether somebody is there to be asked. */
export function isInteractive(): boolean {
  return process.stdin.isTTY && process.stderr.isTTY;
}

/** Runs a conversation; `undefined` of `ask` means that the person has gone. One at a time. */
export function questioner<T>(conversation: (ask: Ask) => Promise<T>): Promise<T> {
  const next = last.then(() => asked(conversation));
  last = next.catch(() => undefined);
  return next;
}

let last: Promise<unknown> = Promise.resolve();

async function asked<T>(conversation: (ask: Ask) => Promise<T>): Promise<T> {
  const { createInterface } = await import("node:readline/promises");
  const lines = createInterface({ input: process.stdin, output: process.stderr });
  const gone = new AbortController();
  lines.on("close", () => gone.abort());
  // Without a listener readline ends the process's chance to close what it has opened.
  lines.on("SIGINT", () => {
    lines.close();
    process.kill(process.pid, "SIGINT");
  });
  try {
    return await conversation(askOn(lines, process.stderr, gone.signal));
  } finally {
    lines.close();
  }
}
