// Signed words about the audit log: checkpoints of the chain now and then, the heads that processes tell each other,
// and the key that signs them.
import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject, sign, verify } from "node:crypto";
import * as fs from "node:fs";
import { constants, existsSync } from "node:fs";
import { open } from "node:fs/promises";
import { basename, dirname } from "node:path";
import { archivedFiles } from "./archive.js";
import { AuditError, type AuditEvent, type AuditSink } from "./audit-event.js";
import { readLine, type RecordLink } from "./event-text.js";
import { archivesOf, linesOf } from "./log-file.js";
import { makeFolder, readAtOnce, readKeyText } from "./owned-files.js";

export interface Checkpoint extends RecordLink {
  /** Name of the log's file: several logs may share one file of checkpoints. */
  readonly log: string;
  readonly time: string;
}

/** The file with the public half, to be copied to wherever checkpoints are checked. */
export function publicKeyPath(keyFile: string): string {
  return `${keyFile}.pub`;
}

/** The line for a checkpoint, its newline included. */
export function signedCheckpoint(log: string, { seq, hash }: RecordLink, key: KeyObject): string {
  const checkpoint: Checkpoint = { log: basename(log), seq, hash, time: new Date().toISOString() };
  const signature = sign(null, Buffer.from(signedText(checkpoint)), key).toString("base64");
  return `${JSON.stringify({ ...checkpoint, signature })}\n`;
}

/** The checkpoint in a line; undefined when it is none, or nobody with this key has signed it. */
export function readCheckpoint(line: string, publicKey: KeyObject): Checkpoint | undefined {
  try {
    const { log, seq, hash, time, signature } = JSON.parse(line) as Record<string, unknown>;
    if (typeof log !== "string" || !Number.isSafeInteger(seq) || typeof hash !== "string" || typeof time !== "string")
      return undefined;
    const checkpoint: Checkpoint = { log, seq: seq as number, hash, time };
    const bytes = Buffer.from(String(signature), "base64");
    return verify(null, Buffer.from(signedText(checkpoint)), publicKey, bytes) ? checkpoint : undefined;
  } catch {
    return undefined;
  }
}

/** @throws Error when the text is no public key */
export function publicKeyOf(pem: string): KeyObject {
  return createPublicKey(pem);
}

function signedText({ log, seq, hash, time }: Checkpoint): string {
  return JSON.stringify(["mcp-secure-local audit checkpoint", log, seq, hash, time]);
}

/** Longer than any Ed25519 key in PEM. */
const MAX_KEY_BYTES = 4_096;

/**
 * The key in a file; one is made where there is none.
 *
 * @throws AuditError (`io`) when it cannot be read or made, or others may read it.
 */
export function checkpointKey(keyFile: string): KeyObject {
  try {
    if (!fs.existsSync(keyFile)) makeKey(keyFile);
    const key = createPrivateKey(readKeyText(keyFile, MAX_KEY_BYTES));
    if (key.asymmetricKeyType !== "ed25519") throw new Error("it is no Ed25519 key");
    keepPublicKey(keyFile, key);
    return key;
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new AuditError(
      "io",
      keyFile,
      `the key for checkpoints cannot be used (${why}). Mend that, or move it and its .pub away, and a new one is made.`,
      { cause: error },
    );
  }
}

/** The link makes the name appear with the whole key, and for one of several servers that start together only. */
function makeKey(keyFile: string): void {
  makeFolder(dirname(keyFile));
  const pem = generateKeyPairSync("ed25519").privateKey.export({ type: "pkcs8", format: "pem" });
  const temporary = `${keyFile}.${process.pid}`;
  fs.rmSync(temporary, { force: true });
  fs.writeFileSync(temporary, pem, { mode: 0o600, flag: "wx", flush: true });
  try {
    fs.linkSync(temporary, keyFile);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  } finally {
    fs.rmSync(temporary, { force: true });
  }
}

/** Whoever made the key may have been ended before its public half was whole. */
function keepPublicKey(keyFile: string, key: KeyObject): void {
  const path = publicKeyPath(keyFile);
  const pem = createPublicKey(key).export({ type: "spki", format: "pem" });
  if (fs.existsSync(path) && readAtOnce(path) === pem) return;
  const temporary = `${path}.${process.pid}`;
  fs.rmSync(temporary, { force: true });
  fs.writeFileSync(temporary, pem, { mode: 0o644, flag: "wx", flush: true });
  fs.renameSync(temporary, path);
}

export interface CheckpointOptions {
  readonly file: string;
  readonly key: KeyObject;
  readonly everyRecords: number;
  readonly everyMs: number;
  /** Told once when checkpoints cannot be written, and once when they can again. The log itself goes on. */
  readonly say: (line: string) => void;
}

/** Which file checkpoints are written to: what lay there before may not be begun anew without a word. */
interface HeldPlace {
  readonly path: string;
  readonly dev: bigint;
  readonly ino: bigint;
}

export class CheckpointWriter {
  readonly #options: CheckpointOptions;
  /** The log's file; known when the log has been opened. */
  #log = "";
  #audit: Pick<AuditSink, "record"> | undefined;
  /** The file, or its folder while there is no file yet; undefined where there was neither. */
  #held: HeldPlace | undefined;
  #latest: RecordLink | undefined;
  #writtenSeq = 0;
  #timer: NodeJS.Timeout | undefined;
  #writing: Promise<void> | undefined;
  #fault: string | undefined;

  constructor(options: CheckpointOptions) {
    this.#options = options;
  }

  /** Asked for as the log's, whoever else is told of its records. */
  get health(): { readonly fault: string | undefined } {
    return this;
  }

  /** Why no checkpoint can be written; undefined while it can. Looks for the file too, and tells: nobody may call for long. */
  get fault(): string | undefined {
    if (this.#fault !== undefined || this.#log === "") return this.#fault;
    try {
      fs.accessSync(this.#present().path, constants.W_OK);
    } catch (error) {
      this.#tell(textOf(error));
    }
    return this.#fault;
  }

  /**
   * Names the log, whose records up to now have been safe for long, and takes a record of what is wrong. The folder is made where it
   * is missing. `before`: what wrote checkpoints of this log until now; where that was to the same file, it stays the one it was, and
   * no folder is made.
   */
  begin(log: string, audit?: Pick<AuditSink, "record">, before?: AuditSink["checkpoints"]): void {
    this.#log = log;
    this.#audit = audit;
    const { file } = this.#options;
    if (before instanceof CheckpointWriter && before.#options.file === file) {
      this.#held = before.#held;
      this.#fault = before.#fault;
      return;
    }
    try {
      makeFolder(dirname(file));
      this.#held = heldPlace(file) ?? heldPlace(dirname(file));
    } catch {
      // The first checkpoint says why it cannot be written.
    }
  }

  /** The log has come to this record, safely. Never throws. */
  reached(link: RecordLink): void {
    this.#latest = link;
    if (link.seq - this.#writtenSeq >= this.#options.everyRecords) void this.#write();
    else this.#timer ??= setTimeout(() => void this.#write(), this.#options.everyMs).unref();
  }

  /** Writes the last checkpoint, so that after a clean stop no record can be cut off unnoticed. */
  async close(): Promise<void> {
    await this.#writing;
    await this.#write();
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  #write(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#writing ??= this.#append().finally(() => {
      this.#writing = undefined;
      // What was due while the disk was slow, or the file away, waits for no further record.
      const isDue = this.#latest !== undefined && this.#latest.seq !== this.#writtenSeq;
      if (isDue) this.#timer ??= setTimeout(() => void this.#write(), this.#options.everyMs).unref();
    });
    return this.#writing;
  }

  async #append(): Promise<void> {
    const link = this.#latest;
    if (link === undefined || link.seq === this.#writtenSeq || this.#log === "") return;
    const { file, key } = this.#options;
    try {
      const isNew = this.#present().path !== file;
      const { O_WRONLY, O_APPEND, O_CREAT, O_NONBLOCK } = constants;
      // At once: a pipe that was put in its place would be waited for.
      const handle = await open(file, O_WRONLY | O_APPEND | (isNew ? O_CREAT : 0) | (O_NONBLOCK ?? 0), 0o600);
      try {
        await handle.appendFile(signedCheckpoint(this.#log, link, key));
        await handle.datasync();
        const { dev, ino } = await handle.stat({ bigint: true });
        this.#held = { path: file, dev, ino };
      } finally {
        await handle.close();
      }
      this.#writtenSeq = link.seq;
      this.#tell(undefined);
    } catch (error) {
      this.#tell(textOf(error));
    }
  }

  /** What is held, where it still has its name. @throws Error where it was moved, removed or exchanged, and the system's */
  #present(): HeldPlace {
    const { file } = this.#options;
    const held = this.#held;
    if (held === undefined) throw new Error(`there is no folder ${dirname(file)}; make it, and restart the server`);
    const now = heldPlace(held.path);
    if (now === undefined || now.ino !== held.ino || now.dev !== held.dev) {
      const what = held.path === file ? "the file" : "its folder";
      throw new Error(
        `${what} was moved, removed or exchanged; put it back, or restart the server to begin with what is there`,
      );
    }
    return held;
  }

  /** Says, and records, what is wrong when it begins, and when it is over. */
  #tell(fault: string | undefined): void {
    const { file, say } = this.#options;
    const before = this.#fault;
    this.#fault = fault;
    if ((before === undefined) === (fault === undefined)) return;
    say(
      fault === undefined
        ? `${file}: checkpoints are written again`
        : `${file}: no checkpoint can be written (${fault})`,
    );
    const event: AuditEvent =
      fault === undefined
        ? { kind: "checkpoints.back", detail: { file } }
        : { kind: "checkpoints.away", detail: { file, reason: fault } };
    // Whether the log can take that is for the log to say.
    this.#audit?.record(event).catch(() => undefined);
  }
}

/** Undefined where nothing has the name. */
function heldPlace(path: string): HeldPlace | undefined {
  const found = fs.statSync(path, { bigint: true, throwIfNoEntry: false });
  return found && { path, dev: found.dev, ino: found.ino };
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

// A signed word of one process that its chain of records had come to a certain one: kept where the other processes find it.

/** Where a chain had come to. */
export interface ChainHead extends RecordLink {
  /** Names the chain: the hash of its first record. */
  readonly chain: string;
  /** The process that writes it, and the file it writes, for people. */
  readonly node: string;
  readonly file: string;
}

/** A head as the other processes read it. */
export interface SignedHead extends ChainHead {
  /** The public half of the key it is signed with, in PEM. */
  readonly publicKey: string;
}

/** The hash of a chain's first record, which may have been archived; undefined where there is none yet. Rejects with the system's error. */
export async function chainOf(log: string): Promise<string | undefined> {
  const first = [...archivesOf(log), log].find((file) => existsSync(file));
  if (first === undefined || !fs.statSync(first).isFile()) return undefined;
  for await (const line of linesOf(first)) {
    const record = readLine(Buffer.from(line));
    if (typeof record === "string") return undefined;
    return record.seq === 1 ? record.hash : archivedFiles(log).at(-1)?.chain;
  }
  return archivedFiles(log).at(-1)?.chain;
}

export function headText({ chain, node, file, seq, hash }: ChainHead, key: KeyObject): string {
  const publicKey = publicPem(key);
  return JSON.stringify({ node, file, publicKey, signed: signedCheckpoint(chain, { seq, hash }, key).trimEnd() });
}

export function publicPem(key: KeyObject): string {
  return createPublicKey(key).export({ type: "spki", format: "pem" }).toString();
}

/** The head in a text; undefined for one that is not signed with the key it names. */
export function readHeadText(text: string): SignedHead | undefined {
  try {
    const { node, file, publicKey, signed } = JSON.parse(text) as Record<string, unknown>;
    if (typeof node !== "string" || typeof file !== "string" || typeof publicKey !== "string") return undefined;
    const checkpoint = readCheckpoint(String(signed), publicKeyOf(publicKey));
    return checkpoint && { chain: checkpoint.log, seq: checkpoint.seq, hash: checkpoint.hash, node, file, publicKey };
  } catch {
    return undefined;
  }
}
