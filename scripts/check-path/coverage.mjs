// Counts which functions run in this process, and tells the files they are in. Loaded before a server, it answers its
// parent's messages; a program that makes its calls itself imports `coverage`.
import { Session } from "node:inspector";
import { fileURLToPath } from "node:url";

/** Where the compiled file of a source is: `…/.walks-xxxxxx/packages/mcp/src/…`. */
const COMPILED = /\/\.walks-[^/]+\/(packages\/[^/]+\/src\/.+)\.mjs$/;

const session = new Session();
session.connect();
session.post("Profiler.enable");
session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: false });

/** The source files of which a function ran since the last time, in the order in which they were loaded. */
export function coverage() {
  let files = [];
  session.post("Profiler.takePreciseCoverage", (error, { result }) => {
    if (error) throw error;
    files = result.filter(entered).map(({ url }) => `${COMPILED.exec(fileURLToPath(url))[1]}.ts`);
  });
  return files;
}

/** Loading a module is no call: the function that begins where the file does is the module itself. */
function entered({ url, functions }) {
  return COMPILED.test(url) && functions.some(({ ranges: [{ startOffset, count }] }) => startOffset > 0 && count > 0);
}

process.on("message", (message) => {
  if (message === "take") process.send(coverage());
});
if (process.channel) process.channel.unref();
