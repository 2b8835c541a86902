// Writes signed checkpoints of a log to a second place, every so many records or seconds.
import type { KeyObject } from "node:crypto";
import { constants } from "node:fs";
import { open } from "node:fs/promises";
import { dirname } from "node:path";
import type { RecordLink } from "./event-text.js";
import { signedCheckpoint } from "./checkpoint.js";
import { makeFolder } from "./make-folder.js";

export interface CheckpointOptions {
  readonly file: string;
  readonly key: KeyObject;
  readonly everyRecords: number;
  readonly everyMs: number;
  /** Told once when checkpoints cannot be written, and once when they can again. The log itself goes on. */
  readonly say: (line: string) => void;
}

export class CheckpointWriter {
  readonly #options: CheckpointOptions;
  /** The log's file; known when the log has been opened. */
  #log = "";
  #latest: RecordLink | undefined;
  #writtenSeq = 0;
  #timer: NodeJS.Timeout | undefined;
  #writing: Promise<void> | undefined;
  #failed = false;

  constructor(options: CheckpointOptions) {
    this.#options = options;
  }

  /** Names the log, whose records up to now have been safe for long. */
  begin(log: string): void {
    this.#log = log;
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
  }

  #write(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#writing ??= this.#append().finally(() => (this.#writing = undefined));
    return this.#writing;
  }

  async #append(): Promise<void> {
    const link = this.#latest;
    if (link === undefined || link.seq === this.#writtenSeq || this.#log === "") return;
    const { file, key, say } = this.#options;
    try {
      makeFolder(dirname(file));
      const { O_WRONLY, O_APPEND, O_CREAT, O_NONBLOCK } = constants;
      // At once: a pipe that was put in its place would be waited for.
      const handle = await open(file, O_WRONLY | O_APPEND | O_CREAT | (O_NONBLOCK ?? 0), 0o600);
      try {
        await handle.appendFile(signedCheckpoint(this.#log, link, key));
        await handle.datasync();
      } finally {
        await handle.close();
      }
      this.#writtenSeq = link.seq;
      if (this.#failed) say(`${file}: checkpoints are written again`);
      this.#failed = false;
    } catch (error) {
      if (!this.#failed)
        say(`${file}: no checkpoint can be written (${error instanceof Error ? error.message : String(error)})`);
      this.#failed = true;
    }
  }
}
