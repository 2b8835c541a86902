// What a server of the policy says on its standard error, and when it began and ended: a short file for `servers logs`.
import { createHash } from "node:crypto";
import * as fs from "node:fs";
import { rename, stat } from "node:fs/promises";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { redactString } from "../audit/event-text.js";
import { makeFolder, openAtOnce } from "../audit/owned-files.js";
import { cleanLine } from "../guard/cleaning/clean-text.js";
import { escapeUnseen, withoutColours } from "@secure-local/inspection/escape-unseen";

/** Bytes of a file, of which there are two: nobody reads more, and a server that chatters fills no disk. */
const MOST_BYTES = 256 * 1024;
/** Characters of one line. */
const LONGEST_LINE = 2_000;
/** Characters of one that are looked through: no value is left at the end of what is shown. */
const LONGEST_READ = 16_384;
/** Lines that wait to be written; what comes faster than a disk takes it is counted. */
const MOST_WAITING = 1_000;

/** Policies may call different servers the same. */
export function serverLogFile(folder: string, policyFile: string, server: string): string {
  const policy = createHash("sha256").update(resolve(policyFile)).digest("hex").slice(0, 8);
  return join(folder, `${server}-${policy}.log`);
}

/** What stands in place of a value, as far as all of them have it in common. */
const LABEL = "[secret ";

/**
 * What a server wrote, as it may be shown: without secrets and colours, on one line, cut where it is long, and with what steers a terminal or is
 * not seen as `\\uXXXX`: who reads it has to know that it was there.
 */
export function shownLine(line: string): string {
  const read = withoutColours(line.slice(0, LONGEST_READ));
  const redacted = redactString(read);
  // A value with characters in it that nobody sees is found once those are gone.
  const bare = redactString(cleanLine(read));
  const text = bare.includes(LABEL) && !redacted.includes(LABEL) ? bare : redacted;
  const shown = escapeUnseen(text).replaceAll("\n", "\\n").replaceAll("\t", " ");
  if (shown.length <= LONGEST_LINE) return shown;
  return `${shown.slice(0, LONGEST_LINE)} [cut: the line has ${line.length} characters]`;
}

export class ServerLog {
  readonly #file: string;
  readonly #folder: string;
  readonly #say: (line: string) => void;
  readonly #waiting: string[] = [];
  #dropped = 0;
  #writing: Promise<void> | undefined;
  /** Why nothing could be written, as it was said last. */
  #fault: string | undefined;

  /** `say` is told once why nothing can be written. */
  constructor(folder: string, file: string, say: (line: string) => void = () => undefined) {
    this.#folder = folder;
    this.#file = file;
    this.#say = say;
  }

  /** What came from its standard error, behind a bar: no line of a server looks like one of ours. */
  heard(line: string): void {
    this.add(`| ${line}`);
  }

  /** Writes a line of ours soon, without secrets and without what acts on a terminal. Never throws: a log that fails stops no server. */
  add(line: string): void {
    if (this.#waiting.length >= MOST_WAITING) this.#dropped++;
    else this.#waiting.push(`${new Date().toISOString()} ${shownLine(line)}\n`);
    this.#writing ??= this.#write().finally(() => {
      this.#writing = undefined;
    });
  }

  /** Resolves when all that was added is written. */
  async settled(): Promise<void> {
    await this.#writing;
  }

  async #write(): Promise<void> {
    try {
      // Lines that come together are written together.
      await Promise.resolve();
      makeFolder(this.#folder);
      while (this.#waiting.length > 0) {
        if (this.#dropped > 0) this.#waiting.push(`${this.#dropped} more lines were left out\n`);
        this.#dropped = 0;
        const text = this.#waiting.splice(0).join("");
        const { size } = await stat(this.#file).catch(() => ({ size: 0 }));
        if (size > MOST_BYTES) await rename(this.#file, `${this.#file}.1`);
        await this.#append(text);
      }
      this.#fault = undefined;
    } catch (error) {
      this.#waiting.length = 0;
      const { message } = error as Error;
      const into = message.includes(this.#folder) ? "" : ` in ${this.#file}`;
      if (this.#fault !== message) this.#say(`what a server says is not kept${into}: ${message}`);
      this.#fault = message;
    }
  }

  /** What lies under the name is judged when it is open: a pipe would be waited for, and a link would lead elsewhere. */
  async #append(text: string): Promise<void> {
    const { O_WRONLY, O_APPEND, O_CREAT } = fs.constants;
    const fd = openAtOnce(this.#file, O_WRONLY | O_APPEND | O_CREAT | (fs.constants.O_NOFOLLOW ?? 0), 0o600);
    try {
      await promisify(fs.writeFile)(fd, text);
    } finally {
      fs.closeSync(fd);
    }
  }
}
