// How a child and all it has started are ended, and that nothing is left of them whatever they do about it.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { ChildTree } from "../../src/node/child-tree.js";
import { processEntry } from "../../src/node/process-table.js";
import { gone, openScript, type Recorded, runs, treeCounter } from "./child-fixture.js";

const built = resolve(import.meta.dirname, "../../dist/node/child-link.js");
const STAY = `setInterval(() => {}, 1e9)`;
/** Arguments of a shell, whose place a program takes that ignores SIGTERM. */
const BLIND = `"-c", "trap '' TERM; exec sleep 1000"`;
const quick = { inputEndMs: 20, terminateMs: 20 };

beforeAll(() => {
  if (!existsSync(built))
    throw new Error("Build first (npm run build): these tests run the built link in other processes");
});

/** Prints the pids of what it starts, and its own, as one message. */
function starting(spawns: string, then = STAY): string {
  return `
    const { spawn } = require("node:child_process");
    const own = { detached: true, stdio: "ignore" };
    const children = [${spawns}];
    const report = () => console.log(JSON.stringify({ pids: [process.pid, ...children.map(({ pid }) => pid)] }));
    report();
    ${then};`;
}

async function pidsOf(child: Recorded): Promise<number[]> {
  return (await child.message(0)).pids as number[];
}

describe.skipIf(process.platform !== "linux")("closing", () => {
  it("lets a child end by itself when its input ends", async () => {
    const child = await openScript(
      `process.stdin.on("end", () => process.stderr.write("bye", () => process.exit(0))).resume(); console.log("{}")`,
    );
    await child.message(0);
    await child.link.close();
    expect(child.link.troubles?.()).toBe(" The end of its standard error:\n  bye");
  });

  it("lets it write what it has to, though nobody takes it", async () => {
    const child = await openScript(
      `process.stdout.write("{}\\n"); process.stdin.on("end", () => process.stdout.write("{}\\n".repeat(3e6))).resume()`,
    );
    child.onText = () => new Promise(() => undefined);
    await child.message(0);
    await child.link.close();
    expect(child.link.troubles?.()).toBe("");
    expect(child.texts).toHaveLength(1);
  });

  it("sends SIGTERM to one that goes on", async () => {
    const child = await openScript(`process.on("SIGTERM", () => process.exit(7)); console.log("{}"); ${STAY}`, {
      closeTimeouts: { inputEndMs: 20 },
    });
    await child.message(0);
    await child.link.close();
    expect(child.link.troubles?.()).toMatch(
      /^ It went on running when its input had ended; sent signals, it exited with status 7/,
    );
    expect(child.ends).toEqual([undefined]);
  });

  it("sends SIGKILL to one that ignores SIGTERM, though it is stopped", async () => {
    for (const way of ["", `process.kill(process.pid, "SIGSTOP")`]) {
      const child = await openScript(
        `process.on("SIGTERM", () => {}); console.log(JSON.stringify({ pids: [process.pid] })); ${way}; ${STAY}`,
        { closeTimeouts: quick },
      );
      const pids = await pidsOf(child);
      await child.link.close();
      expect(pids.filter(runs)).toEqual([]);
    }
  });

  it.each([
    ["in the same group", `spawn("/bin/sh", [${BLIND}], { stdio: "ignore" })`],
    ["in a session of its own", `spawn("/bin/sh", [${BLIND}], own)`],
    ["in a session of its own, without its variables", `spawn("/bin/sh", [${BLIND}], { ...own, env: {} })`],
    ["that holds our pipes", `spawn("/bin/sh", [${BLIND}], { detached: true, stdio: "inherit" })`],
    ["in numbers", `...Array.from({ length: 8 }, () => spawn("setsid", ["sleep", "1000"], own))`],
  ])("leaves no grandchild %s", async (_name, spawns) => {
    for (const then of [STAY, `process.stdin.resume()`]) {
      const child = await openScript(starting(spawns, then), { closeTimeouts: quick });
      const pids = await pidsOf(child);
      const left = treeCounter(child);
      expect(pids.length).toBeGreaterThan(1);
      expect(left()).toBeGreaterThan(0);
      await child.link.close();
      expect([pids.filter(runs), left()]).toEqual([[], 0]);
    }
  });

  it("leaves no daemon whose parents are long gone", async () => {
    // The one in the middle starts another in a new session and ends: only the mark still shows whose it is.
    const middle = starting(`spawn("sleep", ["1000"], own)`, "process.exit(0)");
    const start = `require("child_process").spawn(process.execPath, ["-e", ${JSON.stringify(middle)}], { detached: true, stdio: "inherit" })`;
    const child = await openScript(`${start}; process.stdin.resume()`);
    const [between, daemon] = (await pidsOf(child)) as [number, number];
    await gone(between);
    expect(runs(daemon)).toBe(true);
    await child.link.close();
    expect(runs(daemon)).toBe(false);
    expect(child.link.troubles?.()).toBe(" It left a process behind, which had to be ended.");
  });

  it("ends one that goes on starting others", async () => {
    const script = "while :; do setsid sleep 1000 & echo '{}'; sleep 0.01; done";
    const start = `require("child_process").spawn("/bin/sh", ["-c", ${JSON.stringify(script)}], { detached: true, stdio: ["ignore", "inherit", "ignore"] })`;
    const child = await openScript(`${start}; ${STAY}`, { closeTimeouts: quick });
    await child.message(5);
    const left = treeCounter(child);
    expect(left()).toBeGreaterThan(5);
    await child.link.close();
    expect(left()).toBe(0);
  });

  it("spares processes that are not its own: other trees, and later ones of the same number", async () => {
    const [one, other] = [
      await openScript(starting(`spawn("sleep", ["1000"], own)`), { closeTimeouts: quick }),
      await openScript(starting(`spawn("sleep", ["1000"], own)`), { closeTimeouts: quick }),
    ];
    const [ones, others] = [await pidsOf(one), await pidsOf(other)];
    const entry = processEntry(others[1] as number);
    new ChildTree(ones[0] as number, "0".repeat(16)).signal(
      [{ ...entry, start: (entry?.start ?? 0) + 1 } as never],
      "SIGTERM",
    );
    await gone(ones[0] as number);
    await one.link.close();
    expect(ones.filter(runs)).toEqual([]);
    expect(others.filter(runs)).toEqual(others);
  });
});

describe.skipIf(process.platform !== "linux")("a child that ends by itself", () => {
  it("takes what it has started along", async () => {
    const child = await openScript(
      starting(
        `spawn("sleep", ["1000"], own), spawn("sleep", ["1000"], { stdio: "inherit" })`,
        "process.exitCode = 4; children.forEach((c) => c.unref())",
      ),
    );
    const pids = await pidsOf(child);
    expect((await child.end())?.message).toContain("exited with status 4");
    await gone(...pids);
  });
});

describe.skipIf(process.platform !== "linux")("when our own process ends without closing", () => {
  const stubborn = starting(`spawn("/bin/sh", [${BLIND}], own)`, `process.on("SIGTERM", () => {}); ${STAY}`);

  /** Ends a process with a child that would stay; resolves, once both are gone, with how it ended. */
  async function endOf(ending: string): Promise<{ code: number | null; signal: string | null }> {
    const script = `
      import { childLink } from ${JSON.stringify(built)};
      const end = (text) => { console.log(text); setImmediate(() => { ${ending} }); };
      const sink = { receive: end, unreadable() {}, lost() {}, noise() {}, closed() {} };
      await childLink({ command: process.execPath, args: ["-e", ${JSON.stringify(stubborn)}] }).open(sink);`;
    const parent = spawn(process.execPath, ["--input-type=module", "-e", script], {
      stdio: ["ignore", "pipe", "ignore"],
    });
    let text = "";
    parent.stdout.on("data", (chunk: Buffer) => (text += String(chunk)));
    const [code, signal] = (await once(parent, "close")) as [number | null, string | null];
    const { pids } = JSON.parse(text) as { pids: number[] };
    expect(pids).toHaveLength(2);
    await gone(...pids);
    return { code, signal };
  }

  it.each([
    ["process.exit(5)", 5],
    [`throw new Error("nobody catches this")`, 1],
    ["Promise.reject(1)", 1],
    [`process.on("SIGTERM", () => process.exit(6)); process.kill(process.pid, "SIGTERM")`, 6],
  ])("by %s, no tree is left", async (ending, code) => {
    expect(await endOf(ending)).toEqual({ code, signal: null });
  });

  it.each(["SIGINT", "SIGTERM", "SIGHUP"])(
    "by %s, no tree is left, and the signal takes its course",
    async (signal) => {
      expect(await endOf(`process.kill(process.pid, "${signal}")`)).toEqual({ code: null, signal });
    },
  );
});
