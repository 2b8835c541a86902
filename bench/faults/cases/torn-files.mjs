// F02: whoever writes policies, tokens, approvals and keys is killed at any moment; each file is old or new, never torn.
import { spawn } from "node:child_process";
import { createPrivateKey } from "node:crypto";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { productBundle } from "../../measure/bundle-product.mjs";

const POLICY_BYTES = 20_000;
/** Long enough that a plain write is caught in the middle of it: the harness sees what it looks for. */
const NAIVE_BYTES = 4_000_000;
const NAIVE_RUNS = 30;
const KILL_WITHIN_MS = 25;
const AT_A_TIME = 2;
const READY_MS = 20_000;

/** What is wrong with a file of each kind; undefined when it is whole. Absent is allowed where it is made anew. */
const JUDGES = {
  policy: wholeText,
  token: (text) => (/^[A-Za-z0-9_-]{43}\n$/.test(text) ? undefined : "is no token"),
  "client-tokens": (text) => json(text, ({ version, servers }) => version === 1 && Object.keys(servers).length === 1),
  approvals: (text) => json(text, (all) => Object.values(all).every((digest) => /^[0-9a-f]{64}$/.test(digest))),
  "checkpoint-key": (text) => attempt(() => createPrivateKey(text).asymmetricKeyType === "ed25519"),
  "log-head": (text) => json(text, ({ records, hash }) => records > 0 && /^[0-9a-f]{64}$/.test(hash)),
};

export async function run({ full }) {
  const driver = productBundle(new URL("../writers.ts", import.meta.url), "faults-writers");
  await driver.prepare();
  const kinds = Object.keys(JUDGES);
  const each = Math.ceil((full ? 500 : 60) / kinds.length);
  const rows = [];
  for (const kind of kinds) rows.push(row(kind, await kills(driver.path, kind, each, JUDGES[kind])));
  const naive = await kills(driver.path, "naive", NAIVE_RUNS, wholeText);
  rows.push({
    what: "the same harness on a plain write, to see that it sees",
    measured: `${naive.torn.length} of ${naive.runs} files torn`,
    limit: "at least one",
    passed: naive.torn.length > 0,
  });
  return rows;
}

function row(kind, { runs, absent, torn }) {
  return {
    what: `${kind}: killed while writing, ${runs} times`,
    measured: `${runs - absent - torn.length} whole, ${absent} not there yet, ${torn.length} torn${torn.length === 0 ? "" : ` (${torn[0]})`}`,
    limit: "0 torn",
    passed: torn.length === 0 && absent < runs,
  };
}

async function kills(driver, kind, runs, judge) {
  const outcome = { runs, absent: 0, torn: [] };
  let next = 0;
  const lane = async () => {
    while (next < runs) {
      next += 1;
      await killOnce(driver, kind, judge, outcome);
    }
  };
  await Promise.all(Array.from({ length: AT_A_TIME }, lane));
  return outcome;
}

async function killOnce(driver, kind, judge, outcome) {
  const folder = mkdtempSync(join(tmpdir(), "torn-"));
  const file = join(folder, "file.head");
  const bytes = kind === "naive" ? NAIVE_BYTES : POLICY_BYTES;
  const child = spawn(process.execPath, [driver, kind, file, String(bytes)], { stdio: ["ignore", "pipe", "inherit"] });
  try {
    const gone = once(child, "exit");
    const ready = await Promise.race([
      once(child.stdout, "data").then(() => true),
      gone,
      delay(READY_MS, undefined, { ref: false }),
    ]);
    if (ready !== true) throw new Error(`the writer of ${kind} did not start`);
    await delay(5 + Math.random() * KILL_WITHIN_MS);
    if (child.exitCode !== null) throw new Error(`the writer of ${kind} ended by itself`);
    child.kill("SIGKILL");
    await gone;
    if (!existsSync(file)) outcome.absent += 1;
    else {
      const fault = judge(readFileSync(file, "utf8"));
      if (fault !== undefined) outcome.torn.push(fault);
    }
  } finally {
    child.kill("SIGKILL");
    rmSync(folder, { recursive: true, force: true });
  }
}

function wholeText(text) {
  const [, first, , last] = /^begin (\d+)\n(x*)\nend (\d+)\n$/.exec(text) ?? [];
  return first !== undefined && first === last ? undefined : `${text.length} characters that are no whole text`;
}

function json(text, holds) {
  return attempt(() => holds(JSON.parse(text)));
}

function attempt(holds) {
  try {
    return holds() ? undefined : "holds something else";
  } catch (error) {
    return String(error.message).slice(0, 80);
  }
}
