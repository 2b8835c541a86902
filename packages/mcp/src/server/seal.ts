// Seals request states: what the client carries between rounds cannot be read, changed or made up by it.
import { Later } from "../endpoint/call.js";

/** Encrypts and authenticates text. A state sealed elsewhere opens only where the key is the same. */
export interface Seal {
  seal(text: string): Promise<string>;
  /** The text, or undefined when the seal is not intact. */
  open(sealed: string): Promise<string | undefined>;
}

/** Bytes of an AES-256 key. */
const KEY_BYTES = 32;

/**
 * AES-256-GCM by WebCrypto. The first key seals, every key opens, so that keys can be rotated. Without keys a random one
 * is made: states then die with the process. Throws RangeError for a key that is not 32 bytes.
 */
export function aesSeal(...keys: readonly Uint8Array<ArrayBuffer>[]): Seal {
  for (const key of keys) {
    if (key.length !== KEY_BYTES) throw new RangeError(`A sealing key has ${KEY_BYTES} bytes, not ${key.length}`);
  }
  const made = new Later<Seal>(() => import("./sealing.js").then(({ aes }) => aes(keys)));
  return {
    seal: async (text) => made.use((seal) => seal.seal(text)),
    open: async (sealed) => made.use((seal) => seal.open(sealed)),
  };
}
