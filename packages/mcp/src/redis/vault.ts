// Encrypts what is kept in Redis, bound to the place it is kept at and to its end: what was moved, or put back later, does not open.
import { createCipheriv, createDecipheriv, createHmac, hkdfSync, randomBytes } from "node:crypto";

/** Names whose hidden form is remembered: most requests come from callers that called before. */
const HIDDEN = 10_000;
/** How it is sealed; what was sealed in another way does not open. */
const FORM = "2";
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
/** The end stands before the text, in milliseconds since 1970. */
const END_BYTES = 8;

export class Vault {
  readonly #keys: readonly Buffer[];
  readonly #names: Buffer;
  readonly #hidden = new Map<string, string>();
  /** Milliseconds that the clock all go by is ahead of ours. */
  clockMs = 0;

  constructor(keys: readonly Buffer[]) {
    this.#keys = keys.map((key) => Buffer.from(hkdfSync("sha256", key, "", "records", 32)));
    this.#names = Buffer.from(hkdfSync("sha256", keys.at(-1) as Buffer, "", "names", 32));
  }

  /** A name that says nothing of what it stands for, though that is short. */
  hidden(name: string): string {
    const known = this.#hidden.get(name);
    if (known !== undefined) return known;
    const hidden = createHmac("sha256", this.#names).update(name).digest("base64url").slice(0, 22);
    this.#hidden.set(name, hidden);
    if (this.#hidden.size > HIDDEN) this.#hidden.delete(this.#hidden.keys().next().value as string);
    return hidden;
  }

  /** `lifeMs`: from now. Redis's own end can be undone by whoever writes to it. */
  seal(place: string, text: string, lifeMs: number): string {
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv("aes-256-gcm", this.#keys[0] as Buffer, nonce);
    cipher.setAAD(Buffer.from(`${FORM} ${place}`));
    const end = Buffer.alloc(END_BYTES);
    end.writeDoubleBE(this.#now() + lifeMs);
    const sealed = [nonce, cipher.update(end), cipher.update(text, "utf8"), cipher.final(), cipher.getAuthTag()];
    return Buffer.concat(sealed).toString("base64url");
  }

  /** The text; undefined for one that has ended, was changed, moved, or sealed with another key. */
  open(place: string, sealed: string): string | undefined {
    const bytes = Buffer.from(sealed, "base64url");
    if (bytes.length < NONCE_BYTES + END_BYTES + TAG_BYTES) return undefined;
    for (const key of this.#keys) {
      const decipher = createDecipheriv("aes-256-gcm", key, bytes.subarray(0, NONCE_BYTES));
      decipher.setAAD(Buffer.from(`${FORM} ${place}`));
      decipher.setAuthTag(bytes.subarray(-TAG_BYTES));
      try {
        const clear = Buffer.concat([decipher.update(bytes.subarray(NONCE_BYTES, -TAG_BYTES)), decipher.final()]);
        // As TTL in Redis: over at its end, not after it. What is no number has ended.
        return clear.readDoubleBE(0) > this.#now() ? clear.toString("utf8", END_BYTES) : undefined;
      } catch {
        // Sealed with another key, or not by us.
      }
    }
    return undefined;
  }

  #now(): number {
    return Date.now() + this.clockMs;
  }
}
