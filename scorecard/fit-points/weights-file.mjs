// Writes the table of points as the product has it.
const HEAD = `// How much each sign of an order weighs, in hundredths of a point. The names are chosen by hand; what stands behind them is written by
// \`node scorecard/fit-points.mjs --write\`: a logistic regression over the descriptions in test/inspection. Run it when names, words or descriptions change.

/** A sign, or two kinds of signs in one sentence. What is not here weighs nothing. */
export const WEIGHTS: Readonly<Record<string, number>> = {
`;

export function pointsFile(points) {
  const lines = Object.entries(points).map(
    ([name, value]) => `  ${/^\w+$/.test(name) ? name : `"${name}"`}: ${value},\n`,
  );
  return `${HEAD}${lines.join("")}};\n`;
}
