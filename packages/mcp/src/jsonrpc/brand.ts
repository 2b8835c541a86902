// Marks on the library's own classes, so that one copy of the package knows what another copy made.

/** The member of a server that serves one connection: how a client reaches a server of any copy, without holding one. */
export const SERVE: unique symbol = Symbol.for("@secure-local/mcp/serve") as never;

/** `instanceof` as it is by itself. */
const ORDINARY = Function.prototype[Symbol.hasInstance];

/**
 * Makes `instanceof` of a class ask for its mark: a package of tools may bring a copy of this library of its own, and a
 * class of that copy is another class. Classes derived from it are told apart as usual. No JSON can carry the mark.
 */
export function brand(made: abstract new (...args: never[]) => object, name: string): void {
  const mark = Symbol.for(`@secure-local/mcp/${name}`);
  Object.defineProperty(made.prototype, mark, { value: true });
  Object.defineProperty(made, Symbol.hasInstance, {
    value(this: unknown, value: unknown): boolean {
      if (this !== made) return ORDINARY.call(this as () => void, value);
      return typeof value === "object" && value !== null && (value as Record<symbol, unknown>)[mark] === true;
    },
  });
}
