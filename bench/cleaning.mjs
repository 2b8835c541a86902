// Measures how fast texts are cleaned, and how often ordinary text is taken for a secret.
// `npm run bench -- cleaning [--corpus FOLDER]` prints MB/s for each kind of text, and false positives over the sources and
// pages of a folder (node_modules when absent); fails below 100 MB/s for plain text, 20 MB/s with secrets looked for, or
// over one line in ten thousand.
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { productBundle } from "./measure/bundle-product.mjs";

const GOAL_PLAIN = 100;
const GOAL_SECRETS = 20;
const GOAL_LINES = 10_000;
const BYTES = 1_000_000;
const ROUNDS = 30;
const MAX_LINES = 400_000;
const MAX_FILE = 200_000;
const KEPT = [
  ".md",
  ".ts",
  ".mts",
  ".js",
  ".mjs",
  ".cjs",
  ".json",
  ".yml",
  ".yaml",
  ".txt",
  ".html",
  ".css",
  ".py",
  ".sh",
];

const PROSE = "The quick brown fox, as they say, jumps over 13 lazy dogs; then it rests by the river until noon.\n";
const CODE = '  const value = await readFile(join(folder, "settings.json"), { encoding: "utf8", signal });\n';
const LOG = '2026-01-02T03:04:05.678Z INFO [worker-7] request id=7f3a9c12 path=/api/v1/items?page=3 status=200 "ok"\n';
const WORDY = 'the token count, the secret garden and a password field: type="password" name="api_key" tokens: 4096\n';
const COLOURS = "\u001b[32mok\u001b[0m 12 passed \u2013 d\u00e9j\u00e0 vu \u{1F469}\u200D\u{1F4BB} caf\u00e9\u200b\n";
const LETTERS = "abcdefghijklmnopqrstuvwxyz".repeat(4_000);

const TEXTS = {
  prose: PROSE,
  code: CODE,
  log: LOG,
  "words of secrets": WORDY,
  "colours and emoji": COLOURS,
  "one long word": LETTERS,
};

export async function main(options) {
  const bundle = productBundle(new URL("cleaning/parts.ts", import.meta.url), "cleaning");
  await bundle.prepare();
  const { cleanText, redactShapes } = await import(pathToFileURL(bundle.path).href);
  let failed = false;
  process.stdout.write("text                 plain MB/s   with secrets MB/s\n");
  for (const [name, piece] of Object.entries(TEXTS)) {
    const text = piece.repeat(Math.ceil(BYTES / Buffer.byteLength(piece)));
    const plain = rate(text, (given) => cleanText(given, { textBytes: 8 * BYTES }));
    const full = rate(text, (given) => cleanText(given, { textBytes: 8 * BYTES, secrets: true }));
    // The goals are for ASCII: what needs more work takes more time.
    const ascii = Buffer.byteLength(text) === text.length && !text.includes("\u001b");
    const missed = ascii && (plain < GOAL_PLAIN || full < GOAL_SECRETS);
    failed ||= missed;
    process.stdout.write(
      `${name.padEnd(20)} ${plain.toFixed(0).padStart(10)} ${full.toFixed(0).padStart(19)}${missed ? "  MISSED" : ""}\n`,
    );
  }
  const given = options[options.indexOf("--corpus") + 1];
  const folder = options.includes("--corpus") ? given : fileURLToPath(new URL("../node_modules", import.meta.url));
  return falsePositives(folder, redactShapes) && !failed ? 0 : 1;
}

/** The median of many rounds, in millions of bytes a second. */
function rate(text, clean) {
  const bytes = Buffer.byteLength(text);
  const times = [];
  for (let round = 0; round < ROUNDS; round++) {
    // Another string each time: a regular expression remembers the text it has just seen.
    const given = `${round}${text}`;
    given.charCodeAt(0);
    const from = performance.now();
    clean(given);
    times.push(performance.now() - from);
  }
  times.sort((a, b) => a - b);
  return bytes / 1_000 / times[times.length >> 1];
}

function falsePositives(folder, redactShapes) {
  let lines = 0;
  const taken = [];
  for (const name of readdirSync(folder, { recursive: true })) {
    if (lines >= MAX_LINES) break;
    const path = join(folder, name);
    if (!KEPT.some((end) => name.endsWith(end)) || name.includes(".min.") || !isShort(path)) continue;
    for (const line of readFileSync(path, "utf8").split("\n")) {
      lines += 1;
      if (redactShapes(line) !== line) taken.push(`${name}: ${redactShapes(line).trim().slice(0, 160)}`);
    }
  }
  process.stdout.write(`${lines} lines of ${folder}, ${taken.length} taken for secrets (goal: one in ${GOAL_LINES})\n`);
  for (const line of taken.slice(0, 25)) process.stdout.write(`  ${line}\n`);
  return taken.length <= lines / GOAL_LINES;
}

function isShort(path) {
  const found = statSync(path, { throwIfNoEntry: false });
  return found !== undefined && found.isFile() && found.size <= MAX_FILE;
}
