#!/usr/bin/env node
// A stage for the console: a small real world with its processes, ten tasks for a person who sees only the page, and their check.
import { spawn } from "node:child_process";
import { existsSync, openSync, readFileSync } from "node:fs";
import { resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { browse } from "./console-stage/browser.mjs";
import { checkTasks } from "./console-stage/checks.mjs";
import { writeHistory, writeTamperedLog } from "./console-stage/history.mjs";
import { keepStage } from "./console-stage/keeper.mjs";
import { endOf, endProcesses, isOurs } from "./console-stage/processes.mjs";
import { clearStage, COMMAND, mustBeStage, remember, remembered, stageIn } from "./console-stage/stage-folder.mjs";
import { tasksOf, tellTasks } from "./console-stage/tasks.mjs";
import { approveThem, buildWorld, mendFile, spoilServers } from "./console-stage/world.mjs";

const USAGE = `node scripts/console-stage.mjs up DIR                   builds the stage in DIR from nothing, starts it, prints the console's address
node scripts/console-stage.mjs down DIR                 ends all that runs of it; its files stay until the next up
node scripts/console-stage.mjs address DIR              another address of the console: each signs in one browser
node scripts/console-stage.mjs tasks DIR                the ten tasks
node scripts/console-stage.mjs answer DIR NUMBER WORDS  your answer to a task
node scripts/console-stage.mjs fix DIR FILE             somebody mends this file, if it is the one that is damaged
node scripts/console-stage.mjs check DIR                which tasks are done; exit code 1 unless all are
node scripts/console-stage.mjs browse DIR ACTION        the page without a screen: open, look, click N, type N TEXT, key K [TIMES], shot FILE`;

/** Milliseconds a stage has to come up, on a machine that has other work. */
const PATIENCE_MS = 120_000;
const PAUSE_MS = 100;

const commands = {
  async up(stage) {
    if (!existsSync(COMMAND)) throw new Error("the product is not built; run npm run build first");
    await endProcesses(stage);
    clearStage(stage);
    buildWorld(stage);
    const back = await writeHistory(stage);
    const tampered = await writeTamperedLog(stage);
    remember(stage, "facts", { back, tampered, policy: readFileSync(stage.policy, "utf8") });
    approveThem(stage);
    spoilServers(stage);
    if (!back)
      console.error("There is no faketime on this machine: all calls of the stage are of today, not of nine days.");
    const log = openSync(stage.own("keeper.log"), "w", 0o600);
    const keeper = spawn(process.execPath, [fileURLToPath(import.meta.url), "keep", stage.folder], {
      detached: true,
      stdio: ["ignore", log, log],
    });
    remember(stage, "children", [keeper.pid]);
    keeper.unref();
    console.log(await nextAddress(stage, keeper.pid, 0));
  },
  async down(stage) {
    await endProcesses(stage);
  },
  async keep(stage) {
    await keepStage(stage);
    process.exit();
  },
  async address(stage) {
    console.log(await anotherAddress(stage));
  },
  async tasks(stage, dir) {
    console.log(tellTasks(stage, dir));
  },
  async answer(stage, _dir, number, ...words) {
    if (tasksOf(stage)[number - 1]?.asks === undefined) throw new Error(`task ${number} asks for no answer`);
    remember(stage, "answers", { ...remembered(stage, "answers", {}), [number]: words.join(" ") });
  },
  async fix(stage, _dir, file = "") {
    if (resolve(stage.home, file) !== stage.broken)
      throw new Error(`nothing is wrong with ${file || "a file without a name"}`);
    mendFile(stage);
    console.log(`${file} is mended.`);
  },
  async check(stage) {
    const all = checkTasks(stage);
    for (const { number, done, what } of all) console.log(`${done ? "done    " : "not done"}  ${number}. ${what}`);
    if (!all.every(({ done }) => done)) process.exitCode = 1;
  },
  async browse(stage, _dir, ...words) {
    await browse(stage, words, () => anotherAddress(stage));
  },
};

/** An address that no browser has used. */
async function anotherAddress(stage) {
  const [keeper] = remembered(stage, "children", []);
  if (!isOurs(stage, keeper)) throw new Error(`the stage is down; begin with: up ${stage.folder}`);
  const { printed } = addressNow(stage);
  process.kill(keeper, "SIGUSR2");
  return nextAddress(stage, keeper, printed);
}

function addressNow({ own }) {
  const text = existsSync(own("address")) ? readFileSync(own("address"), "utf8") : "";
  const [printed = 0, address] = text.trimEnd().split(" ");
  return { printed: Number(printed), address };
}

async function nextAddress(stage, keeper, after) {
  for (const end = Date.now() + PATIENCE_MS; Date.now() < end; await sleep(PAUSE_MS)) {
    const { printed, address } = addressNow(stage);
    if (printed > after) return address;
    if (endOf(keeper)) break;
  }
  await endProcesses(stage);
  throw new Error(`the stage did not come up: ${readFileSync(stage.own("keeper.log"), "utf8")}`);
}

const [name = "", dir, ...words] = process.argv.slice(2);
if (!Object.hasOwn(commands, name) || dir === undefined) {
  console.error(USAGE);
  process.exitCode = 2;
} else {
  const stage = stageIn(dir);
  try {
    if (name !== "up") mustBeStage(stage);
    await commands[name](stage, dir, ...words);
  } catch (error) {
    // A browser's error says below its first line how it was tried.
    console.error(name === "browse" ? error.message.split("\n")[0] : error.message);
    // At once: a connection to the browser would keep this process.
    process.exit(2);
  }
}
