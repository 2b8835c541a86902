// A signed word that a log had come to a certain record: one JSON line, Ed25519 over its other members.
import { createPublicKey, type KeyObject, sign, verify } from "node:crypto";
import { basename } from "node:path";
import type { RecordLink } from "./event-text.js";

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
