// Sandboxes that are started, ended at some moment, and crashed: none of their processes may stay.
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { setTimeout as wait } from "node:timers/promises";

const LIMITS = { processes: 64, memoryMb: 1_024, cpuSeconds: 60, fileMb: 64 };
const AT_ONCE = 4;
/** What is left after this long stays. */
const SETTLED_MS = 2_000;

/** A third ends by itself, a third is ended at some moment of its start, a third when it runs; each leaves its session. */
export async function cycles({ startWalled, endWalled }, wall, count) {
  const mark = `bench-cycle-${process.pid}`;
  const script = `(setsid sh -c 'sleep 1000; : ${mark}' &); echo here; [ "$1" = crash ] && kill -9 $$; sleep 1000; : ${mark}`;
  const ended = { crash: 0, early: 0, late: 0 };
  let next = 0;
  const lane = async () => {
    for (let turn = next++; turn < count; turn = next++) {
      const kind = ["crash", "early", "late"][turn % 3];
      const command = { executable: "/bin/sh", args: ["-c", script, "sh", kind], limits: LIMITS };
      const child = startWalled(wall, command, ["ignore", "pipe", "ignore"]);
      const over = once(child, "exit");
      if (kind === "early") await wait(turn % 17);
      if (kind === "late") await once(child.stdout, "data");
      if (kind !== "crash") endWalled(wall, child);
      await over;
      ended[kind] += 1;
    }
  };
  const started = performance.now();
  await Promise.all(Array.from({ length: AT_ONCE }, lane));
  const seconds = ((performance.now() - started) / 1_000).toFixed(0);
  await wait(SETTLED_MS);
  const left = processesWith(mark);
  console.log(
    `${count} cycles in ${seconds} s (${ended.crash} crashed, ${ended.early} ended while they started, ${ended.late} ended while they ran): ` +
      `${left} processes left after ${SETTLED_MS / 1_000} s`,
  );
  return left;
}

function processesWith(mark) {
  const found = readdirSync("/proc").filter((pid) => {
    try {
      return (
        /^\d+$/.test(pid) && Number(pid) !== process.pid && readFileSync(`/proc/${pid}/cmdline`, "utf8").includes(mark)
      );
    } catch {
      return false;
    }
  });
  return found.length;
}
