// A process that stays: runs test files of the copy it was started in, as often as it is told to, and says how it went.
import { createVitest } from "vitest/node";

const vitest = await createVitest("test", {
  watch: false,
  reporters: [{}],
  bail: 1,
  maxWorkers: 1,
  testTimeout: 15_000,
  hookTimeout: 15_000,
});
await vitest.standalone?.();

process.on("message", async ({ files }) => {
  try {
    vitest.state.clearErrors();
    const wanted = files.flatMap((file) => vitest.getModuleSpecifications(file));
    const { testModules, unhandledErrors } = await vitest.runTestSpecifications(wanted, false);
    // What earlier runs came to is remembered.
    const asked = new Set(files);
    const failed = testModules.find((module) => asked.has(module.moduleId) && !module.ok());
    const task = failed === undefined ? undefined : [...failed.children.allTests("failed")][0];
    const noticed = failed !== undefined || unhandledErrors.length > 0;
    process.send({ noticed, by: task?.fullName ?? "a file that cannot be loaded", file: failed?.moduleId });
  } catch (error) {
    process.send({ broken: error.message });
  }
});

process.on("disconnect", () => process.exit());
process.send({ ready: true });
