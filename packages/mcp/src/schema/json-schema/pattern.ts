// Runs `pattern` and `patternProperties` on the platform's regular expressions.

import { charge } from "./run.js";

/** A compiled regular expression, searched for anywhere in a text. */
export interface Pattern {
  test(text: string): boolean;
}

/** Compiles the source of a `pattern`; throws an Error, whose message is shown, for one it cannot run. */
export type PatternEngine = (source: string) => Pattern;

/** The default engine: `RegExp` with the `u` flag. */
export const nativePattern: PatternEngine = (source) => {
  const expression = new RegExp(source, "u");
  return {
    test(text) {
      charge(text.length >> 6);
      return expression.test(text);
    },
  };
};
