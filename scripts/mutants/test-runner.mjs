// A process that stays: runs a test file of the copy it was started in with one mutant on, as often as it is told to, and
// says how it went. The tests are run by a worker that stays as well; files that share no modules get one of their own.
import { join } from "node:path";
import { createVitest } from "vitest/node";
import { KeptPool } from "./kept-pool.mjs";
import { ON } from "./switch-mutants.mjs";
import { familyOf, watchPrograms } from "./watch-programs.mjs";

/** No clock says that a test hangs: a busy machine would. Those who watch the programs say so. */
const NEVER_MS = 3_600_000;

const vitest = await createVitest("test", {
  watch: false,
  reporters: [{}],
  bail: 1,
  maxWorkers: 1,
  testTimeout: NEVER_MS,
  hookTimeout: NEVER_MS,
});
const pool = new KeptPool();
for (const { config } of vitest.projects)
  if (!config.isolate) Object.assign(config, { pool: pool.name, poolRunner: pool });
await vitest.standalone?.();

/** `{ noticed, by, why }` of one file, or of the test of it that has the id `only`; `test` is the id of the one that failed. */
async function run(file, number, only) {
  pool.mutant = number;
  process.env[ON] = String(number);
  vitest.state.clearErrors();
  const path = join(process.cwd(), file);
  const wanted = vitest
    .getModuleSpecifications(path)
    .map(({ project, moduleId }) => project.createSpecification(moduleId, only && { testIds: [only] }));
  const { testModules, unhandledErrors } = await vitest.runTestSpecifications(wanted, false);
  // What earlier runs came to is remembered.
  const own = testModules.find((module) => module.moduleId === path);
  const failed = own?.ok() === false ? own : undefined;
  const task = failed === undefined ? undefined : [...failed.children.allTests("failed")][0];
  const ran = only === undefined || [...(own?.children.allTests("passed") ?? [])].length > 0;
  const noticed = failed !== undefined || unhandledErrors.length > 0 || !ran;
  const why = task?.result().errors?.[0]?.message ?? failed?.errors()[0]?.message ?? unhandledErrors[0]?.message;
  return { noticed, test: task?.id, by: task?.fullName ?? "a file that cannot be loaded", why };
}

process.on("message", async ({ file, number, only, fresh, most }) => {
  const stopWatching = watchPrograms(process.pid, most, (verdict) => {
    for (const pid of familyOf(process.pid)) if (pid !== process.pid) process.kill(pid, "SIGKILL");
    process.send({ noticed: true, by: `the programs: ${verdict}`, hung: verdict, gone: true });
  });
  try {
    if (fresh || pool.isWorn) await pool.end();
    process.send(await run(file, number, only));
  } catch (error) {
    process.send({ broken: error.message });
  } finally {
    stopWatching();
  }
});

process.on("disconnect", async () => {
  await pool.end();
  process.exit();
});
process.send({ ready: true });
