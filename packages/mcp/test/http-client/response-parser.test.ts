// The parser of responses: what it reads however it is cut, what it refuses, and that Node's own refuses no less.
import { readdirSync, readFileSync } from "node:fs";
import { request } from "node:http";
import { join } from "node:path";
import { Duplex } from "node:stream";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { HEADER_BYTES, ResponseFault, type ResponseHead, ResponseParser } from "../../src/node/http-response-parser.js";
import { publicList } from "../support/public-list.js";
import { repeated, soaking } from "../support/soak.js";

interface Reading {
  readonly head: ResponseHead | undefined;
  readonly body: string;
  /** It was read to its end. */
  readonly whole: boolean;
  readonly fault: ResponseFault | undefined;
  /** More came than it has. */
  readonly excess: boolean;
}

/** What the parser makes of bytes that come in pieces, and then end. */
function read(pieces: readonly (string | Buffer)[], method = "POST"): Reading {
  let [head, body, whole]: [ResponseHead | undefined, string, boolean] = [undefined, "", false];
  const parser = new ResponseParser({
    head: (given) => (head = given),
    body: (bytes) => (body += bytes.toString("latin1")),
    end: () => (whole = true),
  });
  parser.begin(method);
  let [fault, excess]: [ResponseFault | undefined, boolean] = [undefined, false];
  try {
    for (const piece of pieces) {
      if (!parser.push(Buffer.from(piece as string, "latin1"))) excess = true;
    }
    parser.finish();
  } catch (error) {
    expect(error).toBeInstanceOf(ResponseFault);
    fault = error as ResponseFault;
  }
  return { head, body, whole, fault, excess };
}

const OK = "HTTP/1.1 200 OK\r\n";
const CHUNKED = `${OK}Transfer-Encoding: chunked\r\n\r\n`;

/** Responses, their bodies, and whether another may follow on the connection. */
const GOOD: readonly (readonly [text: string, body: string, keeps: boolean])[] = [
  [`${OK}Content-Length: 2\r\n\r\nok`, "ok", true],
  [`${OK}content-length:\t 2 \r\nX: a b\r\n\r\nok`, "ok", true],
  ["HTTP/1.1 200\r\ncontent-length: 0\r\n\r\n", "", true],
  [`${OK}Connection: close\r\nContent-Length: 2\r\n\r\nok`, "ok", false],
  [`${OK}Connection: x, Close\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\nok`, "ok", false],
  [`${OK}\r\nto the end`, "to the end", false],
  ["HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok", "ok", false],
  ["HTTP/1.0 200 OK\r\nConnection: Keep-Alive\r\nContent-Length: 2\r\n\r\nok", "ok", true],
  ["HTTP/1.1 204 No Content\r\n\r\n", "", true],
  ["HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n", "", true],
  [`${CHUNKED}2\r\nok\r\n0\r\n\r\n`, "ok", true],
  [`${CHUNKED}2;a=b;c\r\nok\r\n00A\r\n0123456789\r\n0\r\nTrailer: x\r\n\r\n`, "ok0123456789", true],
  [`HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n${OK}Content-Length: 2\r\n\r\nok`, "ok", true],
  [`${OK}X-Latin: \xe9\r\nContent-Length: 2\r\n\r\n\xff\xfe`, "\xff\xfe", true],
];

/** What two readers could take for two things, or one for nothing. */
const BAD: readonly (readonly [why: string, text: string])[] = [
  ["two lengths", `${OK}Content-Length: 2\r\nContent-Length: 2\r\n\r\nok`],
  ["a list of lengths", `${OK}Content-Length: 2, 2\r\n\r\nok`],
  ["a length and chunks", `${OK}Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`],
  ["chunks and a length", `${OK}Transfer-Encoding: chunked\r\nContent-Length: 2\r\n\r\n0\r\n\r\n`],
  ["a tab behind a length", `${OK}Content-Length: 2\t\r\n\r\nok`],
  ["a length with a sign", `${OK}Content-Length: +2\r\n\r\nok`],
  ["a negative length", `${OK}Content-Length: -2\r\n\r\nok`],
  ["a length in hexadecimal", `${OK}Content-Length: 0x2\r\n\r\nok`],
  ["an empty length", `${OK}Content-Length:\r\n\r\nok`],
  ["a length no number holds", `${OK}Content-Length: 99999999999999999999\r\n\r\nok`],
  ["two codings", `${OK}Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n`],
  ["two lines of codings", `${OK}Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`],
  ["an unknown coding", `${OK}Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n`],
  ["chunks of HTTP/1.0", "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"],
  ["a head whose lines end in LF", "HTTP/1.1 200 OK\nContent-Length: 2\n\nok"],
  ["one line that ends in LF", `${OK}X: a\nContent-Length: 2\r\n\r\nok`],
  ["a CR within a line", `${OK}X: a\rb\r\nContent-Length: 2\r\n\r\nok`],
  ["a folded header", `${OK}X: a\r\n b\r\nContent-Length: 2\r\n\r\nok`],
  ["a name before a blank", `${OK}Content-Length : 2\r\n\r\nok`],
  ["a blank before a name", `${OK} Content-Length: 2\r\n\r\nok`],
  ["a name with a character that is none", `${OK}Content(Length: 2\r\n\r\nok`],
  ["no name", `${OK}: 2\r\n\r\nok`],
  ["a line without a colon", `${OK}Content-Length\r\n\r\nok`],
  ["a value with a null", `${OK}X: a\0b\r\n\r\nok`],
  ["an interim head that ends the connection", `HTTP/1.1 103 Hints\r\nConnection: close\r\n\r\n${OK}\r\n`],
  ["an interim head with a body", `HTTP/1.1 103 Hints\r\nContent-Length: 2\r\n\r\nok${OK}\r\n`],
  ["another version", "HTTP/2.0 200 OK\r\n\r\n"],
  ["a version of two digits", "HTTP/1.10 200 OK\r\n\r\n"],
  ["a status of two digits", "HTTP/1.1 20 OK\r\n\r\n"],
  ["a status of four digits", "HTTP/1.1 2000 OK\r\n\r\n"],
  ["a status below 100", "HTTP/1.1 099 OK\r\n\r\n"],
  ["something else", "SSH-2.0-OpenSSH_9.6\r\n"],
  ["an empty line first", `\r\n${OK}\r\n`],
  ["a chunk without a length", `${CHUNKED}\r\nok\r\n0\r\n\r\n`],
  ["a chunk of a length that is none", `${CHUNKED}2g\r\nok\r\n0\r\n\r\n`],
  ["a chunk with a sign", `${CHUNKED}+2\r\nok\r\n0\r\n\r\n`],
  ["a chunk in 0x", `${CHUNKED}0x2\r\nok\r\n0\r\n\r\n`],
  ["a blank behind a chunk's length", `${CHUNKED}2 \r\nok\r\n0\r\n\r\n`],
  ["a chunk of a length no number holds", `${CHUNKED}fffffffffffffffff\r\nok`],
  ["a chunk's length that ends in LF", `${CHUNKED}2\nok\r\n0\r\n\r\n`],
  ["a chunk longer than it says", `${CHUNKED}2\r\nokay\r\n0\r\n\r\n`],
  ["a chunk that ends in LF", `${CHUNKED}2\r\nok\n0\r\n\r\n`],
  ["an extension that is none", `${CHUNKED}2;a b\r\nok\r\n0\r\n\r\n`],
  ["a trailer that is none", `${CHUNKED}0\r\nnothing\r\n\r\n`],
  ["a length in the trailers", `${CHUNKED}0\r\nContent-Length: 2\r\n\r\n`],
];

/** Cut in two at every place, and into single bytes. */
function* cuts(text: string): Generator<string[]> {
  for (let at = 0; at <= text.length; at++) yield [text.slice(0, at), text.slice(at)];
  yield text.split("");
}

describe("a response", () => {
  it.each(GOOD)("%j is read wherever it is cut", (text, body, keeps) => {
    for (const pieces of cuts(text)) {
      const reading = read(pieces);
      expect(reading).toMatchObject({ body, whole: true, fault: undefined, excess: false });
      expect(reading.head?.keepAlive).toBe(keeps);
    }
  });

  it.each(BAD)("with %s is refused wherever it is cut", (_why, text) => {
    for (const pieces of cuts(text)) expect(read(pieces).fault).toBeInstanceOf(ResponseFault);
  });

  it.each(GOOD)("%j is not whole before its end", (text, _body, keeps) => {
    if (!keeps) return;
    for (let end = 0; end < text.length; end++) expect(read([text.slice(0, end)]).whole).toBe(false);
  });

  it("has names in lower case and values without blanks around them", () => {
    const { head } = read([`${OK}X-One: \t a\xa0 \t\r\nx-two:\r\nX-ONE: b\r\ncontent-length: 0\r\n\r\n`]);
    expect(head).toMatchObject({ status: 200, length: 0 });
    expect(head?.headers).toEqual(["x-one", "a\xa0", "x-two", "", "x-one", "b", "content-length", "0"]);
  });

  it("to HEAD has no body whatever it says, and one that may not have a body ends the connection with it", () => {
    expect(read([`${OK}Content-Length: 2\r\n\r\n`], "HEAD")).toMatchObject({ whole: true, head: { keepAlive: true } });
    const none = read(["HTTP/1.1 204 No Content\r\nContent-Length: 2\r\n\r\nok"]);
    expect(none).toMatchObject({ whole: true, body: "", excess: true, head: { keepAlive: false } });
  });

  it("is not confused with what follows it", () => {
    const reading = read([`${OK}Content-Length: 2\r\n\r\nokay`]);
    expect(reading).toMatchObject({ whole: true, body: "ok", excess: true });
  });

  it("may have so many bytes of headers, interim heads, extensions and trailers, and no more", () => {
    const padded = (bytes: number): string => {
      const rest = `${OK}X: \r\nContent-Length: 0\r\n\r\n`;
      return `${OK}X: ${"x".repeat(bytes - rest.length)}\r\nContent-Length: 0\r\n\r\n`;
    };
    const interim = "HTTP/1.1 100 Continue\r\n\r\n";
    const many = Math.ceil(HEADER_BYTES / interim.length);
    const chunk = `1;${"a".repeat(1_000)}\r\nx\r\n`;
    const trailer = `${"a".repeat(1_000)}: b\r\n`;
    for (const cut of [(text: string) => [text], (text: string) => text.match(/[^]{1,1000}/g) ?? []]) {
      expect(read(cut(padded(HEADER_BYTES)))).toMatchObject({ whole: true });
      for (const text of [
        padded(HEADER_BYTES + 1),
        `${OK}X: ${"x".repeat(2 * HEADER_BYTES)}`,
        `${OK}${"a:\r\n".repeat(1_001)}\r\n`,
        interim.repeat(many),
        `${CHUNKED}${"f".repeat(HEADER_BYTES)}`,
        `${CHUNKED}${chunk.repeat(34)}`,
        `${CHUNKED}0\r\n${trailer.repeat(34)}`,
      ])
        expect(read(cut(text)).fault).toMatchObject({ overflow: true });
    }
  });
});

/** A socket that gives bytes to Node's client, and then ends. */
class Script extends Duplex {
  readonly #pieces: Buffer[];

  constructor(pieces: readonly Buffer[]) {
    super();
    this.#pieces = [...pieces];
  }

  override _read(): void {
    this.push(this.#pieces.shift() ?? null);
  }

  override _write(_chunk: unknown, _encoding: string, done: () => void): void {
    done();
  }
}

/** The status and body of a response that Node's own parser takes to its end; undefined of one that it refuses. */
function byNode(pieces: readonly Buffer[]): Promise<{ readonly status: number; readonly body: string } | undefined> {
  return new Promise((resolve) => {
    const none = (): void => resolve(undefined);
    const asked = request({ method: "POST", createConnection: () => new Script(pieces) }, (response) => {
      let body = "";
      asked.off("close", none);
      response.setEncoding("latin1").on("data", (text: string) => (body += text));
      response.on("end", () => resolve(response.complete ? { status: response.statusCode ?? 0, body } : undefined));
      response.on("error", none).on("close", none);
    });
    asked.on("error", none).on("close", none).on("upgrade", none);
    asked.end();
  });
}

/** Bytes that mean something to a parser, and some that should not. */
const NOTABLE = ["\r", "\n", "\r\n", " ", "\t", ":", ";", ",", "0", "1", "a", "\0", "\x7f", "\xff", "\r\n\r\n"];
const LINES = [
  "Content-Length: 2",
  "content-length: 0",
  "Transfer-Encoding: chunked",
  "Connection: close",
  " x",
  "X: y",
];

const change = fc.record({
  what: fc.constantFrom("insert", "replace", "delete", "repeat", "line"),
  at: fc.nat(200),
  length: fc.integer({ min: 1, max: 30 }),
  bytes: fc.constantFrom(...NOTABLE),
  line: fc.constantFrom(...LINES),
});

type Change = typeof change extends fc.Arbitrary<infer T> ? T : never;

function changed(text: string, { what, at, length, bytes, line }: Change): string {
  const place = at % (text.length + 1);
  const [before, after] = [text.slice(0, place), text.slice(place)];
  if (what === "insert") return before + bytes + after;
  if (what === "replace") return before + bytes + after.slice(1);
  if (what === "delete") return before + after.slice(length % 3 === 0 ? length : 1);
  if (what === "repeat") return before + after.slice(0, length) + after;
  const end = text.indexOf("\r\n") + 2;
  return `${text.slice(0, end)}${line}\r\n${text.slice(end)}`;
}

function piecesOf(text: string, places: readonly number[]): Buffer[] {
  const bytes = Buffer.from(text, "latin1");
  const ends = places.map((place) => place % (bytes.length + 1)).toSorted((a, b) => a - b);
  return [...ends, bytes.length]
    .map((end, index) => bytes.subarray(index === 0 ? 0 : (ends[index - 1] as number), end))
    .filter(({ length }) => length > 0);
}

/** Whatever we take to its end Node takes too, and for the same. */
async function agree(pieces: readonly Buffer[]): Promise<boolean> {
  const ours = read(pieces);
  if (ours.fault !== undefined || !ours.whole || ours.head?.status === 101) return false;
  const theirs = await byNode(pieces);
  // What follows the response is another matter: our connection ends with it.
  if (ours.excess && theirs === undefined) return true;
  expect(theirs).toEqual({ status: ours.head?.status, body: ours.body });
  return true;
}

describe("beside Node's parser", () => {
  it("takes all good responses for the same", async () => {
    for (const [text] of GOOD) expect(await agree(piecesOf(text, [7, 19, 40]))).toBe(true);
  });

  it("takes nothing that Node refuses, and for nothing else", async () => {
    let taken = 0;
    const base = fc.constantFrom(...GOOD.map(([text]) => text), ...BAD.map(([, text]) => text));
    await fc.assert(
      fc.asyncProperty(
        base,
        fc.array(change, { maxLength: 3 }),
        fc.array(fc.nat(), { maxLength: 4 }),
        async (...given) => {
          const [text, changes, places] = given;
          if (await agree(piecesOf(changes.reduce(changed, text), places))) taken++;
        },
      ),
      { numRuns: repeated(1_500, 100_000), ...(soaking ? {} : { seed: 20_261_127 }) },
    );
    expect(taken).toBeGreaterThan(100);
  });
});

const folder = publicList("llhttp");

describe.skipIf(folder === undefined)("llhttp's cases", () => {
  it("are taken for what Node takes them for, or refused", async () => {
    const place = join(folder ?? "", "test", "response");
    let cases = 0;
    for (const file of readdirSync(place)) {
      for (const [, text = ""] of readFileSync(join(place, file), "utf8").matchAll(/^```http\n([\s\S]*?)\n```$/gm)) {
        cases++;
        const written = text
          .replace(/\\\n/g, "")
          .replace(/\n/g, "\r\n")
          .replaceAll("\\r", "\r")
          .replaceAll("\\n", "\n");
        await agree(piecesOf(written, []));
        await agree(piecesOf(written, [3, 20, 50, 80]));
      }
    }
    expect(cases).toBeGreaterThan(50);
  });
});
