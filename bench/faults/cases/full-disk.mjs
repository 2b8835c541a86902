// F04: the file system of the log and of temporary files is full, and then no longer.
import { spawnSync } from "node:child_process";
import { closeSync, mkdirSync, openSync, rmSync, writeSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { arena } from "../arena.mjs";
import { startHttpProduct } from "../http-client.mjs";

const DEGRADED_MS = 1_000;
const HEALTHY_MS = 3_000;
const PATIENCE_MS = 10_000;

export async function run() {
  const { error, status, stderr } = spawnSync("unshare", ["-rm", "mount", "-t", "tmpfs", "tmpfs", "/mnt"], {
    encoding: "utf8",
  });
  if (error !== undefined || status !== 0)
    return [{ what: "full tmpfs", measured: `no tmpfs can be mounted here (${String(stderr).trim()})`, skipped: true }];
  const place = arena({ tools: ["calculate", "write_file"] });
  const small = join(place.folder, "small");
  mkdirSync(small);
  place.writePolicy({ tools: ["calculate", "write_file"], log: join(small, "audit.log") });
  const script = 'mount -t tmpfs -o size=2m tmpfs "$1" && shift && exec "$@"';
  const server = await startHttpProduct(place, {
    wrap: ["unshare", "-rm", "sh", "-c", script, "sh", small],
    env: { TMPDIR: small },
  });
  try {
    return [await fullAndFree(server, place, `/proc/${server.pid}/root${small}`)];
  } finally {
    server.child.kill("SIGKILL");
    await server.exited;
    place.remove();
  }
}

/** `inside`: the tmpfs as it is seen from here. */
async function fullAndFree(server, place, inside) {
  const caller = server.client();
  const write = (n) => caller.call("write_file", { path: join(place.work, String(n)), content: "done" });
  const before = await write(1);
  fill(join(inside, "filler"));
  const from = performance.now();
  let n = 1;
  let [refused, filled] = [0, undefined];
  const degraded = await timeUntil(async () => {
    const { ok } = await write((n += 1));
    // What fits into the room the log still has is still recorded.
    if (!ok) filled ??= performance.now();
    if (!ok) refused += 1;
    return (await server.health()).status === "degraded";
  });
  for (let more = 0; more < 5; more += 1) refused += (await write((n += 1))).ok ? 0 : 1;
  const bare = place.effects().length;
  rmSync(join(inside, "filler"));
  // Nobody calls meanwhile: whoever sends calls elsewhere by the health page must see it get well.
  const healthy = await timeUntil(async () => (await server.health()).status === "ok");
  const after = await write((n += 1));
  const records = place.records(join(inside, "audit.log"));
  const meant = new Set(records.filter(({ kind }) => kind === "call.intent").map((record) => record.arguments.path));
  const unmeant = place.effects().filter((name) => !meant.has(join(place.work, name)));
  const repaired = records.filter(({ kind }) => kind === "log.repaired").length;
  const fault = place.auditFault(join(inside, "audit.log"));
  const told = filled === undefined ? Infinity : degraded - (filled - from);
  return {
    what: "2 MB tmpfs for log and temporary files, full and free again",
    measured: `${refused} calls refused, ${bare - 1} effects meanwhile, ${unmeant.length} without a record; degraded ${told.toFixed(0)} ms after the first refusal (${degraded?.toFixed(0)} ms after the disk was full); ok again ${healthy?.toFixed(0) ?? "never"} ms after there is room; next call ${after.ok ? "done" : after.text}; ${repaired} repairs noted; ${fault ?? "audit verifies"}`,
    limit: `0 without a record, degraded within ${DEGRADED_MS} ms, recovers`,
    passed:
      before.ok &&
      refused > 0 &&
      unmeant.length === 0 &&
      told <= DEGRADED_MS &&
      healthy <= HEALTHY_MS &&
      after.ok &&
      repaired > 0 &&
      fault === undefined,
  };
}

/** Milliseconds until something is so; undefined when it never is. */
async function timeUntil(isSo) {
  const from = performance.now();
  while (performance.now() - from < PATIENCE_MS) {
    if (await isSo()) return performance.now() - from;
    await delay(20);
  }
  return undefined;
}

function fill(path) {
  const fd = openSync(path, "w");
  try {
    for (const size of [65_536, 4_096, 512, 1]) for (;;) if (writeSync(fd, Buffer.alloc(size)) < size) break;
  } catch {
    // Full.
  }
  closeSync(fd);
}
