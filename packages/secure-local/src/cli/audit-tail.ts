// `mcp-secure-local audit tail [KEY=VALUE…] [WORD…]`: the newest records, and then each new one as it is written.
import { type FileHandle, open, stat } from "node:fs/promises";
import type { CommandLine } from "./command-line.js";
import { LineCutter, recordOf } from "./read-log.js";
import { recordFilter, type RecordFilter } from "./record-filter.js";
import { jsonLine, tableRow } from "./record-line.js";
import { ExitCode, print } from "./terminal.js";

/** Milliseconds between two looks. */
const LOOK_MS = 250;
/** Records shown at the start, and bytes in which they are looked for. */
const FIRST = 10;
const FIRST_BYTES = 65_536;
const CHUNK = 65_536;

/** Resolves when `signal` is aborted; without one, when the program is ended. */
export async function auditTail(
  line: CommandLine,
  files: readonly string[],
  { words, signal }: { readonly words: readonly string[]; readonly signal?: AbortSignal },
): Promise<number> {
  const wanted = recordFilter(words);
  const show = (text: string): void => {
    const record = recordOf(text);
    if (record !== undefined && wanted(record, text)) print(line.json ? jsonLine(text) : tableRow(record));
  };
  const followers = files.map((file) => new Follower(file, show));
  for (const follower of followers) await follower.begin(wanted);
  for (;;) {
    for (const follower of followers) await follower.look();
    if (signal?.aborted === true) break;
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
  }
  for (const follower of followers) await follower.close();
  return ExitCode.Ok;
}

/** Reads one log on and on, over the moments when it is put away and begun anew. */
class Follower {
  readonly #file: string;
  readonly #show: (line: string) => void;
  #handle: FileHandle | undefined;
  #position = 0;
  #cutter = new LineCutter();

  constructor(file: string, show: (line: string) => void) {
    this.#file = file;
    this.#show = show;
  }

  async begin(wanted: RecordFilter): Promise<void> {
    this.#handle = await open(this.#file, "r");
    const { size } = await this.#handle.stat();
    this.#position = Math.max(0, size - FIRST_BYTES);
    const fits = (line: string): boolean => {
      const record = recordOf(line);
      return record !== undefined && wanted(record, line);
    };
    for (const line of (await this.#rest()).filter(fits).slice(-FIRST)) this.#show(line);
  }

  async look(): Promise<void> {
    for (const line of await this.#rest()) this.#show(line);
    if (!(await this.#wasPutAway())) return;
    // What was written between the last look and the exchange.
    for (const line of await this.#rest()) this.#show(line);
    await this.#handle?.close();
    this.#handle = await open(this.#file, "r");
    this.#position = 0;
    this.#cutter = new LineCutter();
  }

  async close(): Promise<void> {
    await this.#handle?.close();
  }

  async #rest(): Promise<string[]> {
    const lines: string[] = [];
    const buffer = Buffer.alloc(CHUNK);
    for (;;) {
      const read = await this.#handle?.read(buffer, 0, CHUNK, this.#position);
      if (read === undefined || read.bytesRead === 0) return lines;
      this.#position += read.bytesRead;
      lines.push(...this.#cutter.take(buffer.subarray(0, read.bytesRead)));
    }
  }

  async #wasPutAway(): Promise<boolean> {
    try {
      const [now, ours] = [await stat(this.#file), await this.#handle?.stat()];
      return ours !== undefined && (now.ino !== ours.ino || now.dev !== ours.dev);
    } catch {
      // Between two names.
      return false;
    }
  }
}
