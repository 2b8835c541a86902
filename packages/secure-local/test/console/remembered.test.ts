// Answers that are remembered: each is seen on the page with what it lets pass, and is taken back there, or in a terminal.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { expect, it } from "vitest";
import { run } from "../cli/command.js";
import { axe } from "./axe.js";
import { contextOf, inBrowser, LONG, opened, show, started } from "./in-browser.js";
import type { Watched } from "./running.js";

const POLICY = `version: "1.0"
filesystem: { allowed_paths: ["NOTES/**"] }
tools: { allowed: [write_file] }
approvals: [{ approve: [write_file], timeout: 300, answer_by: [terminal], remember: 10 }]
`;

async function write(watched: Watched, name: string): Promise<void> {
  const args = { path: join(watched.notes, name), content: "x" };
  await watched.client.request("tools/call", { name: "write_file", arguments: args });
}

/** A call of which the person says yes for ten minutes. */
async function allowed(page: Page, watched: Watched, name: string): Promise<void> {
  const call = write(watched, name);
  const answer = page.locator("article.question", { hasText: name }).getByRole("button", { name: /^Allow it for 10/ });
  await answer.and(page.locator(":not([aria-disabled])")).click();
  await call;
}

inBrowser("an answer that is remembered", (browser) => {
  it(
    "is in a list with what it lets pass, and is taken back there: the next call asks again",
    { timeout: LONG },
    async () => {
      const watched = await started({ signedIn: false, policy: POLICY });
      await watched.serve();
      const { page, conduct } = await opened(await contextOf(browser()), watched);
      await show(page, "approvals");
      await page.getByText("None: each call that needs your answer asks for it.").waitFor();
      for (const name of ["one.md", "two.md"]) await allowed(page, watched, name);
      const cards = page.locator("article", { has: page.getByRole("button", { name: /^Take back:/ }) });
      await expect.poll(() => cards.count()).toBe(2);
      await write(watched, "one.md");
      const one = cards.filter({ hasText: "one.md" });
      await one.getByRole("button", { name: "one call", exact: true }).waitFor();
      expect(await axe(page)).toEqual([]);
      // Nobody was asked about the second call, and its steps say whose word it was.
      await page.getByRole("heading", { name: "Answered", exact: true }).waitFor();
      await one.getByRole("button", { name: "one call", exact: true }).click();
      await expect.poll(() => page.locator(".call").count()).toBe(1);
      await page.locator(".call button").first().click();
      const steps = page.locator(".steps");
      await expect.poll(() => steps.innerText()).toMatch(/allowed by your answer of .*, which was remembered/s);
      expect(await steps.innerText()).not.toContain("a person said yes");
      await steps.getByRole("button").click();
      await expect.poll(() => steps.innerText()).toContain("a person is asked");
      await show(page, "now");
      await page.locator(".facts div", { hasText: "You were asked" }).getByText("2", { exact: true }).waitFor();
      await show(page, "approvals");
      await one.getByRole("button", { name: /^Take back:/ }).click();
      await page.getByText("The next such call asks you again").waitFor();
      await expect.poll(() => cards.count()).toBe(1);
      const log = readFileSync(join(watched.home, "state/mcp-secure-local/audit.log"), "utf8");
      expect(log).toMatch(/"kind":"approval\.taken_back".*"by":"console"/);
      await allowed(page, watched, "one.md");
      await page.getByRole("button", { name: "Take back all 2" }).click();
      await page.getByText("All 2 were taken back").waitFor();
      await page.getByText("None: each call that needs your answer asks for it.").waitFor();
      expect(conduct.faults).toEqual([]);
    },
  );

  it("is listed and taken back in a terminal", { timeout: LONG }, async () => {
    const watched = await started({ signedIn: false, policy: POLICY });
    await watched.serve();
    const { home } = watched;
    expect((await run(["approve", "remembered"], { home })).stdout).toContain("No answer is remembered.");
    const { page } = await opened(await contextOf(browser()), watched);
    await show(page, "approvals");
    await allowed(page, watched, "one.md");
    const { stdout } = await run(["approve", "remembered"], { home });
    expect(stdout).toMatch(/^[0-9a-f]{8} {2}write_file, for .*, until /);
    expect(stdout).toContain("one.md");
    const id = stdout.slice(0, 8);
    expect(await run(["approve", "take-back", "zz"], { home })).toMatchObject({ code: 2 });
    expect((await run(["approve", "take-back", id], { home })).stdout).toContain("the next such call asks again");
    await page.getByText("None: each call that needs your answer asks for it.").waitFor();
    await allowed(page, watched, "one.md");
    const query = await run(["audit", "query", "tool=write_file"], { home });
    expect(query.stdout).toContain("approved");
  });
});
