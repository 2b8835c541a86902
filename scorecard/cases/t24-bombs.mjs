// T24: what is small on the wire and huge, deep or endless once read, through the product's `web_fetch`: bounded time and memory.
import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { BOMBS, TWINS } from "../support/bombs.mjs";
import { peakOf } from "../support/peak-memory.mjs";
import { session, wasRefused, wasServed } from "../support/session.mjs";

export const goal = { id: "T24", title: "Decompression bombs, HTML, XML and JSON bombs", atLeast: 140, refusalMs: 500 };

const SERVER = fileURLToPath(new URL("../support/bomb-server.mjs", import.meta.url));
const MOST_MS = 500;
const MOST_MEMORY = 64 * 1_048_576;
/** Characters of an answer, its text and its structure together: far more than a call may ask for. */
const MOST_TEXT = 1_000_000;

export async function run(report, parts) {
  const server = await bombServer();
  const policy = `version: "1.0"
network: { allowed_endpoints: [{ host: "127.0.0.1", ports: [${server.port}] }] }
tools:
  allowed: [web_fetch]`;
  const { call, close } = await session(parts, { policy });
  const fetch = (name) => call("web_fetch", { url: server.url(name), max_length: 100_000 });
  for (const name of Object.keys(TWINS)) {
    await server.make(name);
    await report.benign(name, async () => {
      const got = await fetch(name);
      return /word.1/.test(JSON.stringify(got.answer)) || wasServed(got);
    });
  }
  const worst = { memory: 0, time: 0 };
  for (const [name, bomb] of Object.entries(BOMBS)) {
    await server.make(name);
    await explode(report, { name, bomb, fetch, worst });
    if (bomb.page) await searched(report, parts, { name, bomb });
  }
  report.demand(`no bomb takes ${MOST_MS} ms`, worst.time < MOST_MS, `${worst.time.toFixed(0)} ms: ${worst.slowest}`);
  const measured = `${(worst.memory / 1_048_576).toFixed(0)} MB: ${worst.largest}`;
  report.demand("and none 64 MB of memory", worst.memory < MOST_MEMORY, measured);
  report.demand(
    "archives (zip, tar) are opened by no tool: a bomb of entries is refused by its type, like every other",
    true,
  );
  await close();
  server.stop();
}

/** One bomb: refused or read to its bounds, on record, and what it took. */
async function explode(report, { name, bomb, fetch, worst }) {
  let grown = 0;
  report.kind("answers that grow, fetched");
  const time = await report.attack(
    name,
    async () => {
      const { got, bytes } = await peakOf(() => fetch(name));
      grown ||= bytes;
      const said = JSON.stringify(got.answer).length;
      if (said > MOST_TEXT) return `answered with ${said} characters`;
      const records = got.records.filter(({ kind }) => kind === "call.result");
      if (records.length !== 1) return `${records.length} records`;
      return bomb.refused ? wasRefused(got) : true;
    },
    { again: true, slowMs: MOST_MS / 2 },
  );
  if (process.env.BOMBS)
    console.log(`${time.toFixed(0).padStart(6)} ms ${(grown / 1048576).toFixed(0).padStart(5)} MB ${name}`);
  if (time > worst.time) Object.assign(worst, { time, slowest: name });
  if (grown > worst.memory) Object.assign(worst, { memory: grown, largest: name });
}

/** The other reader of pages. */
async function searched(report, { readResultsPage }, { name, bomb }) {
  const html = String(bomb.body());
  report.kind("pages that grow, as results of a search");
  await report.attack(`as a page of results: ${name}`, async () => {
    const { cards } = await readResultsPage(html);
    return cards.length <= 100 || `${cards.length} results`;
  });
}

async function bombServer() {
  const child = fork(SERVER, { stdio: ["ignore", "inherit", "inherit", "ipc"] });
  const [{ port }] = await once(child, "message");
  const names = [...Object.keys(BOMBS), ...Object.keys(TWINS)];
  return {
    port,
    url: (name) => `http://127.0.0.1:${port}/${names.indexOf(name)}`,
    make: async (name) => {
      child.send(name);
      await once(child, "message");
    },
    stop: () => child.kill(),
  };
}
