// Kills the parent of a server and times how long the server outlives it.
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, mkdtempSync, openSync, rmSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { processIdentity } from "../measure/process-stats.mjs";
import { INITIALIZE } from "../measure/raw-client.mjs";

const PARENT = fileURLToPath(new URL("parent.mjs", import.meta.url));
/** A server that outlives its parent by this much is an orphan. */
export const ORPHAN_MS = 1_000;
/** The kill comes at a moment nobody planned. */
const KILL_WITHIN_MS = 30;
const POLL_MS = 1;

export const PARENT_STATES = ["idle", "loaded", "stalled", "inherited"];

/** Milliseconds from the kill to the server's end; undefined when it is an orphan, which is then killed too. */
export async function killParent(server, state) {
  const input = state === "inherited" ? lastingInput() : undefined;
  const command = [PARENT, state, JSON.stringify(server.asks.call(0)), ...server.args];
  const stdio = [input?.readEnd ?? "pipe", "pipe", "pipe", "pipe"];
  const parent = spawn(process.execPath, command, { env: server.env, stdio });
  parent.stdout.resume();
  try {
    const pid = await serverPid(parent);
    const identity = processIdentity(pid);
    if (identity === undefined) throw new Error("the server ended before its parent was killed");
    if (input !== undefined) await input.handshake(parent);
    await delay(Math.random() * KILL_WITHIN_MS);
    parent.kill("SIGKILL");
    return await timeToExit(pid, identity);
  } finally {
    parent.kill("SIGKILL");
    input?.close();
  }
}

async function timeToExit(pid, identity) {
  const from = performance.now();
  while (processIdentity(pid) === identity) {
    if (performance.now() - from > ORPHAN_MS) {
      process.kill(pid, "SIGKILL");
      return undefined;
    }
    await delay(POLL_MS);
  }
  return performance.now() - from;
}

/** An input that outlives the parent: a named pipe this process keeps open. */
function lastingInput() {
  const folder = mkdtempSync(join(tmpdir(), "secure-local-kill-"));
  const path = join(folder, "input");
  execFileSync("mkfifo", [path]);
  const writeEnd = openSync(path, "r+"); // opening for writing alone would wait for a reader
  const readEnd = openSync(path, "r");
  return {
    readEnd,
    async handshake(parent) {
      const answered = once(parent.stdout, "data");
      writeSync(writeEnd, `${JSON.stringify(INITIALIZE)}\n`);
      await answered;
    },
    close() {
      closeSync(readEnd);
      closeSync(writeEnd);
      rmSync(folder, { recursive: true });
    },
  };
}

async function serverPid(parent) {
  let complaint = "";
  parent.stderr.setEncoding("utf8").on("data", (text) => (complaint += text));
  const told = once(parent.stdio[3], "data").then(([chunk]) => Number(chunk));
  const ended = once(parent, "exit").then(() => {
    throw new Error(
      `the server did not start: ${complaint.split("\n").find((line) => /^\w*Error: /.test(line)) ?? complaint}`,
    );
  });
  ended.catch(() => {}); // it ends, later, in every run
  return Promise.race([told, ended]);
}
