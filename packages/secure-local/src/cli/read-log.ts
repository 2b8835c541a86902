// Reads the lines of a log with its full files, in the order of the chain and in bounded memory.
import { createReadStream, existsSync } from "node:fs";
import { StringDecoder } from "node:string_decoder";
import { archivesOf } from "../audit/log-archive.js";
import { MAX_LINE_BYTES } from "../audit/chain.js";
import type { LogRecord } from "./record-filter.js";

export interface LogLine {
  readonly record: LogRecord;
  readonly line: string;
}

/** Cuts text into lines; of one that is longer than any record the rest is dropped. */
export class LineCutter {
  readonly #decoder = new StringDecoder("utf8");
  #rest = "";

  /** The whole lines that have come up to now. */
  take(chunk: Buffer): string[] {
    const lines = (this.#rest + this.#decoder.write(chunk)).split("\n");
    this.#rest = lines.pop() ?? "";
    if (this.#rest.length > MAX_LINE_BYTES) this.#rest = "";
    return lines;
  }
}

/** Lines that are no records are passed over: `audit verify` names them. */
export async function* readLog(log: string): AsyncIterable<LogLine> {
  for (const file of [...archivesOf(log), log]) {
    if (!existsSync(file)) continue;
    const cutter = new LineCutter();
    for await (const chunk of createReadStream(file) as AsyncIterable<Buffer>) {
      for (const line of cutter.take(chunk)) {
        const record = recordOf(line);
        if (record !== undefined) yield { record, line };
      }
    }
  }
}

/** Undefined for what is no record. */
export function recordOf(line: string): LogRecord | undefined {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === "object" && value !== null ? (value as LogRecord) : undefined;
  } catch {
    return undefined;
  }
}
