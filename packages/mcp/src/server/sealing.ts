// Seals with AES, and for all processes of a server once there are others. Loaded with the first state that is sealed or opened.
import { fromBase64, toBase64 } from "./content.js";
import type { ServerCluster } from "./subscription.js";

/** Encrypts and authenticates text. A state sealed elsewhere opens only where the key is the same. */
export interface Seal {
  seal(text: string): Promise<string>;
  /** The text, or undefined when the seal is not intact. */
  open(sealed: string): Promise<string | undefined>;
}

/** Bytes of an AES-256 key. */
const KEY_BYTES = 32;
/** Bytes of a nonce, as GCM wants it. Random nonces are safe for 2^32 seals under one key (NIST SP 800-38D §8.3). */
const NONCE_BYTES = 12;
/** Marks the format. */
const PREFIX = "s1.";

/** AES-256-GCM by WebCrypto. The first key seals, every key opens. Without keys a random one is made. */
export function aes(keys: readonly Uint8Array<ArrayBuffer>[]): Seal {
  let imported: Promise<readonly CryptoKey[]> | undefined;
  const ready = (): Promise<readonly CryptoKey[]> => (imported ??= importKeys(keys));
  return {
    async seal(text) {
      const [key] = await ready();
      const nonce = crypto.getRandomValues(new Uint8Array(NONCE_BYTES));
      const bytes = new TextEncoder().encode(text);
      const sealed = await crypto.subtle.encrypt({ name: "AES-GCM", iv: nonce }, key as CryptoKey, bytes);
      const whole = new Uint8Array(NONCE_BYTES + sealed.byteLength);
      whole.set(nonce);
      whole.set(new Uint8Array(sealed), NONCE_BYTES);
      return PREFIX + toBase64(whole);
    },
    async open(sealed) {
      const bytes = unpack(sealed);
      if (bytes === undefined) return undefined;
      for (const key of await ready()) {
        const text = await tryOpen(key, bytes);
        if (text !== undefined) return text;
      }
      return undefined;
    },
  };
}

/** Seals for all processes of a server once there are others: what a process sealed then begins with its name. */
export class ClusterSeal implements Seal {
  readonly #own: Seal;
  readonly #given: boolean;
  cluster: ServerCluster | undefined;

  /** `given`: the seal an author chose, which seals on whoever shares. */
  constructor(given: Seal | undefined) {
    this.#given = given !== undefined;
    this.#own = given ?? aes([]);
  }

  seal(text: string): Promise<string> {
    const { cluster } = this;
    if (cluster === undefined) return this.#own.seal(text);
    return this.#inner(cluster)
      .seal(text)
      .then((sealed) => `${cluster.node}.${sealed}`);
  }

  async open(sealed: string): Promise<string | undefined> {
    const { cluster } = this;
    if (cluster === undefined) return this.#own.open(sealed);
    const inner = this.#inner(cluster);
    return (await inner.open(sealed.slice(sealed.indexOf(".") + 1))) ?? inner.open(sealed);
  }

  #inner(cluster: ServerCluster): Seal {
    return this.#given ? this.#own : cluster.seal;
  }
}

function importKeys(keys: readonly Uint8Array<ArrayBuffer>[]): Promise<readonly CryptoKey[]> {
  const raw = keys.length > 0 ? keys : [crypto.getRandomValues(new Uint8Array(KEY_BYTES))];
  return Promise.all(raw.map((key) => crypto.subtle.importKey("raw", key, "AES-GCM", false, ["encrypt", "decrypt"])));
}

/** Strict, so that no other spelling of a sealed state opens too. */
function unpack(sealed: string): Uint8Array<ArrayBuffer> | undefined {
  if (!sealed.startsWith(PREFIX)) return undefined;
  const encoded = sealed.slice(PREFIX.length);
  try {
    const bytes = fromBase64(encoded);
    return bytes.length > NONCE_BYTES && toBase64(bytes) === encoded ? bytes : undefined;
  } catch {
    return undefined;
  }
}

async function tryOpen(key: CryptoKey, bytes: Uint8Array<ArrayBuffer>): Promise<string | undefined> {
  try {
    const iv = bytes.subarray(0, NONCE_BYTES);
    const text = await crypto.subtle.decrypt({ name: "AES-GCM", iv }, key, bytes.subarray(NONCE_BYTES));
    return new TextDecoder().decode(text);
  } catch {
    return undefined;
  }
}
