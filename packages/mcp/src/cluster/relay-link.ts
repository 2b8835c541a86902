// One connection between two processes: both show that they hold the key, and every frame is encrypted and authenticated in its
// order. What is forged, replayed, reordered or meant for another process ends the connection before anything of it is read.
import { createCipheriv, createDecipheriv, createHash, hkdfSync, randomBytes, timingSafeEqual } from "node:crypto";
import type { Duplex } from "node:stream";
import type { BodyReceiver, GoneListener, HeaderList, HttpExchange, HttpStream } from "../http/server/exchange.js";
import type { Identity, MessagePieces } from "../jsonrpc/transport.js";
import { LocalError } from "../jsonrpc/errors.js";
import { checkOptions, type OptionTable } from "../protocol/capabilities.js";
import { Detour } from "./detours.js";
import { type Fingerprint, type Fleet, lateAfter } from "./stores.js";

/** Marks the protocol and its version. */
const MAGIC = Buffer.from("mcp-relay-1\n");
const NONCE_BYTES = 32;
const TAG_BYTES = 16;
const HEAD_BYTES = 4;
/** The longest frame: a body or reply of the usual limits many times over. */
const MOST_BYTES: number = 64 * 1024 * 1024;
/** Before the other side has shown its key it may send a greeting and nothing longer. */
const GREETING_BYTES = 1_024;
/** Milliseconds for the greetings: two round trips between machines that are near each other. */
const GREETING_MS = 2_000;

/** What a frame is for. */
export const Frame = {
  Hello: 1,
  Request: 2,
  Gone: 3,
  Pause: 4,
  Resume: 5,
  Reply: 6,
  Open: 7,
  Chunk: 8,
  End: 9,
  Destroy: 10,
  Absent: 11,
  Ask: 12,
  Answer: 13,
  Refused: 14,
  Ping: 15,
  Pong: 16,
} as const;

export type FrameType = (typeof Frame)[keyof typeof Frame];

/** What a link tells its owner. */
export interface LinkListener {
  frame(type: FrameType, stream: number, text: string): void;
  /** Nothing will come or leave any more. Told once. */
  closed(): void;
}

interface Side {
  /** The name of this process. */
  readonly node: string;
  /** The first is used for calling, every one is accepted. */
  readonly keys: readonly Buffer[];
}

/** Both directions of one connection, once the greetings are done. */
export class Link {
  /** The other process. */
  readonly peer: string;
  listener: LinkListener | undefined;
  /** Letters carry it: a socket is better. */
  readonly detour: boolean;
  readonly #socket: Duplex;
  readonly #reader: FrameReader;
  readonly #sealer: Sealer;
  #closed = false;

  constructor(peer: string, socket: Duplex, { reader, sealer }: { reader: FrameReader; sealer: Sealer }) {
    this.peer = peer;
    this.#socket = socket;
    this.#reader = reader;
    this.#sealer = sealer;
    this.detour = socket instanceof Detour;
    if ("setNoDelay" in socket) (socket as { setNoDelay(on: boolean): void }).setNoDelay(true);
    reader.most = MOST_BYTES;
    reader.onFrame = (type, stream, text) => this.listener?.frame(type, stream, text);
    reader.onEnd = () => this.#end();
  }

  get closed(): boolean {
    return this.#closed;
  }

  /** Bytes the other process has not taken yet. */
  get unsent(): number {
    return this.#socket.writableLength;
  }

  send(type: FrameType, stream: number, text = ""): void {
    if (!this.#closed) this.#socket.write(this.#sealer.seal(type, stream, text));
  }

  /** Begins to read: set `listener` before. */
  start(): void {
    this.#reader.start();
  }

  close(): void {
    this.#socket.destroy();
    this.#end();
  }

  #end(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#socket.destroy();
    this.listener?.closed();
  }
}

/** Encrypts frames in one direction: the number of a frame is its nonce, so none can be left out, repeated or moved. */
class Sealer {
  readonly #key: Buffer;
  #count = 0;

  constructor(key: Buffer) {
    this.#key = key;
  }

  seal(type: FrameType, stream: number, text: string): Buffer {
    const cipher = createCipheriv("aes-256-gcm", this.#key, nonceOf(this.#count++));
    const head = Buffer.allocUnsafe(5);
    head.writeUInt8(type, 0);
    head.writeUInt32BE(stream, 1);
    const first = cipher.update(head);
    const second = cipher.update(text, "utf8");
    cipher.final();
    const length = Buffer.allocUnsafe(HEAD_BYTES);
    length.writeUInt32BE(first.length + second.length + TAG_BYTES, 0);
    return Buffer.concat([length, first, second, cipher.getAuthTag()]);
  }
}

function nonceOf(count: number): Buffer {
  const nonce = Buffer.alloc(12);
  nonce.writeBigUInt64BE(BigInt(count), 4);
  return nonce;
}

/** Takes bytes apart into frames and opens them. Whatever is wrong ends the connection without a word. */
class FrameReader {
  most: number = GREETING_BYTES;
  onFrame: (type: FrameType, stream: number, text: string) => void = () => undefined;
  onEnd: () => void = () => undefined;
  readonly #socket: Duplex;
  readonly #key: Buffer;
  #count = 0;
  #rest: Buffer[] = [];
  #bytes = 0;
  #started = false;

  constructor(socket: Duplex, key: Buffer, first: Buffer) {
    this.#socket = socket;
    this.#key = key;
    this.#add(first);
    socket.on("data", (chunk: Buffer) => {
      this.#add(chunk);
      if (this.#started) this.#read();
    });
    socket.on("error", () => this.onEnd());
    socket.on("close", () => this.onEnd());
    socket.resume();
  }

  start(): void {
    this.#started = true;
    this.#read();
  }

  /** Waits for one frame, for the greetings. */
  one(): Promise<{ readonly type: FrameType; readonly text: string }> {
    return new Promise((resolve, reject) => {
      this.onEnd = () => reject(new Error("The other process closed the connection"));
      this.onFrame = (type, _stream, text) => {
        this.#started = false;
        resolve({ type, text });
      };
      this.start();
    });
  }

  #add(chunk: Buffer): void {
    if (chunk.length === 0) return;
    this.#rest.push(chunk);
    this.#bytes += chunk.length;
  }

  #read(): void {
    while (this.#started && this.#bytes >= HEAD_BYTES) {
      if ((this.#rest[0] as Buffer).length < HEAD_BYTES) this.#join();
      const length = (this.#rest[0] as Buffer).readUInt32BE(0);
      if (length > this.most || length < TAG_BYTES + 5) return this.#fail();
      if (this.#bytes < HEAD_BYTES + length) return;
      this.#join();
      const all = this.#rest[0] as Buffer;
      const frame = all.subarray(HEAD_BYTES, HEAD_BYTES + length);
      const rest = all.subarray(HEAD_BYTES + length);
      this.#rest = rest.length === 0 ? [] : [rest];
      this.#bytes = rest.length;
      if (!this.#open(frame)) return this.#fail();
    }
  }

  #join(): void {
    if (this.#rest.length > 1) this.#rest = [Buffer.concat(this.#rest)];
  }

  #open(frame: Buffer): boolean {
    const end = frame.length - TAG_BYTES;
    const decipher = createDecipheriv("aes-256-gcm", this.#key, nonceOf(this.#count++));
    decipher.setAuthTag(frame.subarray(end));
    try {
      const plain = decipher.update(frame.subarray(0, end));
      decipher.final();
      this.onFrame(plain.readUInt8(0) as FrameType, plain.readUInt32BE(1), plain.toString("utf8", 5));
      return true;
    } catch {
      return false;
    }
  }

  #fail(): void {
    this.#started = false;
    this.#socket.destroy();
    this.onEnd();
  }
}

interface Keys {
  readonly called: Buffer;
  readonly calling: Buffer;
}

/** One key a direction, new for every connection: nothing of another connection can be used in it. */
function connectionKeys(key: Buffer, calling: Buffer, called: Buffer): Keys {
  const salt = Buffer.concat([calling, called]);
  const derive = (direction: string): Buffer => Buffer.from(hkdfSync("sha256", key, salt, `relay ${direction}`, 32));
  return { calling: derive("calling"), called: derive("called") };
}

/** Which of the keys is meant: both sides may hold two while keys are rotated. */
function keyName(key: Buffer): Buffer {
  return Buffer.from(hkdfSync("sha256", key, "", "relay key name", 8));
}

/** Calls another process over a socket that is connected. Rejects when it is not the process it should be. */
export async function greet(socket: Duplex, self: Side, peer: string): Promise<Link> {
  const [key] = self.keys as readonly [Buffer];
  const calling = randomBytes(NONCE_BYTES);
  socket.write(Buffer.concat([MAGIC, keyName(key), calling]));
  const called = await withinTime(socket, readBytes(socket, NONCE_BYTES));
  const keys = connectionKeys(key, calling, called.head);
  const reader = new FrameReader(socket, keys.called, called.rest);
  const sealer = new Sealer(keys.calling);
  socket.write(sealer.seal(Frame.Hello, 0, JSON.stringify([self.node, peer])));
  const hello = await withinTime(socket, reader.one());
  if (hello.type !== Frame.Hello || hello.text !== JSON.stringify([peer, self.node])) {
    socket.destroy();
    throw new Error("Another process answers at this address");
  }
  return new Link(peer, socket, { reader, sealer });
}

/** Answers a process that calls. Rejects, with the socket destroyed, for whoever does not hold the key. */
export async function welcome(socket: Duplex, self: Side): Promise<Link> {
  const greeting = await withinTime(socket, readBytes(socket, MAGIC.length + 8 + NONCE_BYTES));
  const name = greeting.head.subarray(MAGIC.length, MAGIC.length + 8);
  const key = self.keys.find((each) => timingSafeEqual(keyName(each), name));
  if (key === undefined || !greeting.head.subarray(0, MAGIC.length).equals(MAGIC)) {
    socket.destroy();
    throw new Error("A stranger called");
  }
  const called = randomBytes(NONCE_BYTES);
  const keys = connectionKeys(key, greeting.head.subarray(MAGIC.length + 8), called);
  const reader = new FrameReader(socket, keys.calling, greeting.rest);
  const sealer = new Sealer(keys.called);
  socket.write(called);
  const hello = await withinTime(socket, reader.one());
  const [peer, meant] = (hello.type === Frame.Hello ? JSON.parse(hello.text) : []) as readonly string[];
  if (peer === undefined || meant !== self.node) {
    socket.destroy();
    throw new Error(`The process ${peer ?? "?"} called, which looks for another one: ${meant ?? "?"}`);
  }
  socket.write(sealer.seal(Frame.Hello, 0, JSON.stringify([self.node, peer])));
  return new Link(peer, socket, { reader, sealer });
}

function readBytes(socket: Duplex, count: number): Promise<{ readonly head: Buffer; readonly rest: Buffer }> {
  return new Promise((resolve, reject) => {
    let all: Buffer = Buffer.alloc(0);
    const fail = (): void => reject(new Error("The other process closed the connection"));
    const take = (chunk: Buffer): void => {
      all = Buffer.concat([all, chunk]);
      if (all.length < count) return;
      socket.pause();
      socket.off("data", take).off("error", fail).off("close", fail);
      resolve({ head: all.subarray(0, count), rest: all.subarray(count) });
    };
    socket.on("data", take).on("error", fail).on("close", fail);
  });
}

function withinTime<T>(socket: Duplex, step: Promise<T>): Promise<T> {
  const inTime = lateAfter(GREETING_MS, () =>
    socket.destroy(new Error("The other process did not answer the greeting")),
  );
  return step.finally(inTime);
}

// A request as it arrives over a connection: an exchange like any other.

/** Everything of a request but its body. Plain JSON. */
export interface RelayedHead {
  readonly method: string;
  readonly path: string;
  readonly query: string;
  readonly principal?: string | undefined;
  readonly identity?: Identity | undefined;
  readonly address?: string | undefined;
  /** The session it is for; the process that has it not says so. */
  readonly session?: string | undefined;
  /** The process that sends it is ending and has let go of the session: whoever gets this takes it over. */
  readonly ending?: boolean | undefined;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
}

/** Characters of a reply that goes in one frame: those of the longest message by default. */
const WHOLE: number = 4 * 1024 * 1024;

/** The way back. */
interface Back {
  send(type: FrameType, text?: string): void;
  /** Bytes the other process has not taken yet. */
  unsent(): number;
  /** Told once nothing will be sent any more. */
  over(): void;
}

export class RelayedExchange implements HttpExchange, HttpStream {
  readonly relayed = true;
  readonly method: string;
  readonly path: string;
  readonly query: string;
  readonly address: string | undefined;
  readonly connection: undefined;
  principal: string | undefined;
  identity: Identity | undefined;
  pass: HttpExchange["pass"];
  extra: HeaderList | undefined;
  onGone: GoneListener | undefined;
  onOver: GoneListener | undefined;
  onDrain: (() => void) | undefined;
  readonly #headers: RelayedHead["headers"];
  readonly #body: string;
  readonly #back: Back;
  #over = false;
  #paused = false;
  /** Bytes written since the reader fell behind. */
  #held = 0;

  constructor(head: RelayedHead, body: string, back: Back) {
    this.method = head.method;
    this.path = head.path;
    this.query = head.query;
    this.address = head.address;
    this.principal = head.principal;
    this.identity = head.identity;
    this.#headers = head.headers;
    this.#body = body;
    this.#back = back;
  }

  get over(): boolean {
    return this.#over;
  }

  get buffered(): number {
    return this.#paused ? this.#held : this.#back.unsent();
  }

  get allHeaders(): RelayedHead["headers"] {
    return this.#headers;
  }

  header(name: string): string | undefined {
    const value = this.#headers[name];
    return typeof value === "object" ? value.join(", ") : value;
  }

  /** The body came with the head. */
  readBody(limit: number, receiver: BodyReceiver): void {
    if (Buffer.byteLength(this.#body) > limit) receiver.bodyFault(this, "too-long");
    else receiver.body(this, this.#body);
  }

  reply(status: number, headers: HeaderList, body: string | MessagePieces = ""): void {
    if (this.#over) return;
    const text = typeof body === "string" ? body : textOf(body);
    if (text.length > WHOLE) return this.#replyInPieces(status, headers, text);
    this.#back.send(Frame.Reply, `${JSON.stringify({ status, headers: this.#all(headers) })}\n${text}`);
    this.#end();
  }

  open(status: number, headers: HeaderList): HttpStream {
    if (!this.#over) this.#back.send(Frame.Open, JSON.stringify({ status, headers: this.#all(headers) }));
    return this;
  }

  write(text: string): boolean {
    if (this.#over) return true;
    this.#inPieces(text);
    if (this.#paused) this.#held += text.length;
    return !this.#paused;
  }

  end(): void {
    if (this.#over) return;
    this.#back.send(Frame.End);
    this.#end();
    this.onDrain?.();
  }

  destroy(): void {
    if (this.#over) return;
    this.#back.send(Frame.Destroy);
    this.#end();
    this.onGone?.gone();
  }

  /** The reader is behind: writers wait from now on. */
  pause(): void {
    this.#paused = true;
  }

  resume(): void {
    this.#paused = false;
    this.#held = 0;
    this.onDrain?.();
  }

  /** The client, or the process between, has gone. */
  gone(): void {
    if (this.#over) return;
    this.#end();
    this.onGone?.gone();
  }

  /** A long one goes on as it is written, so that nothing else on the connection waits for all of it. */
  #replyInPieces(status: number, headers: HeaderList, text: string): void {
    this.open(status, headers);
    this.#inPieces(text);
    this.end();
  }

  /** None is longer than a frame may be, whatever a tool says: the other side would end all that this connection carries. */
  #inPieces(text: string): void {
    for (let at = 0; at < text.length;) {
      // Half of a character would not survive being encoded alone.
      const cut = at + WHOLE;
      const end = isSecondHalf(text.charCodeAt(cut)) ? cut + 1 : cut;
      this.#back.send(Frame.Chunk, text.slice(at, end));
      at = end;
    }
  }

  #end(): void {
    this.#over = true;
    this.#back.over();
    this.onOver?.gone();
  }

  #all(headers: HeaderList): HeaderList {
    return this.extra === undefined ? headers : [...headers, ...this.extra];
  }
}

function isSecondHalf(unit: number): boolean {
  return unit >= 0xdc00 && unit <= 0xdfff;
}

function textOf(pieces: MessagePieces): string {
  return Buffer.concat(pieces.map((piece) => Buffer.from(piece as string))).toString("utf8");
}

/** How a process shares with others. */
export interface ShareOptions {
  /**
   * 32 random bytes that all processes of the server have and nobody else, as bytes or in base64: they prove to each other that
   * they belong together, and nothing is kept where others could read it without. Several while keys are changed: the first is
   * used, all are accepted.
   */
  readonly key: ShareKey | readonly ShareKey[];
  /**
   * Where the other processes reach this one: `tcp://10.0.0.5:3001`, or `unix:///run/mcp/one.sock` on one machine. Port 0: one
   * that is free. Default `tcp://127.0.0.1:0`: other processes of this machine.
   */
  readonly address?: string;
  /**
   * The name of this process in ids, for balancers that read it: 1 to 32 small letters and digits. Default: a random one. A process
   * that is started in place of another needs another name: what is asked of the one that has ended would be asked of it.
   */
  readonly node?: string;
  /**
   * A fingerprint of what has to be the same in all processes, such as a policy: others are refused. Several, such as one for each
   * key: equal where any of them is. A function where it may change while the process runs.
   */
  readonly policy?: Fingerprint | (() => Fingerprint);
  /** Fingerprints of what `policy` is made of, by the names people know them by: a refusal names those that differ. */
  readonly parts?: () => Readonly<Record<string, Fingerprint>>;
}

/** The members of `ShareOptions`. */
export const SHARE_MEMBERS: OptionTable<ShareOptions> = {
  key: "any",
  address: "text",
  node: "text",
  policy: ["text", "texts", "function"],
  parts: "function",
};

/** Stands for options that were not given. */
export const NO_OPTIONS = {} as ShareOptions;

/** Throws BAD_SHARE for stores that are none and options that are none. */
export function checkShare(given: unknown, options: ShareOptions): void {
  const { open, then } = Object(given) as { readonly open?: unknown; readonly then?: unknown };
  if (typeof then === "function")
    throw badShare("shareOver(stores, options) was given a promise of the stores: await it first");
  if (typeof open !== "function")
    throw badShare(
      "shareOver(stores, options) takes the stores first: redisStores(target, { key }), memoryStores(), or some of your own with open()",
    );
  if (options === NO_OPTIONS)
    throw badShare(
      "shareOver(stores, options) needs options: { key } of 32 random bytes, the same in all processes (make one with: openssl rand -base64 32)",
    );
  checkOptions("shareOver(stores, options)", options, SHARE_MEMBERS);
}

/** 32 bytes, or their base64. */
export type ShareKey = Uint8Array | string;

/** Keys as bytes. Throws BAD_SHARE for one that is not 32 bytes long. */
export function keysOf(key: ShareKey | readonly ShareKey[]): readonly Buffer[] {
  const all: readonly unknown[] = Array.isArray(key) ? key : [key];
  if (all.length === 0) throw badShare("key needs 32 random bytes, the same in all processes");
  return all.map((each) => {
    // A variable that is not set is as good as an empty one.
    const bytes =
      each instanceof Uint8Array ? Buffer.from(each) : Buffer.from(typeof each === "string" ? each : "", "base64");
    if (bytes.length === 32) return bytes;
    throw badShare(
      `key must be 32 bytes, or their base64: it has ${bytes.length} (make one with: openssl rand -base64 32)`,
    );
  });
}

export function badShare(what: string): LocalError {
  return new LocalError("BAD_SHARE", `share: ${what}`);
}

/** What processes have to have in common, as `SharedStores.open` takes it. Throws BAD_SHARE for a key that is none. */
export function fleetOf(
  key: ShareKey | readonly ShareKey[],
  policy?: Fingerprint | (() => Fingerprint),
  parts?: () => Fleet["parts"],
): Fleet {
  return {
    keys: keysOf(key).map(fingerprintOf),
    get policy() {
      return typeof policy === "function" ? policy() : policy;
    },
    get parts() {
      return parts?.();
    },
  };
}

/** Tells keys apart without saying anything of them. */
function fingerprintOf(key: Buffer): string {
  return createHash("sha256")
    .update(Buffer.from(hkdfSync("sha256", key, "", "fleet", 32)))
    .digest("base64url")
    .slice(0, 16);
}

/** A name for a process. */
export function newName(): string {
  return BigInt(`0x${randomBytes(6).toString("hex")}`)
    .toString(36)
    .padStart(10, "0");
}
