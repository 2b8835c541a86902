// What a hostile or broken child may write: noise, floods, lines without an end or a meaning, and in what memory.
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { spawn } from "node:child_process";
import { resolve } from "node:path";
import { describe, expect, it } from "vitest";
import { repeated } from "../support/soak.js";
import { openScript, openShell, type Recorded } from "./child-fixture.js";

/** Bytes of each flood. The whole gigabyte takes some seconds: set FLOOD_BYTES=1073741824 to see it. */
const FLOOD_BYTES = Number(process.env["FLOOD_BYTES"] ?? repeated(80, 128) * 1024 * 1024);
// What reading may keep at a time, buffers of the system's included: a small part of any flood.
const MEMORY_BYTES = 64 * 1024 * 1024;

/** Prints a text as it is. */
const printing = (text: string): Promise<Recorded> => openShell('printf %s "$0"', { args: [text] });
/** Words of a shell that print so many times the letter x. */
const xs = (count: number): string => `head -c ${count} /dev/zero | tr '\\0' x`;

const ANSWER = `{"jsonrpc":"2.0","id":1,"result":{}}`;

/** Writes a chunk over and over until all is written, then runs `after`. */
function flood(
  stream: "stdout" | "stderr",
  chunk: string,
  { after = "process.exit(0)", bytes = FLOOD_BYTES } = {},
): string {
  return `
    const chunk = Buffer.from(${chunk});
    let left = ${bytes};
    process.stdout.on("error", () => process.exit(0));
    const more = () => {
      while (left > 0) { left -= chunk.length; if (!process.${stream}.write(chunk)) return process.${stream}.once("drain", more); }
      ${after};
    };
    more();`;
}

/** Collects garbage at once. */
const collect = ((): (() => void) => {
  setFlagsFromString("--expose-gc");
  return runInNewContext("gc") as () => void;
})();

async function grownBy(work: () => Promise<unknown>): Promise<number> {
  const before = process.memoryUsage();
  const grown = (): number => {
    const { arrayBuffers, external, heapUsed } = process.memoryUsage();
    return Math.max(external - before.external + heapUsed - before.heapUsed, arrayBuffers - before.arrayBuffers);
  };
  let most = 0;
  const timer = setInterval(() => {
    // What is only waiting to be collected is not kept.
    if (grown() >= MEMORY_BYTES) collect();
    most = Math.max(most, grown());
  }, 10);
  await work();
  clearInterval(timer);
  return most;
}

describe("what is no message", () => {
  it("is told line by line and harms no message", async () => {
    const lines = [
      "Server running",
      "",
      "[INFO] started",
      "{ not: json }",
      '"text"',
      "[1,2]",
      ANSWER,
      " \t",
      "null",
      "at \u001b[2Jend",
    ];
    const child = await printing(`${lines.join("\r\n")}\n`);
    const error = await child.end();
    expect(child.texts).toEqual([ANSWER]);
    expect(child.noises).toEqual([
      "Server running",
      "[INFO] started",
      "{ not: json }",
      '"text"',
      "[1,2]",
      "null",
      "at \\x1b[2Jend",
    ]);
    expect(error?.message).toContain('It printed 7 lines that are no messages to standard output: "at \\x1b[2Jend".');
  });

  it("may open with a byte order mark and hold batches", async () => {
    const child = await printing(`\ufeff${ANSWER}\n[${ANSWER}]\n`);
    await child.end();
    expect(child.texts).toEqual([ANSWER, `[${ANSWER}]`]);
  });

  it("is cut, and told at a bounded rate", async () => {
    const child = await openShell(`${xs(100_000)}; echo; seq -f 'noise %g' 5000; echo '${ANSWER}'`);
    const error = await child.end();
    expect(child.texts).toEqual([ANSWER]);
    expect(child.noises[0]).toMatch(/^x{500}… \(100000 characters\)$/);
    expect(child.noises.length).toBeGreaterThan(10);
    // Fifty a second, and it takes a few seconds at most.
    expect(child.noises.length).toBeLessThan(1_000);
    expect(error?.message).toContain("It printed 5001 lines that are no messages");
  });

  it("half a line at the end is noise, a whole message without a line end is not", async () => {
    const half = await printing(ANSWER.slice(0, -2));
    await half.end();
    expect([half.texts, half.noises]).toEqual([[], [ANSWER.slice(0, -2)]]);
    const whole = await printing(ANSWER);
    await whole.end();
    expect([whole.texts, whole.noises]).toEqual([[ANSWER], []]);
  });

  it("bytes that are not UTF-8 are noise, or a fault where they stand in a message", async () => {
    const child = await openShell(`printf '\\377\\376\\n{"id":7,"result":{"a":"\\377"}}\\n${ANSWER}\\n'`);
    await child.end();
    expect(child.texts).toEqual([ANSWER]);
    expect(child.noises).toEqual(["\ufffd\ufffd"]);
    expect(child.faults.map(({ error, excerpt }) => [error.code, excerpt?.head])).toEqual([
      [-32700, '{"id":7,"result":{"a":"\ufffd"}}'],
    ]);
  });
});

describe("a line that is too long", () => {
  const limits = { messageBytes: 100_000 };

  it("is reported with both its ends, wherever its id stands", async () => {
    const child = await openShell(
      `long=$(${xs(300_000)})
       echo '{"id":1,"result":{"a":"'$long'"}}'
       echo '{"result":{"a":"'$long'"},"id":2}'
       echo '{"method":"m","params":{"a":"'$long'"},"id":3}'
       echo '${ANSWER}'`,
      { limits },
    );
    await child.end();
    expect(child.texts).toEqual([ANSWER]);
    expect(child.faults.map(({ error }) => error.code)).toEqual([-32600, -32600, -32600]);
    const [first, second, third] = child.faults.map(({ excerpt }) => excerpt);
    expect(first?.head.startsWith('{"id":1')).toBe(true);
    expect(second?.tail?.endsWith(',"id":2}')).toBe(true);
    expect(third?.tail?.endsWith(',"id":3}')).toBe(true);
  });

  it("of a million brackets is one line like any other", async () => {
    const child = await openScript(
      `console.log('{"id":1,"result":' + "[".repeat(1e6) + "]".repeat(1e6) + "}"); console.log("[".repeat(1e6))`,
    );
    await child.end();
    expect(child.texts.map(({ length }) => length)).toEqual([2_000_018]);
    expect(child.noises).toHaveLength(1);
  });
});

describe("a flood", () => {
  async function flooded(script: string): Promise<Recorded> {
    let child: Recorded | undefined;
    const grown = await grownBy(async () => {
      child = await openScript(script);
      await child.end();
    });
    expect(grown).toBeLessThan(MEMORY_BYTES);
    return child as Recorded;
  }

  it.each([
    ["short lines", `"y\\n".repeat(30000)`],
    ["a line without an end", `"y".repeat(65536)`],
    ["a message without an end", `'{"id":1,"result":"'.repeat(3000)`],
    ["bytes that are not UTF-8", `Buffer.alloc(65536, "${"\\xff".repeat(repeated(15, 1))}\\n", "latin1")`],
  ])("of %s to standard output ends the child with an error that says so", async (_name, chunk) => {
    // A slow machine needs longer for as much as is too much in ten seconds.
    const child = await flooded(flood("stdout", chunk, { bytes: Number.POSITIVE_INFINITY }));
    expect(child.ends[0]?.code).toBe("LIMIT");
    expect(child.ends[0]?.message).toContain("floods its standard output");
  });

  it.each([
    ["short lines", `"y\\n".repeat(30000)`],
    ["a line without an end", `"y".repeat(65536)`],
  ])("of %s to standard error is read and dropped", async (_name, chunk) => {
    const child = await flooded(flood("stderr", chunk, { after: `console.log('${ANSWER}')` }));
    expect(child.texts).toEqual([ANSWER]);
    expect(child.ends[0]?.message).toContain("exited with status 0");
  });

  it("of messages waits for whoever takes them", async () => {
    let held: () => void = () => undefined;
    const child = await openScript(flood("stdout", `'${ANSWER}\\n'.repeat(1500)`), {
      closeTimeouts: { inputEndMs: 20 },
    });
    child.onText = () => new Promise((resolve) => (held = resolve));
    const grown = await grownBy(async () => {
      for (let taken = 1; taken <= 3; taken++) {
        await child.until(() => child.texts.length === taken);
        // Whatever can come by now has come.
        for (let turn = 0; turn < 50; turn++) await new Promise((resolve) => setImmediate(resolve));
        expect(child.texts).toHaveLength(taken);
        held();
      }
    });
    expect(grown).toBeLessThan(MEMORY_BYTES);
  });
});

describe("standard error", () => {
  it("is handed on line by line where asked for", async () => {
    const lines: string[] = [];
    const child = await openShell(`exec >&2; printf 'one\\n\\ntwo ä\\n'; ${xs(9_000)}; printf '\\nlast'`, {
      stderr: (line) => lines.push(line),
    });
    await child.end();
    expect(lines.map((line) => line.slice(0, 10))).toEqual(["one", "two ä", "x".repeat(10), "last"]);
    expect(lines[2]?.length).toBe(500);
  });

  it("goes to our own where asked for", async () => {
    const script = `
      import { childTransport } from ${JSON.stringify(resolve(import.meta.dirname, "../../dist/node/child-transport.js"))};
      const sink = { receive() {}, unreadable() {}, lost() {}, noise() {}, closed() {} };
      const args = ["-c", ${JSON.stringify(`exec >&2; ${xs(300_000)}; printf ä`)}];
      await childTransport({ command: "/bin/sh", args, stderr: "forward" }).start(sink);`;
    const child = spawn(process.execPath, ["--input-type=module", "-e", script], {
      stdio: ["ignore", "ignore", "pipe"],
    });
    const text = await child.stderr.setEncoding("utf8").toArray();
    expect(text.join("") === `${"x".repeat(300_000)}ä`).toBe(true);
  });
});
