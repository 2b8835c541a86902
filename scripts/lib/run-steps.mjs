// Runs named steps, a few at a time, prints one line for each and the sum at the end.

/** Two cores are what the smallest machine we build on has; more at once only makes each slower. */
const AT_ONCE = 2;

/**
 * Runs `steps` (each `{ name, run }`, where `run` resolves to `{ code, output, seconds }`) and prints `ok` or `FAIL`,
 * the name and the time; the output of a step only when it failed. Resolves to the number of failed steps.
 */
export async function runSteps(steps, { atOnce = AT_ONCE } = {}) {
  const waiting = [...steps];
  let failed = 0;
  const worker = async () => {
    for (let step = waiting.shift(); step; step = waiting.shift()) {
      const { code, output, seconds } = await step.run();
      if (code !== 0) failed++;
      console.log(`${code === 0 ? "ok  " : "FAIL"} ${step.name} (${seconds.toFixed(1)} s)`);
      if (code !== 0) console.log(output.replace(/^/gm, "     ").trimEnd());
    }
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
  console.log(`${steps.length - failed} passed, ${failed} failed`);
  return failed;
}
