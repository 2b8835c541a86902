// The console's page in a real browser: one browser for each file that needs one, and what every such file does with it.
import { existsSync } from "node:fs";
import { type Browser, type BrowserContext, type BrowserContextOptions, chromium, type Page } from "playwright-core";
import { afterAll, beforeAll, describe, onTestFinished } from "vitest";
import { Watched } from "./running.js";

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

/** Cases that share a browser, each with a context of its own: to start a browser costs as much as most of the cases. */
export function inBrowser(what: string, cases: (browser: () => Browser) => void): void {
  describe.skipIf(!HAS_BROWSER)(`in a browser ${what}`, () => {
    let browser: Browser;
    beforeAll(async () => {
      browser = await chromium.launch({ executablePath: CHROMIUM, args: FLAGS });
    });
    afterAll(() => browser.close());
    cases(() => browser);
  });
}

/** A browser beside other tests on two cores is slow. */
export const LONG = 400_000;
/** What a page did that it may not. */
class Conduct {
  readonly faults: string[] = [];

  constructor(page: Page, origin: string) {
    page.on("console", (message) => {
      if (message.type() === "error" || message.type() === "warning") this.faults.push(message.text());
    });
    page.on("pageerror", (error) => this.faults.push(String(error)));
    page.on("dialog", (dialog) => {
      this.faults.push(`dialog ${dialog.message()}`);
      void dialog.dismiss();
    });
    page.on("request", (request) => {
      if (!request.url().startsWith(`${origin}/`) && !request.url().startsWith("blob:"))
        this.faults.push(`asked for ${request.url()}`);
    });
  }
}

/** As `Watched.start`; it ends with its test, however that ends. */
export async function started(settings: Parameters<typeof Watched.start>[0]): Promise<Watched> {
  const watched = await Watched.start(settings);
  onTestFinished(() => watched.end());
  return watched;
}

/** A person's browser of its own, closed with its test. */
export async function contextOf(browser: Browser, options: BrowserContextOptions = {}): Promise<BrowserContext> {
  const context = await browser.newContext(options);
  context.setDefaultTimeout(LONG / 2);
  onTestFinished(async ({ task }) => {
    // What a person would have seen, where a test waited for something in vain.
    if (task.result?.state === "fail")
      for (const page of context.pages())
        console.log(`The page when the test failed:\n${await page.innerText("body")}`);
    await context.close();
  });
  return context;
}

/** A signed-in page of a console. */
export async function opened(
  context: BrowserContext,
  watched: Watched,
): Promise<{ readonly page: Page; readonly conduct: Conduct }> {
  const page = await context.newPage();
  const conduct = new Conduct(page, watched.origin);
  await page.goto(`${watched.origin}/#code=${watched.code}`);
  await page.getByRole("status").filter({ hasText: "live" }).waitFor();
  return { page, conduct };
}

export async function show(page: Page, screen: string): Promise<void> {
  await page.evaluate(`location.hash = "/${screen}"`);
  await page.locator(`nav button[aria-current=page]`, { hasText: new RegExp(screen, "i") }).waitFor();
  await page.locator("h2").first().waitFor();
}
