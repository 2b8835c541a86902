// The reader of server-sent events against the WHATWG standard: fields, line ends, ids, and any way to cut the bytes.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { OVERSIZED, SseReader } from "../../src/http/client/sse-reader.js";
import { repeated } from "../support/soak.js";

interface Heard {
  readonly events: unknown[];
  readonly lastId: string | undefined;
  readonly retryMs: number | undefined;
}

function read(chunks: Iterable<string | Uint8Array>, maxBytes = 10_000): Heard {
  const reader = new SseReader(maxBytes);
  const events: unknown[] = [];
  for (const chunk of chunks) {
    reader.push(typeof chunk === "string" ? new TextEncoder().encode(chunk) : chunk);
    for (let event = reader.next(); event !== undefined; event = reader.next()) events.push(event);
  }
  return { events, lastId: reader.lastId, retryMs: reader.retryMs };
}

/** Each byte by itself. */
function* single(text: string): Generator<Uint8Array> {
  const bytes = new TextEncoder().encode(text);
  for (let at = 0; at < bytes.length; at++) yield bytes.subarray(at, at + 1);
}

const message = (data: string, type = "message"): unknown => ({ type, data });

describe("an event stream", () => {
  it.each([
    ["one line", "data: a\n\n", [message("a")]],
    ["several lines", "data: a\ndata:b\ndata\n\n", [message("a\nb\n")]],
    ["one space taken off, not two", "data:  a \n\n", [message(" a ")]],
    ["comments and unknown fields", ": hi\n:\nfoo: bar\ndata: a\nDATA: b\n\n", [message("a")]],
    ["a type, for one event only", "event: x\ndata: a\n\ndata: b\n\n", [message("a", "x"), message("b")]],
    ["no data, no event", "event: x\n\nid: 1\n\ndata: a\n\n", [message("a")]],
    ["empty data", "data\n\ndata:\n\n", [message(""), message("")]],
    ["CR", "data: a\rdata: b\r\rdata: c\r\r", [message("a\nb"), message("c")]],
    ["CRLF", "data: a\r\ndata: b\r\n\r\n", [message("a\nb")]],
    ["all line ends mixed", "data: a\r\ndata: b\rdata: c\n\r\ndata: d\n\r", [message("a\nb\nc"), message("d")]],
    ["a mark at the start only", "\ufeffdata: a\n\n\ufeffdata: b\n\n", [message("a")]],
    ["no end, no event", "data: a\n\ndata: b\n", [message("a")]],
    ["bytes of other line separators", "data: a\u2028b\u0085c\n\n", [message("a\u2028b\u0085c")]],
  ])("has %s", (_, text, events) => {
    expect(read([text]).events).toEqual(events);
  });

  it("has bytes that are not UTF-8, each replaced", () => {
    expect(read([Uint8Array.of(100, 97, 116, 97, 58, 0xc3, 10, 10)]).events).toEqual([message("\ufffd")]);
  });

  it.each([
    ["id: 1\ndata: a\n\n", "1"],
    ["id: 1\ndata: a\n\nid: 2\n\n", "2"],
    ["id: 1\ndata: a\n\nid: 2\ndata: b\n", "1"],
    ["id: 1\n\nid: 2\0\n\n", "1"],
    ["id: 1\n\nid\n\n", ""],
    ["data: a\n\n", undefined],
  ])("%j leaves the id %j", (text, id) => {
    expect(read([text]).lastId).toBe(id);
  });

  it.each([
    ["retry: 500\n", 500],
    ["retry: 1\nretry: 5s\nretry: -1\nretry: \n", 1],
    ["retry: 1.5\n", undefined],
    ["retry: ٣\n", undefined],
    ["retry: 99999999999999999999999\n", 1e23],
  ])("%j asks for %j ms", (text, ms) => {
    expect(read([text]).retryMs).toBe(ms);
  });

  it("skips an event that is too long and goes on with the next", () => {
    const long = "x".repeat(60);
    const many = "data: 1234567\n".repeat(10);
    const text = `data: a\n\ndata: ${long}\ndata: b\n\ndata: c\n\n${many}\ndata: d\n\n: ${long}\n\ndata: e\n\n`;
    const expected = [message("a"), OVERSIZED, message("c"), OVERSIZED, message("d"), OVERSIZED, message("e")];
    expect(read([...text], 50).events).toEqual(expected);
    for (const end of ["\r", "\r\n"]) expect(read([...text.replaceAll("\n", end)], 50).events).toEqual(expected);
  });

  it("does not read an event without end for ever", () => {
    const reader = new SseReader(100);
    const chunk = new TextEncoder().encode("x".repeat(64));
    const flood = (): void => {
      for (let n = 0; n < 100; n++) {
        reader.push(chunk);
        reader.next();
      }
    };
    expect(flood).toThrow("an event longer than 100 bytes");
  });

  it("takes no event for too long because of what follows it in its chunk", () => {
    expect(read([`data: a\n\ndata: ${"x".repeat(60)}`], 50).events).toEqual([message("a"), OVERSIZED]);
  });

  it("costs time in proportion to its length, cut into single bytes and with the worst of line ends", () => {
    const part = repeated(10_000, 50_000);
    const text = `${"data: a\n".repeat(part)}${"\r".repeat(part)}data: ${"b".repeat(10 * part)}`;
    expect(read(single(text), 1_000_000).events).toHaveLength(1);
    expect(read([text], 1_000_000).events).toHaveLength(1);
  });
});

const piece = fc.constantFrom(
  "\n",
  "\r",
  "\r\n",
  ":",
  " ",
  "data",
  "data: ",
  "id: ",
  "event: ",
  "retry: ",
  "7",
  "é",
  "🦉",
  "\0",
  "\ufeff",
  "x",
);

describe("however the bytes are cut", () => {
  it("the events are the same", () => {
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 60 }), fc.array(fc.nat(12), { maxLength: 40 }), (pieces, cuts) => {
        const bytes = new TextEncoder().encode(pieces.join(""));
        const chunks: Uint8Array[] = [];
        let at = 0;
        for (const cut of cuts) chunks.push(bytes.subarray(at, (at += cut)));
        chunks.push(bytes.subarray(at));
        expect(read(chunks)).toEqual(read([bytes]));
      }),
      { numRuns: repeated(300, 2_000) },
    );
  });

  it("they are those of a reader that splits the whole text as the standard says", () => {
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 60 }), (pieces) => {
        const text = pieces.join("");
        expect(read([text])).toEqual(plainly(text));
      }),
      { numRuns: repeated(300, 2_000) },
    );
  });
});

// The algorithm of the standard, word for word and without any care for cost.
function plainly(stream: string): Heard {
  const lines = stream.replace(/^\ufeff/, "").split(/\r\n|\r|\n/);
  // What follows the last line end is no line.
  lines.pop();
  const events: unknown[] = [];
  let [data, type, id] = ["", "", undefined as string | undefined];
  let lastId: string | undefined;
  let retryMs: number | undefined;
  for (const line of lines) {
    if (line === "") {
      lastId = id ?? lastId;
      if (data !== "") events.push(message(data.replace(/\n$/, ""), type === "" ? "message" : type));
      [data, type] = ["", ""];
      continue;
    }
    if (line.startsWith(":")) continue;
    const [, name, value = ""] = /^([^:]*)(?:: ?)?(.*)$/su.exec(line) ?? [];
    if (name === "data") data += `${value}\n`;
    if (name === "event") type = value;
    if (name === "id" && !value.includes("\0")) id = value;
    if (name === "retry" && /^[0-9]+$/.test(value)) retryMs = Number(value);
  }
  return { events, lastId, retryMs };
}
