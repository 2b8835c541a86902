// The page in a real browser: every screen with data and without, hostile text, both colours, four widths, the keyboard alone.
import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { once } from "node:events";
import { appendFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { expect, it, onTestFinished } from "vitest";
import { repeated, sampled } from "../../../mcp/test/support/soak.js";
import { COMMAND, start } from "../cli/command.js";
import { axe } from "./axe.js";
import { contextOf, inBrowser, LONG, opened, show, started } from "./in-browser.js";
import { removeFolder, type Watched } from "./running.js";

const SCREENS = ["now", "calls", "approvals", "servers", "definitions", "audit", "policy", "clients"] as const;
/** Those whose colours are looked at once more in the dark: the same rules of style make all of them. */
const DARK: readonly string[] = sampled(SCREENS, 3);
const SOAK = process.env["SOAK"] === "1";

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

const HOSTILE_POLICY = `version: "1.0"
sandbox: none
tools: { allowed: [calculate] }
servers: { strange: { command: [node, NOTES/hostile.mjs] } }
`;

/** A server of a policy whose definitions are hostile. */
const HOSTILE_SERVER = `import { createInterface } from "node:readline";
const all = ${JSON.stringify(HOSTILE.join(" "))};
const inputSchema = { type: "object", description: all };
const tool = { name: "read", title: all, description: ${JSON.stringify(WORST)}, inputSchema };
const serverInfo = { name: all, version: all };
const answers = {
  initialize: () => ({ protocolVersion: "2025-06-18", capabilities: { tools: {} }, instructions: all, serverInfo }),
  "tools/list": () => ({ tools: [tool, { ...tool, name: all.slice(0, 200) }] }),
};
createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method } = JSON.parse(line);
  if (id !== undefined) process.stdout.write(JSON.stringify({ jsonrpc: "2.0", id, result: answers[method]?.() }) + "\\n");
});
`;

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

/** `approve` in a terminal of its own, with a person's hands. */
class ApproveTerminal {
  readonly #child: ChildProcessWithoutNullStreams;
  #text = "";
  #from = 0;

  constructor({ home, policy }: Watched) {
    const words = [process.execPath, COMMAND, "approve", "--policy", policy].map((word) => `'${word}'`).join(" ");
    const env = { PATH: process.env["PATH"], HOME: home, XDG_STATE_HOME: join(home, "state"), TERM: "xterm" };
    // Debian's own way to a terminal, which is there on every Linux.
    this.#child = spawn("script", ["-qfec", words, "/dev/null"], { env });
    this.#child.stdout.setEncoding("utf8").on("data", (text: string) => (this.#text += text));
  }

  /** Resolves when it asks about a call with this text. */
  async shows(text: string): Promise<void> {
    this.#from = this.#text.length;
    await expect.poll(() => this.#text.slice(this.#text.lastIndexOf(text)), { timeout: LONG }).toMatch(/Type the code/);
  }

  /** Answers what it asks about. */
  type(answer: "allow" | "refuse"): void {
    const code = /Question (\w{4})/.exec(this.#text.slice(this.#text.lastIndexOf("Question ")))?.[1] ?? "";
    this.#child.stdin.write(answer === "allow" ? `${code}\n` : "no\n");
  }

  /** Resolves when it says so of the question that it showed last. */
  async says(what: RegExp): Promise<void> {
    await expect.poll(() => this.#text.slice(this.#from), { timeout: LONG }).toMatch(what);
  }

  end(): void {
    this.#child.kill("SIGKILL");
  }
}

/** What is on record of the last question: how it was answered, and where. */
function lastDecision({ home }: Watched): { readonly answer: string; readonly by: string } {
  const lines = readFileSync(join(home, "state/mcp-secure-local/audit.log"), "utf8").trim().split("\n");
  const records = lines.map((line) => JSON.parse(line) as { kind: string; detail?: { by: string; question: string } });
  const answers = records.filter(({ kind }) => kind === "approval.given" || kind === "approval.denied");
  const { kind = "", detail } = answers.at(-1) ?? {};
  expect(answers.filter((each) => each.detail?.question === detail?.question)).toHaveLength(1);
  return { answer: kind, by: detail?.by ?? "" };
}

/** In light and dark and four widths: nothing is wider than the page, and axe finds nothing. */
async function looksWell(page: Page, screen: string): Promise<void> {
  for (const colorScheme of ["light", "dark"] as const)
    for (const width of [1440, 1024, 400, 390]) {
      await page.setViewportSize({ width, height: 800 });
      await page.emulateMedia({ colorScheme });
      const tooWide = "Math.max(0, document.documentElement.scrollWidth - innerWidth - 1)";
      expect(await page.evaluate(tooWide), `${screen} at ${width}`).toBe(0);
      const toTheSide =
        "[...document.querySelectorAll('.calls')].every((each) => each.scrollWidth <= each.clientWidth + 1)";
      expect(await page.evaluate(toTheSide), `a list of calls on ${screen} at ${width}`).toBe(true);
      // Colours differ by the scheme, not by the width: both ends of the widths are looked at with SOAK=1.
      const ends = width === 1440 || (SOAK && width === 390);
      const looked = ends && (SOAK || colorScheme === "light" || DARK.includes(screen));
      if (looked) expect(await axe(page), `${screen}, ${colorScheme}, ${width}`).toEqual([]);
    }
}

inBrowser("the console's page", (browser) => {
  it(
    "says on every screen what comes next while there is nothing, and has no accessibility fault",
    { timeout: LONG },
    async () => {
      const watched = await started({ signedIn: false });
      const context = await contextOf(browser());
      const { page, conduct } = await opened(context, watched);
      for (const screen of SCREENS) {
        await show(page, screen);
        expect(await axe(page)).toEqual([]);
        if (screen !== "policy") expect(await page.locator(".empty .next, .calm, button").count()).toBeGreaterThan(0);
      }
      expect(conduct.faults).toEqual([]);
      expect(page.url()).not.toContain("code=");
    },
  );

  it(
    "shows hostile text of servers, models and clients as text, whatever it is, in light and dark and four widths",
    { timeout: LONG },
    async () => {
      const watched = await started({
        signedIn: false,
        policy: HOSTILE_POLICY,
        prepare: (_home, notes) => {
          writeFileSync(join(notes, "hostile.mjs"), HOSTILE_SERVER);
          return {};
        },
      });
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
      const context = await contextOf(browser(), { viewport: { width: 1440, height: 800 } });
      const { page, conduct } = await opened(context, watched);
      await page.getByText("<img src=x").first().waitFor();
      await page.locator(".question").waitFor();
      const panels = ["<img src=x", "gpj.exe"];
      for (const screen of [...SCREENS, ...panels]) {
        const isPanel = panels.includes(screen);
        await show(page, isPanel ? "calls" : screen);
        if (isPanel) await page.locator(".call", { hasText: screen }).first().locator("button").click();
        if (isPanel) await page.locator(".panel .steps").waitFor();
        if (screen === "definitions") {
          await page.getByRole("button", { name: "Start them and compare" }).click();
          await page.locator(".offering .change").first().waitFor({ timeout: LONG });
        }
        expect(await page.locator("img, iframe, object, main a[href]").count()).toBe(0);
        // oxlint-disable-next-line no-control-regex -- finding control characters is the purpose
        expect(await page.locator("main").innerText(), screen).not.toMatch(/[\u202e\u200b\u2066\u0000\u001b]/);
        await looksWell(page, screen);
      }
      expect(conduct.faults).toEqual([]);
      hostile.close();
    },
  );

  it(
    "lets a person decide in two pages and a terminal, by the keyboard alone: one decision, and each other is told whose",
    { timeout: LONG },
    async () => {
      const watched = await started({ signedIn: false });
      const client = await watched.serve();
      const context = await contextOf(browser());
      const { page, conduct } = await opened(context, watched);
      const other = await context.newPage();
      await other.goto(`${watched.origin}/#/approvals`);
      const terminal = new ApproveTerminal(watched);
      const pages = [page, other];
      const asked = async (name: string): Promise<{ readonly file: string; readonly done: Promise<unknown> }> => {
        const file = join(watched.notes, name);
        const done = client.request("tools/call", { name: "write_file", arguments: { path: file, content: "k" } });
        for (const each of pages) await each.locator(".question", { hasText: name }).waitFor();
        await terminal.shows(name);
        return { file, done };
      };
      const told = async (text: RegExp): Promise<void> => {
        for (const each of pages) {
          await each.locator(".question").waitFor({ state: "detached" });
          await each.locator(".over li").first().filter({ hasText: text }).waitFor();
        }
      };

      const first = await asked("by-keyboard.md");
      for (let step = 0; step < 40; step += 1) {
        await page.keyboard.press("Tab");
        if ((await page.evaluate("document.activeElement?.textContent")) === "Allow this one call") break;
      }
      await page.locator(":focus:not([aria-disabled])").waitFor();
      await page.keyboard.press("Enter");
      await first.done;
      expect(readFileSync(first.file, "utf8")).toBe("k");
      await told(/was allowed in the console/);
      await terminal.says(/allowed\S* already, in the console/);

      const second = await asked("in-the-terminal.md");
      terminal.type("allow");
      await second.done;
      expect(readFileSync(second.file, "utf8")).toBe("k");
      await told(/was allowed in a terminal/);

      const third = await asked("all-at-once.md");
      const press = (each: Page, name: string): Promise<void> =>
        each
          .getByRole("button", { name })
          .click({ noWaitAfter: true, timeout: 5_000 })
          .catch(() => undefined);
      terminal.type("refuse");
      await Promise.all([press(page, "Allow this one call"), press(other, "Refuse")]);
      await third.done;
      const { answer, by } = lastDecision(watched);
      expect(existsSync(third.file)).toBe(answer === "approval.given");
      await told(
        new RegExp(
          `was ${answer === "approval.given" ? "allowed" : "refused"} in ${by === "console" ? "the" : "a"} ${by}`,
        ),
      );
      await terminal.says(by === "terminal" ? /refused/ : /already, in the console/);

      terminal.end();
      expect(conduct.faults).toEqual([]);
    },
  );

  it(
    "goes on after the console was away, and says that it has to sign in when it was started again",
    { timeout: LONG },
    async () => {
      const watched = await started({ signedIn: false });
      const context = await contextOf(browser());
      const { page } = await opened(context, watched);
      watched.console.kill("SIGSTOP");
      watched.console.kill("SIGCONT");
      await page.getByRole("status").filter({ hasText: "live" }).waitFor();
      await show(page, "policy");
      const editor = page.getByRole("textbox", { name: "The policy" });
      const changed = `# not saved\n${await editor.inputValue()}`;
      await editor.fill(changed);
      watched.console.kill("SIGKILL");
      await page.getByRole("status").filter({ hasText: "does not answer" }).waitFor();
      await watched.restart();
      await page.getByText("not signed in").waitFor({ timeout: 20_000 });
      await page.getByText("Press Enter in the terminal").waitFor();
      // Nothing that was typed is lost by it.
      expect(await page.getByLabel("The policy as you changed it").inputValue()).toBe(changed);
      page.removeAllListeners("dialog").on("dialog", (dialog) => void dialog.accept());
      // The address it prints, opened in the very same tab.
      await page.goto(`${watched.origin}/#code=${watched.code}`);
      await page.getByRole("status").filter({ hasText: "live" }).waitFor();
      expect(page.url()).not.toContain("code=");
    },
  );

  it(
    "keeps very many calls in view by its window on every screen, with no accessibility fault",
    { timeout: LONG },
    async () => {
      const watched = await started({ signedIn: false, records: repeated(20_000, 100_000) });
      const context = await contextOf(browser());
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
    },
  );

  it(
    "leads to every screen by the keyboard alone, with the place of the keyboard to be seen",
    { timeout: LONG },
    async () => {
      const watched = await started({ signedIn: false, records: 200 });
      const context = await contextOf(browser());
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
    },
  );

  it("marks a record that does not verify in red, with the command that shows more", { timeout: LONG }, async () => {
    const watched = await started({ signedIn: false });
    const client = await watched.serve();
    for (const expression of ["1+1", "2+2"])
      await client.request("tools/call", { name: "calculate", arguments: { expression } });
    await client.close();
    const log = join(watched.home, "state/mcp-secure-local/audit.log");
    writeFileSync(log, readFileSync(log, "utf8").replace("2+2", "3+3"));
    const context = await contextOf(browser());
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
  });

  it("keeps the rows of a process that vanished, marked, with what to do", { timeout: LONG }, async () => {
    const watched = await started({ signedIn: false });
    const client = await watched.serve();
    const context = await contextOf(browser());
    const { page } = await opened(context, watched);
    await client.request("tools/call", { name: "calculate", arguments: { expression: "1+1" } });
    void client.request("tools/call", {
      name: "write_file",
      arguments: { path: join(watched.notes, "lost.md"), content: "x" },
    });
    await page.locator(".question").waitFor();
    client.child.kill("SIGKILL");
    const gone = "its server was gone before anybody answered";
    await page.locator(".over li", { hasText: "write_file" }).getByText(`was not run: ${gone}`).waitFor();
    await page.getByText(/vanished/).waitFor();
    await show(page, "calls");
    await page.locator(".call-unanswered", { hasText: "write_file" }).locator("button").click();
    await page.locator(".panel").getByText(`It was not run: ${gone}.`).waitFor();
    expect(await page.locator(".panel").innerText()).not.toMatch(/is not known|tools\.allowed: write_file\b(?!")/);
    await page.locator(".call-ok", { hasText: "calculate" }).waitFor();
    await show(page, "servers");
    await page.locator(".process-gone").getByText("Its client starts a new one").waitFor();
  });

  it(
    "is opened by --open through a file of this person's alone, which is gone afterwards",
    { timeout: LONG },
    async () => {
      const home = mkdtempSync(join(tmpdir(), "opened-"));
      onTestFinished(() => removeFolder(home));
      // What a desktop has: it is told which file to open, and other users of the machine see that.
      writeFileSync(
        join(home, "xdg-open"),
        '#!/bin/sh\necho "$@" > "$HOME/told.new" && mv "$HOME/told.new" "$HOME/told"\n',
        {
          mode: 0o755,
        },
      );
      const policy = join(home, "policy.yaml");
      writeFileSync(policy, 'version: "1.0"\ntools: { allowed: [calculate] }\n', { mode: 0o600 });
      const env = { PATH: `${home}:${process.env["PATH"] ?? ""}`, XDG_STATE_HOME: join(home, "state") };
      const child = start(["console", "--open", "--policy", policy], { home, env });
      onTestFinished(() => void child.kill("SIGKILL"));
      let printed = "";
      child.stdout.setEncoding("utf8").on("data", (text: string) => (printed += text));
      await expect.poll(() => existsSync(join(home, "told")), { timeout: LONG }).toBe(true);
      const file = readFileSync(join(home, "told"), "utf8").trimEnd();
      expect(file).not.toContain("code=");
      expect(statSync(file).mode & 0o077).toBe(0);
      const page = await (await contextOf(browser())).newPage();
      await page.goto(`file://${file}`);
      await page.getByRole("status").filter({ hasText: "live" }).waitFor();
      // The address that is printed is another one: where the browser shows nothing, it is what a person has.
      const other = await (await contextOf(browser())).newPage();
      await other.goto(printed.trim());
      await other.getByRole("status").filter({ hasText: "live" }).waitFor();
      child.kill("SIGINT");
      await once(child, "close");
      expect(existsSync(file)).toBe(false);
    },
  );

  it(
    "shows what a call was answered with where the policy has it recorded, and where not how to",
    { timeout: LONG },
    async () => {
      const policy = 'version: "1.0"\nsandbox: none\ntools: { allowed: [calculate] }\naudit: { results: RESULTS }\n';
      for (const results of ["true", "false"]) {
        const watched = await started({ signedIn: false, policy: policy.replace("RESULTS", results) });
        const client = await watched.serve();
        await client.request("tools/call", { name: "calculate", arguments: { expression: "6*7" } });
        const { page } = await opened(await contextOf(browser()), watched);
        await show(page, "calls");
        await page.locator(".call-ok", { hasText: "calculate" }).locator("button").first().click();
        const told = page.locator("aside, .panel").filter({ hasText: "Result" }).last();
        if (results === "true") await told.locator("h4:text-is('Result') + *").getByText("42").waitFor();
        else await told.getByText("audit.results: true").waitFor();
      }
    },
  );
});
