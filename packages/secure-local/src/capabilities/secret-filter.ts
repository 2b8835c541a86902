// Puts placeholders in place of the values of secrets in what a server answers, whole or chunk by chunk.
import { Buffer } from "node:buffer";
import { Transform } from "node:stream";
import { EscapedValues, LONGEST_ESCAPE } from "../audit/known-secrets.js";

/**
 * Looks for bytes, whatever their charset: texts are taken as Latin-1, as headers come, one character a byte. Letters are found
 * in either case.
 */
export class SecretFilter {
  readonly #placeholders = new Map<string, string>();
  readonly #longest: number;
  readonly #pattern: RegExp | undefined;
  readonly #escaped: EscapedValues;

  /**
   * @param spellings Each with the placeholder that stands for it.
   * @param values Those of them that are found with any of their characters escaped as well.
   */
  constructor(
    spellings: Iterable<readonly [spelling: string, placeholder: string]>,
    values: Iterable<readonly [value: string, placeholder: string]> = [],
  ) {
    const plain = [...values];
    this.#escaped = new EscapedValues(plain);
    for (const [spelling, placeholder] of spellings) {
      if (spelling !== "") this.#placeholders.set(Buffer.from(spelling).toString("latin1").toLowerCase(), placeholder);
    }
    // The longest first: one spelling may be the beginning of another.
    const sorted = [...this.#placeholders.keys()].sort((a, b) => b.length - a.length);
    this.#longest = Math.max(sorted[0]?.length ?? 0, ...plain.map(([value]) => value.length * LONGEST_ESCAPE));
    this.#pattern = sorted.length === 0 ? undefined : new RegExp(sorted.map(escaped).join("|"), "gi");
  }

  text(given: string): string {
    if (this.#pattern === undefined) return given;
    const text = given.replace(this.#pattern, (found) => this.#placeholders.get(found.toLowerCase()) ?? "");
    return this.#escaped.replace(text);
  }

  /** Names are looked through like values: a server chooses both. */
  headers(given: Readonly<Record<string, string | string[] | undefined>>): Record<string, string | string[]> {
    const filtered: Record<string, string | string[]> = {};
    for (const [name, value] of Object.entries(given)) {
      if (value === undefined) continue;
      filtered[this.text(name)] = typeof value === "string" ? this.text(value) : value.map((each) => this.text(each));
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
    for (const { index, length, label } of this.#found(text)) {
      if (index >= safe) break;
      if (index < at) continue;
      ready += text.slice(at, index) + label;
      at = index + length;
    }
    const until = Math.max(at, safe, 0);
    return [ready + text.slice(at, until), text.slice(until)];
  }

  /** In their order. */
  #found(text: string): readonly Place[] {
    const spelt = [...text.matchAll(this.#pattern as RegExp)].map(({ 0: found, index }) => ({
      index,
      length: found.length,
      label: this.#placeholders.get(found.toLowerCase()) ?? "",
    }));
    return [...spelt, ...this.#escaped.in(text)].sort((a, b) => a.index - b.index);
  }
}

interface Place {
  readonly index: number;
  readonly length: number;
  readonly label: string;
}

function escaped(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/-]/g, "\\$&");
}
