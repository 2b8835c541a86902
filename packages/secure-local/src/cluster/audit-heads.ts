// Signs where this process's chain of records has come to, for all to find, and records in it where the others' had come to.
import type { KeyObject } from "node:crypto";
import { basename } from "node:path";
import type { RecordStore } from "@secure-local/mcp/cluster";
import type { AuditSink } from "../audit/audit-event.js";
import { chainOf, headText, publicPem, readHeadText, type SignedHead } from "../audit/chain-heads.js";
import type { RecordLink } from "../audit/event-text.js";

/** Milliseconds between two heads: what was cut off later than that is found. */
const HEAD_MS = 1_000;
/** Milliseconds between two records of the others' heads. */
const WITNESS_MS = 60_000;
/** A head is kept long after its process has ended, so that its log cannot go unnoticed. */
const LIFE_MS: number = 30 * 24 * 60 * 60_000;
/** It is written again although nothing has happened, long before that. */
const AGAIN_MS: number = 24 * 60 * 60_000;
/** Heads in one record of the log. */
const PIECE = 50;
const GROUP = "heads";

export interface AuditHeadsOptions {
  readonly node: string;
  readonly records: RecordStore;
  readonly key: KeyObject;
  /** Default a minute. */
  readonly witnessMs?: number | undefined;
}

export class AuditHeads {
  readonly #options: AuditHeadsOptions;
  #audit: (AuditSink & { readonly file: string }) | undefined;
  #chain: string | undefined;
  #latest: RecordLink | undefined;
  #written = { seq: 0, at: 0 };
  #writing: Promise<void> | undefined;
  /** Of each other chain the last record that was noted here. */
  readonly #noted = new Map<string, number>();
  #timers: NodeJS.Timeout[] = [];

  constructor(options: AuditHeadsOptions) {
    this.#options = options;
  }

  /** The log has come to this record, safely. Never throws. */
  reached(link: RecordLink): void {
    this.#latest = link;
  }

  /** Begins with the log that is told of by `reached`. */
  async start(audit: AuditSink & { readonly file: string }, about: Readonly<Record<string, unknown>>): Promise<void> {
    const { node, key, witnessMs = WITNESS_MS } = this.#options;
    this.#audit = audit;
    await audit.record({ kind: "cluster.joined", detail: { node, ...about, publicKey: publicPem(key) } });
    await this.#write();
    const every = (ms: number, run: () => Promise<unknown>): void =>
      void this.#timers.push(setInterval(() => void run().catch(() => undefined), ms).unref());
    every(HEAD_MS, () => this.#write());
    every(witnessMs, () => this.witness());
    await this.witness().catch(() => undefined);
  }

  /** Records what the other processes have signed since it was last recorded. */
  async witness(): Promise<void> {
    const heads = (await signedHeads(this.#options.records)).filter(
      ({ chain, seq }) => chain !== this.#chain && seq > (this.#noted.get(chain) ?? 0),
    );
    for (let at = 0; at < heads.length; at += PIECE) {
      const piece = heads.slice(at, at + PIECE);
      const detail = { heads: piece.map(({ publicKey: _, ...head }) => head) };
      await this.#audit?.record({ kind: "cluster.heads", detail });
      for (const { chain, seq } of piece) this.#noted.set(chain, seq);
    }
  }

  /** Signs the last record. To be called when nothing more is recorded. */
  async close(): Promise<void> {
    for (const timer of this.#timers) clearInterval(timer);
    this.#timers = [];
    await this.#writing?.catch(() => undefined);
    await this.#write().catch(() => undefined);
  }

  #write(): Promise<void> {
    this.#writing ??= this.#writeOnce().finally(() => (this.#writing = undefined));
    return this.#writing;
  }

  async #writeOnce(): Promise<void> {
    const { node, key, records } = this.#options;
    const link = this.#latest;
    const file = this.#audit?.file;
    const now = performance.now();
    if (file === undefined || link === undefined) return;
    if (link.seq === this.#written.seq && now - this.#written.at < AGAIN_MS) return;
    this.#chain ??= await chainOf(file);
    if (this.#chain === undefined) return;
    const head = { chain: this.#chain, node, file: basename(file), ...link };
    await records.put(GROUP, this.#chain, headText(head, key), LIFE_MS);
    this.#written = { seq: link.seq, at: now };
  }
}

/** What all processes have signed, as far as it is signed with the keys it names. */
export async function signedHeads(records: RecordStore): Promise<readonly SignedHead[]> {
  const heads = [...(await records.list(GROUP)).values()].map(readHeadText);
  return heads.filter((head) => head !== undefined);
}
