// Finds the key that must have signed a token in a JSON Web Key Set, given in place or fetched from the issuer.
import { fits, importPublicKey, publicPart, type VerifyKey } from "./jws.js";
import { fetchJson, type FetchOptions, isPlainObject } from "./fetch-json.js";
import { Refreshed } from "./refreshed.js";

/** A JSON Web Key Set (RFC 7517 §5). Private members are ignored. */
export interface JsonWebKeySet {
  readonly keys: readonly object[];
}

/** "unknown": no usable key has that id. "unavailable": the issuer cannot be asked and nothing young enough is held. */
export type KeyLookup = VerifyKey | "unknown" | "unavailable";

export interface KeySource {
  find(alg: string, kid: string | undefined): Promise<KeyLookup>;
}

/** Most keys in a set: issuers publish two to ten. */
const MAX_KEYS = 100;

/** Keys of one set, each imported once for each algorithm it is used with. */
class KeySet {
  readonly #keys: readonly Readonly<Record<string, unknown>>[];
  /** By algorithm and place in the set. */
  readonly #imported = new Map<string, Promise<VerifyKey | undefined>>();

  /** Throws an Error for what is no key set. */
  constructor(document: unknown) {
    const keys = isPlainObject(document) ? document["keys"] : undefined;
    if (!Array.isArray(keys) || keys.length > MAX_KEYS) throw new Error("This is no JSON Web Key Set");
    this.#keys = keys.filter(isPlainObject);
  }

  /** The one key it can be. Several candidates are none: which of them signed must not be tried out. */
  async find(alg: string, kid: string | undefined): Promise<VerifyKey | undefined> {
    let place = -1;
    for (const [at, jwk] of this.#keys.entries()) {
      if ((kid !== undefined && jwk["kid"] !== kid) || !fits(jwk, alg)) continue;
      if (place !== -1) return undefined;
      place = at;
    }
    const jwk = this.#keys[place];
    return jwk === undefined ? undefined : this.#import(jwk, alg, place);
  }

  #import(jwk: Readonly<Record<string, unknown>>, alg: string, place: number): Promise<VerifyKey | undefined> {
    const name = `${alg} ${place}`;
    let key = this.#imported.get(name);
    if (key === undefined) {
      const part = publicPart(jwk);
      key = part === undefined ? Promise.resolve(undefined) : importPublicKey(part, alg);
      this.#imported.set(name, key);
    }
    return key;
  }
}

/** Keys given in place. Throws an Error for what is no key set. */
export function localKeys(document: JsonWebKeySet): KeySource {
  const set = new KeySet(document);
  return { find: async (alg, kid) => (await set.find(alg, kid)) ?? "unknown" };
}

/** Keys of an issuer, fetched at first use. `now` gives milliseconds. Throws RangeError for a URL that must not be fetched. */
export function remoteKeys(url: string, options: FetchOptions, now: () => number): KeySource {
  const init: RequestInit = { headers: { accept: "application/jwk-set+json, application/json" } };
  const document = new Refreshed(async () => new KeySet(await fetchJson(url, init, options)), now);
  return {
    async find(alg, kid) {
      const held = await (await document.current())?.find(alg, kid);
      if (held !== undefined) return held;
      // Perhaps the issuer has rotated its keys: ask again, as often as the spacing allows.
      await document.renew();
      const set = await document.current();
      const found = await set?.find(alg, kid);
      if (found !== undefined) return found;
      return set === undefined || document.failed ? "unavailable" : "unknown";
    },
  };
}
