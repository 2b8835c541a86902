// The page in a real browser: every screen with data and without, hostile text, both colours, three widths, the keyboard alone.
import { appendFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { createServer, type Server } from "node:net";
import { join } from "node:path";
import { type Browser, type BrowserContext, chromium, type Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { answerOne } from "../../src/cli/approve-command.js";
import { ApprovalsInbox } from "../../src/control/approvals-inbox.js";
import { repeated, sampled } from "../../../mcp/test/support/soak.js";
import { Watched } from "./running.js";

const CHROMIUM = process.env["CHROMIUM"] ?? "/usr/bin/chromium";
const HAS_BROWSER = existsSync(CHROMIUM);
if (!HAS_BROWSER)
  console.log(
    `skipped: the page in a browser; there is no ${CHROMIUM} (Debian: apt install chromium, or set CHROMIUM)`,
  );

const SCREENS = ["now", "calls", "approvals", "servers", "definitions", "audit", "policy", "clients"] as const;
/** Those whose colours are looked at once more in the dark: the same rules of style make all of them. */
const DARK: readonly string[] = sampled(SCREENS, 3);
const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** Texts that would do something, were they anything but text. */
const HOSTILE = [
  "<img src=x onerror=alert(1)><script>alert(1)</script>",
  "[a link](javascript:alert(1)) ![an image](http://127.0.0.1:9/x.png)",
  "\u202egpj.exe \u200b\u2066 \u001b[2J\u001b]8;;http://127.0.0.1:9\u0007 \u0000",
  "{{constructor.constructor('alert(1)')()}} ${alert(1)} %3Cscript%3E",
  "x".repeat(20_000),
];

/** All of them in one, and a megabyte. */
const WORST = `${HOSTILE.join(" ")} ${"y".repeat(1_000_000)}`;

/** A server of this person whose every word is hostile, at a control socket of its own; it asks a question like that, too. */
async function hostileServer(home: string): Promise<Server> {
  const folder = join(home, "state/mcp-secure-local/run");
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const [text = "", url = ""] = HOSTILE;
  const all = HOSTILE.join(" ");
  const finding = { tier: all, id: all, about: all, item: all, at: all, excerpt: WORST };
  const plugin = { name: all, state: all, version: all, tools: 1, starts: 1, note: all, output: all, wall: all };
  const state = {
    ...{ pid: 1, version: text, transport: "http", url, since: 1e300, auditFile: `/nowhere/${all}`, tools: HOSTILE },
    ...{ policy: { file: all, hash: all }, memoryBytes: 1, cpuSeconds: 1, state: "running" },
    plugins: [
      {
        ...plugin,
        findings: [finding],
        changes: [{ item: all, kind: all, lines: [all, `/a: "${all}" -> "${all}"`] }],
        withheld: { [all]: all },
      },
    ],
    servers: [{ name: all, state: all, tools: 1, cause: all, remedy: all, hasLogin: true }],
    clients: [
      {
        name: all,
        principal: all,
        revision: all,
        since: 0,
        last: -1,
        requests: 1,
        limits: [{ name: all, used: 1, limit: 1 }],
      },
    ],
  };
  const question = {
    kind: "question",
    id: `<b>${text}`,
    text: `${HOSTILE.slice(0, 4).join(" ")} end`,
    secondsLeft: 900,
    remember: all,
  };
  const server = createServer((peer) => {
    peer.on("error", () => undefined);
    peer.on("data", (asked) => {
      if (String(asked).includes("questions")) peer.write(`${JSON.stringify(question)}\n`);
      else peer.end(`${JSON.stringify({ answer: state })}\n`);
    });
  });
  await new Promise<void>((resolve) => server.listen(join(folder, "1-hostile.run"), resolve));
  return server;
}

/** A browser beside other tests on two cores is slow. */
const LONG = 240_000;
/** Chromium reaches nothing but the console. */
const FLAGS = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-background-networking",
  "--disable-component-update",
  "--no-first-run",
  "--disable-sync",
];

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

/** A signed-in page of a console. */
async function opened(
  context: BrowserContext,
  watched: Watched,
): Promise<{ readonly page: Page; readonly conduct: Conduct }> {
  const page = await context.newPage();
  const conduct = new Conduct(page, watched.origin);
  await page.goto(`${watched.origin}/#code=${watched.code}`);
  await page.getByRole("status").filter({ hasText: "live" }).waitFor();
  return { page, conduct };
}

async function show(page: Page, screen: string): Promise<void> {
  await page.evaluate(`location.hash = "/${screen}"`);
  await page.locator(`nav button[aria-current=page]`, { hasText: new RegExp(screen, "i") }).waitFor();
  await page.locator("h2").first().waitFor();
}

/** Accessibility faults by axe, in an isolated world of the page's. */
async function axe(page: Page): Promise<string[]> {
  const session = await page.context().newCDPSession(page);
  const { frameTree } = (await session.send("Page.getFrameTree")) as { frameTree: { frame: { id: string } } };
  const frameId = frameTree.frame.id;
  const world = await session.send("Page.createIsolatedWorld", { frameId });
  const contextId = world.executionContextId;
  const expression = `${AXE}; axe.run(document, { runOnly: ["wcag2a", "wcag2aa", "wcag21aa"] }).then((found) => found.violations.map(({ id, nodes }) => id + " " + nodes.map((node) => node.html.slice(0, 120)).join(" | ")))`;
  const { result } = (await session.send("Runtime.evaluate", {
    expression,
    contextId,
    awaitPromise: true,
    returnByValue: true,
  })) as { result: { value?: string[]; description?: string } };
  await session.detach();
  return result.value ?? [result.description ?? "axe did not run"];
}

describe.skipIf(!HAS_BROWSER)("the console's page", () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await chromium.launch({ executablePath: CHROMIUM, args: FLAGS });
  });
  afterAll(() => browser.close());

  it(
    "says on every screen what comes next while there is nothing, and has no accessibility fault",
    { timeout: LONG },
    async () => {
      const watched = await Watched.start({ signedIn: false });
      const context = await browser.newContext();
      const { page, conduct } = await opened(context, watched);
      for (const screen of SCREENS) {
        await show(page, screen);
        expect(await axe(page)).toEqual([]);
        if (screen !== "policy") expect(await page.locator(".empty .next, .calm, button").count()).toBeGreaterThan(0);
      }
      expect(conduct.faults).toEqual([]);
      expect(page.url()).not.toContain("code=");
      await context.close();
      await watched.end();
    },
  );

  it(
    "shows hostile text of servers, models and clients as text, whatever it is, in light and dark and three widths",
    { timeout: LONG },
    async () => {
      const watched = await Watched.start({ signedIn: false });
      const client = await watched.serve();
      await client.request("tools/call", { name: "calculate", arguments: { expression: "1+1" } });
      const hostile = await hostileServer(watched.home);
      const log = join(watched.home, "state/mcp-secure-local/audit.log");
      const time = new Date().toISOString();
      [...HOSTILE, WORST.slice(0, 400_000)].forEach((text, id) => {
        const record = {
          kind: "denied",
          time,
          id,
          connection: 77,
          method: "tools/call",
          tool: text,
          principal: text.slice(0, 10_000),
          arguments: { path: text },
          decision: { allowed: false, rule: text.slice(0, 10_000), line: 5 },
          outcome: "denied",
          policy: text.slice(0, 100),
          server: text.slice(0, 10_000),
          upstream: {
            revision: text.slice(0, 100),
            transport: text.slice(0, 100),
            ids: [text.slice(0, 100)],
            sent: time,
          },
        };
        appendFileSync(log, `${JSON.stringify(record)}\n`);
      });
      for (const [colorScheme, width] of [
        ["light", 1440],
        ["dark", 1024],
        ["light", 390],
      ] as const) {
        const context = await browser.newContext({ colorScheme, viewport: { width, height: 800 } });
        if (width !== 1440) watched.code = await watched.anotherCode();
        const { page, conduct } = await opened(context, watched);
        await page.getByText("<img src=x").first().waitFor();
        await page.locator(".question").waitFor();
        for (const screen of SCREENS) {
          await show(page, screen);
          expect(await page.locator("img, iframe, object, main a[href]").count()).toBe(0);
          expect(await page.locator("main").innerText(), screen).not.toMatch(/[\u202e\u200b\u2066\u0000\u001b]/);
          // Colours differ by the scheme, not by the width.
          if (width === 1440 || (width > 390 && DARK.includes(screen))) expect(await axe(page)).toEqual([]);
          const tooWide = "Math.max(0, document.documentElement.scrollWidth - innerWidth - 1)";
          expect(await page.evaluate(tooWide), `${screen} at ${width}`).toBe(0);
        }
        await show(page, "calls");
        for (const text of ["<img src=x", "gpj.exe"]) {
          await page.locator(".call", { hasText: text }).first().locator("button").click();
          await page.locator(".panel .steps").waitFor();
          if (width > 390) expect(await axe(page)).toEqual([]);
          expect(await page.locator(".panel").innerText()).not.toMatch(/[\u202e\u200b\u0000\u001b]/);
        }
        expect(conduct.faults).toEqual([]);
        await context.close();
      }
      await watched.end();
      hostile.close();
    },
  );

  it(
    "lets a person decide by the keyboard alone, and shows two pages and a terminal the same decision",
    { timeout: LONG },
    async () => {
      const watched = await Watched.start({ signedIn: false });
      const client = await watched.serve();
      const context = await browser.newContext();
      const { page, conduct } = await opened(context, watched);
      const other = await context.newPage();
      await other.goto(`${watched.origin}/#/approvals`);
      // What `approve` does in a terminal.
      const terminal = new ApprovalsInbox(join(watched.home, "state/mcp-secure-local/run"));
      const file = join(watched.notes, "k.md");
      const done = client.request("tools/call", { name: "write_file", arguments: { path: file, content: "k" } });
      for (const each of [page, other]) await each.locator(".question").waitFor();
      terminal.look();
      let typing!: () => void;
      const shown = new Promise<void>((resolve) => (typing = resolve));
      const told: string[] = [];
      vi.spyOn(process.stderr, "write").mockImplementation((text) => told.push(String(text)) > 0);
      const left = terminal.next().then((waiting) =>
        answerOne(waiting, (_prompt, gone) => {
          typing();
          return new Promise((_resolve, reject) =>
            gone.addEventListener("abort", () => reject(new Error("over")), { once: true }),
          );
        }),
      );
      await shown;
      for (let step = 0; step < 40; step += 1) {
        await page.keyboard.press("Tab");
        if ((await page.evaluate("document.activeElement?.textContent")) === "Allow this one call") break;
      }
      await page.keyboard.press("Enter");
      await done;
      expect(readFileSync(file, "utf8")).toBe("k");
      for (const each of [page, other]) {
        await each.locator(".question").waitFor({ state: "detached" });
        await each.locator(".over").getByText("was allowed").waitFor();
      }
      await left;
      vi.restoreAllMocks();
      expect(told.join("")).toMatch(/allowed.* already, in another terminal or in the console/);
      terminal.close();
      expect(conduct.faults).toEqual([]);
      await context.close();
      await watched.end();
    },
  );

  it(
    "goes on after the console was away, and says that it has to sign in when it was started again",
    { timeout: LONG },
    async () => {
      const watched = await Watched.start({ signedIn: false });
      const context = await browser.newContext();
      const { page } = await opened(context, watched);
      watched.console.kill("SIGSTOP");
      watched.console.kill("SIGCONT");
      await page.getByRole("status").filter({ hasText: "live" }).waitFor();
      watched.console.kill("SIGKILL");
      await page.getByText("does not answer").waitFor();
      await watched.restart();
      await page.getByText("not signed in").waitFor({ timeout: 20_000 });
      await page.getByText("Press Enter in the terminal").waitFor();
      await context.close();
      await watched.end();
    },
  );

  it(
    "keeps very many calls in view by its window on every screen, with no accessibility fault",
    { timeout: LONG },
    async () => {
      const watched = await Watched.start({ signedIn: false, records: repeated(20_000, 100_000) });
      const context = await browser.newContext();
      const { page, conduct } = await opened(context, watched);
      for (const screen of SCREENS) {
        await show(page, screen);
        expect(await axe(page)).toEqual([]);
        expect(await page.evaluate("document.querySelectorAll('main *').length")).toBeLessThan(3_000);
      }
      await show(page, "calls");
      await page.locator(".call").first().waitFor();
      expect(await page.locator(".call").count()).toBeLessThan(80);
      await page.locator(".calls").evaluate((list) => (list.scrollTop = list.scrollHeight));
      await expect.poll(() => page.locator(".call").count()).toBeGreaterThan(5);
      expect(conduct.faults).toEqual([]);
      await context.close();
      await watched.end();
    },
  );

  it(
    "leads to every screen by the keyboard alone, with the place of the keyboard to be seen",
    { timeout: LONG },
    async () => {
      const watched = await Watched.start({ signedIn: false, records: 200 });
      const context = await browser.newContext();
      const { page, conduct } = await opened(context, watched);
      for (const screen of SCREENS) {
        await page.evaluate("document.querySelector('.skip').focus()");
        const named = new RegExp(`^${screen}`, "i");
        const focused = (): Promise<string> => page.evaluate("document.activeElement.textContent");
        for (let step = 0; step < SCREENS.length + 1 && !named.test(await focused()); step += 1) {
          await page.keyboard.press("Tab");
          expect(await page.evaluate("getComputedStyle(document.activeElement).outlineStyle")).toBe("solid");
        }
        await page.keyboard.press("Enter");
        await page.locator("nav button[aria-current=page]", { hasText: named }).waitFor();
        // Everything that can be done with the mouse can be reached: nothing has a click of its own alone.
        const unreachable =
          "[...document.querySelectorAll('main button, main input, main select, main summary')].filter((each) => each.tabIndex < 0).length";
        expect(await page.evaluate(unreachable)).toBe(0);
      }
      await show(page, "calls");
      await page.locator(".calls").focus();
      await page.keyboard.press("ArrowDown");
      await page.locator(".panel .steps").waitFor();
      expect(conduct.faults).toEqual([]);
      await context.close();
      await watched.end();
    },
  );

  it("marks a record that does not verify in red, with the command that shows more", { timeout: LONG }, async () => {
    const watched = await Watched.start({ signedIn: false });
    const client = await watched.serve();
    for (const expression of ["1+1", "2+2"])
      await client.request("tools/call", { name: "calculate", arguments: { expression } });
    await client.close();
    const log = join(watched.home, "state/mcp-secure-local/audit.log");
    writeFileSync(log, readFileSync(log, "utf8").replace("2+2", "3+3"));
    const context = await browser.newContext();
    const { page } = await opened(context, watched);
    await show(page, "audit");
    await page.getByRole("button", { name: "Verify every record" }).click();
    const told = page.locator(".broken [role=alert]");
    await told.getByText(/Line \d+ of .*audit\.log/).waitFor();
    await told.getByText(`mcp-secure-local audit verify ${log}`).waitFor();
    const red =
      "(() => { const probe = document.createElement('i'); probe.style.color = 'var(--bad)'; document.body.append(probe); const { color } = getComputedStyle(probe); probe.remove(); return color; })()";
    const colour = "getComputedStyle(document.querySelector('.broken [role=alert]')).color";
    expect(await page.evaluate(colour)).toBe(await page.evaluate(red));
    await context.close();
    await watched.end();
  });

  it("keeps the rows of a process that vanished, marked, with what to do", { timeout: LONG }, async () => {
    const watched = await Watched.start({ signedIn: false });
    const client = await watched.serve();
    const context = await browser.newContext();
    const { page } = await opened(context, watched);
    await client.request("tools/call", { name: "calculate", arguments: { expression: "1+1" } });
    void client.request("tools/call", {
      name: "write_file",
      arguments: { path: join(watched.notes, "lost.md"), content: "x" },
    });
    await page.locator(".question").waitFor();
    client.child.kill("SIGKILL");
    await page.locator(".over").getByText("its server is gone").waitFor();
    await page.getByText(/vanished/).waitFor();
    await show(page, "calls");
    await page.locator(".call-lost", { hasText: "write_file" }).locator("button").click();
    await page.getByText("Whether it took effect is not known").waitFor();
    await page.locator(".call-ok", { hasText: "calculate" }).waitFor();
    await show(page, "servers");
    await page.locator(".process-gone").getByText("Its client starts a new one").waitFor();
    await context.close();
    await watched.end();
  });
});
