// F17: a gigabyte on stdout or stderr of a plugin or a command is cut, and costs the server next to no memory.
import { peakBytes, residentBytes, resetPeak } from "../../measure/process-stats.mjs";
import { arena } from "../arena.mjs";
import { startProduct } from "../stdio-client.mjs";

const MB = 2 ** 20;
const GROWTH_LIMIT_MB = 32;
/** Lines of nine or ten bytes. */
const NUMBERS_A_MB = 120_000;
const MAIN = `
import { createInterface } from "node:readline";
import { writeSync } from "node:fs";
const put = (fd, bytes) => { for (let at = 0; at < bytes.length;) { try { at += writeSync(fd, bytes, at); } catch (error) { if (error.code !== "EAGAIN") process.exit(0); } } };
createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, tool, arguments: { megabytes } = {} } = JSON.parse(line);
  const block = Buffer.alloc(1048576, tool === "lines" ? "noise noise noise noise noise noise noise noise noise noise xyz\\n" : "x");
  const fd = tool === "stderr" ? 2 : 1;
  for (let n = 0; n < megabytes; n += 1) put(fd, block);
  put(1, Buffer.from(JSON.stringify({ id, content: "done" }) + "\\n"));
});
`;
const MANIFEST = `name: floods
version: "1.0"
run: [node, main.mjs]
persistent: true
tools:
${["stdout", "lines", "stderr", "ping"].map((name) => `  - { name: ${name}, description: Floods, input: { type: object, properties: { megabytes: { type: integer } } } }`).join("\n")}
`;
const COMMANDS = `commands: { allowed: [{ name: flood, executable: /usr/bin/seq, arguments: [{ pattern: "[0-9]+" }] }] }
sandbox: { file_mb: 16 }
output: { max_bytes: 65536 }`;

export async function run({ full }) {
  const megabytes = full ? 1_024 : 200;
  const place = arena({
    tools: ["floods_*", "run_command", "calculate"],
    load: ["floods"],
    body: COMMANDS,
    timeout: 60,
  });
  place.writePlugin("floods", { "manifest.yaml": MANIFEST, "main.mjs": MAIN });
  const rows = [];
  try {
    rows.push(
      await flood(
        place,
        `${megabytes} MB without a newline on a plugin's stdout`,
        ["floods_stdout", { megabytes }],
        ended,
      ),
    );
    rows.push(
      await flood(place, `${megabytes} MB of lines on a plugin's stdout`, ["floods_lines", { megabytes }], ended),
    );
    rows.push(await flood(place, `${megabytes} MB on a plugin's stderr`, ["floods_stderr", { megabytes }], ended));
    const args = [String(megabytes * NUMBERS_A_MB)];
    rows.push(
      await flood(
        place,
        `${megabytes} MB on a command's stdout`,
        ["run_command", { command: "flood", arguments: args }],
        cut,
      ),
    );
    return rows;
  } finally {
    place.remove();
  }
}

function ended({ ok, text }) {
  return !ok && /ended before it answered/.test(text);
}

function cut({ text }) {
  return text.length < 300_000 && /removed/.test(text);
}

async function flood(place, what, [name, given], isRight) {
  const client = startProduct(place);
  try {
    await client.initialize();
    await client.listed([name]);
    // A first small one, so that what is loaded with the first call is there before; a command is cut then, too.
    await client.call(name, name === "run_command" ? { ...given, arguments: ["100000"] } : { megabytes: 0 });
    const before = residentBytes(client.pid);
    resetPeak(client.pid);
    const outcome = await client.call(name, given);
    const growth = (peakBytes(client.pid) - before) / MB;
    const next = await client.call("calculate", { expression: "6 * 7" });
    return {
      what,
      measured: `"${outcome.text.slice(-90).replaceAll("\n", " ").replaceAll("|", "/")}" after ${(outcome.ms / 1_000).toFixed(1)} s; peak +${growth.toFixed(1)} MB; next call ${next.ok ? "served" : next.text}`,
      limit: `cut and told, +< ${GROWTH_LIMIT_MB} MB`,
      passed: isRight(outcome) && growth < GROWTH_LIMIT_MB && next.ok,
    };
  } finally {
    await client.stop();
  }
}
