// T11: the sandbox from inside: probes that read, write, signal and call the kernel; what a start costs; what is left.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { canProbe, escapes, isOfNetwork } from "../support/escapes.mjs";

export const goal = { id: "T11", title: "Sandbox of commands and plugins", atLeast: 60 };

const STARTS = 60;
const START_MS = 15;
const CYCLES = 120;
const AT_ONCE = 4;

export async function run(report, parts) {
  if (!canProbe(parts)) return report.demand("bubblewrap and python3 are there to be tried", false);
  const { held, untouched } = await escapes(parts);
  report.kind("escapes from inside, by a list");
  for (const [name, why] of Object.entries(held))
    if (!isOfNetwork(name)) await report.attack(name, () => why !== null || "it got out");
  if (!untouched) report.sideEffect("the canary was changed");
  await honest(report, parts);
  await cycles(report, parts);
  await starts(report, parts);
}

async function honest(report, { runWalled }) {
  const uses = {
    print: ["/bin/echo", ["hello"], "hello\n"],
    "work in a private /tmp": ["/bin/sh", ["-c", "echo x > /tmp/a && cat /tmp/a"], "x\n"],
    pipe: ["/bin/sh", ["-c", "printf 'b\\na\\n' | sort"], "a\nb\n"],
    "see its own process": ["/bin/sh", ["-c", "test -d /proc/self && echo yes"], "yes\n"],
    fork: ["/bin/sh", ["-c", "(sleep 0; echo child) & wait"], "child\n"],
  };
  for (const [name, [executable, args, wanted]] of Object.entries(uses))
    await report.benign(name, async () => {
      const { stdout, stderr } = await runWalled({ executable, args });
      return stdout === wanted || stdout + stderr;
    });
}

/** Started, ended in the middle, crashed: nothing that was begun inside is left, not even what left its group. */
async function cycles(report, { createRun, parsePolicy }) {
  const word = `scorecard${process.pid}`;
  const policy = await parsePolicy(
    `version: "1.0"\ncommands:\n  allowed:\n    - { name: sh, executable: /bin/sh, arguments: [{ fixed: "-c" }, { pattern: "(?s).*" }], timeout: 5 }\n`,
    { file: "p.yaml" },
  );
  const run = createRun(() => policy);
  const scripts = [
    `setsid sh -c 'while true; do sleep 9; done; : ${word}' & (sh -c 'while true; do sleep 9; done; : ${word}' &) ; sleep 9`,
    `setsid sh -c 'while true; do sleep 9; done; : ${word}' & kill -SEGV $$`,
    `sh -c 'while true; do sleep 9; done; : ${word}' & exit 3`,
    "exit 0",
  ];
  let begun = 0;
  const lane = async () => {
    for (let turn = begun++; turn < CYCLES; turn = begun++) {
      const stop = new AbortController();
      const running = run("sh", ["-c", scripts[turn % scripts.length]], { signal: stop.signal }).catch(() => undefined);
      if (turn % scripts.length === 0) setTimeout(() => stop.abort(), 60);
      // What survives its end keeps its output open, and the call waits for it.
      await Promise.race([running, new Promise((resolve) => setTimeout(resolve, 10_000).unref())]);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, lane));
  const left = () => readdirSync("/proc").filter((name) => /^\d+$/.test(name) && commandLine(name).includes(word));
  let remaining = left();
  for (let tries = 0; tries < 20 && remaining.length > 0; tries += 1) {
    await new Promise((resolve) => setTimeout(resolve, 100));
    remaining = left();
  }
  if (remaining.length > 0) report.sideEffect(`${remaining.length} processes are left`);
  report.demand(`${CYCLES} starts, stops and crashes leave no process`, remaining.length === 0 && begun >= CYCLES);
}

/** Empty for a process that has ended meanwhile. */
function commandLine(pid) {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8");
  } catch {
    return "";
  }
}

/** A call behind the wall against a bare one, in turns. */
async function starts(report, { runWalled }) {
  const bare = async () => {
    const child = spawn("/bin/true", [], { stdio: "ignore" });
    await once(child, "close");
  };
  const walled = () => runWalled({ executable: "/bin/true", args: [] });
  const time = async (work) => {
    const started = performance.now();
    await work();
    return performance.now() - started;
  };
  const above = [];
  for (let turn = 0; turn < STARTS; turn += 1) {
    const plain = await time(bare);
    above.push((await time(walled)) - plain);
  }
  above.sort((a, b) => a - b);
  const [quick, p50, p95] = [above[Math.floor(STARTS / 10)], above[STARTS >> 1], above[Math.floor(STARTS * 0.95)]];
  const text = `a start behind the wall costs at most ${START_MS} ms more than a bare one (where nobody else uses the machine: the quickest tenth)`;
  report.demand(
    text,
    quick <= START_MS,
    `${quick.toFixed(1)} ms, median ${p50.toFixed(1)} ms, p95 ${p95.toFixed(1)} ms`,
  );
}
