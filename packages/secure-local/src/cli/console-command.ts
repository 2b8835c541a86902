// `mcp-secure-local console`: a page in the browser, where a person watches what agents do, answers, and proves.
import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { makeFolder, WrongKindError } from "../audit/owned-files.js";
import { consoleApi } from "../console/console-api.js";
import { ConsoleListener } from "../console/console-listener.js";
import { ConsoleState } from "../console/console-state.js";
import { ApprovalsInbox } from "../control/control-client.js";
import { usualFile } from "./audit-command.js";
import { type CommandLine, UsageError } from "./command-line.js";
import { consoleCommands } from "./console-commands.js";
import { ServeError, tellFailure } from "./failure.js";
import { controlFolder } from "./settings.js";
import { complain, ExitCode, styled, tell } from "./terminal.js";

const MAX_PORT = 65_535;

/** What a console needs to begin. */
export interface ConsoleSettings {
  readonly line: CommandLine;
  /** 0: any free port. */
  readonly port: number;
}

/** A console that listens. */
export interface OpenConsole {
  /** An address that signs in one browser, once, within ten minutes. */
  address(): string;
  close(): Promise<void>;
}

/** Resolves when the person ends it. @throws UsageError, ServeError */
export async function consoleCommand(line: CommandLine): Promise<number> {
  if (line.words.length > 0) throw new UsageError(`console takes nothing, not "${line.words[0]}"; leave it out`);
  const open = await openConsole({ line, port: portOf(line.port) });
  const show = (): void => tell(line, { address: open.address() }, open.address());
  show();
  const opened = line.open ? openInBrowser(open.address()) : undefined;
  const hint = "Open this address in a browser on this machine. It signs in one browser, once.";
  if (!line.json && opened === undefined) complain(styled("dim", hint, "stderr"));
  if (process.stdin.isTTY && !line.json)
    complain(styled("dim", "Press Enter for another address, Ctrl-C to end.", "stderr"));
  process.stdin.on("data", show);
  await new Promise<void>((resolve) => {
    for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.once(signal, () => resolve());
  });
  opened?.();
  await open.close();
  process.stdin.destroy();
  return ExitCode.Ok;
}

/** What shows a file in the browser of this person. */
const OPENERS: Readonly<Partial<Record<NodeJS.Platform, string>>> = { darwin: "open", win32: "explorer" };
/** Milliseconds that a browser has to read the file: one that is not running yet starts first. */
const READ_MS = 60_000;

/**
 * By a file that only this person can read: other users see with which words a program was started, and the address signs in.
 * @returns removes the file
 */
function openInBrowser(address: string): () => void {
  const folder = controlFolder();
  makeFolder(folder);
  const file = join(folder, `open-${randomBytes(8).toString("hex")}.html`);
  const page = `<!doctype html><meta charset="utf-8"><meta http-equiv="refresh" content="0;url=${address}"><title>Console</title>`;
  writeFileSync(file, page, { mode: 0o600, flag: "wx" });
  const opener = OPENERS[process.platform] ?? "xdg-open";
  const child = spawn(opener, [file], { stdio: "ignore", detached: true });
  child.on("error", ({ message }) => complain(`No browser was opened (${message}): open the address above yourself.`));
  child.on("exit", (code) => {
    if (code !== 0 && code !== null && process.platform !== "win32")
      complain(`No browser was opened (${opener} ended with ${code}): open the address above yourself.`);
  });
  child.unref();
  const remove = (): void => {
    clearTimeout(timer);
    rmSync(file, { force: true });
  };
  const timer = setTimeout(remove, READ_MS).unref();
  return remove;
}

/** @throws ServeError when the port cannot be listened on */
export async function openConsole({ line, port }: ConsoleSettings): Promise<OpenConsole> {
  const inbox = new ApprovalsInbox(controlFolder(), "console");
  const auditFile = await usualFile(line);
  const there = statSync(auditFile, { throwIfNoEntry: false });
  if (there?.isFile() === false)
    throw new UsageError(`${auditFile} is ${new WrongKindError(auditFile, there).what}; name the log with --audit`);
  const state = new ConsoleState({ auditFile, controlFolder: controlFolder(), inbox });
  const listener = new ConsoleListener({
    api: consoleApi(state, consoleCommands(line)),
    assets: join(import.meta.dirname, "console"),
    port,
    report: (error) => void tellFailure(error, { json: false, debug: line.debug }),
  });
  try {
    await listener.listen();
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    const why = code === "EADDRINUSE" ? "another program listens there" : message;
    throw new ServeError(`the console cannot listen on port ${port}: ${why}; name another one with --port`);
  }
  await state.begin();
  return {
    address: () => listener.address(),
    async close() {
      await listener.close();
      await state.close();
    },
  };
}

/** @throws UsageError */
function portOf(written: string | undefined): number {
  const port = Number(written ?? "0");
  if (Number.isInteger(port) && port >= 0 && port <= MAX_PORT) return port;
  throw new UsageError(`--port ${written} is not a port; write a number from 0 to ${MAX_PORT}`);
}
