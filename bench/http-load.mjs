// `npm run bench -- http-load`: the library's HTTP server under clients by the hundreds and thousands, most of them rude.
import { parseArgs } from "node:util";
import { disconnects } from "./http-load/disconnects.mjs";
import { equalIds } from "./http-load/equal-ids.mjs";
import { sigterm } from "./http-load/sigterm.mjs";
import { slowConnections } from "./http-load/slow-connections.mjs";
import { slowReaders } from "./http-load/slow-readers.mjs";
import { table } from "./measure/markdown.mjs";

const USAGE = `npm run bench -- http-load [options]
  --tests a,b          only these of equal-ids, disconnects, slow-readers, slow-connections, sigterm
  --clients 200        --client-calls 100     clients with equal request ids, and calls of each
  --disconnects 10000                         clients that leave in the middle of a stream
  --readers 500        --notifications 100    readers that do not read, and notifications of 1 MB for each
  --slow 5000          --seconds 15           connections that send byte by byte, and how long
  --in-flight 500      --stuck 10             calls under way at SIGTERM, and how many of them never end
`;
const DEFAULTS = {
  clients: 200,
  "client-calls": 100,
  disconnects: 10_000,
  readers: 500,
  notifications: 100,
  slow: 5_000,
  seconds: 15,
  "in-flight": 500,
  stuck: 10,
};
const TESTS = {
  "equal-ids": (n) => equalIds({ clients: n.clients, calls: n["client-calls"] }),
  disconnects,
  "slow-readers": slowReaders,
  "slow-connections": slowConnections,
  sigterm: (n) => sigterm({ calls: n["in-flight"], stuck: n.stuck }),
};

/** Returns the exit code: 0, 1 when a test did not pass, 2 for a wrong command line. */
export async function main(argv) {
  const options = readOptions(argv);
  if (options === undefined) return 2;
  process.stdout.write(`${table(["test", "measured", "wanted", "verdict"], [])}\n`);
  let passed = true;
  for (const name of options.tests) {
    for (const row of await outcome(name, options.numbers)) {
      passed &&= row.passed;
      process.stdout.write(`| ${row.what} | ${row.measured} | ${row.limit} | ${row.passed ? "pass" : "MISSED"} |\n`);
    }
  }
  return passed ? 0 : 1;
}

async function outcome(name, numbers) {
  try {
    return await TESTS[name](numbers);
  } catch (error) {
    return [{ what: name, measured: `failed: ${error.message}`, limit: "-", passed: false }];
  }
}

function readOptions(argv) {
  try {
    const counts = Object.fromEntries(Object.keys(DEFAULTS).map((name) => [name, { type: "string" }]));
    const { values } = parseArgs({ args: argv, options: { tests: { type: "string" }, ...counts } });
    const tests = values.tests?.split(",") ?? Object.keys(TESTS);
    const unknown = tests.find((name) => !Object.hasOwn(TESTS, name));
    if (unknown !== undefined) throw new Error(`no test ${unknown}: there are ${Object.keys(TESTS).join(", ")}`);
    const numbers = { ...DEFAULTS };
    for (const name of Object.keys(DEFAULTS)) {
      if (values[name] !== undefined) numbers[name] = wholeNumber(name, values[name]);
    }
    return { tests, numbers };
  } catch (error) {
    process.stderr.write(`${error.message}\n${USAGE}`);
    return undefined;
  }
}

function wholeNumber(name, text) {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 0) throw new Error(`--${name} wants a whole number, not ${text}`);
  return value;
}
