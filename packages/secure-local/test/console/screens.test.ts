// What a person does with Policy, Definitions, Audit, Clients and an opened call in a browser, beyond the first look at them.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Locator, Page, Route } from "playwright-core";
import { expect, it, onTestFinished } from "vitest";
import { approvePlugins, run } from "../cli/command.js";
import { contextOf, inBrowser, LONG, opened, show, started } from "./in-browser.js";
import type { Watched } from "./running.js";

const POLICY = `version: "1.0"
filesystem:
  allowed_paths: ["NOTES/**"]
  denied_paths: ["**/salary*"]
tools:
  allowed: [read_file, calculate, write_file]
  rate_limits: { default: 60, calculate: 3 }
approvals:
  - approve: [write_file]
    timeout: 60
    answer_by: [terminal]
`;

const call = (watched: Watched, name: string, args: object): Promise<Record<string, unknown>> =>
  watched.client.request("tools/call", { name, arguments: args });
const read = (watched: Watched, name: string): Promise<Record<string, unknown>> =>
  call(watched, "read_file", { path: join(watched.notes, name) });

/** The log of the server. */
const logOf = ({ home }: Watched): string => join(home, "state/mcp-secure-local/audit.log");

/** Waits until the server has taken up the policy that is in the file now. */
async function takenUp(watched: Watched, times: number): Promise<void> {
  const loads = (): number => readFileSync(logOf(watched), "utf8").split('"kind":"policy.loaded"').length - 1;
  await expect.poll(loads, { timeout: LONG }).toBeGreaterThanOrEqual(times);
}

const editor = (page: Page): Locator => page.getByRole("textbox", { name: "The policy" });

/** Writes a text into the editor as a person does, tries it and saves it. */
async function saved(page: Page, from: string, to: string): Promise<void> {
  await editor(page).waitFor();
  await editor(page).fill((await editor(page).inputValue()).replace(from, to));
  await page.getByRole("button", { name: "Try it on the last 1,000 calls" }).click();
  await page.getByText(/it would have decided/).waitFor();
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText(/^Saved at/).waitFor();
}

async function kept(page: Page, button: string): Promise<{ readonly name: string; readonly lines: string[] }> {
  const [file] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: button }).click()]);
  const path = await file.path();
  return { name: file.suggestedFilename(), lines: readFileSync(path, "utf8").trim().split("\n") };
}

inBrowser("the screens of the console", (browser) => {
  it(
    "Policy counts beside a line the very calls that its words decided, which are those behind the number",
    { timeout: LONG },
    async () => {
      const watched = await started({ signedIn: false, policy: POLICY });
      await watched.serve();
      const { page, conduct } = await opened(await contextOf(browser()), watched);
      await read(watched, "salary.md");
      await show(page, "policy");
      await saved(page, "**/salary*", "**/budget*");
      await takenUp(watched, 1);
      await read(watched, "budget.md");
      await page.getByRole("button", { name: "Undo" }).click();
      await page.getByText(/^Undone at/).waitFor();
      await takenUp(watched, 2);
      const line = page.locator(".lines li", { hasText: "denied_paths" });
      await expect.poll(() => line.innerText()).toMatch(/\b1 denied/);
      await line.getByRole("button").click();
      await page.locator(".call", { hasText: "salary.md" }).waitFor();
      await expect.poll(() => page.locator(".call").count()).toBe(1);
      // A comment on top moves every line, and no word of them.
      writeFileSync(watched.policy, `# of mine\n${readFileSync(watched.policy, "utf8")}`);
      await show(page, "policy");
      const moved = page.locator(".lines li", { hasText: "denied_paths" });
      await expect.poll(() => moved.innerText()).toMatch(/\b1 denied/);
      await moved.getByRole("button").click();
      await expect.poll(() => page.locator(".call").count()).toBe(1);
      await page.locator(".call button").first().click();
      await page
        .locator(".panel", { hasText: "(line 4 then)" })
        .getByRole("button", { name: "5", exact: true })
        .click();
      await page.locator(".lines .marked", { hasText: "denied_paths" }).waitFor();
      // What another text of the line decided leads to no line of today's.
      await show(page, "calls");
      await page.locator(".call", { hasText: "budget.md" }).locator("button").first().click();
      await page.getByText("no line of it says this now").waitFor();
      expect(conduct.faults).toEqual([]);
    },
  );

  it(
    "Policy keeps Undo over another screen and a reload, and asks about a change that is not saved",
    { timeout: LONG },
    async () => {
      const watched = await started({ signedIn: false, policy: POLICY });
      const { page, conduct } = await opened(await contextOf(browser()), watched);
      await show(page, "policy");
      await saved(page, "calculate: 3", "calculate: 2");
      await show(page, "calls");
      await show(page, "policy");
      await page.getByRole("button", { name: "Undo" }).waitFor();
      await page.reload();
      await page.getByRole("button", { name: "Undo" }).click();
      await page.getByText(/^Undone at/).waitFor();
      expect(readFileSync(watched.policy, "utf8")).toContain("calculate: 3");
      expect(await page.getByRole("button", { name: "Undo" }).count()).toBe(0);
      await editor(page).fill(`${await editor(page).inputValue()}# mine\n`);
      await page.getByRole("button", { name: "Try it on the last 1,000 calls" }).click();
      await page.getByText(/it would have decided none differently/).waitFor();
      await show(page, "audit");
      await show(page, "policy");
      await expect.poll(() => editor(page).inputValue()).toContain("# mine");
      // What was tried is tried, and may be saved.
      await page.getByText(/it would have decided none differently/).waitFor();
      expect(await page.getByRole("button", { name: "Save" }).isEnabled()).toBe(true);
      expect(conduct.faults).toEqual([]);
      await page.close({ runBeforeUnload: true });
      await expect.poll(() => conduct.faults).toEqual(["dialog "]);
      await page.getByRole("button", { name: "Drop this change" }).click();
      await expect.poll(() => editor(page).inputValue()).not.toContain("# mine");
      // Somebody else writes the file meanwhile.
      await editor(page).press("End");
      await page.keyboard.type(" ");
      writeFileSync(watched.policy, `${readFileSync(watched.policy, "utf8")}# theirs\n`);
      await show(page, "calls");
      await show(page, "policy");
      await page.getByText("The file was changed since this change was begun").waitFor();
      await page.getByRole("button", { name: "Try it on the last 1,000 calls" }).click();
      await page.getByText(/it would have decided none/).waitFor();
      expect(await page.getByRole("button", { name: "Save" }).isDisabled()).toBe(true);
      await page.getByRole("button", { name: "Drop this change" }).click();
    },
  );

  it("Policy tries rate limits too, and takes what was over one for no allowed call", { timeout: LONG }, async () => {
    const watched = await started({ signedIn: false, policy: POLICY });
    await watched.serve();
    for (let step = 0; step < 5; step += 1) await call(watched, "calculate", { expression: `${step}+1` });
    const { page } = await opened(await contextOf(browser()), watched);
    await show(page, "policy");
    const limits = page.locator(".lines li", { hasText: "rate_limits" });
    await expect.poll(() => limits.innerText()).toMatch(/\b2 denied/);
    const tries = async (from: string, to: string): Promise<string[]> => {
      const text = readFileSync(watched.policy, "utf8");
      await editor(page).fill(text.replace(from, to));
      await page.getByRole("button", { name: "Try it on the last 1,000 calls" }).click();
      await page.getByText("Rate limits are counted as well").waitFor();
      return page.locator("#policy-change ~ div[role=status] li").allInnerTexts();
    };
    const stricter = await tries("calculate: 3", "calculate: 1");
    expect(stricter).toHaveLength(2);
    for (const each of stricter) expect(each).toMatch(/allowed by the policy in force.*denied.*calculate: 1 a minute/s);
    // Those that were over their rate are refused either way.
    const without = await tries(", calculate,", ",");
    expect(without).toHaveLength(3);
    // Decided by a text that is not in force any more: then all of it is counted.
    writeFileSync(watched.policy, `${readFileSync(watched.policy, "utf8")}# another text\n`);
    await page.getByRole("button", { name: "Drop this change" }).click();
    await show(page, "calls");
    await show(page, "policy");
    await expect.poll(() => editor(page).inputValue()).toContain("# another text");
    expect(await tries("calculate: 3", "calculate: 1")).toHaveLength(2);
    expect(await tries(", calculate,", ",")).toHaveLength(3);
    const wider = await tries("calculate: 3", "calculate: 30");
    expect(wider).toHaveLength(2);
    for (const each of wider) expect(each).toMatch(/denied by the policy in force.*allowed/s);
  });

  it(
    "Audit exports the calls, or every record, under a name with the day, and has today",
    { timeout: LONG },
    async () => {
      const watched = await started({ signedIn: false, policy: POLICY });
      await watched.serve();
      await call(watched, "calculate", { expression: "1+1" });
      writeFileSync(watched.policy, `${readFileSync(watched.policy, "utf8")}# more\n`);
      await takenUp(watched, 1);
      const { page, conduct } = await opened(await contextOf(browser(), { acceptDownloads: true }), watched);
      await show(page, "audit");
      await page.getByRole("button", { name: "today" }).click();
      await page.getByRole("button", { name: "1 × a policy was taken up" }).waitFor();
      const calls = await kept(page, "Export the calls");
      expect(calls.name).toMatch(/^audit-calls-\d{4}-\d\d-\d\d\.jsonl$/);
      const kinds = (lines: readonly string[]): string[] =>
        lines.map((line) => (JSON.parse(line) as { kind: string }).kind);
      expect(kinds(calls.lines)).toEqual(["call.intent", "call.result"]);
      const all = await kept(page, "Export all records");
      expect(all.name).toMatch(/^audit-records-\d{4}-\d\d-\d\d\.jsonl$/);
      expect(kinds(all.lines)).toEqual(expect.arrayContaining(["start", "call.intent", "policy.loaded"]));
      // The time that was chosen is there again on the way back.
      await show(page, "now");
      await page.goBack();
      await page.locator("button[aria-pressed=true]", { hasText: "today" }).waitFor();
      await page.getByRole("button", { name: "the last week" }).click();
      await expect.poll(() => page.locator(".bars figcaption span").first().innerText()).toMatch(/^\w+ \d+, \d{4}/);
      expect(await page.getByText("In the last minute").count()).toBe(0);
      expect(conduct.faults).toEqual([]);
    },
  );

  it(
    "Audit leads to what a check found, opens the record where the chain breaks, and says when it was verified",
    { timeout: LONG },
    async () => {
      const watched = await started({ signedIn: false, policy: POLICY });
      await watched.serve();
      for (const name of ["one.md", "two.md", "three.md", "four.md", "five.md", "six.md", "seven.md"]) {
        writeFileSync(join(watched.notes, name), name);
        await read(watched, name);
      }
      const { page, conduct } = await opened(await contextOf(browser()), watched);
      await show(page, "audit");
      await page.getByRole("button", { name: "Verify every record" }).click();
      await page.getByRole("heading", { name: /^Nobody had changed the log when it was verified, at .*\d/ }).waitFor();
      const log = logOf(watched);
      writeFileSync(log, readFileSync(log, "utf8").replace(/(call\.intent.*?)two\.md/, "$1tw0.md"));
      await page.getByRole("button", { name: "Verify every record" }).click();
      const heading = page.getByRole("heading", { name: "The log was changed" });
      await heading.waitFor();
      await expect
        .poll(() =>
          page.evaluate(
            "document.activeElement?.id + ' ' + (Math.abs(document.getElementById('audit-chain').getBoundingClientRect().top) < innerHeight / 2)",
          ),
        )
        .toBe("audit-chain true");
      const words = (await page.locator(".broken svg.chain").getAttribute("aria-label")) ?? "";
      const [, before = 0, all = 0] = (/broken after (\d+) of (\d+) records/.exec(words) ?? []).map(Number);
      expect(all).toBeGreaterThan(2 * before);
      const [, x = 999] = (/^M([\d.]+)/.exec((await page.locator(".chain-break").getAttribute("d")) ?? "") ?? []).map(
        Number,
      );
      expect(x).toBeLessThan(300);
      await page.getByRole("button", { name: /^Open line \d+$/ }).click();
      await page.locator(".broken pre", { hasText: "tw0.md" }).waitFor();
      await page
        .locator(".broken")
        .getByRole("button", { name: /read_file .*two\.md/ })
        .click();
      await page.locator(".panel", { hasText: "two.md" }).waitFor();
      expect(conduct.faults).toEqual([]);
    },
  );

  it(
    "Audit leads to the check that was asked for, not to the one before it that comes again",
    { timeout: LONG },
    async () => {
      const watched = await started({ signedIn: false, policy: POLICY });
      const first = await watched.serve();
      onTestFinished(() => void first.child.kill("SIGKILL"));
      const { page, conduct } = await opened(await contextOf(browser()), watched);
      const focused = (): Promise<unknown> => page.evaluate("document.activeElement?.id");
      const verify = page.getByRole("button", { name: "Verify every record" });
      await show(page, "audit");
      await verify.click();
      await expect.poll(focused).toBe("audit-chain");
      // The next check lasts until the test lets it go on.
      const held: Route[] = [];
      await page.route("**/api/verify", (route) => void held.push(route));
      await verify.click();
      await expect.poll(() => held.length).toBe(1);
      // What the page is told of a log that no check has read comes together with the check before.
      await watched.serve();
      const unread = page.locator("section[aria-labelledby=audit-chain] li", { hasText: "not verified yet" });
      const told = await unread.innerText();
      await call(watched, "calculate", { expression: "1+1" });
      // Once more: by now the page has done what it does after the first time.
      await expect.poll(() => unread.innerText()).not.toBe(told);
      expect(await focused()).not.toBe("audit-chain");
      await held[0]?.continue();
      await expect.poll(focused).toBe("audit-chain");
      expect(await unread.count()).toBe(0);
      expect(conduct.faults).toEqual([]);
    },
  );

  it(
    "Audit lists what is of no call, and Policy shows the file as it is when another page changed it",
    { timeout: LONG },
    async () => {
      const watched = await started({ signedIn: false, policy: POLICY });
      await watched.serve();
      await call(watched, "calculate", { expression: "1+1" });
      const { page, conduct } = await opened(await contextOf(browser()), watched);
      await show(page, "audit");
      await page.getByRole("button", { name: /× a server of this program began$/ }).click();
      const event = page.locator("section[aria-labelledby=audit-events] details").first();
      await event.locator("summary").click();
      await event.getByText('"kind":"start"').waitFor();
      await show(page, "policy");
      await page
        .getByText(/^In force in/)
        .first()
        .waitFor();
      const before = readFileSync(watched.policy, "utf8");
      writeFileSync(watched.policy, `# by somebody else\n${before}`);
      await page.locator(".lines li", { hasText: "# by somebody else" }).waitFor();
      await page
        .getByText(/^In force in/)
        .first()
        .waitFor();
      writeFileSync(watched.policy, before);
      await expect.poll(() => page.locator(".lines li", { hasText: "# by somebody else" }).count()).toBe(0);
      expect(conduct.faults).toEqual([]);
    },
  );

  it("Definitions keeps what was compared, with what waits for a decision first", { timeout: LONG }, async () => {
    const watched = await started({
      signedIn: false,
      policy: `version: "1.0"\nsandbox: none\ntools: { allowed: ["weather_*"] }\nplugins: { load: [{ name: aunt, path: "~/aunt" }, { name: weather, path: "~/weather" }] }\n`,
    });
    for (const name of ["aunt", "weather"])
      await run(["plugins", "new", name], { home: watched.home, cwd: watched.home });
    await approvePlugins(watched.policy, watched.home);
    const plugin = join(watched.home, "weather/plugin.mjs");
    writeFileSync(
      plugin,
      readFileSync(plugin, "utf8").replace(/description: "[^"]*"/, 'description: "Says another thing."'),
    );
    const { page, conduct } = await opened(await contextOf(browser()), watched);
    await show(page, "definitions");
    await page.getByRole("button", { name: "Start them and compare" }).click();
    const titles = page.locator(".offering h3");
    await expect
      .poll(() => titles.allInnerTexts(), { timeout: LONG })
      .toEqual([expect.stringMatching(/weather \d of \d not approved/), expect.stringMatching(/aunt as approved/)]);
    await show(page, "calls");
    await show(page, "definitions");
    await page.getByText(/^Compared at/).waitFor();
    expect(await titles.count()).toBe(2);
    watched.code = await watched.anotherCode();
    const other = await opened(await contextOf(browser()), watched);
    await show(other.page, "definitions");
    const others = other.page.locator(".offering h3");
    await expect.poll(() => others.first().innerText(), { timeout: LONG }).toMatch(/not approved/);
    await page.getByRole("button", { name: /^Refuse (this change|all \d+ changes) of/ }).click();
    await expect.poll(() => titles.first().innerText(), { timeout: LONG }).toMatch(/weather \d of \d refused/);
    // Another page that was open all the time says the same.
    await expect.poll(() => others.first().innerText(), { timeout: LONG }).toMatch(/weather \d of \d refused/);
    expect(conduct.faults).toEqual([]);
  });

  it(
    "Clients has the limits of a moment ago, and leads to the calls of the week that it counts",
    { timeout: LONG },
    async () => {
      const watched = await started({ signedIn: false, policy: POLICY });
      await watched.serve();
      await call(watched, "calculate", { expression: "0+1" });
      const { page, conduct } = await opened(await contextOf(browser()), watched);
      await show(page, "clients");
      await page.getByText("1 of 3").waitFor();
      // A look at the processes that is due anyway may come in time once, but not twice.
      for (const used of [2, 3]) {
        await call(watched, "calculate", { expression: `${used}+1` });
        await page.getByText(`${used} of 3`).waitFor({ timeout: 3_000 });
      }
      await page.locator("table button").first().click();
      await page.locator(".call").first().waitFor();
      expect(page.url()).toMatch(/since=\d+/);
      expect(conduct.faults).toEqual([]);
    },
  );

  it(
    "an opened call that was refused says what did not name it, and that no result is missing",
    { timeout: LONG },
    async () => {
      const watched = await started({ signedIn: false, policy: POLICY });
      await watched.serve();
      await call(watched, "read_file", { path: "/etc/passwd" });
      await call(watched, "list_directory", { path: watched.notes });
      const { page, conduct } = await opened(await contextOf(browser()), watched);
      await show(page, "calls");
      for (const [row, why] of [
        ["/etc/passwd", /names the path \/etc\/passwd nowhere: filesystem\.allowed_paths/],
        ["list_directory", /names the tool list_directory nowhere: tools\.allowed would/],
      ] as const) {
        await page.locator(".call", { hasText: row }).locator("button").first().click();
        await page.locator(".panel .why").getByText(why).waitFor();
        await page.getByText("It was refused, so no tool gave one.").waitFor();
        await page.getByRole("button", { name: "Close" }).click();
      }
      expect(conduct.faults).toEqual([]);
    },
  );
});
