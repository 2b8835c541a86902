// Long strings that pass a gateway as the bytes they came in: nobody can tell it from an answer that was read whole and written again.
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { request } from "node:http";
import { createConnection } from "node:net";
import { fileURLToPath } from "node:url";
import { afterEach, expect, it, onTestFinished, vi } from "vitest";
import { LongStrings, Sent } from "../../src/gateway/long-answers.js";
import { connect } from "../../src/serve/connect-node.js";
import { open, Stage } from "./stage.js";

const stage = new Stage();
afterEach(() => stage.close());

const NEWEST = "2026-07-28";
const MIO = "io.modelcontextprotocol/";
const DISCOVERED = { supportedVersions: [NEWEST], capabilities: { tools: {} }, ttlMs: 0, cacheScope: "private" };
const LISTED = { tools: [{ name: "read", inputSchema: { type: "object" } }], ttlMs: 0, cacheScope: "private" };

/** A server that answers calls with bytes: `answer` is given the id and the number that the call asks for. */
function answering(answer: (id: number, number: number) => Buffer): Promise<string> {
  return stage.listen((incoming, response) => {
    incoming.setEncoding("utf8").on("data", (text: string) => {
      const { id, method, params } = JSON.parse(text) as { id: number; method: string; params: Asked };
      response.writeHead(200, { "content-type": "application/json" });
      if (method === "tools/call") return void response.end(answer(id, params.arguments.number));
      const result = { resultType: "complete", ...(method === "tools/list" ? LISTED : DISCOVERED) };
      response.end(JSON.stringify({ jsonrpc: "2.0", id, result }));
    });
  });
}

interface Asked {
  readonly arguments: { readonly number: number };
}

/** The gateway's address. One that has middleware reads every answer whole. */
async function relaying(url: string, isSeen: boolean): Promise<string> {
  const gateway = stage.gateway({ report: false });
  if (isSeen) gateway.use((_call, next) => next());
  await gateway.mount("up", open(url), { prefix: "" });
  return stage.serve(gateway);
}

const HEADERS = {
  "content-type": "application/json",
  accept: "application/json, text/event-stream",
  "mcp-protocol-version": NEWEST,
  "mcp-method": "tools/call",
  "mcp-name": "read",
};

function messageOf(number: number, id: number): object {
  const _meta = {
    [`${MIO}protocolVersion`]: NEWEST,
    [`${MIO}clientInfo`]: { name: "by hand", version: "1" },
    [`${MIO}clientCapabilities`]: {},
  };
  return { jsonrpc: "2.0", id, method: "tools/call", params: { name: "read", arguments: { number }, _meta } };
}

/** The text that a call is answered with. */
async function called(url: string, number: number, id = 7): Promise<string> {
  const response = await fetch(url, { method: "POST", headers: HEADERS, body: JSON.stringify(messageOf(number, id)) });
  return response.text();
}

/** Texts in JSON, each many times over. */
const PARTS = [
  "word ",
  "a line of some length\\n",
  'he said \\"so\\" and ',
  "\\\\\\\\",
  "\\u00e9\\uD83D\\ude00\\u0000",
  "\\ud800 alone ",
  "é€😀",
  "\\/\\b\\f\\r\\t",
  "\u2028\u007f",
  "AAAA",
];

interface Random {
  below(most: number): number;
  of<T>(items: readonly T[]): T;
}

/** The same numbers for the same seed. */
function randomFrom(seed: number): Random {
  let state = seed + 1;
  const below = (most: number): number => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    return Math.floor((state / 2 ** 32) * most);
  };
  return { below, of: (items) => items[below(items.length)] as never };
}

function longString(random: Random): string {
  const parts = Array.from({ length: 1 + random.below(4) }, () => random.of(PARTS));
  const part = "x".repeat(random.below(9)) + parts.join("");
  return part.repeat(Math.ceil((66_000 + random.below(90_000)) / part.length));
}

/** What the answer is like beside its long strings, some of which are no strings of blocks. */
const AROUND: readonly ((id: number, text: string, random: Random) => string)[] = [
  (id, text) => result(id, `"content":[{"type":"text","text":"${text}"}]`),
  (id, text) =>
    result(id, `"content":[{"type":"text","text":"${text}"},{"text":"short","type":"text"}],"isError":true`),
  (id, text, random) =>
    result(
      id,
      `"content":[{"type":"image","data":"${text}","mimeType":"image/png"},{"type":"text","text":"${longString(random)}"}]`,
    ),
  (id, text) =>
    result(id, `"content":[{"type":"audio","data":"${text}","mimeType":"audio/wav","_meta":{"a.b/c":1.0}}]`),
  (id, text) =>
    result(id, `"content":[{"type":"text","text":"${text}","annotations":{"priority":1e-0}}],"_meta":{"a.b/c":-0}`),
  (id, text) => result(id, `"content":[{"type":"text","text":"a"}],"structuredContent":{"a":"${text}"}`),
  (id, text) => result(id, `"content":[{"type":"text","text":"${text}"}],"structuredContent":{"a":"b"}`),
  (id, text) => result(id, `"content":[{"type":"text","text":"${text}","more":"${text}"}]`),
  (id, text) => result(id, `"content":[{"type":"text","text":"a","${text}":1}]`),
  (id, text) => result(id, `"content":[{"type":"resource","resource":{"uri":"x:a","text":"${text}"}}]`),
  (id, text) => result(id, `"content":[{"type":"text","text":"a"}],"${text}":"b"`),
  (id, text) => result(id, `"content":[{"type":"unknown","text":"${text}"}]`),
  (id, text) => result(id, `"content":[{"type":"text","text":"${text}"}],"content":[{"type":"text","text":"a"}]`),
  (id, text) => result(id, `"content":{"type":"text","text":"${text}"}`),
  (id, text) => `{"jsonrpc":"2.0","id":${id + 1},"result":{"content":[{"type":"text","text":"${text}"}]}}`,
  (id, text) => `{"jsonrpc":"2.0","id":"${id}","result":{"content":[{"type":"text","text":"${text}"}]}}`,
  (id, text) => `{"jsonrpc":"2.0","id":${id},"error":{"code":-32000,"message":"no","data":"${text}"}}`,
  (id, text) => `[${result(id, `"content":[{"type":"text","text":"${text}"}]`)}]`,
  (id, text) => `\ufeff${result(id, `"content":[{"type":"text","text":"${text}"}]`)}`,
  (id, text) => ` \r\n${result(id, `\n "content" : [ { "type" : "text" , "text" : "${text}" } ] \t`)}\n`,
  (id, text) => result(id, `"content":[{"type":"text","text":"${text}"}],"a":${"[".repeat(200)}${"]".repeat(200)}`),
  (id, text) => result(id, `"content":[{"type":"text","text":"${text}"}],"__proto__":{}`),
];

function result(id: number, members: string): string {
  return `{"jsonrpc":"2.0","id":${id},"result":{"resultType":"complete",${members}}}`;
}

/** Bytes that break what is JSON, or do not. */
const STRANGE = [...Array(0x22).keys(), 0x5c, 0x75, 0x30, 0x7f, 0x80, 0xbf, 0xc3, 0xe2, 0xf0, 0xff];

/** One byte put in, taken out or changed; at most places that is within a long string. */
function broken(body: Buffer, random: Random): Buffer {
  const at = random.below(body.length);
  const byte = Buffer.from([random.of(STRANGE)]);
  const [before, after] = [body.subarray(0, at), body.subarray(at + random.below(2))];
  return Buffer.concat(random.below(4) === 0 ? [before, after] : [before, byte, after]);
}

function bodyOf(number: number, id: number): Buffer {
  const random = randomFrom(number);
  const around = AROUND[number % AROUND.length] as (typeof AROUND)[number];
  const body = Buffer.from(around(id, longString(random), random));
  return number < AROUND.length * 3 ? body : broken(body, random);
}

/** Each string written in one way: which characters are escaped is nobody's promise. */
function inOneWay(text: string): string {
  return text.replaceAll(/"[^"\\]*(?:\\.[^"\\]*)*"/gs, (string) => JSON.stringify(JSON.parse(string)));
}

it("whoever asks gets the same answer, digit by digit, or is told of the same fault, as where the answer was read whole", async () => {
  const shorten = vi.spyOn(Sent.prototype, "shorten");
  onTestFinished(() => shorten.mockRestore());
  // Whatever ids the gateway's clients have: the numbers that are made up by it are of the same length.
  const url = await answering((id, number) => bodyOf(number, id));
  const [passing, reading] = [await relaying(url, false), await relaying(url, true)];
  // The first answer of all is handled as every other, since what is asked of a client is loaded with it.
  for (const gateway of [passing, reading]) await called(gateway, 0);
  for (let number = 0; number < AROUND.length * 12; number++) {
    const [passed, read] = (await Promise.all([called(passing, number), called(reading, number)])).map(inOneWay) as [
      string,
      string,
    ];
    const at = [...passed].findIndex((character, place) => character !== read[place]);
    const [its, other] = [passed, read].map((each) => each.slice(Math.max(0, at - 40), at + 100));
    expect(passed === read, `answer ${number} of ${passed.length} characters at ${at}: ${its} beside ${other}`).toBe(
      true,
    );
  }
  const shortened = shorten.mock.results.filter(({ value }) => value !== undefined);
  expect(shortened.length).toBeGreaterThan(AROUND.length);
});

/** Where in a string of so many characters a byte is put: at each place in the word that it begins and ends in, and between. */
const PLACES = [0, 1, 2, 3, 4, 40_000, 70_000, 70_001, 70_002, 70_003, 70_004];

it.each(["content", "resource"])("a long string of a %s that is broken at any place reaches nobody", async (kind) => {
  const bytes = [...Array(0x20).keys(), 0x22, 0x80, 0xff];
  const url = await answering((id, number) => {
    const text = Buffer.from("x".repeat(70_005));
    text[PLACES[number % PLACES.length] as number] = bytes[Math.floor(number / PLACES.length)] ?? 0x78;
    const around = AROUND[kind === "content" ? 0 : 9] as (typeof AROUND)[number];
    const [before = "", after = ""] = around(id, "?", randomFrom(1)).split("?");
    return Buffer.concat([Buffer.from(before), text, Buffer.from(after)]);
  });
  const gateway = await relaying(url, false);
  const last = PLACES.length * bytes.length;
  for (const number of [last, ...Array(last).keys()]) {
    const { error, result: answered } = JSON.parse(await called(gateway, number)) as Record<string, Answered>;
    expect(error !== undefined || answered?.isError === true, `answer ${number}`).toBe(number !== last);
  }
});

interface Answered {
  readonly isError?: boolean;
}

it("only contents of blocks are passed as bytes, and where they are most of an answer to this request", () => {
  const shortens = (around: number, text: string, id = 7): boolean => {
    const body = Buffer.from((AROUND[around] as (typeof AROUND)[number])(7, text, randomFrom(1)));
    const sent = new Sent();
    sent.id = id;
    return sent.shorten(body, (from, to) => body.subarray(from, to)) !== undefined;
  };
  const text = "x".repeat(70_000);
  const passed = AROUND.flatMap((_, around) => (shortens(around, text) ? [around] : []));
  expect(passed).toEqual([0, 1, 2, 3, 4, 19]);
  expect(AROUND.flatMap((_, around) => (shortens(around, "x".repeat(65_535)) ? [around] : []))).toEqual([2]);
  expect(AROUND.flatMap((_, around) => (shortens(around, text, 8) ? [around] : []))).toEqual([14]);
  const block = JSON.stringify({ type: "text", text: "short ".repeat(10_000) });
  expect(shortens(0, `${text}"},${block},${block},{"type":"text","text":"`)).toBe(false);
});

it.each([
  ["values", `[${"1,".repeat(200_000)}1]`],
  ["members", `{${Array.from({ length: 20_001 }, (_, at) => `"a${at}":1`).join()}}`],
  ["depth", `${"[".repeat(65)}${"]".repeat(65)}`],
  ["strings", `[${'"",'.repeat(5_000)}""]`],
])("who reads every other message is asked where there are too many %s beside a long string", (_, more) => {
  const shortens = (beside: string): boolean => {
    const body = Buffer.from(result(7, `"content":[{"type":"text","text":"${"x".repeat(1_000_000)}"}],"a":${beside}`));
    const sent = new Sent();
    sent.id = 7;
    return sent.shorten(body, (from, to) => body.subarray(from, to)) !== undefined;
  };
  expect([shortens("[]"), shortens(more)]).toEqual([true, false]);
});

const WINDOW = 64 * 1024;

/** A JSON text with a long string, at one place of which these bytes stand. */
function textWith(bytes: Buffer, place: number, length: number): Buffer {
  const string = Buffer.alloc(length, "x");
  const around = [
    Buffer.from('{"a":"'),
    string.subarray(0, place),
    bytes,
    string.subarray(place),
    Buffer.from('"}     '),
  ];
  return Buffer.concat(around);
}

/** Whether its long string is found, and comes back as it was. */
function isFound(body: Buffer): boolean {
  const strings = LongStrings.of(body, (from, to) => body.subarray(from, to));
  if (strings === undefined) return false;
  const pieces = [strings.putInto(strings.text)].flat().map((piece) => Buffer.from(piece as Uint8Array));
  expect(Buffer.concat(pieces).equals(body)).toBe(true);
  return strings.count === 1;
}

function isJson(body: Buffer): boolean {
  try {
    JSON.parse(body.toString());
    return true;
  } catch {
    return false;
  }
}

const LETTERS = Array.from({ length: 128 }, (_, code) => String.fromCharCode(code));

it.each([
  ["a byte", LETTERS],
  ["a backslash and a byte", LETTERS.map((letter) => `\\${letter}`)],
  ...[0, 1, 2, 3].map((at): [string, string[]] => [
    `digit ${at + 1} of an escape`,
    LETTERS.map((letter) => `\\u${"0aF9".slice(0, at)}${letter}${"0aF9".slice(at + 1)}`),
  ]),
  ["an end within an escape", ["\\", "\\u", "\\u1", "\\u12", "\\u123"].map((escape) => `${escape}"`)],
])(
  "of a long string that is passed, %s is what JSON has, wherever the blocks of bytes begin that are looked at",
  (_, all) => {
    const length = 2 * WINDOW;
    // The window that is looked at begins at the first string; another begins where that ends, or before an escape that it would cut.
    const places = [0, 1, 9, 10, 15, 16, 17, 40, 41, length - 33, length - 1, length];
    for (let place = WINDOW - 24; place < WINDOW + 8; place++) places.push(place);
    for (const part of all)
      for (const place of places) {
        const body = textWith(Buffer.from(part), place, length);
        expect(isFound(body), `${JSON.stringify(part)} at ${place}`).toBe(isJson(body));
      }
  },
);

it("many escapes of all kinds lie across the ends of what is looked at together", () => {
  const random = randomFrom(7);
  const kinds = [...'bfnrt"\\/']
    .map((letter) => `\\${letter}`)
    .concat("\\u00e9", "\\uD83D\\ude00", "é", "😀", "x", "word ");
  for (let times = 0; times < 40; times++) {
    const parts = Array.from({ length: 60_000 }, () => random.of(kinds));
    const body = Buffer.from(`{"a":"${parts.join("")}"}     `);
    expect(isFound(body)).toBe(true);
    expect(isFound(broken(body.subarray(0, -5), random)) ? isJson(body) : true).toBe(true);
  }
});

it("a long string is found behind others, whatever lengths they have, and one is long from 64 KiB on", () => {
  for (const length of [65_535, 65_536, 65_537])
    expect(isFound(textWith(Buffer.from(""), 0, length)), `${length}`).toBe(length >= 65_536);
  const random = randomFrom(8);
  for (let times = 0; times < 300; times++) {
    // Together about as long as what is looked at together: the long one begins on either side of its end, or in the last bytes.
    const short = Array.from({ length: 63 }, () => "y".repeat(random.below(2_000))).map((text) => `${text}\\n`);
    const before = JSON.stringify([...short, "z".repeat(random.below(4_000))]);
    const body = Buffer.from(`{"a":${before},"b":"${"x".repeat(140_000)}","c":"${"y".repeat(random.below(9))}"}      `);
    expect(isFound(body), before.length.toString()).toBe(true);
  }
});

const UNASSEMBLED = fileURLToPath(new URL("narrow.mjs", import.meta.url));

// From 22 on Node itself imports no node:http without WebAssembly: there is no gateway to try.
const NONE_AT_ALL = Number(process.versions.node.split(".", 1)[0]) < 22 ? [["--jitless"]] : [];
it.each([...NONE_AT_ALL, ["--no-enable-sse3", "--no-enable-ssse3", "--no-enable-sse4-1"]])(
  "where WebAssembly cannot be had, or not with 16 bytes at once, long answers are relayed as all others (%s)",
  async (...flags) => {
    const url = await answering((id, number) =>
      Buffer.from(result(id, `"content":[{"type":"text","text":${JSON.stringify(textOf(number))}}]`)),
    );
    const child = spawn(process.execPath, [...flags, UNASSEMBLED, url], { stdio: ["pipe", "pipe", "inherit"] });
    stage.later(() => (child.stdin.end(), once(child, "exit")));
    const [line] = (await once(child.stdout, "data")) as [Buffer];
    const client = await stage.client(String(line).trim(), { revision: NEWEST });
    for (const number of [0, 1, 2]) {
      const { content } = (await client.call("up__read", { number })) as { content: { text: string }[] };
      expect(digest(content[0]?.text ?? "")).toBe(digest(textOf(number)));
    }
  },
);

it("answers to two requests that come the wrong way round reach whom they are for", async () => {
  const waiting: ((other: number) => void)[] = [];
  const url = await stage.listen((incoming, response) => {
    incoming.setEncoding("utf8").on("data", (text: string) => {
      const { id, method, params } = JSON.parse(text) as { id: number; method: string; params: Asked };
      response.writeHead(200, { "content-type": "application/json" });
      if (method !== "tools/call" || params.arguments.number === 0) {
        const answered = { resultType: "complete", content: [], ...(method === "tools/list" ? LISTED : DISCOVERED) };
        return void response.end(JSON.stringify({ jsonrpc: "2.0", id, result: answered }));
      }
      const both = (other: number): void =>
        void response.end(result(other, `"content":[{"type":"text","text":"${other} ${"x".repeat(70_000)}"}]`));
      const first = waiting.pop();
      if (first === undefined) return void waiting.push((other) => (both(other), void 0));
      first(id);
      return both(id - 1);
    });
  });
  const told = await Promise.all(
    [false, true].map(async (isSeen) => {
      const gateway = await relaying(url, isSeen);
      await called(gateway, 0);
      return gateway;
    }),
  );
  for (const gateway of told) {
    const both = await Promise.all([called(gateway, 1, 71), called(gateway, 1, 72)]);
    for (const text of both) expect(text).not.toContain("long string");
  }
});

it("an older client is told structured content once, where a long text says the same", async () => {
  const value = { rows: ["x".repeat(70_000)] };
  const text = JSON.stringify(value);
  const members = `"content":[{"type":"text","text":${JSON.stringify(text)}}],"structuredContent":${text}`;
  const url = await answering((id) => Buffer.from(result(id, members)));
  const client = await stage.client(await relaying(url, false), { revision: "2024-11-05" });
  for (let times = 0; times < 3; times++)
    expect(await client.call("read", { number: 1 })).toMatchObject({ content: [{ type: "text", text }] });
});

it("what readers have not taken yet is not written over by later answers", async () => {
  const url = await answering((id, number) =>
    Buffer.from(result(id, `"content":[{"type":"text","text":${JSON.stringify(textOf(number))}}]`)),
  );
  const front = await relaying(url, false);
  await called(front, 0);
  const numbers = Array.from({ length: 40 }, (_, at) => at + 1);
  // More than the system takes for a reader who reads nothing: the rest waits in the gateway.
  const slow = pipelined(front, numbers);
  await slow.asked;
  for (const number of numbers) await called(front, number + 100);
  const texts = await slow.read();
  expect(texts.map(digest)).toEqual(numbers.map((number) => digest(textOf(number))));
}, 60_000);

/** The same text for the same number, of a length of its own. */
function textOf(number: number): string {
  const random = randomFrom(number);
  const part = `${number}: ${Array.from({ length: 500 }, () => random.of([...'abcdefgh\n"\\é€😀'])).join("")}`;
  return part.repeat(Math.ceil((20_000 + random.below(900_000)) / part.length));
}

const digest = (text: string): string => createHash("sha256").update(text).digest("hex");

it.each([NEWEST, "2025-11-25", "2024-11-05"])(
  "of many long answers at a time, to readers that are slow or gone, each is what was sent, to a client of %s",
  async (revision) => {
    const url = await answering((id, number) =>
      Buffer.from(result(id, `"content":[{"type":"text","text":${JSON.stringify(textOf(number))}}]`)),
    );
    const front = await relaying(url, false);
    const client = await stage.client(front, { revision });
    await client.call("read", { number: 1 });
    for (let round = 0; round < 3; round++) {
      const numbers = Array.from({ length: 24 }, (_, at) => round * 24 + at);
      await Promise.all([
        ...numbers.map(async (number) => {
          const { content } = (await client.call("read", { number })) as { content: { text: string }[] };
          expect(digest(content[0]?.text ?? ""), `text ${number}`).toBe(digest(textOf(number)));
        }),
        ...numbers.filter((number) => number % 3 === 0).map((number) => left(front, number)),
      ]);
    }
  },
  60_000,
);

/** Calls on one connection, none of whose answers are read until `read` is called: then the texts in them. */
function pipelined(url: string, numbers: readonly number[]): { asked: Promise<void>; read(): Promise<string[]> } {
  const { hostname, port, pathname } = new URL(url);
  const socket = createConnection({ host: hostname, port: Number(port) });
  const requests = numbers.map((number) => {
    const body = JSON.stringify(messageOf(number, number));
    const head = Object.entries({ host: `${hostname}:${port}`, ...HEADERS, "content-length": String(body.length) });
    return `POST ${pathname} HTTP/1.1\r\n${head.map(([name, value]) => `${name}: ${value}\r\n`).join("")}\r\n${body}`;
  });
  const asked = new Promise<void>((resolve) => void socket.write(requests.join(""), () => resolve()));
  const read = (): Promise<string[]> =>
    new Promise((resolve) => {
      let bytes = Buffer.alloc(0);
      const texts: string[] = [];
      socket.on("data", (chunk) => {
        bytes = Buffer.concat([bytes, chunk]);
        for (;;) {
          const end = bytes.indexOf("\r\n\r\n");
          const [, length] = /content-length: (\d+)/i.exec(bytes.subarray(0, Math.max(0, end)).toString()) ?? [];
          if (length === undefined || bytes.length < end + 4 + Number(length)) break;
          const text = bytes.subarray(end + 4, end + 4 + Number(length)).toString();
          bytes = bytes.subarray(end + 4 + Number(length));
          texts.push((JSON.parse(text) as { result: { content: { text: string }[] } }).result.content[0]?.text ?? "");
        }
        if (texts.length === numbers.length) resolve(texts);
      });
      onTestFinished(() => void socket.destroy());
    });
  return { asked, read };
}

/** Begins to read an answer, and goes away within it. */
function left(url: string, number: number): Promise<void> {
  return new Promise((resolve) => {
    const outgoing = request(url, { method: "POST", headers: HEADERS }, (incoming) => {
      incoming.once("data", () => incoming.destroy()).once("close", () => resolve());
    });
    outgoing.on("error", () => resolve());
    outgoing.end(JSON.stringify(messageOf(number, 1)));
  });
}

it("a long answer comes whole over a pipe", async () => {
  const url = await answering((id, number) =>
    Buffer.from(result(id, `"content":[{"type":"text","text":${JSON.stringify(textOf(number))}}]`)),
  );
  const args = [fileURLToPath(new URL("piped.mjs", import.meta.url)), url];
  const client = await connect({ command: process.execPath, args }, { verdicts: false });
  stage.later(() => client.close());
  for (const number of [1, 2, 3, 4]) {
    const { content } = (await client.call("read", { number })) as { content: { text: string }[] };
    expect(digest(content[0]?.text ?? "")).toBe(digest(textOf(number)));
  }
});

it("of a call whose answer is longer than a message may be, nobody is told that it did not run", async () => {
  let served = 0;
  const url = await answering((id) => {
    served += 1;
    return Buffer.from(result(id, `"content":[{"type":"text","text":"${"x".repeat(70_000)}"}]`));
  });
  const gateway = stage.gateway();
  await gateway.mount("up", open(url, { limits: { messageBytes: 66_000 } }), { prefix: "" });
  const text = await called(await stage.serve(gateway), 1);
  expect(served).toBe(1);
  expect(text).toContain("Whether the call did its work is not known");
});
