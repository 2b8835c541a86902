// The process of one goal: loads the product's parts, runs the cases, sends the report, and ends whatever they left open.
import { pathToFileURL } from "node:url";
import { Report } from "./report.mjs";

const [file, product, steps] = process.argv.slice(2);
const parts = await import(pathToFileURL(product).href);
const { goal, run } = await import(pathToFileURL(file).href);
const report = new Report(goal, steps?.split(","));
// The product's timers keep no process alive, and here is no client that does.
setInterval(() => undefined, 60_000);
await run(report, parts);
process.send(report.outcome(), () => process.exit(0));
