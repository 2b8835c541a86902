// Stands between a client and the server it wanted to start: passes everything on as it is, and writes it down.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { constants } from "node:os";
import type { Readable, Writable } from "node:stream";
import { LocalError } from "@secure-local/mcp/client/node";
import type { CommandTarget } from "../remote/target.js";
import { lineObserver } from "./line-observer.js";
import type { RecordingFile } from "./recording.js";

export interface Streams {
  readonly input: Readable;
  readonly output: Writable;
}

/** A server whose input has ended gets this long until it is told to end, and this long again until it is killed. */
const PATIENCE_MS = 5_000;
const SIGNAL_CODE = 128;

/** Resolves with the server's exit code when it has ended. Rejects with SPAWN_FAILED. */
export async function recordChild(
  { command, args, env, cwd }: CommandTarget,
  recording: RecordingFile,
  { input, output }: Streams,
): Promise<number> {
  // The client has set up our environment for the server.
  const child = spawn(command, [...args], {
    env: { ...process.env, ...env },
    ...(cwd === undefined ? {} : { cwd }),
    stdio: ["pipe", "pipe", "inherit"],
  });
  try {
    await once(child, "spawn");
  } catch (error) {
    throw new LocalError("SPAWN_FAILED", `Cannot start ${command}: ${(error as Error).message}`, { cause: error });
  }
  const pass = (signal: NodeJS.Signals): void => void child.kill(signal);
  process.on("SIGINT", pass).on("SIGTERM", pass);
  const timers: NodeJS.Timeout[] = [];
  input.once("end", () => {
    timers.push(setTimeout(pass, PATIENCE_MS, "SIGTERM"), setTimeout(pass, 2 * PATIENCE_MS, "SIGKILL"));
  });
  // Whoever stops reading ends the other side, not us.
  child.stdin.on("error", () => undefined);
  input.pipe(lineObserver((line) => recording.take("client", line))).pipe(child.stdin);
  child.stdout.pipe(lineObserver((line) => recording.take("server", line))).pipe(output, { end: false });
  const [code, signal] = (await once(child, "close")) as [number | null, NodeJS.Signals | null];
  for (const timer of timers) clearTimeout(timer);
  process.removeListener("SIGINT", pass).removeListener("SIGTERM", pass);
  input.unpipe();
  input.destroy();
  return code ?? SIGNAL_CODE + constants.signals[signal ?? "SIGTERM"];
}
