// The inspection with its intents listened to: what the fit of their weights is made from.
export { inspectOffering } from "../../packages/secure-local/src/inspection/inspect.js";
export { WEIGHTS } from "../../packages/secure-local/src/inspection/intents/weights.js";
export { REPORTED } from "../../packages/secure-local/src/inspection/intents/read-intents.js";
export { heard } from "./listening-intents.js";
