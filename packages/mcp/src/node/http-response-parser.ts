// Reads responses of HTTP/1.1 and 1.0 from bytes as they come, and refuses what two readers could take for two things.

/** Of one response: its final head, the interim ones before it, chunk extensions and trailers. Real replies have 2 KB. */
export const HEADER_BYTES: number = 32 * 1024;
/** A reply has twenty; each that is kept costs two strings. */
const MOST_HEADERS = 1_000;
/** Hexadecimal digits of a chunk's length: as many as a number holds exactly. */
const CHUNK_DIGITS = 13;
/** Decimal digits of a content length, likewise. */
const LENGTH_DIGITS = 15;
/** What a head that comes in pieces is kept in at first: most heads are no longer. */
const FIRST_BYTES = 1_024;

const CR = 13;
const LF = 10;
const BLANK_LINE = Buffer.from("\r\n\r\n", "latin1");
const BEGINNING = "HTTP/1.";
const NAME = "[!#$%&'*+\\-.^_`|~0-9A-Za-z]+";
const VALUE = "[\\t\\x20-\\x7e\\x80-\\xff]*";
const HEAD = new RegExp(`^HTTP/1\\.[01] [1-9]\\d\\d(?: ${VALUE})?\\r\\n(?:${NAME}:${VALUE}\\r\\n)*\\r\\n$`);
const TRAILER = new RegExp(`^${NAME}:${VALUE}$`);
const CHUNK = new RegExp(`^([0-9a-fA-F]{1,${CHUNK_DIGITS}})(?:;${NAME}(?:=${NAME})?)*$`);
/** With the blanks around it, of which Node takes no tab behind it. */
const LENGTH = new RegExp(`^[ \\t]*\\d{1,${LENGTH_DIGITS}} *$`);
/** What decides where a message ends has no place behind it. */
const FRAMING: ReadonlySet<string> = new Set(["content-length", "transfer-encoding"]);

/** The bytes are no HTTP response, or none that can be read in one way only. */
export class ResponseFault extends Error {
  override readonly name: string = "ResponseFault";
  /** Its headers are longer than any that means well. */
  readonly overflow: boolean;

  constructor(message: string, overflow = false) {
    super(message);
    this.overflow = overflow;
  }
}

export interface ResponseHead {
  readonly status: number;
  /** Names in lower case, each followed by its value. */
  readonly headers: readonly string[];
  /** Bytes of the body; undefined where that is not known before. */
  readonly length: number | undefined;
  /** Another request may follow on the connection. */
  readonly keepAlive: boolean;
}

/** Is told of one response. */
export interface ResponseSink {
  /** The final head; for a change of protocol (101) nothing follows. */
  head(head: ResponseHead): void;
  /** A piece of the body: to be copied by who keeps it. */
  body(bytes: Buffer): void;
  /** The body is whole. */
  end(): void;
}

// What is read next.
const HEAD_BYTES = 0;
const LENGTH_BODY = 1;
const BODY_TO_THE_END = 2;
const CHUNK_SIZE = 3;
const CHUNK_DATA = 4;
const CHUNK_END = 5;
const TRAILERS = 6;
const NOTHING = 7;

export class ResponseParser {
  readonly #sink: ResponseSink;
  #state: number = NOTHING;
  #isHead = false;
  /** Bytes of a head that has not ended, and how many they are. */
  #partial: Buffer | undefined;
  #kept = 0;
  /** Text of a line of the chunked coding that has not ended. */
  #line = "";
  /** Bytes of heads, extensions and trailers so far. */
  #spent = 0;
  /** Bytes of the body, or of the chunk, that are still to come. */
  #left = 0;

  constructor(sink: ResponseSink) {
    this.#sink = sink;
  }

  /** A response is over, or none was expected: what comes now belongs to nothing. */
  get done(): boolean {
    return this.#state === NOTHING;
  }

  /** The next bytes are the response to a request of this method. */
  begin(method: string): void {
    this.#state = HEAD_BYTES;
    this.#isHead = method === "HEAD";
    this.#partial = undefined;
    this.#kept = 0;
    this.#spent = 0;
    this.#line = "";
  }

  /** Reads no more. */
  stop(): void {
    this.#state = NOTHING;
    this.#partial = undefined;
  }

  /** Takes bytes in; false: there were more than the response has. Throws a ResponseFault. */
  push(bytes: Buffer): boolean {
    let at = 0;
    while (at < bytes.length) {
      if (this.#state === NOTHING) return false;
      at = this.#step(bytes, at);
    }
    return true;
  }

  /** No more bytes come; false: the response was cut. */
  finish(): boolean {
    if (this.#state !== BODY_TO_THE_END) return false;
    this.#end();
    return true;
  }

  #step(bytes: Buffer, at: number): number {
    switch (this.#state) {
      case HEAD_BYTES:
        return this.#pushHead(bytes, at);
      case LENGTH_BODY:
        return this.#pushBody(bytes, at);
      case CHUNK_DATA:
        return this.#pushChunk(bytes, at);
      case CHUNK_SIZE:
      case CHUNK_END:
      case TRAILERS:
        return this.#pushLine(bytes, at);
      default:
        this.#sink.body(at === 0 ? bytes : bytes.subarray(at));
        return bytes.length;
    }
  }

  #end(): void {
    this.#state = NOTHING;
    this.#sink.end();
  }

  #pushHead(bytes: Buffer, at: number): number {
    if (this.#partial !== undefined) return this.#pushPartial(bytes, at);
    const blank = bytes.indexOf(BLANK_LINE, at);
    if (blank < 0) return this.#pushPartial(bytes, at);
    const end = blank + BLANK_LINE.length;
    this.#spend(end - at);
    this.#readHead(bytes.toString("latin1", at, end));
    return end;
  }

  /** A head in pieces. What can become none is refused at once: its sender may wait for us to say something. */
  #pushPartial(bytes: Buffer, at: number): number {
    const before = this.#kept;
    const most = Math.min(bytes.length - at, HEADER_BYTES - this.#spent - before + 1);
    const partial = this.#room(before + most);
    bytes.copy(partial, before, at, at + most);
    this.#kept = before + most;
    const blank = partial.subarray(0, this.#kept).indexOf(BLANK_LINE, Math.max(0, before - BLANK_LINE.length + 1));
    const end = blank < 0 ? this.#kept : blank + BLANK_LINE.length;
    checkBytes(partial, before, end);
    if (blank < 0) {
      if (this.#spent + this.#kept > HEADER_BYTES) throw overflow();
      return at + most;
    }
    this.#spend(end);
    this.#partial = undefined;
    this.#kept = 0;
    this.#readHead(partial.toString("latin1", 0, end));
    return at + end - before;
  }

  #room(bytes: number): Buffer {
    const partial = this.#partial;
    if (partial !== undefined && partial.length >= bytes) return partial;
    const grown = Buffer.allocUnsafe(Math.max(bytes, 2 * (partial?.length ?? 0), FIRST_BYTES));
    partial?.copy(grown, 0, 0, this.#kept);
    return (this.#partial = grown);
  }

  #spend(bytes: number): void {
    this.#spent += bytes;
    if (this.#spent > HEADER_BYTES) throw overflow();
  }

  #readHead(text: string): void {
    if (!HEAD.test(text)) throw new ResponseFault("The head is not what HTTP/1.1 says");
    const status = Number(text.slice(9, 12));
    const headers = headersOf(text);
    const { length, chunked, keepAlive } = framingOf(headers, text.charCodeAt(7) === 48);
    if (status < 200 && status !== 101) {
      if (keepAlive && !chunked && length === undefined) return;
      throw new ResponseFault("An interim response says that nothing follows it, or that a body does");
    }
    const empty = this.#isHead || status === 204 || status === 304 || status === 101;
    // A body where none may be is one to some readers and the next response to others.
    const sure = status === 204 ? !chunked && (length ?? 0) === 0 : empty || chunked || length !== undefined;
    this.#state = empty ? NOTHING : chunked ? CHUNK_SIZE : length === undefined ? BODY_TO_THE_END : LENGTH_BODY;
    this.#left = length ?? 0;
    this.#sink.head({ status, headers, length: empty ? 0 : length, keepAlive: keepAlive && sure && status !== 101 });
    if (status === 101) return;
    if (empty || (this.#state === LENGTH_BODY && length === 0)) this.#end();
  }

  #pushBody(bytes: Buffer, at: number): number {
    const end = Math.min(bytes.length, at + this.#left);
    this.#left -= end - at;
    const whole = this.#left === 0;
    this.#sink.body(bytes.subarray(at, end));
    if (whole && this.#state === LENGTH_BODY) this.#end();
    return end;
  }

  #pushChunk(bytes: Buffer, at: number): number {
    const end = Math.min(bytes.length, at + this.#left);
    this.#left -= end - at;
    if (this.#left === 0) this.#state = CHUNK_END;
    this.#sink.body(bytes.subarray(at, end));
    return end;
  }

  #pushLine(bytes: Buffer, at: number): number {
    const lf = bytes.indexOf(LF, at);
    const end = lf < 0 ? bytes.length : lf;
    if (this.#line.length + end - at > HEADER_BYTES - this.#spent) throw overflow();
    const line = this.#line + bytes.toString("latin1", at, end);
    if (lf < 0) {
      // A line this far wrong can become none: what follows is not waited for.
      if (/\r[\s\S]/.test(line) || (this.#state === CHUNK_END && line !== "\r")) throw badChunk();
      this.#line = line;
      return end;
    }
    this.#line = "";
    if (line.charCodeAt(line.length - 1) !== CR) throw badChunk();
    this.#takeLine(line.slice(0, -1));
    return end + 1;
  }

  #takeLine(line: string): void {
    if (this.#state === CHUNK_END) {
      if (line !== "") throw badChunk();
      this.#state = CHUNK_SIZE;
    } else if (this.#state === CHUNK_SIZE) this.#takeSize(line);
    else if (line === "") this.#end();
    else {
      this.#spend(line.length);
      const name = line.slice(0, Math.max(0, line.indexOf(":"))).toLowerCase();
      if (!TRAILER.test(line) || FRAMING.has(name)) throw new ResponseFault("A trailer is not what HTTP/1.1 says");
    }
  }

  #takeSize(line: string): void {
    const [, digits] = CHUNK.exec(line) ?? [];
    if (digits === undefined) throw badChunk();
    this.#spend(line.length - digits.length);
    this.#left = Number.parseInt(digits, 16);
    this.#state = this.#left === 0 ? TRAILERS : CHUNK_DATA;
  }
}

function overflow(): ResponseFault {
  return new ResponseFault(`The headers are longer than ${HEADER_BYTES} bytes`, true);
}

function oddLength(): ResponseFault {
  return new ResponseFault("Its length can be read in two ways");
}

function badChunk(): ResponseFault {
  return new ResponseFault("A chunk is not what HTTP/1.1 says");
}

/** Looks at the bytes of a head that came last, from `before` on: how it begins, and where its lines end. */
function checkBytes(partial: Buffer, before: number, end: number): void {
  const known = Math.min(end, BEGINNING.length);
  if (partial.toString("latin1", 0, known) !== BEGINNING.slice(0, known)) throw new ResponseFault("It is not HTTP/1");
  for (let at = Math.max(1, before); at < end; at++) {
    if ((partial[at] === LF) !== (partial[at - 1] === CR)) throw new ResponseFault("A line ends in half a line end");
  }
}

function headersOf(text: string): string[] {
  const headers: string[] = [];
  let at = text.indexOf("\r\n") + 2;
  while (at < text.length - 2) {
    const colon = text.indexOf(":", at);
    const end = text.indexOf("\r\n", colon);
    const name = text.slice(at, colon).toLowerCase();
    if (name === "content-length" && !LENGTH.test(text.slice(colon + 1, end))) throw oddLength();
    headers.push(name, withoutBlanks(text, colon + 1, end));
    at = end + 2;
  }
  if (headers.length > 2 * MOST_HEADERS) throw overflow();
  return headers;
}

function withoutBlanks(text: string, from: number, to: number): string {
  let [start, end] = [from, to];
  while (start < end && isBlank(text.charCodeAt(start))) start++;
  while (end > start && isBlank(text.charCodeAt(end - 1))) end--;
  return text.slice(start, end);
}

function isBlank(code: number): boolean {
  return code === 32 || code === 9;
}

interface Framing {
  readonly length: number | undefined;
  readonly chunked: boolean;
  readonly keepAlive: boolean;
}

/** Where the body ends, and whether the connection goes on. Throws where that can be read in more than one way. */
function framingOf(headers: readonly string[], isOld: boolean): Framing {
  let length: number | undefined;
  let chunked = false;
  let options = "";
  for (let at = 0; at < headers.length; at += 2) {
    const value = headers[at + 1] as string;
    switch (headers[at]) {
      case "content-length":
        if (length !== undefined) throw oddLength();
        length = Number(value);
        break;
      case "transfer-encoding":
        if (chunked || isOld || value.toLowerCase() !== "chunked") throw new ResponseFault("Its coding is not known");
        chunked = true;
        break;
      case "connection":
        options += `,${value}`;
        break;
      default:
    }
  }
  if (chunked && length !== undefined) throw new ResponseFault("It has a length and is chunked");
  return { length, chunked, keepAlive: keepsAlive(options, !isOld) };
}

/** "close" goes before all else. */
function keepsAlive(options: string, byDefault: boolean): boolean {
  if (options === "" || options === ",keep-alive") return byDefault || options !== "";
  const all = options
    .toLowerCase()
    .split(",")
    .map((option) => option.trim());
  return !all.includes("close") && (byDefault || all.includes("keep-alive"));
}
