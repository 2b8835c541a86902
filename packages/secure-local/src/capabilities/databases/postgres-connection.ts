// One connection to a PostgreSQL server: its URL, encryption, authentication, and statements one at a time.

import { Buffer } from "node:buffer";
import { createHash, createHmac, pbkdf2, randomBytes, timingSafeEqual } from "node:crypto";
import type { Socket } from "node:net";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { promisify } from "node:util";
import { READ_AT_ONCE } from "../../audit/owned-files.js";
import { DatabaseError } from "./databases.js";
import { isAbsolute } from "node:path";

export type Encryption = "none" | "if-offered" | "unverified" | "verified";

export interface PostgresUrl {
  readonly host: string;
  readonly port: number;
  readonly user: string;
  readonly password: string;
  readonly database: string;
  readonly encryption: Encryption;
  /** `sslrootcert`: the file with the certificates that are trusted instead of the system's. */
  readonly authorities: string | undefined;
  /** `channel_binding`: whether the authentication has to be bound to the encryption; by default it is where it can be. */
  readonly binding: "disable" | "prefer" | "require";
}

const MODES: ReadonlyMap<string, Encryption> = new Map([
  ["disable", "none"],
  ["allow", "if-offered"],
  ["prefer", "if-offered"],
  ["require", "unverified"],
  ["verify-ca", "verified"],
  ["verify-full", "verified"],
]);
const LOOPBACK = /^(?:localhost|127(?:\.\d{1,3}){3}|::1)$/;

const BINDINGS = ["disable", "prefer", "require"] as const;
const OPTIONS: ReadonlySet<string> = new Set(["sslmode", "sslrootcert", "channel_binding"]);

/** A sentence about what is wrong, or the parts. Without `sslmode`: verified, and none for this machine. */
export function parsePostgresUrl(text: string): PostgresUrl | string {
  let url: URL;
  try {
    url = new URL(text.trim());
  } catch {
    return "it is no URL";
  }
  if (!["postgresql:", "postgres:"].includes(url.protocol)) return "it does not begin with postgresql://";
  const host = url.hostname.startsWith("[") ? url.hostname.slice(1, -1) : url.hostname.toLowerCase();
  if (host === "") return "it names no host";
  const options = optionsOf(url.searchParams, host);
  if (typeof options === "string") return options;
  try {
    const user = decodeURIComponent(url.username);
    const database = decodeURIComponent(url.pathname.slice(1)) || user;
    if (user === "" || `${user}${database}`.includes("\0")) return "it names no user";
    const port = url.port === "" ? 5_432 : Number(url.port);
    return { host, port, user, password: decodeURIComponent(url.password), database, ...options };
  } catch {
    return "it has a % that is no escape";
  }
}

function optionsOf(
  given: URLSearchParams,
  host: string,
): Pick<PostgresUrl, "encryption" | "authorities" | "binding"> | string {
  for (const name of given.keys())
    if (!OPTIONS.has(name)) return `it has options other than ${[...OPTIONS].join(", ")}`;
  const mode = given.get("sslmode");
  const authorities = given.get("sslrootcert") ?? undefined;
  const implied = LOOPBACK.test(host) && authorities === undefined ? "none" : "verified";
  // As elsewhere: who names certificates wants them to be looked at.
  const named = mode === "require" && authorities !== undefined ? "verified" : MODES.get(mode ?? "");
  const encryption = mode === null ? implied : named;
  if (encryption === undefined) return "its sslmode is unknown";
  if (authorities !== undefined && !isAbsolute(authorities)) return "its sslrootcert is no absolute path";
  const asked = given.get("channel_binding") ?? "prefer";
  const binding = BINDINGS.find((one) => one === asked);
  return binding === undefined ? "its channel_binding is unknown" : { encryption, authorities, binding };
}

export function isLoopbackHost(host: string): boolean {
  return LOOPBACK.test(host);
}

interface RowColumn {
  readonly name: string;
  /** The object id of its type. */
  readonly type: number;
}

export interface FoundTexts {
  readonly columns: readonly RowColumn[];
  /** Each cell as PostgreSQL writes it. */
  readonly rows: readonly (readonly (string | null)[])[];
  /** Whether there are more than were asked for. */
  readonly more: boolean;
}

/** Its own words may name users and databases. Who is not let in hears no reason; these come when that is settled. */
const REFUSED_US: Readonly<Record<string, string>> = {
  "3D000": "the server has no database of the name in the secret's URL",
  "53300": "the server takes no more connections now",
  "57P03": "the server is starting or shutting down: try again",
};

function refusal(code: string | undefined): Error {
  return new Error(REFUSED_US[code ?? ""] ?? "the server refused to let us in");
}

const PROTOCOL = 196_608;
const CANCEL_REQUEST = 80_877_102;

export class PostgresConnection {
  readonly #socket: Socket;
  readonly #frames: FrameReader;
  #key: Buffer | undefined;
  #stopped = false;
  #busy = false;

  private constructor(socket: Socket) {
    this.#socket = socket;
    this.#frames = new FrameReader(socket);
  }

  /** @throws Error whose message holds nothing secret */
  static async open(plain: Socket, url: PostgresUrl): Promise<PostgresConnection> {
    const link = await encrypted(plain, url);
    const { socket } = link;
    const connection = new PostgresConnection(socket);
    const names = ["user", url.user, "database", url.database, "client_encoding", "UTF8"];
    socket.write(frame("", PROTOCOL, ...names, "application_name", "mcp-secure-local", Buffer.of(0)));
    await connection.#authenticate(url, link, socket !== plain || isLoopbackHost(url.host));
    return connection;
  }

  /** Statements of our own, separated by semicolons. */
  async run(sql: string): Promise<void> {
    this.#requireGoing();
    this.#socket.write(frame("Q", sql));
    await this.#untilReady(() => undefined);
  }

  /** One statement, by the protocol that takes no second one. Parameters are texts. */
  async query(sql: string, parameters: readonly string[], limit: number): Promise<FoundTexts> {
    this.#requireGoing();
    const values = parameters.flatMap((value) => [int32(Buffer.byteLength(value)), Buffer.from(value)]);
    this.#socket.write(
      Buffer.concat([
        frame("P", "", sql, int16(0)),
        frame("B", "", "", int16(0), int16(parameters.length), ...values, int16(0)),
        frame("D", Buffer.from("P"), ""),
        frame("E", "", limit),
        frame("S"),
      ]),
    );
    let columns: RowColumn[] = [];
    const rows: (string | null)[][] = [];
    let more = false;
    await this.#untilReady(({ type, body }) => {
      if (type === "T") columns = columnsOf(body);
      else if (type === "D") rows.push(cellsOf(body));
      else if (type === "s") more = true;
    });
    return { columns, rows, more };
  }

  /** What asks the server, over a connection of its own, to stop what this one is doing. */
  get cancelRequest(): Buffer | undefined {
    return this.#key && frame("", CANCEL_REQUEST, this.#key);
  }

  /** Whether the server is at work. */
  get busy(): boolean {
    return this.#busy;
  }

  /** Lets no further statement be sent. */
  stop(): void {
    this.#stopped = true;
  }

  #requireGoing(): void {
    if (this.#stopped) throw new Error("it was stopped");
  }

  close(): void {
    if (this.#socket.writable) this.#socket.end(frame("X"));
    this.#socket.destroySoon();
  }

  destroy(): void {
    this.#socket.destroy();
  }

  async #untilReady(take: (frame: Frame) => void): Promise<void> {
    let fault: DatabaseError | undefined;
    this.#busy = true;
    for (;;) {
      const next = await this.#frames.next().catch((error: unknown) => {
        this.#busy = false;
        // What ended the connection was said before.
        throw fault ?? error;
      });
      if (next.type === "E") fault ??= errorOf(next.body);
      else if (next.type === "K") this.#key = Buffer.from(next.body);
      else if (next.type === "G" || next.type === "H" || next.type === "W") throw new Error("the server began to copy");
      else if (next.type === "Z") break;
      else take(next);
    }
    this.#busy = false;
    if (fault !== undefined) throw fault;
  }

  async #authenticate(url: PostgresUrl, { endPoint }: Encrypted, isPrivate: boolean): Promise<void> {
    const { user, password, binding } = url;
    let scram: Scram | undefined;
    await this.#answering(async (kind, body) => {
      if (kind === 10) {
        scram = new Scram(password, binding === "disable" ? undefined : endPoint, textsOf(body, 4));
        if (scram.mechanism === undefined) throw new Error("the server knows no authentication we know");
        requireBinding(url, scram);
        const first = scram.first();
        return frame("p", scram.mechanism, int32(first.length), Buffer.from(first));
      }
      if (kind === 11 && scram) return frame("p", Buffer.from(await scram.final(body.toString("utf8", 4))));
      if (kind === 12 && scram) {
        scram.check(body.toString("utf8", 4));
        return undefined;
      }
      requireBinding(url, scram);
      if ((kind !== 3 && kind !== 5) || !isPrivate)
        throw new Error("the server asks for the password in a way we refuse");
      return frame("p", kind === 3 ? password : `md5${md5(md5(password + user), body.subarray(4, 8))}`);
    });
    if (scram?.isProven === false) throw new Error("the server did not prove that it knows the password");
    requireBinding(url, scram);
    await this.#untilReady(() => undefined).catch((error: unknown) => {
      throw error instanceof ServerError ? refusal(error.state) : error;
    });
  }

  /** Until the server is content. */
  async #answering(answer: (kind: number, body: Buffer) => Promise<Buffer | undefined>): Promise<void> {
    for (;;) {
      const { type, body } = await this.#frames.next();
      if (type === "E") throw refusal(errorOf(body).state);
      if (type !== "R") continue;
      const kind = body.readInt32BE(0);
      if (kind === 0) return;
      const reply = await answer(kind, body);
      if (reply) this.#socket.write(reply);
    }
  }
}

/** Before anything is shown that somebody in between could make use of. */
function requireBinding({ binding }: PostgresUrl, scram: Scram | undefined): void {
  if (binding === "require" && scram?.isBound !== true)
    throw new Error("the server does not bind the authentication to the encryption");
}

function md5(text: string, salt: Buffer = Buffer.alloc(0)): string {
  return createHash("md5").update(text).update(salt).digest("hex");
}

function columnsOf(body: Buffer): RowColumn[] {
  const columns: RowColumn[] = [];
  for (let at = 2; at < body.length; at += 18) {
    const end = body.indexOf(0, at);
    const name = body.toString("utf8", at, end);
    at = end + 1;
    columns.push({ name, type: body.readUInt32BE(at + 6) });
  }
  return columns;
}

function cellsOf(body: Buffer): (string | null)[] {
  const cells: (string | null)[] = [];
  let at = 2;
  for (let left = body.readInt16BE(0); left > 0; left -= 1) {
    const length = body.readInt32BE(at);
    at += 4;
    cells.push(length < 0 ? null : body.toString("utf8", at, at + length));
    at += Math.max(length, 0);
  }
  return cells;
}

/** What the server answered with an error: `state` is its five letters. */
class ServerError extends DatabaseError {
  readonly state: string;

  constructor(code: DatabaseError["code"], message: string, state: string) {
    super(code, message);
    this.state = state;
  }
}

/** The message and the position; details may quote what the caller was not given. */
function errorOf(body: Buffer): ServerError {
  const fields = new Map(textsOf(body).map((field) => [field.slice(0, 1), field.slice(1)]));
  const [state = "", message = "the server gave no reason"] = [fields.get("C"), fields.get("M")];
  if (state === "57014")
    return new ServerError("timeout", "The statement was stopped: it took too long or was cancelled.", state);
  const position = fields.get("P");
  const text = position === undefined ? message : `${message} (at character ${position})`;
  return new ServerError("statement", text, state);
}

// Frames of PostgreSQL's protocol (version 3.0, "Message Formats"): writing them, and reading them from a socket with bounds.
//
// No client library is used: none bounds the size of a row or takes a socket that was checked without looking into the
// environment and the user's password files.

interface Frame {
  /** The letter of the message. */
  readonly type: string;
  readonly body: Buffer;
}

/** Bytes of one message: a row larger than this is no answer for a model. */
const MAX_FRAME = 16 * 1024 * 1024;
/** Messages read ahead of those who ask for them. */
const MAX_WAITING = 1_000;

function frame(type: string, ...parts: readonly (Buffer | string | number)[]): Buffer {
  const body = Buffer.concat(parts.map(bytesOf));
  const head = Buffer.alloc(type.length + 4);
  head.write(type, "latin1");
  head.writeInt32BE(body.length + 4, type.length);
  return Buffer.concat([head, body]);
}

/** Texts end with a NUL, numbers have 32 bits. */
function bytesOf(part: Buffer | string | number): Buffer {
  if (typeof part === "string") return Buffer.from(`${part}\0`);
  return typeof part === "number" ? int32(part) : part;
}

function int32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(value);
  return bytes;
}

function int16(value: number): Buffer {
  const bytes = Buffer.alloc(2);
  bytes.writeInt16BE(value);
  return bytes;
}

/** Texts that end with a NUL, one after the other, from `at` on. */
function textsOf(body: Buffer, at = 0): string[] {
  return body.subarray(at).toString().split("\0");
}

/** The messages a server sends, in order. */
class FrameReader {
  readonly #socket: Socket;
  readonly #frames: Frame[] = [];
  #bytes: Buffer[] = [];
  #length = 0;
  #wanted = 5;
  #error: Error | undefined;
  #wake: (() => void) | undefined;

  constructor(socket: Socket) {
    this.#socket = socket;
    socket.on("data", (chunk: Buffer) => this.#take(chunk));
    socket.on("error", (error) => this.#end(error));
    socket.on("close", () => this.#end(new Error("the server closed the connection")));
  }

  /** @throws Error when the connection ends first */
  async next(): Promise<Frame> {
    for (;;) {
      const first = this.#frames.shift();
      if (first !== undefined) {
        if (this.#frames.length === 0) this.#socket.resume();
        return first;
      }
      if (this.#error !== undefined) throw this.#error;
      await new Promise<void>((resolve) => (this.#wake = resolve));
    }
  }

  #take(chunk: Buffer): void {
    this.#bytes.push(chunk);
    this.#length += chunk.length;
    if (this.#length < this.#wanted) return;
    let bytes = this.#bytes.length === 1 ? chunk : Buffer.concat(this.#bytes, this.#length);
    this.#wanted = 5;
    while (bytes.length >= 5) {
      const size = bytes.readInt32BE(1) + 1;
      if (size < 5 || size > MAX_FRAME) {
        this.#socket.destroy();
        return this.#end(
          new Error(size < 5 ? "the server does not speak PostgreSQL's protocol" : "a row is too large"),
        );
      }
      this.#wanted = size;
      if (bytes.length < size) break;
      this.#frames.push({ type: bytes.toString("latin1", 0, 1), body: bytes.subarray(5, size) });
      bytes = bytes.subarray(size);
      this.#wanted = 5;
    }
    this.#bytes = [bytes];
    this.#length = bytes.length;
    if (this.#frames.length > MAX_WAITING) this.#socket.pause();
    this.#wake?.();
  }

  #end(error: Error): void {
    this.#error ??= error;
    this.#wake?.();
  }
}

// Encrypts a connection to a PostgreSQL server, and names what the two ends of it can bind an authentication to.

const SSL_REQUEST = 80_877_103;

/** A connection, and what only its two ends know alike (RFC 5929, tls-server-end-point); undefined where there is no such thing. */
interface Encrypted {
  readonly socket: Socket;
  readonly endPoint: Buffer | undefined;
}

/** @throws Error whose message holds nothing secret */
async function encrypted(socket: Socket, url: PostgresUrl): Promise<Encrypted> {
  const { host, encryption, authorities } = url;
  if (encryption === "none") return { socket, endPoint: undefined };
  socket.write(frame("", SSL_REQUEST));
  const [answer] = (await onceOrFail(socket, "data")) as [Buffer];
  // One byte and no more: what comes with it came before the encryption, from whoever was in between.
  if (answer.toString("latin1") !== "S") {
    if (encryption === "if-offered" && answer.toString("latin1") === "N") return { socket, endPoint: undefined };
    throw new Error("the server offers no encryption");
  }
  const tls = await import("node:tls");
  const { isIP } = await import("node:net");
  const names = isIP(host) === 0 ? { servername: host } : { host };
  const trusted = authorities === undefined ? {} : { ca: await readAuthorities(authorities) };
  const secure = tls.connect({ socket, ...names, ...trusted, rejectUnauthorized: encryption === "verified" });
  await onceOrFail(secure, "secureConnect").catch((error: unknown) => {
    const { code = "" } = error as { readonly code?: string };
    throw CERTIFICATE.test(code) ? new Error("the server's certificate is not trusted") : error;
  });
  const der = secure.getPeerX509Certificate()?.raw;
  return { socket: secure, endPoint: der && certificateHash(der) };
}

/** How TLS calls what it does not like about a certificate. */
const CERTIFICATE = /CERT|SIGNATURE|ALTNAME|ISSUER|CHAIN/;

async function readAuthorities(path: string): Promise<string> {
  return readFile(path, { encoding: "utf8", flag: READ_AT_ONCE }).catch(() => {
    throw new Error("the file of its sslrootcert cannot be read");
  });
}

async function onceOrFail(socket: Socket, event: string): Promise<unknown[]> {
  const ended = new AbortController();
  const closed = once(socket, "close", { signal: ended.signal }).then(() => {
    throw new Error("the server closed the connection");
  });
  try {
    return await Promise.race([once(socket, event, { signal: ended.signal }), closed]);
  } finally {
    closed.catch(() => undefined);
    ended.abort();
  }
}

/** The hash of the certificate is the one it is signed with, and SHA-256 where that is weaker (RFC 5929, section 4.1). */
const HASHES: ReadonlyMap<string, string> = new Map([
  // RSA with MD5, SHA-1, SHA-256, SHA-384, SHA-512, SHA-224 (RFC 8017), then ECDSA likewise (RFC 5758).
  ["2a864886f70d010104", "sha256"],
  ["2a864886f70d010105", "sha256"],
  ["2a864886f70d01010b", "sha256"],
  ["2a864886f70d01010c", "sha384"],
  ["2a864886f70d01010d", "sha512"],
  ["2a864886f70d01010e", "sha224"],
  ["2a8648ce3d0401", "sha256"],
  ["2a8648ce3d040301", "sha224"],
  ["2a8648ce3d040302", "sha256"],
  ["2a8648ce3d040303", "sha384"],
  ["2a8648ce3d040304", "sha512"],
]);

/** What an exchange is bound to; undefined where the certificate's signature names no one hash. */
export function certificateHash(der: Buffer): Buffer | undefined {
  const hash = HASHES.get(signatureOf(der));
  return hash === undefined ? undefined : createHash(hash).update(der).digest();
}

/** The object identifier of a certificate's signature in hexadecimal: SEQUENCE { tbs, SEQUENCE { OID … } … } (RFC 5280). */
function signatureOf(der: Buffer): string {
  const signed = part(der, part(der, 0).from);
  const oid = part(der, part(der, signed.to).from);
  return der.toString("hex", oid.from, oid.to);
}

/** Where the content of the element at `at` begins and ends (X.690, definite lengths). */
function part(der: Buffer, at: number): { readonly from: number; readonly to: number } {
  const first = der[at + 1] ?? 0;
  const more = first < 0x80 ? 0 : first & 0x7f;
  const from = at + 2 + more;
  const length = more === 0 ? first : Number.parseInt(der.toString("hex", at + 2, from), 16);
  return { from, to: from + length };
}

// The client's side of SCRAM-SHA-256 and SCRAM-SHA-256-PLUS (RFC 5802, RFC 7677).

const derive = promisify(pbkdf2);
/** PostgreSQL asks for 4,096; a server that asks for many more only wants our time. */
const MAX_ITERATIONS = 1_000_000;
const PLAIN = "SCRAM-SHA-256";
const BOUND = "SCRAM-SHA-256-PLUS";

export class Scram {
  /** What is chosen of the mechanisms offered; undefined when none is known. */
  readonly mechanism: string | undefined;
  readonly #password: string;
  readonly #nonce: string = randomBytes(18).toString("base64");
  /** What is said about the connection, and what binds the exchange to it. */
  readonly #head: string;
  readonly #binding: Buffer;
  #signature: Buffer | undefined;
  #proven = false;

  /** `endPoint` is what the connection can be bound to: it is, if the server offers that. */
  constructor(password: string, endPoint?: Buffer, offered: readonly string[] = [PLAIN]) {
    const bound = endPoint !== undefined && offered.includes(BOUND);
    this.mechanism = bound ? BOUND : offered.includes(PLAIN) ? PLAIN : undefined;
    // "y": a server that would have offered it finds that somebody took its offer away.
    this.#head = bound ? "p=tls-server-end-point,," : endPoint === undefined ? "n,," : "y,,";
    this.#binding = bound ? endPoint : Buffer.alloc(0);
    this.#password = password.normalize("NFKC");
  }

  /** Whether it is bound to the connection. */
  get isBound(): boolean {
    return this.mechanism === BOUND;
  }

  /** Whether the server has shown that it knows the password. */
  get isProven(): boolean {
    return this.#proven;
  }

  first(): string {
    return `${this.#head}${this.#bare()}`;
  }

  /** @throws Error when the server's message is no answer to ours */
  async final(serverFirst: string): Promise<string> {
    const { r: nonce = "", s: salt = "", i = "" } = fieldsOf(serverFirst);
    const iterations = Number(i);
    const fits = nonce.startsWith(this.#nonce) && nonce.length > this.#nonce.length && salt !== "";
    if (!fits || !Number.isInteger(iterations) || iterations < 1 || iterations > MAX_ITERATIONS)
      throw new Error("the server's part of the authentication is not valid");
    const salted = await derive(this.#password, Buffer.from(salt, "base64"), iterations, 32, "sha256");
    const clientKey = hmac(salted, "Client Key");
    const binding = Buffer.concat([Buffer.from(this.#head), this.#binding]).toString("base64");
    const proofless = `c=${binding},r=${nonce}`;
    const message = `${this.#bare()},${serverFirst},${proofless}`;
    const signature = hmac(createHash("sha256").update(clientKey).digest(), message);
    const proof = Buffer.from(clientKey.map((byte, index) => byte ^ (signature[index] as number)));
    this.#signature = hmac(hmac(salted, "Server Key"), message);
    return `${proofless},p=${proof.toString("base64")}`;
  }

  /** @throws Error when the server does not know the password either */
  check(serverFinal: string): void {
    const shown = Buffer.from(fieldsOf(serverFinal)["v"] ?? "", "base64");
    const wanted = this.#signature;
    if (wanted === undefined || shown.length !== wanted.length || !timingSafeEqual(shown, wanted))
      throw new Error("the server could not prove that it knows the password");
    this.#proven = true;
  }

  /** The name is the one of the start-up message. */
  #bare(): string {
    return `n=,r=${this.#nonce}`;
  }
}

function fieldsOf(message: string): Readonly<Record<string, string>> {
  return Object.fromEntries(message.split(",").map((field) => [field.slice(0, 1), field.slice(2)]));
}

function hmac(key: Buffer, text: string): Buffer {
  return createHmac("sha256", key).update(text).digest();
}
