// Gives a call a digest that is another one as soon as anything of the call is another.
import { createHash } from "node:crypto";

/** All that a consent is bound to. */
export interface BoundCall {
  readonly tool: string;
  /** As the handler gets them: validated, defaults filled in. */
  readonly arguments: unknown;
  /** Paths in them that lead elsewhere, and where. */
  readonly led: readonly (readonly [path: string, real: string | undefined])[];
  /** Hash of the policy the call was admitted under. */
  readonly policy: string;
  readonly principal: string | undefined;
}

/** SHA-256 in hexadecimal. The order of keys makes no difference. */
export function callDigest({ tool, arguments: args, led, policy, principal }: BoundCall): string {
  const text = JSON.stringify([tool, sorted(args), led, policy, principal ?? null]);
  return createHash("sha256").update(text).digest("hex");
}

/** Lists of pairs instead of objects: keys such as `__proto__` count like any other. */
function sorted(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return ["list", ...value.map(sorted)];
  const pairs = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return ["object", ...pairs.map(([key, member]) => [key, sorted(member)])];
}
