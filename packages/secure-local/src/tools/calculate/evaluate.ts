// Evaluates tokens by precedence climbing: no code is made from the expression.
import type { Sign, Token } from "./tokens.js";

/** A fault in the expression, in words for the person who wrote it. */
export class ExpressionError extends Error {}

/** Parentheses, signs and powers inside one another: far more than people write, far less than the stack holds. */
const MAX_DEPTH = 100;

/** Higher binds tighter. `^` is above the sign before a number, so -2^2 is -4; its own right side may have a sign. */
const PRECEDENCE: Readonly<Partial<Record<Token["kind"], number>>> = { "+": 1, "-": 1, "*": 2, "/": 2, "%": 2, "^": 4 };
const UNARY = 3;

/** Returns the value, always finite. @throws ExpressionError */
export function evaluate(tokens: readonly Token[]): number {
  const reader = new Reader(tokens);
  const value = reader.expression(1, 0);
  reader.end();
  return value;
}

class Reader {
  readonly #tokens: readonly Token[];
  #position = 0;

  constructor(tokens: readonly Token[]) {
    this.#tokens = tokens;
  }

  /** An operand and every operator behind it that binds at least as tight as `least`. */
  expression(least: number, depth: number): number {
    if (depth > MAX_DEPTH) throw new ExpressionError(`nested deeper than ${MAX_DEPTH} levels`);
    let value = this.#operand(depth);
    for (;;) {
      const operator = this.#tokens[this.#position]?.kind;
      const precedence = operator === undefined ? undefined : PRECEDENCE[operator];
      if (operator === undefined || precedence === undefined || precedence < least) return value;
      this.#position += 1;
      // `^` groups to the right, all others to the left.
      value = apply(operator as Sign, value, this.expression(operator === "^" ? UNARY : precedence + 1, depth + 1));
    }
  }

  end(): void {
    const rest = this.#tokens[this.#position];
    if (rest === undefined) return;
    throw new ExpressionError(rest.kind === ")" ? "unmatched )" : `an operator is missing before ${shown(rest)}`);
  }

  #operand(depth: number): number {
    const token = this.#tokens[this.#position++];
    switch (token?.kind) {
      case "number":
        return finite(token.value);
      case "+":
        return this.expression(UNARY, depth + 1);
      case "-":
        return -this.expression(UNARY, depth + 1);
      case "(":
        return this.#group(depth);
      default:
        throw new ExpressionError(`a number is missing ${token === undefined ? "at the end" : `before ${token.kind}`}`);
    }
  }

  #group(depth: number): number {
    const value = this.expression(1, depth + 1);
    const closing = this.#tokens[this.#position];
    if (closing === undefined) throw new ExpressionError("a ) is missing at the end");
    if (closing.kind !== ")") throw new ExpressionError(`an operator is missing before ${shown(closing)}`);
    this.#position += 1;
    return value;
  }
}

function apply(operator: Sign, left: number, right: number): number {
  switch (operator) {
    case "+":
      return finite(left + right);
    case "-":
      return finite(left - right);
    case "*":
      return finite(left * right);
    case "/":
      if (right === 0) throw new ExpressionError("division by zero");
      return finite(left / right);
    case "%":
      return modulo(left, right);
    default:
      return power(left, right);
  }
}

/** The remainder with the sign of the divisor, as in arithmetic: -7 % 3 is 2. */
function modulo(left: number, right: number): number {
  if (right === 0) throw new ExpressionError("modulo by zero");
  const rest = left % right;
  return rest !== 0 && rest < 0 !== right < 0 ? rest + right : rest;
}

function power(base: number, exponent: number): number {
  if (base === 0 && exponent < 0) throw new ExpressionError("division by zero");
  const value = base ** exponent;
  if (Number.isNaN(value)) throw new ExpressionError("a negative number has no such root");
  return finite(value);
}

function finite(value: number): number {
  if (!Number.isFinite(value)) throw new ExpressionError("the result is too large");
  return value;
}

function shown(token: Token): string {
  return token.kind === "number" ? token.text : token.kind;
}
