// The screen Servers in a browser: the way to the very thing that is not well, and processes that are gone.
import { mkdirSync } from "node:fs";
import { createServer, type Server } from "node:net";
import { join } from "node:path";
import { expect, it } from "vitest";
import type { RunningServer } from "@secure-local/console/api";
import { contextOf, inBrowser, LONG, opened, show, started } from "./in-browser.js";
import { axe } from "./axe.js";

const SERVERS = Array.from({ length: 8 }, (_, index) => ({
  ...{ tools: 3, cause: "", remedy: "" },
  name: `s${index}`,
  state: "ready",
}));
const PLUGIN = {
  ...{ name: "weather", state: "ready", version: "1", tools: 2, starts: 1, note: "", output: "", wall: "none" },
  ...{ findings: [], changes: [], withheld: {} },
};
const CAUSE = `${"node /a/long/path ".repeat(15)}: initialize was not answered`;

/** A process of this person that says this of itself at its control socket. */
async function process(home: string, pid: number, more: Partial<RunningServer>): Promise<() => Promise<void>> {
  const folder = join(home, "state/mcp-secure-local/run");
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const state = {
    ...{ pid, version: "1", transport: "stdio", since: 1_000_000 + pid, auditFile: "/nowhere/audit.log", tools: [] },
    ...{ policy: { file: "/nowhere/policy.yaml", hash: "" }, memoryBytes: 75_000_000, cpuSeconds: 1, state: "running" },
    ...{ plugins: [PLUGIN], servers: SERVERS, clients: [], ...more },
  };
  const peers = new Set<{ destroy(): unknown }>();
  const server: Server = createServer((peer) => {
    peers.add(peer);
    peer.on("error", () => undefined);
    peer.on(
      "data",
      (asked) => void (String(asked).includes("questions") || peer.end(`${JSON.stringify({ answer: state })}\n`)),
    );
  });
  await new Promise<void>((resolve) => server.listen(join(folder, `${pid}-x.run`), resolve));
  return async () => {
    const closed = new Promise((resolve) => server.close(resolve));
    for (const peer of peers) peer.destroy();
    await closed;
  };
}

const client = (name: string): Partial<RunningServer> => ({
  clients: [{ ...{ name, principal: "", revision: "2025-11-25", since: 1, last: 2, requests: 1 }, limits: [] }],
});

inBrowser("the screen Servers", (browser) => {
  it(
    "is opened at the very server that is not well, in view and with the keyboard there",
    { timeout: LONG },
    async () => {
      const watched = await started({ signedIn: false });
      await process(watched.home, 11, client("claude-desktop 1.0"));
      await process(watched.home, 12, client("vscode 3"));
      const lame = {
        name: "lame",
        state: "broken",
        tools: 0,
        cause: CAUSE,
        remedy: "mcp-secure-local servers logs lame",
      };
      const lazy = { name: "lazy", state: "idle", since: Date.now(), tools: 15, cause: "", remedy: "" };
      const brief = "its process exited with status 1 (after 0.5 s)";
      const dead = {
        ...{ name: "dead", state: "idle", tools: 2, remedy: "" },
        cause: `${CAUSE}: its whole end`,
        brief,
      };
      await process(watched.home, 13, { ...client("cursor 2"), servers: [...SERVERS, lame, lazy, dead] });
      const later = { ...dead, brief: brief.replace("0.5 s", "14 ms") };
      await process(watched.home, 14, { ...client("codex 1"), servers: [later] });
      const { page, conduct } = await opened(
        await contextOf(browser(), { viewport: { width: 1_280, height: 700 } }),
        watched,
      );
      const problem = page.locator(".troubles li", { hasText: "Server lame is broken" });
      // The cause stands behind a long command.
      await problem.getByText("initialize was not answered").waitFor();
      // One that failed alike in two processes is one trouble; how long it took there, and its words, are on Servers.
      const ended = page.locator(".troubles li", { hasText: "Server dead: its process exited with status 1." });
      await ended.waitFor();
      expect([await ended.count(), await page.getByText("its whole end").count()]).toEqual([1, 0]);
      await problem.getByRole("button", { name: "Mend it" }).click();
      await page
        .locator(".plugin", { hasText: `It failed: ${brief}.` })
        .getByText("its whole end")
        .waitFor();
      await page.locator("h4:focus", { hasText: "Server lame" }).waitFor();
      const top = (await page.locator("h4:focus").boundingBox())?.y ?? -1;
      expect(top).toBeGreaterThanOrEqual(0);
      expect(top).toBeLessThan(700);
      await page.getByRole("heading", { name: "Started by cursor 2 (stdio)" }).waitFor();
      // What mends it is here: a command is not the only way.
      await page.getByText("What it wrote last, below, says more").waitFor();
      // One that starts with its next call is not called as one that a person has stopped.
      const idle = page.locator(".plugin", { hasText: "Server lazy" });
      await idle.getByText("idle", { exact: true }).waitFor();
      await idle.getByText("15 tools as approved").waitFor();
      await idle.getByText(/^Idle since .*: nothing of it runs, and it was not tried since/).waitFor();
      expect(await idle.locator(".state-stopped").count()).toBe(0);
      expect(await idle.getByRole("button").allInnerTexts()).toEqual(
        expect.arrayContaining(["Keep lazy from starting", "Test lazy"]),
      );
      expect(await axe(page)).toEqual([]);
      expect(conduct.faults).toEqual([]);
    },
  );

  it(
    "shows what a process that is gone had started as gone too, and puts it away when a person says so",
    { timeout: LONG },
    async () => {
      const watched = await started({ signedIn: false });
      const end = await process(watched.home, 21, client("cursor 2"));
      const { page } = await opened(await contextOf(browser()), watched);
      await show(page, "servers");
      await page.locator(".process-running", { hasText: "cursor 2" }).waitFor();
      await end();
      const gone = page.locator(".process-gone", { hasText: "cursor 2" });
      await gone.waitFor();
      expect(await gone.locator("h4 .state").allInnerTexts()).toEqual(Array(1 + SERVERS.length).fill("gone"));
      expect(await gone.innerText()).not.toMatch(/\bready\b|72 MB/);
      await show(page, "now");
      await page
        .locator(".troubles li", { hasText: "Started by cursor 2" })
        .getByRole("button", { name: "Put away" })
        .click();
      await page.locator(".troubles").waitFor({ state: "detached" });
    },
  );
});
