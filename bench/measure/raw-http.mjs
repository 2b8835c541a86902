// An HTTP/1.1 client that costs as little as possible: prepared requests on keep-alive connections, replies cut by hand.
import { connect } from "node:net";

const HEAD_END = Buffer.from("\r\n\r\n");
const LAST_CHUNK = "0\r\n\r\n";
/** A server that says nothing for this long has failed. */
const SILENCE_MS = 30_000;

/** One keep-alive connection with one request at a time. */
export class HttpConnection {
  #socket;
  #parts = [];
  #bytes = 0;
  /** Bytes the reply has in all, once its head says so. */
  #whole = -1;
  #onReply;
  #onFault;

  constructor(port, host = "127.0.0.1") {
    this.#socket = connect({ port, host, noDelay: true });
    this.#socket.on("data", (chunk) => this.#take(chunk));
    this.#socket.on("error", (error) => this.#fault(error));
    this.#socket.on("close", () => this.#fault(new Error("the server closed the connection")));
    this.#socket.setTimeout(SILENCE_MS, () => {
      if (this.#onFault !== undefined) this.#socket.destroy(new Error(`no answer for ${SILENCE_MS / 1000} s`));
    });
  }

  /** Sends a whole request; `onReply` gets the reply's bytes, head included. */
  send(request, onReply, onFault) {
    this.#onReply = onReply;
    this.#onFault = onFault;
    this.#socket.write(request, "latin1");
  }

  /** Sends a request and resolves to `{ status, head, body }`. */
  exchange(request) {
    return new Promise((resolve, reject) => this.send(request, (bytes) => resolve(readReply(bytes)), reject));
  }

  destroy() {
    this.#onFault = undefined;
    this.#socket.destroy();
  }

  #take(chunk) {
    this.#parts.push(chunk);
    this.#bytes += chunk.length;
    if (this.#whole === -1) this.#whole = this.#wholeLength();
    if (this.#whole === -1) return;
    if (this.#whole === undefined ? !this.#endsWithLastChunk() : this.#bytes < this.#whole) return;
    const reply = this.#parts.length === 1 ? chunk : Buffer.concat(this.#parts);
    this.#parts = [];
    this.#bytes = 0;
    this.#whole = -1;
    const onReply = this.#onReply;
    this.#onReply = this.#onFault = undefined;
    onReply?.(reply);
  }

  /** Bytes of head and body; -1 while the head is not whole, undefined for a reply in chunks. */
  #wholeLength() {
    if (this.#parts.length > 1) this.#parts = [Buffer.concat(this.#parts)];
    const end = this.#parts[0].indexOf(HEAD_END);
    if (end === -1) return -1;
    const head = this.#parts[0].latin1Slice(0, end);
    const length = /\r\ncontent-length: *(\d+)/i.exec(head)?.[1];
    if (length !== undefined) return end + 4 + Number(length);
    return /\r\ntransfer-encoding: *chunked/i.test(head) ? undefined : end + 4;
  }

  #endsWithLastChunk() {
    const last = this.#parts.at(-1);
    const tail = last.length >= 5 ? last : Buffer.concat(this.#parts.slice(-3));
    return tail.latin1Slice(tail.length - 5) === LAST_CHUNK;
  }

  #fault(error) {
    const onFault = this.#onFault;
    this.#onReply = this.#onFault = undefined;
    onFault?.(error);
  }
}

/** A reply's bytes as `{ status, head, body }`: `head` is text with lower-case names, `body` text with chunks joined. */
export function readReply(bytes) {
  const end = bytes.indexOf(HEAD_END);
  const head = bytes.latin1Slice(0, end);
  const chunked = /\r\ntransfer-encoding: *chunked/i.test(head);
  const body = chunked ? joinChunks(bytes, end + 4) : bytes.utf8Slice(end + 4);
  return { status: Number(head.slice(9, 12)), head, body };
}

/** The value of a header, undefined when it is missing. */
export function headerOf({ head }, name) {
  return new RegExp(`\\r\\n${name}: *([^\\r]*)`, "i").exec(head)?.[1];
}

/** The JSON-RPC message of a reply in JSON, or the last one of a reply that is a stream. */
export function messageOf(reply) {
  const { status, body } = reply;
  const isStream = headerOf(reply, "content-type")?.startsWith("text/event-stream");
  const text = isStream ? /(?:^|\n)data: ?(\{[^\n]*)\s*$/.exec(body)?.[1] : body;
  try {
    return JSON.parse(text);
  } catch {
    throw new Error(`status ${status} with ${body === "" ? "no body" : `the body ${body.slice(0, 200)}`}`);
  }
}

function joinChunks(bytes, from) {
  const parts = [];
  for (let at = from; ;) {
    const lineEnd = bytes.indexOf("\r\n", at, "latin1");
    const size = Number.parseInt(bytes.latin1Slice(at, lineEnd), 16);
    if (!(size > 0)) return Buffer.concat(parts).toString("utf8");
    parts.push(bytes.subarray(lineEnd + 2, lineEnd + 2 + size));
    at = lineEnd + 2 + size + 2;
  }
}
