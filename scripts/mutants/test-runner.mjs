// A process that stays: runs test files of the copy it was started in with one mutant on, as often as it is told to, and
// says how it went. Each run has a worker of its own, which takes the mutant's number from the environment.
import { join } from "node:path";
import { createVitest } from "vitest/node";
import { ON } from "./switch-mutants.mjs";

const vitest = await createVitest("test", {
  watch: false,
  reporters: [{}],
  bail: 1,
  maxWorkers: 1,
  testTimeout: 20_000,
  hookTimeout: 20_000,
});
await vitest.standalone?.();

process.on("message", async ({ files, number }) => {
  try {
    process.env[ON] = String(number);
    vitest.state.clearErrors();
    const paths = files.map((file) => join(process.cwd(), file));
    const wanted = paths.flatMap((path) => vitest.getModuleSpecifications(path));
    const { testModules, unhandledErrors } = await vitest.runTestSpecifications(wanted, false);
    // What earlier runs came to is remembered.
    const asked = new Set(paths);
    const failed = testModules.find((module) => asked.has(module.moduleId) && !module.ok());
    const task = failed === undefined ? undefined : [...failed.children.allTests("failed")][0];
    const noticed = failed !== undefined || unhandledErrors.length > 0;
    const file = failed?.moduleId.slice(process.cwd().length + 1);
    const why = task?.result().errors?.[0]?.message ?? unhandledErrors[0]?.message;
    process.send({ noticed, file, by: task?.fullName ?? "a file that cannot be loaded", why });
  } catch (error) {
    process.send({ broken: error.message });
  }
});

process.on("disconnect", () => process.exit());
process.send({ ready: true });
