// Lets every write and every sync of the audit log fail, one run each, and looks for effects without a record.
// `npm run bench -- faults [--quick]` needs strace (and, for a full disk, the right to mount a tmpfs in a namespace of its own).
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { productBundle } from "./measure/bundle-product.mjs";

const ERRORS = ["ENOSPC", "EIO"];
/** The calls by which bytes get into a file and onto the disk, and those that exchange files. */
const CALLS = ["write", "pwrite64", "fdatasync", "fsync", "rename", "ftruncate"];
/** More faults at one call than any run has calls. */
const MOST = 200;
const OPTIONS = { encoding: "utf8", timeout: 60_000 };
/** strace counts for each thread by itself, so that with several of them one run would meet several faults. */
const ONE_THREAD = { ...process.env, UV_THREADPOOL_SIZE: "1" };

export async function main(options) {
  if (spawnSync("strace", ["-V"]).error) {
    process.stdout.write("skipped: there is no strace\n");
    return 0;
  }
  const driver = productBundle(new URL("faults/driver.ts", import.meta.url), "faults-driver");
  const parts = productBundle(new URL("faults/parts.ts", import.meta.url), "faults-parts");
  await driver.prepare();
  await parts.prepare();
  const { verifyAudit } = await import(pathToFileURL(parts.path).href);
  const step = options.includes("--quick") ? 5 : 1;
  let [runs, faults] = [0, 0];
  for (const call of CALLS) {
    for (const error of ERRORS) {
      let injected = 0;
      for (let when = 1; when <= MOST; when += step) {
        const run = inject({ driver: driver.path, call, error, when });
        if (!run.injected) {
          run.remove();
          break;
        }
        injected += 1;
        runs += 1;
        const wrong = await judge(run, verifyAudit);
        if (wrong !== undefined) {
          faults += 1;
          process.stdout.write(`  ${call} ${error} at ${when}: ${wrong}\n`);
        }
        run.remove();
      }
      process.stdout.write(`${call.padEnd(10)} ${error.padEnd(7)} ${String(injected).padStart(4)} places\n`);
    }
  }
  const full = await fullDisk(driver.path, verifyAudit);
  process.stdout.write(
    `${runs} runs with a fault each: ${faults} with an effect that has no record, a broken chain or a crash\n`,
  );
  return faults === 0 && full ? 0 : 1;
}

function inject({ driver, call, error, when }) {
  const folder = mkdtempSync(join(tmpdir(), "faults-"));
  const [log, effects, trace] = ["audit.log", "effects", "trace"].map((name) => join(folder, name));
  // Only what touches the log's own files: those are the ones that must not fail unnoticed.
  const paths = [log, `${log}.journal`, `${log}.next`, folder].flatMap((path) => ["-P", path]);
  const strace = [
    "-f",
    "-qq",
    "-o",
    trace,
    ...paths,
    "-e",
    `trace=${call}`,
    "-e",
    `inject=${call}:error=${error}:when=${when}`,
  ];
  const child = spawnSync("strace", [...strace, process.execPath, driver, log, effects], {
    ...OPTIONS,
    env: ONE_THREAD,
  });
  const injected = existsSync(trace) && readFileSync(trace, "utf8").includes("INJECTED");
  return { folder, log, effects, child, injected, remove: () => rmSync(folder, { recursive: true, force: true }) };
}

/** What is wrong after a run; undefined when nothing is. */
async function judge({ log, effects, child, folder }, verifyAudit) {
  if (child.status === 3) return existsSync(effects) ? "refused to start, and yet there are effects" : undefined;
  if (child.status !== 0) return `ended with ${child.status ?? child.signal}: ${child.stderr.slice(0, 200)}`;
  const { answers } = JSON.parse(child.stdout);
  const report = await verifyAudit(log);
  if (!report.ok) return report.reason;
  const files = readdirSync(folder).filter((name) => /^audit\.log(?:\.\d{16})?$/.test(name));
  const records = files.flatMap((name) => readFileSync(join(folder, name), "utf8").split("\n").filter(Boolean));
  const intents = new Set(
    records
      .map((line) => JSON.parse(line))
      .filter(({ kind }) => kind === "call.intent")
      .map((record) => record.arguments.n),
  );
  const done = existsSync(effects) ? readFileSync(effects, "utf8").split("\n").filter(Boolean).map(Number) : [];
  const bare = done.filter((n) => !intents.has(n));
  if (bare.length > 0) return `effects ${bare.join(", ")} have no record`;
  const silent = answers.filter(({ ok, n }) => ok && !done.includes(n));
  if (silent.length > 0) return `calls ${silent.map(({ n }) => n).join(", ")} were answered and had no effect`;
  // One fault is over when it is over; the last call of all may have been the one that met it.
  return answers.slice(-2).some(({ ok }) => ok) ? undefined : `did not recover: ${answers.at(-1).text}`;
}

/** F04: a disk that is full, and then no longer. */
async function fullDisk(driver, verifyAudit) {
  const folder = mkdtempSync(join(tmpdir(), "full-"));
  const copy = mkdtempSync(join(tmpdir(), "full-copy-"));
  const script =
    'mount -t tmpfs -o size=1m tmpfs "$1" && "$2" "$3" "$1/audit.log" "$4/effects" full "$1/filler"; code=$?; cp "$1"/audit* "$4"; exit $code';
  const child = spawnSync(
    "unshare",
    ["-rm", "sh", "-c", script, "sh", folder, process.execPath, driver, copy],
    OPTIONS,
  );
  try {
    if (child.error || /unshare|mount/.test(child.stderr ?? "")) {
      process.stdout.write(`full disk: skipped, no tmpfs can be mounted here (${(child.stderr ?? "").trim()})\n`);
      return true;
    }
    const run = { log: join(copy, "audit.log"), effects: join(copy, "effects"), child, folder: copy };
    const wrong = await judge(run, verifyAudit);
    const { answers = [], degradedMs = NaN } = child.stdout ? JSON.parse(child.stdout) : {};
    const refused = answers.filter(({ ok }) => !ok).length;
    process.stdout.write(
      `full disk: ${refused} calls refused, known after ${Math.round(degradedMs)} ms, ${wrong ?? "recovered, nothing without a record"}\n`,
    );
    return wrong === undefined && refused > 0;
  } finally {
    rmSync(folder, { recursive: true, force: true });
    rmSync(copy, { recursive: true, force: true });
  }
}
