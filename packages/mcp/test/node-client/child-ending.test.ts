// How a child and all it has started are ended, and that nothing is left of them whatever they do about it.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { resolve } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { ChildTree } from "../../src/node/child-tree.js";
import { processEntry } from "../../src/node/process-table.js";
import { gone, openScript, openShell, type Recorded, runs, treeCounter } from "./child-fixture.js";

const built = resolve(import.meta.dirname, "../../dist/node/child-transport.js");
/** Goes on when its input has ended. */
const STAY = "exec sleep 1000";
/** Holds nothing of ours. */
const QUIET = "</dev/null >/dev/null 2>&1";
const quick = { inputEndMs: 20, terminateMs: 20 };

beforeAll(() => {
  if (!existsSync(built))
    throw new Error("Build first (npm run build): these tests run the built link in other processes");
});

/** A script that starts these, which ignore SIGTERM, and prints its own pid and theirs as one message. */
function starting(spawns: readonly string[], then = STAY): string {
  const started = spawns.map((spawn) => `${spawn} & pids="$pids,$!"`);
  return ["exec 3<&0", "trap '' TERM", ...started, "trap - TERM", 'echo "{\\"pids\\":[$$$pids]}"', then].join("\n");
}

/** The pids, once each is the program it was to become. */
async function pidsOf(child: Recorded): Promise<number[]> {
  const { pids } = (await child.message(0)) as { pids: number[] };
  for (const pid of pids.slice(1)) {
    while (runs(pid) && /^(?:sh|setsid|env)$/m.test(nameOf(pid)))
      await new Promise((resolve) => setTimeout(resolve, 1));
  }
  return pids;
}

function nameOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/comm`, "utf8");
  } catch {
    return "";
  }
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
    const child = await openShell("echo '{}'; cat >/dev/null; yes '{}' | head -n 3000000");
    child.onText = () => new Promise(() => undefined);
    await child.message(0);
    await child.link.close();
    expect(child.link.troubles?.()).toBe("");
    expect(child.texts).toHaveLength(1);
  });

  it("sends SIGTERM to one that goes on", async () => {
    const child = await openShell("trap 'exit 7' TERM; echo '{}'; sleep 1000 & wait", {
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
    for (const way of [":", "kill -STOP $$"]) {
      const child = await openShell(`trap '' TERM; echo "{\\"pids\\":[$$]}"; ${way}; ${STAY}`, {
        closeTimeouts: quick,
      });
      const pids = await pidsOf(child);
      await child.link.close();
      expect(pids.filter(runs)).toEqual([]);
    }
  });

  it.each([
    ["in the same group", [`sleep 1000 ${QUIET}`]],
    ["in a session of its own", [`setsid sleep 1000 ${QUIET}`]],
    ["in a session of its own, without its variables", [`setsid env -i sleep 1000 ${QUIET}`]],
    ["that holds our pipes", ["setsid sleep 1000 <&3"]],
    // Those that lead a session already start another process to lead its own, and end.
    ["in numbers", Array.from({ length: 8 }, () => `setsid setsid sleep 1000 ${QUIET}`)],
  ])("leaves no grandchild %s", async (_name, spawns) => {
    for (const then of [STAY, "exec cat >/dev/null"]) {
      const child = await openShell(starting(spawns, then), { closeTimeouts: quick });
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
    const middle = `setsid sleep 1000 ${QUIET} & echo "{\\"pids\\":[$$,$!]}"`;
    const child = await openShell(`setsid /bin/sh -c '${middle}' & exec cat >/dev/null`);
    const [between, daemon] = (await pidsOf(child)) as [number, number];
    await gone(between);
    expect(runs(daemon)).toBe(true);
    await child.link.close();
    expect(runs(daemon)).toBe(false);
    expect(child.link.troubles?.()).toBe(" It left a process behind, which had to be ended.");
  });

  it("ends one that goes on starting others", async () => {
    const script = "while :; do setsid sleep 1000 & echo '{}'; sleep 0.01; done";
    const child = await openShell(`setsid /bin/sh -c "${script}" </dev/null 2>/dev/null & ${STAY}`, {
      closeTimeouts: quick,
    });
    await child.message(5);
    const left = treeCounter(child);
    expect(left()).toBeGreaterThan(5);
    await child.link.close();
    expect(left()).toBe(0);
  });

  it("spares processes that are not its own: other trees, and later ones of the same number", async () => {
    const [one, other] = [
      await openShell(starting([`setsid sleep 1000 ${QUIET}`]), { closeTimeouts: quick }),
      await openShell(starting([`setsid sleep 1000 ${QUIET}`]), { closeTimeouts: quick }),
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
    const child = await openShell(starting([`setsid sleep 1000 ${QUIET}`, "sleep 1000 <&3"], "exit 4"));
    const pids = await pidsOf(child);
    expect((await child.end())?.message).toContain("exited with status 4");
    await gone(...pids);
  });
});

describe.skipIf(process.platform !== "linux")("when our own process ends without closing", () => {
  const stubborn = starting([`setsid sleep 1000 ${QUIET}`], `trap '' TERM; ${STAY}`);

  /** Ends a process with a child that would stay; resolves, once both are gone, with how it ended. */
  async function endOf(ending: string, before = ""): Promise<{ code: number | null; signal: string | null }> {
    const script = `
      import { childTransport } from ${JSON.stringify(built)};
      ${before}
      const end = (text) => { console.log(text); setImmediate(() => { ${ending} }); };
      const sink = { receive: end, unreadable() {}, lost() {}, noise() {}, closed() {} };
      await childTransport({ command: "/bin/sh", args: ["-c", ${JSON.stringify(stubborn)}] }).start(sink);`;
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
    [`process.once("SIGTERM", () => setTimeout(() => process.exit(7), 1500)); process.kill(process.pid, "SIGTERM")`, 7],
  ])("by %s, no tree is left", async (ending, code) => {
    expect(await endOf(ending)).toEqual({ code, signal: null });
  });

  it("told once by a signal, it ends in its own time: the signal is not sent again meanwhile", async () => {
    const once = `process.once("SIGTERM", () => setTimeout(() => process.exit(7), 1500));`;
    expect(await endOf(`process.kill(process.pid, "SIGTERM")`, once)).toEqual({ code: 7, signal: null });
  });

  it.each(["SIGINT", "SIGTERM", "SIGHUP"])(
    "by %s, no tree is left, and the signal takes its course",
    async (signal) => {
      expect(await endOf(`process.kill(process.pid, "${signal}")`)).toEqual({ code: null, signal });
    },
  );
});
