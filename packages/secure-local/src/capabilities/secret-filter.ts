// Puts placeholders in place of the values of secrets in what a server answers, whole or chunk by chunk.
import { Buffer } from "node:buffer";
import { Transform } from "node:stream";

/**
 * Looks for bytes, whatever their charset: texts are taken as Latin-1, as headers come, one character a byte. Letters are found
 * in either case.
 */
export class SecretFilter {
  readonly #placeholders = new Map<string, string>();
  readonly #longest: number;
  readonly #pattern: RegExp | undefined;

  /** @param spellings Each with the placeholder that stands for it. */
  constructor(spellings: Iterable<readonly [spelling: string, placeholder: string]>) {
    for (const [spelling, placeholder] of spellings) {
      if (spelling !== "") this.#placeholders.set(Buffer.from(spelling).toString("latin1").toLowerCase(), placeholder);
    }
    // The longest first: one spelling may be the beginning of another.
    const sorted = [...this.#placeholders.keys()].sort((a, b) => b.length - a.length);
    this.#longest = sorted[0]?.length ?? 0;
    this.#pattern = sorted.length === 0 ? undefined : new RegExp(sorted.map(escaped).join("|"), "gi");
  }

  text(given: string): string {
    if (this.#pattern === undefined) return given;
    return given.replace(this.#pattern, (found) => this.#placeholders.get(found.toLowerCase()) ?? "");
  }

  headers(given: Readonly<Record<string, string | string[] | undefined>>): Record<string, string | string[]> {
    const filtered: Record<string, string | string[]> = {};
    for (const [name, value] of Object.entries(given)) {
      if (value === undefined) continue;
      filtered[name] = typeof value === "string" ? this.text(value) : value.map((each) => this.text(each));
    }
    return filtered;
  }

  bytes(given: Uint8Array): Uint8Array {
    if (this.#pattern === undefined) return given;
    const text = Buffer.from(given.buffer, given.byteOffset, given.length).toString("latin1");
    const filtered = this.text(text);
    return filtered === text ? given : Buffer.from(filtered, "latin1");
  }

  /** Holds back no more than the longest spelling, for it may go on in the next chunk. */
  stream(): Transform {
    let held = "";
    return new Transform({
      transform: (chunk: Buffer, _encoding, done) => {
        const [ready, rest] = this.#ready(held + chunk.toString("latin1"));
        held = rest;
        done(null, Buffer.from(ready, "latin1"));
      },
      flush: (done) => done(null, Buffer.from(this.text(held), "latin1")),
    });
  }

  /** What can be passed on, filtered, and what may be the beginning of a spelling. */
  #ready(text: string): [ready: string, rest: string] {
    if (this.#pattern === undefined) return [text, ""];
    // What begins before this place is there in full, however long it is.
    const safe = text.length - this.#longest + 1;
    let ready = "";
    let at = 0;
    for (const { 0: found, index } of text.matchAll(this.#pattern)) {
      if (index >= safe) break;
      ready += text.slice(at, index) + (this.#placeholders.get(found.toLowerCase()) ?? "");
      at = index + found.length;
    }
    const until = Math.max(at, safe, 0);
    return [ready + text.slice(at, until), text.slice(until)];
  }
}

function escaped(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/-]/g, "\\$&");
}
