// Lines out of chunks: wherever the chunks are cut, the lines are the same.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { DEFAULT_LIMITS } from "../../src/jsonrpc/limits.js";
import { LineFraming, UnreadableLine } from "../../src/transport/stdio-framing.js";
import { repeated } from "../support/soak.js";

const encoder = new TextEncoder();
const LIMIT = 32;
const LONG_LINE = repeated(2 ** 27, 2 ** 30);

function framing(messageBytes = LIMIT): LineFraming {
  return new LineFraming({ ...DEFAULT_LIMITS, messageBytes });
}

// A line that could not be read is shown by its code.
function drain(lines: LineFraming): (string | number)[] {
  const found: (string | number)[] = [];
  for (let line = lines.next(); line !== undefined; line = lines.next()) {
    found.push(line instanceof UnreadableLine ? line.error.code : line);
  }
  return found;
}

function linesOf(chunks: readonly Uint8Array[], messageBytes = LIMIT): (string | number)[] {
  const lines = framing(messageBytes);
  const found: (string | number)[] = [];
  for (const chunk of chunks) {
    lines.push(chunk);
    found.push(...drain(lines));
  }
  lines.end();
  return [...found, ...drain(lines)];
}

function cut(bytes: Uint8Array, sizes: readonly number[]): Uint8Array[] {
  const chunks: Uint8Array[] = [];
  let start = 0;
  for (const size of sizes) {
    chunks.push(bytes.subarray(start, start + size));
    start += size;
  }
  return [...chunks, bytes.subarray(start)];
}

// The plain way: split the bytes at every newline and judge each line by itself.
function reference(bytes: Uint8Array): (string | number)[] {
  const found: (string | number)[] = [];
  for (let start = 0, end = 0; start < bytes.length; start = end + 1) {
    end = bytes.indexOf(10, start);
    if (end < 0) end = bytes.length;
    const line = bytes.subarray(start, end);
    if (line.length > LIMIT) found.push(-32600);
    else {
      try {
        const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(line).replace(/\r$/, "");
        const unmarked = start === 0 ? text.replace(/^\uFEFF/, "") : text;
        if (!/^[ \t\r]*$/.test(unmarked)) found.push(unmarked);
      } catch {
        found.push(-32700);
      }
    }
  }
  return found;
}

const piece = fc.oneof(
  fc.string({ unit: "grapheme", maxLength: 12 }).map((text) => encoder.encode(text)),
  fc
    .constantFrom("\n", "\r\n", "\n\n", "  ", "\uFEFF", "x".repeat(LIMIT), "x".repeat(LIMIT + 1))
    .map((text) => encoder.encode(text)),
  fc.uint8Array({ maxLength: 4 }),
);
const stream = fc.array(piece, { maxLength: 20 }).map((pieces) => Uint8Array.from(pieces.flatMap((each) => [...each])));

describe("LineFraming", () => {
  it("finds the lines of the reference, however the stream is cut", () => {
    fc.assert(
      fc.property(stream, fc.array(fc.nat({ max: 20 }), { maxLength: 20 }), (bytes, sizes) => {
        expect(linesOf(cut(bytes, sizes))).toEqual(reference(bytes));
      }),
      { numRuns: repeated(500, 2_000) },
    );
  });

  it("can stop between any two lines of a chunk", () => {
    const lines = framing();
    lines.push(encoder.encode("one\ntwo\nthr"));
    expect(lines.next()).toBe("one");
    lines.push(encoder.encode("ee\nfour"));
    expect([lines.next(), lines.next(), lines.next()]).toEqual(["two", "three", undefined]);
    lines.end();
    expect([lines.next(), lines.next()]).toEqual(["four", undefined]);
  });

  it("leaves the chunk to its owner", () => {
    const lines = framing();
    const chunk = encoder.encode("begun");
    lines.push(chunk);
    chunk.fill(0);
    lines.push(encoder.encode("\n"));
    expect(lines.next()).toBe("begun");
  });

  it("refuses the line that is not UTF-8 and no other", () => {
    const bytes = Uint8Array.from([...encoder.encode("good\nb"), 0xff, ...encoder.encode("d\nsüß\n")]);
    expect(linesOf([bytes])).toEqual(["good", -32700, "süß"]);
  });

  it("reports an oversized line once, with the limit, and goes on", () => {
    const lines = framing();
    lines.push(encoder.encode(`a\n${"x".repeat(40)}`));
    expect(lines.next()).toBe("a");
    const refused = lines.next() as UnreadableLine;
    expect(refused.error).toMatchObject({ code: -32600, message: "Message refused: it is longer than 32 bytes" });
    for (let chunk = 0; chunk < 10; chunk++) lines.push(encoder.encode("x".repeat(100)));
    expect(lines.next()).toBeUndefined();
    lines.push(encoder.encode("x\nb\n"));
    expect([lines.next(), lines.next()]).toEqual(["b", undefined]);
  });

  it("waits for the end of an oversized request that has shown no id yet", () => {
    const lines = framing();
    lines.push(encoder.encode(`{"method":"m","params":"${"x".repeat(40)}`));
    expect(lines.next()).toBeUndefined();
    lines.push(encoder.encode('","id":7}\n'));
    expect(lines.next()).toMatchObject({ excerpt: { tail: expect.stringMatching(/"id":7}$/) as string } });
    lines.push(encoder.encode(`{"method":"m","id":8,"params":"${"x".repeat(40)}`));
    expect(lines.next()).toMatchObject({ excerpt: { head: expect.stringContaining('"id":8') as string } });
    lines.end();
    expect(lines.next()).toBeUndefined();
  });

  it("skips a line many times the limit, in a long run a gigabyte, without keeping it", () => {
    const lines = framing(1024 * 1024);
    const chunk = new Uint8Array(64 * 1024).fill(120);
    const before = process.memoryUsage();
    for (let sent = 0; sent < LONG_LINE; sent += chunk.length) lines.push(chunk);
    const after = process.memoryUsage();
    expect(after.heapUsed + after.external - before.heapUsed - before.external).toBeLessThan(16 * 1024 * 1024);
    lines.push(encoder.encode("\nnext\n"));
    expect(drain(lines)).toEqual([-32600, "next"]);
  });

  it("joins a line from a million chunks in linear time", () => {
    const lines = framing(1024 * 1024);
    const byte = encoder.encode("x");
    for (let index = 0; index < 1_000_000; index++) lines.push(byte);
    lines.push(encoder.encode("\n"));
    expect(lines.next()).toHaveLength(1_000_000);
  });
});
