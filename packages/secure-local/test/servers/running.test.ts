// Servers while they run: their state with its cause, their log, started anew, and nothing left of them however the guard ends.
import { spawn } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { setTimeout as wait } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { once } from "node:events";
import { COMMAND, environmentOf } from "../cli/command.js";
import { Household, said, tool } from "./household.js";

const house = new Household();
const notes = house.program("notes", {
  tools: [tool("read"), tool("die"), tool("tell")],
  answers: {
    die: `() => { console.error("out of ink"); process.exit(7); }`,
    tell: `() => { console.error("told \\u001b[31mred\\u001b[0m"); return "told"; }`,
  },
});
/** It heeds nothing: neither that its input ends nor any signal that can be heeded. */
const stubborn = house.program("stubborn", {
  tools: [tool("read")],
  answers: {
    read: `() => { for (const name of ["SIGTERM", "SIGHUP", "SIGINT"]) process.on(name, () => {}); setInterval(() => {}, 1000); return "read"; }`,
  },
});

beforeAll(async () => {
  house.write(`version: "1.0"
tools: { allowed: ["notes__*", "stubborn__*"] }
servers:
  notes: { command: [node, ${notes}], ${house.readable} }
  stubborn: { command: [node, ${stubborn}], ${house.readable} }
`);
  expect(await house.approve()).toMatchObject({ code: 0 });
});
afterEach(() => house.closeClients());
afterAll(() => house.close());

interface Listed {
  readonly name: string;
  readonly running: readonly {
    readonly pid: number;
    readonly state: string;
    readonly cause: string;
    readonly remedy: string;
  }[];
}

/** How a server is in the one process that serves, once that can be asked. */
async function stateOf(name: string): Promise<Listed["running"][number]> {
  for (;;) {
    const { stdout } = await house.run(["servers", "list", "--json"]);
    const found = (JSON.parse(stdout) as Listed[]).find((each) => each.name === name)?.running[0];
    if (found !== undefined) return found;
  }
}

it("starts nothing before the first call, and says how each server is in everything that runs", async () => {
  const client = await house.client();
  expect(await stateOf("notes")).toMatchObject({ pid: client.child.pid, state: "idle", cause: "", remedy: "" });
  await said(client, "notes__read");
  expect(await stateOf("notes")).toMatchObject({ state: "ready" });
  expect(await stateOf("stubborn")).toMatchObject({ state: "idle" });
  expect(processesOf(stubborn)).toEqual([]);
});

it("ends a server that is to be started anew, and starts it", async () => {
  const client = await house.client();
  await said(client, "notes__read");
  await stateOf("notes");
  const before = processesOf(notes);
  expect(before).not.toEqual([]);
  const { stdout } = await house.run(["servers", "restart", "notes"]);
  expect(stdout).toContain(String(client.child.pid));
  await gone(before);
  await expect.poll(async () => (await stateOf("notes")).state).toBe("ready");
  expect(await said(client, "notes__read")).toBe("did read");
  await client.close();
  const idle = await house.run(["servers", "restart", "notes"]);
  expect(idle).toMatchObject({ code: 0, stdout: expect.stringContaining("nothing to restart") as string });
});

it("starts a server that a person stopped for no call, until it is started again", async () => {
  const client = await house.client();
  await said(client, "notes__read");
  await stateOf("notes");
  const before = processesOf(notes);
  const { stdout } = await house.run(["servers", "stop", "notes"]);
  expect(stdout).toContain(
    `notes is stopped in process ${client.child.pid}, which runs now; what begins later starts it.`,
  );
  expect(stdout).toContain(`write enabled: false into servers.notes of ${house.policy}`);
  await gone(before);
  expect(await said(client, "notes__read")).toMatch(/^Denied\..*a person stopped its server/s);
  expect(processesOf(notes)).toEqual([]);
  expect(await stateOf("notes")).toMatchObject({
    state: "stopped",
    cause: "a person stopped its server",
    remedy: "mcp-secure-local servers restart notes",
  });
  await house.run(["servers", "restart", "notes"]);
  expect(await said(client, "notes__read")).toBe("did read");
});

it("says what keeps a server off where nothing runs that could be stopped", async () => {
  const { stdout } = await house.run(["servers", "stop", "notes"]);
  expect(stdout).toContain("notes has nothing to stop; what begins later starts it.");
  expect(stdout).toContain(`write enabled: false into servers.notes of ${house.policy}`);
});

it("leaves a server alone that dies in each first call, says why and what to do, and keeps what it wrote", async () => {
  const client = await house.client();
  for (let count = 0; count < 3; count++) expect(await said(client, "notes__die")).toContain("exited with status 7");
  expect(await said(client, "notes__die")).toMatch(/failed 3 times in a row \(its process exited with status 7 /);
  const state = await stateOf("notes");
  expect(state).toMatchObject({ state: "broken", remedy: "mcp-secure-local servers logs notes" });
  expect(state.cause).toContain("out of ink");
  // The program of its entry is named, and not ours that starts it.
  expect(state.cause).not.toMatch(/servers run|mcp-secure-local\.cjs/);
  const shown = await house.run(["servers", "list"]);
  expect(shown.stdout).toMatch(/broken in process \d+: .*out of ink/);
  expect(await said(client, "stubborn__read")).toBe("read");
  await house.run(["servers", "restart", "notes"]);
  expect(await said(client, "notes__tell")).toBe("told");
  await client.close();
  const { stdout } = await house.run(["servers", "logs", "notes"]);
  expect(stdout).toMatch(/started\n.*out of ink\n.*ended: .*\n/s);
  expect(stdout).toContain("told red\n");
});

it.each(["SIGKILL", "SIGTERM", "SIGABRT"] as const)("leaves no process behind when it ends by %s", async (signal) => {
  const client = await house.client();
  expect(await said(client, "stubborn__read")).toBe("read");
  const started = processesOf(stubborn);
  expect(started).not.toEqual([]);
  client.child.kill(signal);
  await once(client.child, "exit");
  await gone(started);
  expect(processesOf(stubborn)).toEqual([]);
});

describe("without a sandbox", () => {
  const open = new Household();
  // Heeds as little as `stubborn`, has a shell for its parent, and a daemon that is in no group of theirs.
  const wild = open.program("wild", {
    tools: [tool("read"), tool("orphan")],
    answers: {
      read: `async () => {
        for (const name of ["SIGTERM", "SIGHUP", "SIGINT"]) process.on(name, () => {});
        const { spawn } = await import("node:child_process");
        const rest = "process.on('SIGTERM', () => {}); setInterval(() => {}, 1000)";
        spawn(process.execPath, ["-e", rest, import.meta.filename], { detached: true, stdio: "ignore" }).unref();
        return "read";
      }`,
      orphan: `() => { process.kill(process.ppid, "SIGKILL"); return new Promise(() => {}); }`,
    },
  });

  beforeAll(async () => {
    open.write(`version: "1.0"
sandbox: none
tools: { allowed: ["wild__*"] }
servers: { wild: { command: [sh, -c, "node '${wild}'; exit 0"] } }
`);
    expect(await open.approve()).toMatchObject({ code: 0 });
  });
  afterEach(() => open.closeClients());
  afterAll(async () => {
    for (const id of processesOf(wild)) process.kill(Number(id), "SIGKILL");
    await open.close();
  });

  it.each(["SIGKILL", "SIGTERM", "SIGABRT"] as const)("nothing is left when the guard ends by %s", async (signal) => {
    const client = await open.client();
    expect(await said(client, "wild__read")).toBe("read");
    await expect.poll(() => processesOf(wild).length).toBeGreaterThanOrEqual(3);
    client.child.kill(signal);
    await once(client.child, "exit");
    await expect.poll(() => processesOf(wild), { timeout: 5_000 }).toEqual([]);
  });

  it("Ctrl-C ends a server that a person started in a terminal", async () => {
    const command = [COMMAND, "servers", "run", "wild", "--policy", open.policy];
    const run = spawn(process.execPath, command, {
      env: environmentOf(open.folder),
      stdio: ["pipe", "ignore", "ignore"],
    });
    await expect.poll(() => processesOf(wild).length).toBeGreaterThanOrEqual(2);
    run.kill("SIGINT");
    await once(run, "exit");
    await expect.poll(() => processesOf(wild), { timeout: 5_000 }).toEqual([]);
  });

  it("nothing is left when the first process of a server ends", async () => {
    const client = await open.client();
    expect(await said(client, "wild__read")).toBe("read");
    await expect.poll(() => processesOf(wild).length).toBeGreaterThanOrEqual(3);
    expect(await said(client, "wild__orphan")).toContain("Whether the call did its work is not known");
    await expect.poll(() => processesOf(wild), { timeout: 5_000 }).toEqual([]);
  });
});

it("has the digest of its launch on record at every start, that of a review too", async () => {
  const client = await house.client();
  await said(client, "notes__read");
  await house.closeClients();
  const log = readFileSync(`${house.folder}/state/mcp-secure-local/audit.log`, "utf8");
  const records = log
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as { kind: string; server?: string; detail?: { launch?: string } });
  const launches = (kind: string): (string | undefined)[] =>
    records.filter((each) => each.kind === kind && each.server === "notes").map(({ detail }) => detail?.launch);
  const [digest] = launches("server.started");
  expect(digest).toMatch(/^[0-9a-f]{64}$/);
  // That of the review.
  expect(launches("sandbox.begun")).not.toEqual([]);
  expect(new Set([...launches("sandbox.begun"), ...launches("server.started")])).toEqual(new Set([digest]));
});

/** Ids of the processes whose command names this file, those of the wall among them. */
function processesOf(file: string): string[] {
  return readdirSync("/proc").filter((id) => {
    try {
      return /^\d+$/.test(id) && readFileSync(`/proc/${id}/cmdline`, "utf8").includes(file);
    } catch {
      return false;
    }
  });
}

async function gone(ids: readonly string[]): Promise<void> {
  const there = (): boolean => ids.some((id) => processesOf(stubborn).concat(processesOf(notes)).includes(id));
  while (there()) await wait(20);
}
