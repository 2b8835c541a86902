// The process of one goal: loads the product's parts, runs the cases, sends the report, and ends whatever they left open.
import { pathToFileURL } from "node:url";
import { ENOUGH, Report } from "./report.mjs";

const [file, product, steps, first] = process.argv.slice(2);
const parts = await import(pathToFileURL(product).href);
const { goal, run } = await import(pathToFileURL(file).href);
const report = new Report(goal, { steps: steps === "" ? undefined : steps.split(","), first: first === "first" });
// The product's timers keep no process alive, and here is no client that does.
setInterval(() => undefined, 60_000);
// Of attacks beside each other, others may be under way.
process.on("unhandledRejection", (error) => {
  if (error !== ENOUGH) throw error;
});
try {
  await run(report, parts);
} catch (error) {
  if (error !== ENOUGH) throw error;
}
process.send(report.outcome(), () => process.exit(0));
