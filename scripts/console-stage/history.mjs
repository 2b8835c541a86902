// The days before today in the logs of the stage: real sessions of the product, each under a clock that stands back.
import { spawnSync } from "node:child_process";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { startDriver } from "../lib/stdio-driver.mjs";
import { COMMAND, recordsIn } from "./stage-folder.mjs";

const HOUR = 3_600;
const DAY = 24 * HOUR;

/** Of each day: hours back, and what happened beside the usual. */
const DAYS = [
  { ago: 9 * DAY, more: async (call, { at }) => call("read_file", { path: at("shared/handbook.md") }) },
  { ago: 8 * DAY, more: async (call, { at }) => call("read_file", { path: at("shared/handbook.md") }) },
  { ago: 6 * DAY },
  { ago: 5 * DAY, other: "cursor" },
  { ago: 4 * DAY },
  { ago: 3 * DAY, other: "cursor", more: async (call) => call("read_file", { path: "/etc/hosts" }) },
  { ago: 2 * DAY },
  { ago: 20 * HOUR, other: "cursor", more: triesPrivate },
  { ago: 5 * HOUR, more: searchesTooMuch },
];

/** Calls of `list_directory` on a day. */
const LISTED = 2;
/** How many calls a policy that forbids `list_directory` would deny. */
export const LISTED_IN_ALL = DAYS.length * LISTED;

/** The amount that was changed in the team's log. */
export const TAMPERED = { from: "1240 + 310", to: "1240 + 3100", seq: 0 };

async function triesPrivate(call, { at }) {
  await call("read_file", { path: at("work/private/customers.csv") });
  await call("run_command", { command: "deploy" });
}

async function searchesTooMuch(call, { at }) {
  for (let page = 1; page <= 8; page += 1) await call("search_text", { path: at("notes"), query: `page ${page}` });
}

/** Whether the clock can be set back. Without it the days are written as they come: within seconds of now. */
export function hasFaketime() {
  return spawnSync("faketime", ["-f", "-1d", "true"]).status === 0;
}

/** The log of the first policy, over nine days. @returns whether it truly goes back so far */
export async function writeHistory(stage) {
  const back = hasFaketime();
  for (const { ago, other = "claude-code", more } of DAYS) {
    await session(stage, { name: other, policy: stage.policy, ago: back ? ago : 0 }, async (call) => {
      await usualDay(call, stage);
      await more?.(call, stage);
    });
  }
  return back;
}

async function usualDay(call, { at }) {
  for (let day = 1; day <= 6; day += 1) await call("read_file", { path: at(`notes/day-${day}.md`) });
  for (let count = 0; count < LISTED; count += 1) await call("list_directory", { path: at("notes") });
  for (let count = 1; count <= 4; count += 1) await call("calculate", { expression: `${count} * 19` });
  await call("write_file", { path: at("work/today.md"), content: "- shipped\n" });
}

/** The team's log of two days; then one record of it says something else, as whoever can write the file may have it. */
export async function writeTamperedLog(stage) {
  const ago = hasFaketime() ? 2 * DAY : 0;
  await session(stage, { name: "goose", policy: stage.teamPolicy, ago }, async (call) => {
    for (let count = 1; count <= 30; count += 1) {
      const sum = count === 17 ? TAMPERED.from : `${1_000 + 13 * count} + ${200 + count}`;
      await call("calculate", { expression: sum });
    }
  });
  const seq = recordsIn(stage.teamLog).find(({ arguments: args }) => args?.expression === TAMPERED.from)?.seq;
  const text = readFileSync(stage.teamLog, "utf8");
  writeFileSync(stage.teamLog, text.replace(TAMPERED.from, TAMPERED.to));
  return seq;
}

/** One session of a client, from its first call to its end. */
async function session({ home, env }, { name, policy, ago }, calls) {
  const clock = ago === 0 ? [] : ["faketime", "-f", `-${ago}s`];
  const command = [...clock, process.execPath, COMMAND, "--policy", policy];
  const { child, call } = await startDriver(command, { name, env, cwd: home });
  const ended = once(child, "exit");
  await calls(call);
  child.stdin.end();
  await ended;
}
