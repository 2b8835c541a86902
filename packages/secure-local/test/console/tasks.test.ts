// Ten tasks of a person who has the page alone, in a real browser: each is done without the command line, in few steps.
// A step is a click, a choice or a text that is typed.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { BrowserContext, Locator, Page } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { approvePlugins, run } from "../cli/command.js";
import { inBrowser } from "./in-browser.js";
import { Watched } from "./running.js";

/** A browser beside other tests on two cores is slow. */
const LONG = 300_000;
/** Milliseconds that one wait of the page may take there. */
const PATIENT = 120_000;

const POLICY = `version: "1.0"
sandbox: none
filesystem:
  allowed_paths: ["NOTES/**"]
tools:
  allowed: [read_file, write_file, calculate, "weather_*"]
approvals:
  - approve: [write_file]
    timeout: 300
    answer_by: [terminal]
plugins:
  load:
    - { name: weather, path: "~/weather" }
`;

/** The page and the steps that were taken on it. */
class Person {
  readonly page: Page;
  steps = 0;

  constructor(page: Page) {
    this.page = page;
  }

  async click(what: Locator): Promise<void> {
    this.steps += 1;
    await what.click();
  }

  async type(what: Locator, text: string): Promise<void> {
    this.steps += 1;
    await what.fill(text);
  }

  screen(name: string): Promise<void> {
    return this.click(this.page.locator("nav button", { hasText: new RegExp(name, "i") }));
  }

  button(name: string | RegExp): Locator {
    return this.page.getByRole("button", { name });
  }

  /** What the page says is on it. */
  async sees(text: string | RegExp): Promise<void> {
    await this.page.locator("main").getByText(text).first().waitFor();
  }
}

inBrowser("a person with the page alone", (browser) => {
  let context: BrowserContext;
  let watched: Watched;
  let person: Person;
  let writes: Promise<unknown>[];
  const plugin = (): string => join(watched.home, "weather/plugin.mjs");
  const note = (name: string): string => join(watched.notes, name);

  beforeAll(async () => {
    watched = await Watched.start({ signedIn: false, policy: POLICY });
    await prepare();
    context = await browser().newContext({ viewport: { width: 1280, height: 900 } });
    const page = await context.newPage();
    page.setDefaultTimeout(PATIENT);
    await page.goto(`${watched.origin}/#code=${watched.code}`);
    await page.getByRole("status").filter({ hasText: "live" }).waitFor();
    person = new Person(page);
  }, LONG);
  afterAll(async () => {
    await context.close();
    await watched.end();
  });

  /** An approved plugin that says something else since; calls that went well, one that was denied, two that wait. */
  async function prepare(): Promise<void> {
    await run(["plugins", "new", "weather"], { home: watched.home, cwd: watched.home });
    await approvePlugins(watched.policy, watched.home);
    const changed = readFileSync(plugin(), "utf8").replace(
      /description: "[^"]*"/,
      'description: "Says another thing."',
    );
    writeFileSync(plugin(), changed);
    mkdirSync(join(watched.notes, "plans"));
    writeFileSync(note("plans/today.md"), "buy milk\n");
    const client = await watched.serve();
    const call = (name: string, args: object): Promise<unknown> =>
      client.request("tools/call", { name, arguments: args });
    await call("read_file", { path: note("plans/today.md") });
    await call("calculate", { expression: "6 * 7" });
    await call("read_file", { path: "/etc/passwd" });
    writes = ["wanted.md", "unwanted.md"].map((name) => call("write_file", { path: note(name), content: "x" }));
  }

  /** @param most steps that the task may take */
  const task = (name: string, most: number, work: () => Promise<void>): void =>
    it(`${name}, in at most ${most} steps`, { timeout: LONG }, async () => {
      person.steps = 0;
      await work();
      expect(person.steps, "steps").toBeLessThanOrEqual(most);
    });

  task("approves the right one of two similar calls and refuses the other", 3, async () => {
    await person.screen("Approvals");
    const question = (name: string): Locator => person.page.locator(".question").filter({ hasText: `/${name}` });
    await question("wanted.md").first().waitFor();
    await question("unwanted.md").waitFor();
    await person.click(question("unwanted.md").getByRole("button", { name: "Refuse" }));
    await question("unwanted.md").waitFor({ state: "detached" });
    await person.click(question("wanted.md").getByRole("button", { name: "Allow this one call" }));
    await Promise.all(writes);
    expect([existsSync(note("wanted.md")), existsSync(note("unwanted.md"))]).toEqual([true, false]);
  });

  task("finds what was denied, and why", 3, async () => {
    await person.screen("Calls");
    await person.type(person.page.getByLabel("Words"), "passwd");
    await person.page.getByLabel("Words").blur();
    await person.click(person.page.locator(".call", { hasText: "/etc/passwd" }).locator("button").first());
    await person.sees("default deny");
  });

  task("goes from a number to the calls that it counts", 2, async () => {
    await person.screen("Now");
    await person.click(person.page.locator(".facts div", { hasText: "Denied" }).getByRole("button"));
    await person.page.locator(".call", { hasText: "/etc/passwd" }).waitFor();
    for (const state of await person.page.locator(".call .state").allInnerTexts()) expect(state).toBe("denied");
  });

  task("sees what the rules of the last hour were, and what they decided", 2, async () => {
    await person.screen("Calls");
    await person.page.getByRole("combobox", { name: "Time" }).selectOption("last hour");
    person.steps += 1;
    await person.page.locator(".call", { hasText: "tools.allowed: calculate" }).waitFor();
    await person.page.locator(".call", { hasText: "default deny" }).waitFor();
  });

  task("finds which definition changed, and refuses it", 2, async () => {
    await person.screen("Definitions");
    await person.sees("Every plugin and server is started");
    await person.page.locator(".change", { hasText: "/description" }).getByText("changed").first().waitFor();
    await person.sees(/another thing\./);
    await person.click(person.button(/^Refuse (this change|all \d+ changes) of weather/));
    await person.sees(/it stays withheld/);
  });

  task("finds the plugin that is not well, and mends it", 3, async () => {
    await person.screen("Servers");
    await person.sees("refused");
    await person.click(person.button("Read what changed, and decide"));
    await person.click(person.button(/^Approve (this change|all \d+ changes) of weather/));
    await person.sees("as approved");
  });

  task("proves that no file outside a folder was read last week", 4, async () => {
    await person.screen("Audit");
    await person.click(person.button("the last week"));
    await person.click(person.page.getByRole("button", { name: "read_file", exact: true }));
    const calls = person.page.locator(".call");
    await expect.poll(() => calls.count(), { timeout: PATIENT }).toBe(2);
    for (const text of await calls.allInnerTexts()) expect(text).toMatch(/today\.md|denied/);
  });

  task("proves that nobody changed the log", 2, async () => {
    await person.screen("Audit");
    await person.click(person.button("Verify every record"));
    await person.sees("none changed, missing or added");
  });

  task("finds out who called, and what", 2, async () => {
    await person.screen("Clients");
    await person.click(person.page.locator("main table button").first());
    await person.page.locator(".call", { hasText: "calculate" }).waitFor();
  });

  task("asks whether a file may be read", 3, async () => {
    await person.screen("Policy");
    await person.type(person.page.getByLabel("The path"), "/etc/shadow");
    await person.click(person.button("What decides?"));
    await person.page.getByRole("status").filter({ hasText: "denied" }).first().waitFor();
  });

  task("tries a stricter policy on what happened, and puts it in force", 4, async () => {
    await person.screen("Policy");
    const editor = person.page.getByRole("textbox", { name: "The policy" });
    await editor.waitFor();
    await person.type(editor, (await editor.inputValue()).replace(", calculate", ""));
    await person.click(person.button("Try it on the last 1,000 calls"));
    await person.sees(/it would have decided 1 differently/);
    await person.click(person.button("Save"));
    await expect
      .poll(() => readFileSync(watched.policy, "utf8").includes("calculate"), { timeout: PATIENT })
      .toBe(false);
    await person.sees(/^Saved at/);
    expect(await person.button("Undo").count()).toBe(1);
    const kept = person.steps;
    await person.click(person.button("Undo"));
    await expect
      .poll(() => readFileSync(watched.policy, "utf8").includes("calculate"), { timeout: PATIENT })
      .toBe(true);
    person.steps = kept;
  });

  task("sees at once that a process is gone, and what to do", 1, async () => {
    watched.client.child.kill("SIGKILL");
    await person.screen("Servers");
    await person.sees("This process ended without saying so");
  });
});
