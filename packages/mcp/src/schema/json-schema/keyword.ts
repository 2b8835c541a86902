// Defines how one keyword is turned into a check, and how checks of the same value are joined.

import type { Node } from "./catalogue.js";
import type { SchemaObject } from "./inspect.js";
import type { Pattern } from "./pattern.js";
import { Seen, type Check } from "./trace.js";

/** The subschema being compiled, as a keyword sees it. */
export interface Site {
  readonly node: Node;
  readonly schema: SchemaObject;
  /** The test that `format` asserts under this name; undefined when it asserts nothing. */
  format(name: string): ((text: string) => boolean) | undefined;
  /** Compiles a subschema that stands inside this one. */
  sub(schema: unknown): Check;
  /** Compiles a regular expression that stands at `keyword`. */
  pattern(source: string, keyword: string): Pattern;
  /** The check of the subschema that a reference leads to, built later. */
  reference(keyword: "$ref" | "$dynamicRef"): Check;
}

/** Makes the check of one keyword from its value, whose shape is already checked; undefined when it asserts nothing. */
export type Keyword = (argument: unknown, site: Site) => Check | undefined;

export type Keywords = Readonly<Record<string, Keyword>>;

export const always: Check = () => true;

export const never: Check = (_value, trace) =>
  trace === null ? false : trace.fail("false schema", "is not allowed here");

/** One check out of several: all must pass, and with a trace all of them write down their faults. */
export function all(checks: readonly Check[]): Check {
  const [first = always, second] = checks;
  if (second === undefined) return first;
  if (checks.length === 2) {
    return (value, trace, seen) => {
      const valid = first(value, trace, seen);
      return valid || trace !== null ? second(value, trace, seen) && valid : false;
    };
  }
  return (value, trace, seen) => {
    let valid = true;
    for (let i = 0; i < checks.length; i++) {
      if ((checks[i] as Check)(value, trace, seen)) continue;
      if (trace === null) return false;
      valid = false;
    }
    return valid;
  };
}

/** Joins the checks of one schema: `type` first, since the rest says nothing new when it fails; `unevaluated…` last. */
export function join(type: Check | undefined, body: readonly Check[], last: readonly Check[]): Check {
  const rest = last.length === 0 ? all(body) : allThen(all(body), all(last));
  if (type === undefined) return rest;
  if (body.length + last.length === 0) return type;
  return (value, trace, seen) => type(value, trace, seen) && rest(value, trace, seen);
}

/** Runs `last` with all that `body` evaluated, and nothing that a schema further out did. */
function allThen(body: Check, last: Check): Check {
  return (value, trace, outer) => {
    const own = new Seen();
    if (!body(value, trace, own) || !last(value, trace, own)) return false;
    outer?.merge(own);
    return true;
  };
}
