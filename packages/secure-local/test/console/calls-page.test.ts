// The screen Calls in a browser: each call can be opened, the slow ones are found, and what was looked through is said.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { expect, it } from "vitest";
import { contextOf, inBrowser, LONG, opened, show, started } from "./in-browser.js";
import type { Watched } from "./running.js";

/** Milliseconds that calls took: equal calls, the newest last, one of them slow. */
const TIMES = [...Array<number>(15).fill(0.6), 350.556, ...Array<number>(25).fill(0.4), 7];

/** A log of equal calls of a board, and of files that were read in a folder and beside it. */
function writeLog(home: string): void {
  const folder = join(home, "state/mcp-secure-local");
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const begin = Date.now() - 600_000;
  let id = 0;
  const call = (tool: string, args: object, ms: number, outcome = "ok"): string => {
    id += 1;
    const common = { time: new Date(begin + id * 1_000).toISOString(), id, connection: 1, method: "tools/call", tool };
    const decision = { allowed: true, rule: `tools.allowed: ${tool}`, line: 4 };
    const detail = outcome === "denied" ? { detail: { rule: "default deny" } } : {};
    return [
      { kind: "call.intent", ...common, client: "agent 1", arguments: args, decision },
      { kind: "call.result", ...common, outcome, duration_ms: ms, ...detail },
    ]
      .map((record) => `${JSON.stringify(record)}\n`)
      .join("");
  };
  const lines = [
    ...["a.md", "b.md"].map((name) => call("read_file", { path: `/home/me/notes/${name}` }, 2)),
    call("read_file", { path: "/etc/passwd" }, 2, "denied"),
    ...TIMES.map((ms) => call("list_cards", {}, ms)),
  ];
  writeFileSync(join(folder, "audit.log"), lines.join(""), { mode: 0o600 });
}

const withLog = (): Promise<Watched> =>
  started({
    signedIn: false,
    prepare: (home) => {
      writeLog(home);
      return {};
    },
  });

/** The number of equal calls that each row stands for. */
const counts = (page: Page): Promise<string[]> =>
  page
    .locator(".call", { hasText: "list_cards" })
    .evaluateAll((rows) =>
      rows.map((row) => /×\d+\+?/.exec((row as unknown as { innerText: string }).innerText)?.[0] ?? "1"),
    );

inBrowser("the screen Calls", (browser) => {
  it("folds equal calls, on Now as here, but no slow one, and opens to each of them", { timeout: LONG }, async () => {
    const { page, conduct } = await opened(await contextOf(browser()), await withLog());
    await page.locator(".call").first().waitFor();
    expect(await counts(page)).toEqual(["×26", "1", "×15"]);
    await show(page, "calls");
    await page.locator(".call", { hasText: "passwd" }).waitFor();
    expect(await counts(page)).toEqual(["×26", "1", "×15"]);
    const first = page.locator(".call", { hasText: "×26" });
    expect(await first.innerText()).toContain("≤ 7 ms");
    await page.locator(".call", { hasText: "351 ms" }).getByRole("button").click();
    await page.locator(".panel .facts div", { hasText: "Took" }).getByText("351 ms").waitFor();
    await first.getByRole("button", { name: "×26 equal calls" }).click();
    expect(await page.locator(".call.part").count()).toBeGreaterThan(10);
    await page.locator(".call.part").nth(1).getByRole("button").click();
    await page.locator(".call.part.chosen").waitFor();
    await page.locator(".panel .facts div", { hasText: "Took" }).getByText("< 1 ms").waitFor();
    await page.getByRole("button", { name: "×26 equal calls" }).click();
    await page.locator(".call.part").first().waitFor({ state: "detached" });
    expect(conduct.faults).toEqual([]);
  });

  it(
    "answers what was read outside of a folder, with how much was looked through since when",
    { timeout: LONG },
    async () => {
      const { page } = await opened(await contextOf(browser()), await withLog());
      await show(page, "calls");
      const words = page.getByLabel("Words");
      const objects = async (): Promise<string[]> =>
        (await page.locator(".call > :nth-child(3)").allInnerTexts()).map((text) => text.replaceAll("\n", ""));
      // Without Enter.
      await words.pressSequentially("read_file -notes");
      await expect.poll(objects).toEqual(["/etc/passwd"]);
      const told = page.locator(".note", { hasText: "Looked at" });
      await expect
        .poll(() => told.innerText())
        .toMatch(/^One call fits\. Looked at 45 calls since .*, for those with "read_file", without "notes"\.$/);
      await words.fill("");
      await expect.poll(() => told.innerText()).toMatch(/^45 calls fit/);
      await page.getByLabel("Path is").selectOption("not under");
      await page.getByLabel("Folder").pressSequentially("/home/me/notes/");
      await expect.poll(objects).toEqual(["/etc/passwd"]);
      await page.locator(".call", { hasText: "passwd" }).getByRole("button").click();
      await page.locator(".panel").getByText("It was refused, so no tool gave one").waitFor();
      await page.locator(".panel").getByText("the policy names the path /etc/passwd nowhere").waitFor();
      await page.getByRole("button", { name: "Close" }).click();
      await page.getByLabel("Path is").selectOption("under");
      await expect.poll(objects).toEqual(["/home/me/notes/b.md", "/home/me/notes/a.md"]);
      await words.fill("nothing-of-this");
      await page.getByText("No call fits.").waitFor();
      await expect.poll(() => told.innerText()).toMatch(/^0 calls fit\. Looked at 45 calls since/);
    },
  );

  it("finds the slow calls from the number that tells of them, and by the column", { timeout: LONG }, async () => {
    const { page } = await opened(await contextOf(browser()), await withLog());
    const slow = page.locator(".facts div", { hasText: "99 of 100 took at most" });
    await slow.getByRole("button", { name: "351 ms" }).click();
    await expect.poll(() => page.locator(".call .number").allInnerTexts()).toEqual(["351 ms"]);
    await page.getByRole("button", { name: "Show all" }).click();
    await page.locator(".call", { hasText: "passwd" }).waitFor();
    await page.getByRole("columnheader", { name: "Took" }).getByRole("button").click();
    await expect
      .poll(async () => (await page.locator(".call .number").allInnerTexts()).slice(0, 3))
      .toEqual(["351 ms", "7 ms", "2 ms"]);
    await page.getByLabel("Took").selectOption("100 ms or longer");
    await expect.poll(() => page.locator(".call").count()).toBe(1);
  });

  it("has its times whole at 1280 pixels", { timeout: LONG }, async () => {
    const { page } = await opened(
      await contextOf(browser(), { viewport: { width: 1_280, height: 800 } }),
      await withLog(),
    );
    await page.locator(".call").first().waitFor();
    const cut =
      "[...document.querySelectorAll('.call > :first-child')].filter((each) => each.scrollWidth > each.clientWidth).length";
    expect(await page.evaluate(cut)).toBe(0);
    await page.locator(".call", { hasText: "×26" }).locator("button").first().click();
    await page.locator(".panel .steps").waitFor();
    expect(await page.evaluate(cut)).toBe(0);
  });
});
