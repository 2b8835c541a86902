// F26: the parent dies. The server is gone within a second, and so is every plugin it had started.
import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { main } from "../../kill.mjs";
import { quantile } from "../../measure/statistics.mjs";
import { arena, product } from "../arena.mjs";
import { carriers, settle } from "../leftovers.mjs";

const ORPHAN_MS = 1_000;
const PARENT = fileURLToPath(new URL("../parent.mjs", import.meta.url));
const PLUGIN = `
import { definePlugin } from "mcp-secure-local/plugin";
process.on("SIGTERM", () => undefined);
setInterval(() => undefined, 1_000);
export default definePlugin({ name: "stays", version: "1.0.0",
  tools: { ping: { description: "Answers", annotations: { readOnlyHint: true }, run: () => "pong" } } });
`;

export async function run({ full }) {
  const runs = full ? 500 : 40;
  const code = await main(["--runs", String(runs), "--crashes", "0"]);
  const plain = {
    what: `parent killed ${runs} times (figures above)`,
    measured: code === 0 ? "no orphan after 1 s" : "see above",
    limit: "gone within 1 s, always",
    passed: code === 0,
  };
  return [plain, await withPlugin(full ? 50 : 8)];
}

/** The plugin ignores SIGTERM and has something to do for ever. */
async function withPlugin(runs) {
  const place = arena({ tools: ["stays_*"], load: ["stays"] });
  place.writePlugin("stays", { "plugin.mjs": PLUGIN });
  const times = [];
  let orphans = 0;
  try {
    for (let n = 0; n < runs; n += 1) {
      const { parent, mark } = await started(place, n);
      parent.kill("SIGKILL");
      const { left, ms } = await settle(() => carriers(mark), ORPHAN_MS);
      orphans += left;
      times.push(ms);
    }
  } finally {
    place.remove();
  }
  return {
    what: `parent killed ${runs} times, with a plugin that ignores SIGTERM`,
    measured: `${orphans} processes left after 1 s; all gone after ${quantile(times, 0.5).toFixed(0)} ms at p50, ${quantile(times, 1).toFixed(0)} ms at most`,
    limit: "0 left",
    passed: orphans === 0,
  };
}

/** Resolves when the plugin has answered a call. Inside the wall processes see other folders, so their arguments tell them apart. */
async function started(place, n) {
  const mark = `${place.folder}`;
  const parent = spawn(process.execPath, [PARENT, product(), place.policy], {
    env: { ...place.env, FAULTS_RUN: String(n) },
    stdio: ["ignore", "pipe", "inherit"],
  });
  await new Promise((resolve, reject) => {
    parent.stdout.once("data", resolve);
    parent.once("exit", () => reject(new Error("the plugin did not answer")));
  });
  return { parent, mark };
}
