// What the cleaning bench measures, gathered for the bundler.
export { redactOutput } from "../../packages/secure-local/src/audit/secret-shapes.js";
export { cleanText } from "../../packages/secure-local/src/guard/cleaning/clean-text.js";
