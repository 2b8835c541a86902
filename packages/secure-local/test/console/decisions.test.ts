// What a person decides on the page: nothing that they did not mean, and each told what became of it.
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Locator, Page } from "playwright-core";
import { expect, it } from "vitest";
import { contextOf, inBrowser, LONG, opened, show, started } from "./in-browser.js";
import type { Watched } from "./running.js";

/** Calls that wait for an answer, in this order. */
async function asked(watched: Watched, page: Page, names: readonly string[]): Promise<void> {
  for (const name of names) {
    const args = { path: join(watched.notes, name), content: `the text of ${name}` };
    void watched.client.request("tools/call", { name: "write_file", arguments: args });
    await page.locator(".question", { hasText: about(name) }).waitFor();
  }
}

const isWritten = ({ notes }: Watched, name: string): boolean => existsSync(join(notes, name));
/** By its own argument: the one before may stand beside it as the last that was approved. */
const about = (name: string): RegExp => new RegExp(`"path"[^:]*: "[^"]*/${name}"`);
const allow = (page: Page, name: string): Locator =>
  page.locator("article", { hasText: about(name) }).getByRole("button", { name: "Allow this one call" });

/** Where it is once nothing moves any more: what is asked of the console for a card comes a moment after the card. */
async function atRest(locator: Locator): Promise<{ readonly x: number; readonly y: number }> {
  let [at, before] = ["", ""];
  const isAtRest = async (): Promise<boolean> => {
    [before, at] = [at, JSON.stringify(await locator.boundingBox())];
    return at === before && at !== "null";
  };
  await expect.poll(isAtRest, { interval: 500 }).toBe(true);
  return JSON.parse(at) as { x: number; y: number };
}

/** People have time to start a console again on a busy machine, too. */
const PATIENT = `version: "1.0"
filesystem: { allowed_paths: ["NOTES/**"] }
tools: { allowed: [write_file] }
approvals: [{ approve: [write_file], timeout: 300, answer_by: [terminal] }]
`;

const NOT_WELL = `version: "1.0"
sandbox: none
tools: { allowed: [calculate, "never__*"] }
servers: { never: { command: [node, NOTES/none.mjs] } }
`;

inBrowser("what a person decides on the page", (browser) => {
  it(
    "is about the call they saw: a second click in the same place, a moment later, answers no other one",
    { timeout: LONG },
    async () => {
      const watched = await started({ signedIn: false });
      await watched.serve();
      const { page } = await opened(await contextOf(browser()), watched);
      await show(page, "approvals");
      await asked(watched, page, ["one.md", "two.md", "three.md"]);
      const first = allow(page, "one.md");
      await page.locator("article button:not([aria-disabled])", { hasText: "Allow" }).nth(2).waitFor();
      const { x, y } = await atRest(first);
      await page.mouse.click(x + 5, y + 5);
      await page.waitForTimeout(350);
      expect(await page.locator(":focus").innerText()).toMatch(/^Question .* waiting$/);
      expect(await page.locator("article:has(:focus)").innerText()).toContain("two.md");
      await page.mouse.click(x + 5, y + 5);
      await page
        .locator(".question-over", { hasText: about("one.md") })
        .getByText("was allowed in the console")
        .first()
        .waitFor();
      expect(await first.boundingBox()).toMatchObject({ x, y });
      // When the one that was answered gives up its place, what slides there is dead for a moment.
      await page.waitForTimeout(10_000);
      expect(await first.boundingBox()).toMatchObject({ x, y });
      await page.getByRole("button", { name: "Put away" }).click();
      await page.locator(".question-over").waitFor({ state: "detached" });
      const slid = (await allow(page, "two.md").boundingBox()) ?? { x: 0, y: 0 };
      await page.mouse.click(slid.x + 5, slid.y + 5);
      await page.waitForTimeout(350);
      const written = (): boolean[] => ["one.md", "two.md", "three.md"].map((name) => isWritten(watched, name));
      await expect.poll(written).toEqual([true, false, false]);
    },
  );

  it(
    "is one thing by the keyboard, too: pressing on answers no other call, and the next one is near",
    { timeout: LONG },
    async () => {
      const watched = await started({ signedIn: false });
      await watched.serve();
      const { page } = await opened(await contextOf(browser()), watched);
      await asked(watched, page, ["one.md", "two.md"]);
      await allow(page, "one.md").and(page.locator(":not([aria-disabled])")).waitFor();
      await allow(page, "one.md").focus();
      await page.keyboard.press("Enter");
      await page
        .locator(".question-over", { hasText: about("one.md") })
        .getByText("was allowed")
        .first()
        .waitFor();
      for (let time = 0; time < 3; time += 1) await page.keyboard.press("Enter");
      expect(await page.locator("article:has(:focus)").innerText()).toContain("two.md");
      expect(isWritten(watched, "two.md")).toBe(false);
      await page.locator(".question .difference").waitFor();
      // The text of the call, the fold of what differs, and then its first answer.
      await page.keyboard.press("Tab");
      await page.keyboard.press("Tab");
      await page.keyboard.press("Tab");
      const name = await page.locator(":focus").getAttribute("aria-label");
      expect(name).toBe(`Allow this one call: write_file ${join(watched.notes, "two.md")}`);
      await page.waitForTimeout(200);
      await page.locator(":focus:not([aria-disabled])").waitFor();
      await page.keyboard.press("Enter");
      await page
        .locator(".question-over", { hasText: about("two.md") })
        .getByText("was allowed")
        .first()
        .waitFor();
      // The answer is told before the call has ended.
      await expect.poll(() => isWritten(watched, "two.md")).toBe(true);
      expect(await page.evaluate("document.activeElement === document.body")).toBe(false);
      for (let left = 2; left > 0; left -= 1)
        await page.getByRole("button", { name: "Put away" }).first().press("Enter");
      await page.locator(".question-over").first().waitFor({ state: "detached" });
      expect(await page.evaluate("document.activeElement === document.body")).toBe(false);
    },
  );

  it(
    "stays open when the console ends: its page says that it cannot answer, and the console that is started again can",
    { timeout: LONG },
    async () => {
      const watched = await started({ signedIn: false, policy: PATIENT });
      const client = await watched.serve();
      const context = await contextOf(browser());
      const { page } = await opened(context, watched);
      const args = { path: join(watched.notes, "later.md"), content: "x" };
      let ended = false;
      const call = client.request("tools/call", { name: "write_file", arguments: args }).then(() => (ended = true));
      const question = page.locator(".question", { hasText: about("later.md") });
      await question.waitFor();
      watched.console.kill("SIGINT");
      await page.getByRole("alert").filter({ hasText: "cannot answer now" }).getByText("approve").waitFor();
      await question.getByText(/waits \d+ s more, elsewhere/).waitFor();
      expect(ended).toBe(false);
      await watched.restart();
      const { page: again } = await opened(await contextOf(browser()), watched);
      await again.locator("article button:not([aria-disabled])", { hasText: "Allow" }).waitFor();
      await allow(again, "later.md").click();
      await call;
      expect(isWritten(watched, "later.md")).toBe(true);
    },
  );

  it("marks the words in which two that wait differ, also when one is answered", { timeout: LONG }, async () => {
    const watched = await started({ signedIn: false, policy: PATIENT });
    await watched.serve();
    const { page } = await opened(await contextOf(browser()), watched);
    await asked(watched, page, ["one.md", "two.md"]);
    const two = page.locator(".question", { hasText: about("two.md") });
    const marked = (): Promise<string[]> => two.locator("pre mark").allInnerTexts();
    const differing = [`"${join(watched.notes, "two.md")}"`, 'two.md"'];
    await expect.poll(marked).toEqual(differing);
    await two.getByText("what is different in another call of this tool, that waited beside this one").waitFor();
    await page.locator("article button:not([aria-disabled])", { hasText: "Allow" }).nth(1).waitFor();
    await allow(page, "one.md").click();
    const over = page.locator(".question-over");
    await over.waitFor();
    await expect.poll(marked).toEqual(differing);
    await page.locator(".question button:not([aria-disabled])", { hasText: "Allow" }).waitFor();
    // What was answered looks no longer as if it could be.
    const colours =
      "['.question-over', '.question'].map((card) => getComputedStyle(document.querySelector(card + ' .button-good')).color)";
    const differ = async (): Promise<boolean> => new Set(await page.evaluate<string[]>(colours)).size === 2;
    await expect.poll(differ).toBe(true);
    await page.locator(".over li", { hasText: `write_file ${join(watched.notes, "one.md")} was allowed` }).waitFor();
  });

  it("shows what differs in long ones where the answers are, in view with them", { timeout: LONG }, async () => {
    const watched = await started({ signedIn: false, policy: PATIENT });
    await watched.serve();
    const { page } = await opened(await contextOf(browser()), watched);
    const lines = (of: string): string => Array.from({ length: 60 }, (_, n) => `${of} ${n}\n`).join("");
    const letter = (sum: string): string => `${lines("it begins")}pay ${sum} to them\n${lines("it ends")}`;
    const ask = (sum: string): Promise<unknown> => {
      const args = { path: join(watched.notes, "letter.md"), content: letter(sum) };
      return watched.client.request("tools/call", { name: "write_file", arguments: args });
    };
    const answers = [ask("1000"), ask("9000")];
    const question = page.locator(".question", { hasText: "pay 9000 to them" });
    const alone = question.getByLabel("What is different in this call");
    await expect.poll(() => alone.locator("mark").allInnerTexts()).toEqual(["9000"]);
    await expect.poll(() => alone.innerText()).toMatch(/\[\d+ characters are the same\][^]*pay 9000 to them/);
    const allowed = question.getByRole("button", { name: "Allow this one call" });
    await allowed.scrollIntoViewIfNeeded();
    const [shown, button] = [await alone.boundingBox(), await allowed.boundingBox()];
    expect(button!.y - shown!.y, "both are in one view").toBeLessThan(500);
    await question.locator("button:not([aria-disabled])", { hasText: "Refuse" }).waitFor();
    await question.getByRole("button", { name: "Refuse" }).click();
    await allow(page, "letter.md").first().click();
    await Promise.all(answers);
    expect(readFileSync(join(watched.notes, "letter.md"), "utf8")).toContain("pay 1000 to them");
  });

  it("has its values named on a narrow page, too, with the words that differ marked", { timeout: LONG }, async () => {
    const watched = await started({ signedIn: false, policy: PATIENT });
    await watched.serve();
    const { page } = await opened(await contextOf(browser(), { viewport: { width: 390, height: 800 } }), watched);
    await asked(watched, page, ["one.md"]);
    await page.locator("article button:not([aria-disabled])", { hasText: "Allow" }).waitFor();
    await allow(page, "one.md").click();
    await page.locator(".question-over").waitFor();
    await asked(watched, page, ["two.md"]);
    const value = page.locator(".question .difference tr", { hasText: "content" });
    await expect.poll(() => value.innerText()).toMatch(/Then: .*the text of one\.md[^]*Now: .*the text of two\.md/);
    expect(await value.locator("del, ins").allInnerTexts()).toEqual(["one.md", "two.md"]);
    await page.setViewportSize({ width: 1_280, height: 800 });
    await expect.poll(() => value.innerText()).not.toContain("Then:");
  });

  it(
    "is told of all that is not well: on Now with the way to where it is mended, and of records cut from the end",
    { timeout: LONG },
    async () => {
      const watched = await started({ signedIn: false, policy: NOT_WELL });
      const client = await watched.serve();
      for (const expression of ["1+1", "2+2"])
        await client.request("tools/call", { name: "calculate", arguments: { expression } });
      const { page } = await opened(await contextOf(browser()), watched);
      const problem = page.locator(".troubles li");
      await problem.filter({ hasText: "Server never is withheld" }).getByText("Read and decide").waitFor();
      await show(page, "audit");
      await page.getByRole("heading", { name: "Was the log changed?" }).waitFor();
      await page.getByRole("button", { name: "Verify every record" }).click();
      await page.getByRole("heading", { name: /^Nobody had changed the log when it was verified/ }).waitFor();
      await page.getByText("not covered: records cut from its end").waitFor();
      await page.getByText(/records that this console has read are all there/).waitFor();
      await show(page, "now");
      await show(page, "audit");
      await page.getByRole("heading", { name: /^Nobody had changed the log when it was verified/ }).waitFor();
      const log = join(watched.home, "state/mcp-secure-local/audit.log");
      const lines = readFileSync(log, "utf8").trimEnd().split("\n");
      writeFileSync(log, `${lines.slice(0, -2).join("\n")}\n`);
      await page.getByRole("heading", { name: "The log was changed" }).waitFor();
      expect(await page.locator("main h2").first().innerText()).toBe("The log was changed");
      expect(await page.getByText("not changed", { exact: true }).count()).toBe(0);
      await show(page, "now");
      await problem.filter({ hasText: "was changed: this console had read" }).getByText("See where").click();
      await page.locator(".broken").getByText("taken from its end").waitFor();
    },
  );
});
