// The console's page in a real browser: one for all that is tried there, since each costs as much as most of the cases.
import { existsSync } from "node:fs";
import { type Browser, chromium } from "playwright-core";
import { afterAll, beforeAll, describe } from "vitest";
import { decisionCases } from "./decisions-cases.js";
import { pageCases } from "./page-cases.js";
import { taskCases } from "./tasks-cases.js";

const CHROMIUM = process.env["CHROMIUM"] ?? "/usr/bin/chromium";
const HAS_BROWSER = existsSync(CHROMIUM);
if (!HAS_BROWSER)
  console.log(
    `skipped: the page in a browser; there is no ${CHROMIUM} (Debian: apt install chromium, or set CHROMIUM)`,
  );
/** Chromium reaches nothing but the console. */
const FLAGS = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-background-networking",
  "--disable-component-update",
  "--no-first-run",
  "--disable-sync",
];

describe.skipIf(!HAS_BROWSER)("in a browser", () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await chromium.launch({ executablePath: CHROMIUM, args: FLAGS });
  });
  afterAll(() => browser.close());

  pageCases(() => browser);
  decisionCases(() => browser);
  taskCases(() => browser);
});
