// F03: every write and every sync of the audit log fails, one run each. No effect without a record, the client is told,
// the next calls succeed, and nobody crashes: first in one process with a log that is put away often, then over stdio.
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { productBundle } from "../../measure/bundle-product.mjs";
import { arena } from "../arena.mjs";
import { startProduct } from "../stdio-client.mjs";

const ERRORS = ["ENOSPC", "EIO"];
/** The calls by which bytes get into a file and onto the disk, and those that exchange files. */
const CALLS = ["write", "pwrite64", "fdatasync", "fsync", "rename", "ftruncate"];
/** More faults at one call than any run has calls. */
const MOST = 200;
const OPTIONS = { encoding: "utf8", timeout: 60_000 };
/** strace counts for each thread by itself, so that with several of them one run would meet several faults. */
const ONE_THREAD = { UV_THREADPOOL_SIZE: "1" };
/** Calls of one run over stdio. */
const EFFECTS = 6;

export async function run({ full }) {
  if (spawnSync("strace", ["-V"]).error)
    return [{ what: "each write and sync", measured: "there is no strace", skipped: true }];
  const driver = productBundle(new URL("../audited-calls.ts", import.meta.url), "faults-driver");
  const parts = productBundle(new URL("../product-parts.ts", import.meta.url), "faults-parts");
  await driver.prepare();
  await parts.prepare();
  const { verifyAudit } = await import(pathToFileURL(parts.path).href);
  const inProcess = (fault) => judgedDriver(driver.path, fault, verifyAudit);
  return [
    await everyPlace("one process, log put away every 4 KB", inProcess, full ? 1 : 7),
    await everyPlace("the product over stdio", judgedServer, full ? 1 : 4),
  ];
}

/** Each call with each error at its first, second, … place until a run has no such place any more. */
async function everyPlace(title, judged, step) {
  const [places, wrong] = [[], []];
  let runs = 0;
  for (const call of CALLS) {
    let most = 0;
    for (const error of ERRORS) {
      for (let when = 1; when <= MOST; when += step) {
        const outcome = await judged({ call, error, when });
        if (!outcome.injected) break;
        runs += 1;
        most = Math.max(most, when);
        if (outcome.fault !== undefined) wrong.push(`${call} ${error} at ${when}: ${outcome.fault}`);
      }
    }
    if (most > 0) places.push(`${call} ${most}`);
  }
  for (const each of wrong) process.stderr.write(`  ${each}\n`);
  return {
    what: `${ERRORS.join(", ")} at each write and sync: ${title}`,
    measured: `${runs} runs (last place of ${places.join(", ")}); ${wrong.length} wrong${wrong.length === 0 ? "" : `: ${wrong[0]}`}`,
    limit: "0 effects without record, 0 crashes, all recover",
    passed: wrong.length === 0 && runs > 0,
  };
}

function straceCommand(log, trace, { call, error, when }) {
  // Only what touches the log's own files: those are the ones that must not fail unnoticed.
  const paths = [log, `${log}.journal`, `${log}.next`, dirname(log)].flatMap((path) => ["-P", path]);
  const inject = ["-e", `trace=${call}`, "-e", `inject=${call}:error=${error}:when=${when}`];
  return ["strace", "-f", "-qq", "-o", trace, ...paths, ...inject];
}

function wasInjected(trace) {
  return existsSync(trace) && readFileSync(trace, "utf8").includes("INJECTED");
}

async function judgedDriver(driver, fault, verifyAudit) {
  const folder = mkdtempSync(join(tmpdir(), "faults-"));
  try {
    const [log, effects, trace] = ["audit.log", "effects", "trace"].map((name) => join(folder, name));
    const [command, ...args] = [...straceCommand(log, trace, fault), process.execPath, driver, log, effects];
    const child = spawnSync(command, args, { ...OPTIONS, env: { ...process.env, ...ONE_THREAD } });
    if (!wasInjected(trace)) return { injected: false };
    return { injected: true, fault: await driverFault({ log, effects, child, folder }, verifyAudit) };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** What is wrong after a run of the driver; undefined when nothing is. */
export async function driverFault({ log, effects, child, folder }, verifyAudit) {
  if (child.status === 3) return existsSync(effects) ? "refused to start, and yet there are effects" : undefined;
  if (child.status !== 0) return `ended with ${child.status ?? child.signal}: ${child.stderr.slice(0, 200)}`;
  const { answers } = JSON.parse(child.stdout);
  const report = await verifyAudit(log);
  if (!report.ok) return report.reason;
  const files = readdirSync(folder).filter((name) => /^audit\.log(?:\.\d{16})?$/.test(name));
  const records = files.flatMap((name) => readFileSync(join(folder, name), "utf8").split("\n").filter(Boolean));
  const done = existsSync(effects) ? readFileSync(effects, "utf8").split("\n").filter(Boolean).map(Number) : [];
  const meant = intents(records.map((line) => JSON.parse(line))).map(({ n }) => n);
  return wrongEffects(answers, done, meant);
}

/** The product itself, and files it writes as effects. */
async function judgedServer(fault) {
  const place = arena({ tools: ["write_file"] });
  try {
    const trace = join(place.folder, "trace");
    const client = startProduct(place, { wrap: straceCommand(place.log, trace, fault), env: ONE_THREAD });
    const answers = await callsOf(client, place);
    const how = client.hasEnded ? await client.exited : await client.stop();
    if (!wasInjected(trace)) return { injected: false };
    if (answers === undefined) {
      const clean = how === 1 && place.effects().length === 0 && /audit log/.test(client.stderr);
      return { injected: true, fault: clean ? undefined : `did not start: ${how}, ${client.stderr.slice(-200)}` };
    }
    const done = place.effects().map(Number);
    const meant = intents(place.records()).map(({ path }) => Number(path.split("/").pop()));
    // What could not be written at the very end is told by the exit code.
    const ended = how === 0 || (how === 1 && /audit\.log/.test(client.stderr)) ? undefined : `ended with ${how}`;
    return { injected: true, fault: ended ?? place.auditFault() ?? wrongEffects(answers, done, meant) };
  } finally {
    place.remove();
  }
}

/** Undefined when the server did not come up. */
async function callsOf(client, place) {
  try {
    await client.initialize();
  } catch {
    return undefined;
  }
  const answers = [];
  for (let n = 1; n <= EFFECTS; n += 1) {
    const { ok, text } = await client.call("write_file", { path: join(place.work, String(n)), content: "done" });
    answers.push({ n, ok, text });
  }
  return answers;
}

function intents(records) {
  return records.filter(({ kind }) => kind === "call.intent").map((record) => record.arguments);
}

function wrongEffects(answers, done, meant) {
  const bare = done.filter((n) => !meant.includes(n));
  if (bare.length > 0) return `effects ${bare.join(", ")} have no record`;
  const silent = answers.filter(({ ok, n }) => ok && !done.includes(n));
  if (silent.length > 0) return `calls ${silent.map(({ n }) => n).join(", ")} were answered and had no effect`;
  // One fault is over when it is over; the last call of all may have been the one that met it.
  return answers.slice(-2).some(({ ok }) => ok) ? undefined : `did not recover: ${answers.at(-1)?.text}`;
}
