// Reading a child's output: whatever the pieces it comes in and however slowly it is taken, nothing is lost or moved.
import { PassThrough } from "node:stream";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { DEFAULT_LIMITS } from "../../src/jsonrpc/limits.js";
import { ChildIntake } from "../../src/node/child-output.js";

const line = fc.oneof(
  fc.jsonValue().map((value) => JSON.stringify({ value })),
  fc.constantFrom("noise", "{noise}", "[info] noise", "", "{}", "[{}]", '  {"a":1}'),
);

function isMessage(text: string): boolean {
  return text.startsWith('{"') || ["{}", "[{}]", '  {"a":1}'].includes(text);
}

/** What comes of the bytes, cut in pieces of these sizes, when every third message takes its time. */
async function taken(bytes: Buffer, sizes: readonly number[]): Promise<{ messages: string[]; noises: string[] }> {
  const stream = new PassThrough();
  const messages: string[] = [];
  const noises: string[] = [];
  const ended = new Promise<void>((resolve, reject) => {
    const flooded = (): void => reject(new Error("no flood"));
    const unreadable = flooded;
    const noise = (text: string): void => void noises.push(text);
    const message = (text: string): void | Promise<void> => {
      messages.push(text);
      if (messages.length % 3 === 0) return new Promise((taken) => setImmediate(taken));
    };
    const clean = (text: string): string => text;
    void new ChildIntake(stream, DEFAULT_LIMITS, { message, unreadable, noise, clean, flooded, ended: resolve });
  });
  for (let at = 0, i = 0; at < bytes.length; i++) {
    const end = at + (sizes[i % sizes.length] as number);
    stream.write(bytes.subarray(at, end));
    at = end;
  }
  stream.end();
  await ended;
  return { messages, noises };
}

describe("a child's output", () => {
  it("arrives whole and in order", async () => {
    const property = fc.asyncProperty(
      fc.array(line, { maxLength: 40 }),
      fc.array(fc.integer({ min: 1, max: 200 }), { minLength: 1, maxLength: 5 }),
      fc.constantFrom("\n", "\r\n"),
      async (lines, sizes, end) => {
        const { messages, noises } = await taken(Buffer.from(lines.join(end)), sizes);
        expect(messages).toEqual(lines.filter(isMessage));
        const rest = lines.filter((text) => text !== "" && !isMessage(text));
        expect(noises).toEqual(rest.slice(0, 50));
      },
    );
    await fc.assert(property, { numRuns: 200 });
  });
});
