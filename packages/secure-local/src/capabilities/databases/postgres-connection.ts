// One connection to a PostgreSQL server: encryption, authentication, and statements one at a time.
import { Buffer } from "node:buffer";
import { createHash } from "node:crypto";
import type { Socket } from "node:net";
import { DatabaseError } from "./database-error.js";
import { type Encrypted, encrypted } from "./postgres-encryption.js";
import { isLoopback, type PostgresUrl } from "./postgres-url.js";
import { type Frame, frame, FrameReader, int16, int32, textsOf } from "./postgres-wire.js";
import { Scram } from "./scram.js";

export interface RowColumn {
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

/** Its own words may name users and databases. */
const REFUSED_US = "the server refused to let us in";
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
    await connection.#authenticate(url, link, socket !== plain || isLoopback(url.host));
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
      throw error instanceof DatabaseError ? new Error(REFUSED_US) : error;
    });
  }

  /** Until the server is content. */
  async #answering(answer: (kind: number, body: Buffer) => Promise<Buffer | undefined>): Promise<void> {
    for (;;) {
      const { type, body } = await this.#frames.next();
      if (type === "E") throw new Error(REFUSED_US);
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

/** The message and the position; details may quote what the caller was not given. */
function errorOf(body: Buffer): DatabaseError {
  const fields = new Map(textsOf(body).map((field) => [field.slice(0, 1), field.slice(1)]));
  const [state = "", message = "the server gave no reason"] = [fields.get("C"), fields.get("M")];
  if (state === "57014")
    return new DatabaseError("timeout", "The statement was stopped: it took too long or was cancelled.");
  const position = fields.get("P");
  return new DatabaseError("statement", position === undefined ? message : `${message} (at character ${position})`);
}
