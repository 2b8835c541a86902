// The tool `calculate`: arithmetic, evaluated by our own reader.
import type { BuiltinTool, ToolAnswer } from "../tool.js";

/** More than a page of arithmetic; keeps one call under a millisecond. */
const MAX_LENGTH = 2_000;
/** What a double holds for certain: 0.1 + 0.2 is printed as 0.3. */
const SIGNIFICANT_DIGITS = 15;

/** + - * / % (modulo, sign of the divisor) ^ (power, right to left), parentheses, decimals and exponents, in double precision. */
export const calculate: BuiltinTool<{ readonly expression: string }> = {
  name: "calculate",
  title: "Calculator",
  description: "Evaluate a mathematical expression",
  category: "calculation",
  aliases: ["math", "arithmetic", "compute", "sum"],
  input: {
    type: "object",
    properties: {
      expression: { type: "string", description: "Math expression to evaluate (e.g., '2 + 3 * 4')" },
    },
    required: ["expression"],
  },
  output: {
    type: "object",
    properties: { result: { type: "number", description: "The value, to 15 significant digits" } },
    required: ["result"],
  },
  annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  run({ expression }): ToolAnswer {
    if (expression.trim() === "") return { failed: "Error: expression is required" };
    if (expression.length > MAX_LENGTH) {
      return { failed: `Error evaluating expression: longer than ${MAX_LENGTH} characters` };
    }
    const tokens = tokenize(expression);
    if (tokens === undefined) return { failed: "Error: expression contains invalid characters" };
    try {
      const result = rounded(evaluate(tokens));
      return { structured: { result }, text: String(result) };
    } catch (error) {
      if (!(error instanceof ExpressionError)) throw error;
      return { failed: `Error evaluating expression: ${error.message}` };
    }
  },
};

/** Whole numbers as they are, others to 15 significant digits; as text without trailing zeros, with exponents from 1e21 and below 1e-6. */
function rounded(value: number): number {
  return Number.isInteger(value) ? value + 0 : Number(value.toPrecision(SIGNIFICANT_DIGITS));
}

// Evaluates tokens by precedence climbing: no code is made from the expression.

/** A fault in the expression, in words for the person who wrote it. */
class ExpressionError extends Error {}

/** Parentheses, signs and powers inside one another: far more than people write, far less than the stack holds. */
const MAX_DEPTH = 100;

/** Higher binds tighter. `^` is above the sign before a number, so -2^2 is -4; its own right side may have a sign. */
const PRECEDENCE: Readonly<Partial<Record<Token["kind"], number>>> = { "+": 1, "-": 1, "*": 2, "/": 2, "%": 2, "^": 4 };
const UNARY = 3;

/** Returns the value, always finite. @throws ExpressionError */
function evaluate(tokens: readonly Token[]): number {
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

// Splits an arithmetic expression into numbers and signs.

type Token = { readonly kind: "number"; readonly value: number; readonly text: string } | { readonly kind: Sign };
type Sign = "+" | "-" | "*" | "/" | "%" | "^" | "(" | ")";

const SPACE = /\s*/y;
const NUMBER = /(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?/y;
const SIGNS: ReadonlySet<string> = new Set(["+", "-", "*", "/", "%", "^", "(", ")"]);

/** Returns the tokens of `text`, or undefined when it holds anything but decimal numbers, signs and white space. */
function tokenize(text: string): readonly Token[] | undefined {
  const tokens: Token[] = [];
  let position = matchAt(SPACE, text, 0).length;
  while (position < text.length) {
    const number = matchAt(NUMBER, text, position);
    const sign = text[position] as string;
    if (number !== "") tokens.push({ kind: "number", value: Number(number), text: number });
    else if (SIGNS.has(sign)) tokens.push({ kind: sign as Sign });
    else return undefined;
    position += number.length || 1;
    position += matchAt(SPACE, text, position).length;
  }
  return tokens;
}

function matchAt(pattern: RegExp, text: string, position: number): string {
  pattern.lastIndex = position;
  return pattern.exec(text)?.[0] ?? "";
}
