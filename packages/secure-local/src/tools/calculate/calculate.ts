// The tool `calculate`: arithmetic, evaluated by our own reader.
import type { BuiltinTool, ToolAnswer } from "../tool.js";
import { evaluate, ExpressionError } from "./evaluate.js";
import { tokenize } from "./tokens.js";

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
