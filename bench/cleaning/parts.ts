// What the cleaning bench measures, gathered for the bundler.
export { redactShapes } from "../../packages/secure-local/src/audit/secret-shapes.js";
export { cleanText } from "../../packages/secure-local/src/guard/cleaning/clean-text.js";
