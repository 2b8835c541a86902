// What a server knows of a request beyond the protocol, with types: claims of a token, and values that middleware found out.
import type { Call } from "../endpoint/call.js";
import { LocalError } from "../jsonrpc/errors.js";
import type { Identity } from "../jsonrpc/transport.js";
import type { InferStandard, StandardSchema } from "../schema/standard-schema.js";
import { Context } from "./context.js";

/** A value that middleware sets for a request and handlers read. */
export interface RequestValue<T> {
  /** Sets it for a request, before `next()`. */
  set(call: Call, value: T): void;
  /** The value for the request that is being served; undefined where nothing set it. */
  get(ctx: Context): T | undefined;
  /** The same. Throws NO_VALUE where nothing set it. */
  require(ctx: Context): T;
}

/**
 * A place for a value of each request, such as the tenant that a header names. Where a handler goes on in another request after a
 * question, the middleware has run for that one too, and its value is the one that is read.
 */
export function requestValue<T>(name = "value"): RequestValue<T> {
  const values = new WeakMap<Call, T>();
  return {
    set: (call, value) => void values.set(call, value),
    get: (ctx) => values.get(Context.callOf(ctx)),
    require: (ctx) => {
      const call = Context.callOf(ctx);
      if (values.has(call)) return values.get(call) as T;
      throw new LocalError("NO_VALUE", `Nothing set the ${name} of this request: middleware does, before next()`);
    },
  };
}

/**
 * The claims of whoever is asking, checked by a schema and with its type. Takes the `ctx` of a handler or the `call` of middleware.
 * Throws NO_IDENTITY where nobody is known, BAD_CLAIMS where they do not fit: the log hears of it, the client of an error.
 */
export function claimsOf<S extends StandardSchema>(
  asking: { readonly identity: Identity | undefined },
  schema: S,
): InferStandard<S> {
  const { identity } = asking;
  if (identity === undefined) {
    throw new LocalError("NO_IDENTITY", "Nobody is known to be asking: claims come with `authorization` or `identity`");
  }
  const checked = schema["~standard"].validate(identity.claims ?? {});
  if ("then" in checked) throw new LocalError("BAD_CLAIMS", "Claims are checked by a schema that validates at once");
  if (checked.issues === undefined) return checked.value;
  const faults = checked.issues.map(({ path = [], message }) => {
    const place = path.map((part) => String(typeof part === "object" ? part.key : part)).join(".");
    return place === "" ? message : `${place}: ${message}`;
  });
  throw new LocalError("BAD_CLAIMS", `The claims of this identity do not fit: ${faults.join("; ")}`);
}
