// A signed word of one process that its chain of records had come to a certain one: kept where the other processes find it.
import { createPublicKey, type KeyObject } from "node:crypto";
import { createReadStream, existsSync } from "node:fs";
import { createInterface } from "node:readline";
import { publicKeyOf, readCheckpoint, signedCheckpoint } from "./checkpoint.js";
import { readLine, type RecordLink } from "./event-text.js";
import { archivedFiles } from "./archive.js";
import { archivesOf } from "./log-file.js";

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
  if (first === undefined) return undefined;
  const lines = createInterface({ input: createReadStream(first) });
  try {
    for await (const line of lines) {
      const record = readLine(Buffer.from(line));
      if (typeof record === "string") return undefined;
      return record.seq === 1 ? record.hash : archivedFiles(log).at(-1)?.chain;
    }
    return archivedFiles(log).at(-1)?.chain;
  } finally {
    lines.close();
  }
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
