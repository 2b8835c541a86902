// Long bodies come in pieces, many at a time, and share the rooms they are gathered in: each is read as it was sent.
import type { Socket } from "node:net";
import { expect, it, onTestFinished } from "vitest";
import type { HttpReply } from "../../src/http/client/http-caller.js";
import type { TextBytes } from "../../src/jsonrpc/message.js";
import type { Shortener } from "../../src/jsonrpc/transport.js";
import { nodeRequester } from "../../src/node/http-requester.js";
import { rawServer } from "./raw-server.js";

const ROOM = 64 * 1024;
const MOST = 32 * 1024 * 1024;

/** So many bytes, which say at each place where that is, and whose they are. The last character may be cut. */
function bodyOf(owner: string, bytes: number): Buffer {
  const lines = Array.from({ length: Math.ceil(bytes / 8) }, (_, at) => `${owner} ${at} é\n`);
  return Buffer.from(lines.join("")).subarray(0, bytes);
}

function head(body: Buffer, isChunked: boolean): string {
  const framing = isChunked ? "transfer-encoding: chunked" : `content-length: ${body.length}`;
  return `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n${framing}\r\n\r\n`;
}

function framed(piece: Buffer, isChunked: boolean): Buffer {
  if (!isChunked) return piece;
  return Buffer.concat([Buffer.from(`${piece.length.toString(16)}\r\n`), piece, Buffer.from("\r\n")]);
}

/** Answers every request once all are there: a piece of each body in turn. */
async function served(bodies: readonly Buffer[], isChunked: boolean, pieceBytes: number): Promise<string> {
  const waiting: { socket: Socket; body: Buffer; at: number }[] = [];
  const goOn = (): void => {
    const left = waiting.filter(({ body, at }) => at < body.length);
    for (const each of left) {
      const piece = each.body.subarray(each.at, each.at + pieceBytes);
      each.at += piece.length;
      each.socket.write(framed(piece, isChunked));
      if (each.at >= each.body.length && isChunked) each.socket.write("0\r\n\r\n");
    }
    if (left.length > 0) setImmediate(goOn);
  };
  const { url } = await rawServer((socket, bytes) => {
    const at = Number(/\/body\/(\d+)/.exec(bytes.toString())?.[1]);
    const body = bodies[at] as Buffer;
    socket.write(head(body, isChunked));
    waiting.push({ socket, body, at: 0 });
    if (waiting.length === bodies.length) goOn();
  });
  return url;
}

/** Both ways of reading a body whole. */
const WAYS: Readonly<Record<string, (reply: HttpReply) => Promise<string>>> = {
  text: (reply) => reply.text(MOST),
  textTo: async (reply) => {
    let text = "";
    await reply.textTo?.(MOST, (whole) => void (text = whole));
    return text;
  },
};

it.each([true, false].flatMap((isChunked) => Object.keys(WAYS).map((way) => ({ isChunked, way }))))(
  "bodies that come at the same time are each whole: $way, chunked: $isChunked",
  async ({ isChunked, way }) => {
    const lengths = [1, 0, -1].flatMap((more) => [1, 2, 3].map((rooms) => rooms * ROOM + more));
    const bodies = [...lengths, 10, 70 * ROOM + 5].map((bytes, at) => bodyOf(`body ${at}`, bytes));
    const requester = nodeRequester({});
    onTestFinished(() => requester.close());
    for (const pieceBytes of [ROOM, 100_003]) {
      const url = await served(bodies, isChunked, pieceBytes);
      const read = bodies.map(async (_, at) => {
        const reply = await requester.request({ method: "GET", url: `${url}/body/${at}`, headers: {} });
        return WAYS[way]?.(reply).catch((error: unknown) => error);
      });
      for (const [at, text] of (await Promise.all(read)).entries()) {
        const body = bodies[at] as Buffer;
        // What was cut within a character is no UTF-8.
        const isWhole = Buffer.from(body.toString("utf8"), "utf8").equals(body);
        if (isWhole) expect(text === body.toString("utf8"), `body ${at} of ${body.length} bytes`).toBe(true);
        else expect(text).toMatchObject({ code: "INVALID_RESPONSE" });
      }
    }
  },
);

it("a body that is cut leaves nothing of it in the next one", async () => {
  const whole = bodyOf("whole", 3 * ROOM)
    .toString("latin1")
    .replaceAll(/[^\n -~]/g, "?");
  let asked = 0;
  const { url } = await rawServer((socket) => {
    socket.write(`HTTP/1.1 200 OK\r\ncontent-length: ${whole.length}\r\n\r\n`);
    if (++asked === 1) return void socket.end("cut ".repeat(ROOM / 2));
    return void socket.write(whole);
  });
  const requester = nodeRequester({});
  onTestFinished(() => requester.close());
  const read = async (): Promise<string> => (await requester.request({ method: "GET", url, headers: {} })).text(MOST);
  await expect(read()).rejects.toMatchObject({ code: "OUTCOME_UNKNOWN" });
  expect(await read()).toBe(whole);
});

it("what throws while it takes the text is told to who reads", async () => {
  const { url } = await rawServer((socket) => socket.end("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok"));
  const requester = nodeRequester({});
  onTestFinished(() => requester.close());
  const reply = await requester.request({ method: "GET", url, headers: {} });
  const fault = new Error("not that");
  await expect(
    reply.textTo?.(MOST, () => {
      throw fault;
    }),
  ).rejects.toBe(fault);
});

it("what is kept of a body stays as it was until it is written, however many come after it", async () => {
  const bodies = Array.from({ length: 12 }, (_, at) =>
    Buffer.from(
      bodyOf(`kept ${at}`, 3 * ROOM + at)
        .toString("latin1")
        .replaceAll(/[^\n -~]/g, "?"),
    ),
  );
  const requester = nodeRequester({});
  onTestFinished(() => requester.close());
  const url = await served([...bodies, ...bodies], false, ROOM);
  const kept: TextBytes[] = [];
  const read = async (at: number, keeps: boolean): Promise<string> => {
    const reply = await requester.request({ method: "GET", url: `${url}/body/${at}`, headers: {} });
    let text = "";
    const shorten: Shortener["shorten"] = (body, part) => {
      if (!keeps) return undefined;
      const both = [part(0, ROOM), part(ROOM, body.length)];
      const [first, rest] = both as [TextBytes, TextBytes];
      // What is told twice is heard once: the rest is still kept.
      if (at < 6) for (const each of [first, first]) each.written?.();
      kept.push(...(at < 6 ? [rest] : both));
      return `shortened ${at}`;
    };
    await reply.textTo?.(MOST, (whole) => void (text = whole), { shorten });
    return text;
  };
  const texts = await Promise.all(Array.from({ length: 24 }, (_, at) => read(at, at < 12)));
  for (const [at, text] of texts.entries()) expect(text).toBe(at < 12 ? `shortened ${at}` : String(bodies[at - 12]));
  for (let round = 0; round < 3; round++) {
    const again = await served(bodies, true, ROOM);
    const later = bodies.map(async (_, at) =>
      (await requester.request({ method: "GET", url: `${again}/body/${at}`, headers: {} })).text(MOST),
    );
    expect((await Promise.all(later)).map((text, at) => text === String(bodies[at]))).not.toContain(false);
  }
  const all = kept.map(String).join("");
  for (const [at, body] of bodies.entries()) expect(all).toContain(String(at < 6 ? body.subarray(ROOM) : body));
});
