// The page for someone without a screen: a browser that stays open between calls, each of them one action.
import { spawn } from "node:child_process";
import { appendFileSync, existsSync, readFileSync, rmSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { chromium } from "playwright-core";
import { OUTLINE } from "./outline.mjs";
import { isOurs } from "./processes.mjs";
import { remember, remembered } from "./stage-folder.mjs";

const CHROMIUM = process.env.CHROMIUM ?? "/usr/bin/chromium";
const FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--window-size=1280,900"];
/** Milliseconds a browser has to start, and an action to come to pass. */
const START_MS = 30_000;
const ACTION_MS = 10_000;
/** Milliseconds after an action until the page has drawn what came of it. */
const SETTLED_MS = 400;
const PAUSE_MS = 50;

/** What an action does; those that only look are not counted. */
const ACTIONS = {
  async open({ page, address }) {
    await page.goto(await address());
  },
  async click({ page }, number) {
    const thing = await thingAt(page, number);
    if (await thing.isDisabled()) throw new Error(`${number} is disabled`);
    await thing.click({ timeout: ACTION_MS });
  },
  async type({ page }, number, ...words) {
    const text = words.join(" ").replaceAll(String.raw`\n`, "\n");
    const thing = await thingAt(page, number);
    const kind = await thing.evaluate((element) => element.tagName);
    if (kind === "SELECT") await thing.selectOption(text);
    else if (kind === "TEXTAREA") {
      // A long text is written on where the caret is; the keys move it.
      await thing.focus();
      await page.keyboard.insertText(text);
    } else await thing.fill(text, { timeout: ACTION_MS });
  },
  async key({ page }, key, times = "1") {
    for (let count = 0; count < Number(times); count += 1) await page.keyboard.press(key);
  },
};
const LOOKS = {
  async look({ page }) {
    console.log(await page.evaluate(OUTLINE));
  },
  async shot({ page }, file) {
    await page.screenshot({ path: file });
  },
};

/** @param address gives an address that no browser has used. @throws Error for an action that there is not, or that fails */
export async function browse(stage, [name = "", ...words], address) {
  const action = ACTIONS[name] ?? LOOKS[name];
  if (action === undefined)
    throw new Error(
      `there is no action "${name}"; there are ${[...Object.keys(ACTIONS), ...Object.keys(LOOKS)].join(", ")}`,
    );
  const browser = await chromium.connectOverCDP(await browserOf(stage));
  const [context] = browser.contexts();
  const page = context.pages()[0] ?? (await context.newPage());
  page.setDefaultTimeout(ACTION_MS);
  try {
    await action({ page, address }, ...words);
  } finally {
    count(stage, [name, ...words]);
  }
  if (Object.hasOwn(ACTIONS, name)) await sleep(SETTLED_MS);
  // Only the connection ends: the browser stays as it is.
  process.exit();
}

/** The thing that the last look gave this number. */
async function thingAt(page, number) {
  const handle = await page.evaluateHandle((at) => globalThis.stageThings?.[at - 1], Number(number));
  const thing = handle.asElement();
  if (thing === null) throw new Error(`nothing has the number ${number}; look first`);
  if (!(await thing.evaluate((element) => element.isConnected)))
    throw new Error(`${number} is not on the page any more; look again`);
  return thing;
}

/** Where the stage's browser is asked; it is started where none runs. */
async function browserOf(stage) {
  const known = remembered(stage, "browser", {});
  if (isOurs(stage, known.pid)) return known.endpoint;
  if (!existsSync(CHROMIUM)) throw new Error(`there is no ${CHROMIUM}; install Chromium, or name one in CHROMIUM`);
  const profile = stage.own("browser");
  const portFile = `${profile}/DevToolsActivePort`;
  rmSync(portFile, { force: true });
  const { pid } = launch(profile, stage);
  for (const end = Date.now() + START_MS; Date.now() < end; await sleep(PAUSE_MS)) {
    const [port, path] = existsSync(portFile) ? readFileSync(portFile, "utf8").split("\n") : [];
    if (path === undefined) continue;
    const endpoint = `ws://127.0.0.1:${port}${path}`;
    remember(stage, "browser", { pid, endpoint });
    return endpoint;
  }
  process.kill(pid, "SIGKILL");
  throw new Error(`${CHROMIUM} did not start within ${START_MS / 1_000} s`);
}

function launch(profile, { env }) {
  const args = [...FLAGS, `--user-data-dir=${profile}`, "--remote-debugging-port=0", "about:blank"];
  const child = spawn(CHROMIUM, args, { env: { ...process.env, ...env }, detached: true, stdio: "ignore" });
  child.unref();
  return child;
}

/** One line an action, numbered; what only looks has no number. */
function count({ own }, words) {
  const file = own("../steps.log");
  const before = existsSync(file) ? readFileSync(file, "utf8").split("\n") : [];
  const actions = before.filter((line) => /^\d/.test(line)).length;
  const number = Object.hasOwn(ACTIONS, words[0]) ? String(actions + 1) : "-";
  appendFileSync(file, `${number} ${new Date().toISOString()} ${words.join(" ").replaceAll("\n", "\\n")}\n`);
}
