// The process that keeps a stage alive: today's clients, each with its server, and the console. It ends them when it ends.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { startDriver } from "../lib/stdio-driver.mjs";
import { COMMAND, remember } from "./stage-folder.mjs";
import { SLOW_QUERY } from "./world.mjs";

/** Milliseconds between two calls of the busiest client: its limits are in use, and the newest thousand calls reach back an hour. */
const BUSY_MS = 5_000;
/** Of how many of those one reads a file as well. */
const READS = 3;
/** Milliseconds before a question that nobody answered is put again. */
const AGAIN_MS = 1_000;
/** How often a remembered answer let the same call pass. */
export const LET_THROUGH = 3;
/** Where the two calls that wait would copy to: the right one, and the other. */
export const COPIES = { right: "vault.example.org", wrong: "vault.example.net" };

/** Resolves when the stage is ended by a signal. */
export async function keepStage(stage) {
  const children = [];
  const connect = async (name, { policy = stage.policy, answer } = {}) => {
    const command = [process.execPath, COMMAND, "--policy", policy];
    const driver = await startDriver(command, { name, env: stage.env, cwd: stage.home, answer });
    children.push(driver.child);
    return driver.call;
  };
  const ended = Promise.race(["SIGTERM", "SIGINT", "SIGHUP"].map((signal) => once(process, signal)));
  try {
    const busy = await connect("claude-code");
    await Promise.all([
      callServers(busy, stage),
      connect("cursor").then((call) => wait(call, stage)),
      connect("zed", { answer: remembers }).then((call) => writeStatus(call, stage)),
      connect("goose", { policy: stage.teamPolicy }).then((call) => callAsTeam(call, stage)),
    ]);
    const timer = keepBusy(busy, stage);
    const console = startConsole(stage, children);
    remember(stage, "children", [process.pid, ...children.map(({ pid }) => pid)]);
    await Promise.race([ended, once(console, "exit")]);
    clearInterval(timer);
  } finally {
    await Promise.all(children.map(end));
  }
}

/** Servers end by themselves when their input does; the console by a signal. */
async function end(child) {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.stdin.end();
  child.kill("SIGTERM");
  const late = setTimeout(() => child.kill("SIGKILL"), 10_000);
  await once(child, "exit");
  clearTimeout(late);
}

/** The page's process. Each line that it prints is an address that signs in one browser; a signal asks for another one. */
function startConsole(stage, children) {
  const child = spawn(process.execPath, [COMMAND, "console", "--policy", stage.policy], {
    env: stage.env,
    cwd: stage.home,
    stdio: ["pipe", "pipe", "ignore"],
  });
  children.push(child);
  let printed = 0;
  createInterface(child.stdout).on("line", (address) => {
    printed += 1;
    writeFileSync(stage.own("address"), `${printed} ${address}\n`, { mode: 0o600 });
  });
  process.on("SIGUSR2", () => child.stdin.write("\n"));
  return child;
}

/** Calls of servers behind the policy: one of many is slow, one server has changed a definition, one does not start. */
async function callServers(call, { at }) {
  for (let count = 1; count <= 24; count += 1) {
    await call("tickets__search", { query: count === 13 ? SLOW_QUERY : `refund ${2_270 + count}` });
    if (count % 8 === 0) await call("read_file", { path: at(`notes/day-${count / 8}.md`) });
  }
  for (const tool of ["find", "read", "publish"]) await call(`wiki__${tool}`, {});
  for (let count = 0; count < 3; count += 1) await call("calendar__today", {});
}

/** The client that is always at it. */
function keepBusy(call, { at }) {
  let count = 0;
  return setInterval(() => {
    count += 1;
    void call("calculate", { expression: `${count} * 12` });
    if (count % READS === 0) void call("read_file", { path: at("notes/day-1.md") });
  }, BUSY_MS);
}

/** Two writes that differ in one line far down wait for a person; each is asked for again until somebody answers it. */
function wait(call, { at }) {
  for (const host of Object.values(COPIES))
    void untilAnswered(call, { path: at("work/scripts/backup.sh"), content: script(host) });
}

async function untilAnswered(call, args) {
  for (;;) {
    const result = await call("write_file", args);
    const said = JSON.stringify(result ?? "the server has ended");
    if (!/nobody answered in time/.test(said)) return;
    await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
  }
}

/** A script long enough that nobody sees its end beside its beginning. */
function script(host) {
  const folders = Array.from({ length: 48 }, (_, index) => `part-${String(index + 1).padStart(2, "0")}`);
  const pack = folders.map((name) => `tar --create --gzip --file "$STAGING/${name}.tar.gz" "$SOURCE/${name}"`);
  const check = folders.map((name) => `tar --test-label --file "$STAGING/${name}.tar.gz" || exit 1`);
  return [
    "#!/bin/sh",
    "# Packs the folders of the project, and copies them away.",
    "set -eu",
    'SOURCE="$HOME/work"',
    'STAGING="$(mktemp -d)"',
    ...pack,
    ...check,
    `rsync --archive "$STAGING/" "backup@${host}:/srv/backup/"`,
    'rm -r "$STAGING"',
    "echo done",
    "",
  ].join("\n");
}

/** A client whose user lets the very call pass for as long as it is offered. */
function remembers({ requestedSchema }) {
  const decision = requestedSchema.properties.decision.enum.at(-1);
  return { action: "accept", content: { decision } };
}

async function writeStatus(call, { at }) {
  for (let count = 0; count <= LET_THROUGH; count += 1)
    await call("write_file", { path: at("work/status/today.md"), content: "# Status\nAll is well.\n" });
}

async function callAsTeam(call, { at }) {
  for (let count = 1; count <= 3; count += 1) await call("calculate", { expression: `${count} * 4` });
  await call("write_file", { path: at("team/files/report.md"), content: "# Report\n" });
}
