// The inspection with its intents listened to: what the fit of their weights is made from.
export { inspectOffering } from "../../packages/inspection/src/items/inspect.js";
export { WEIGHTS } from "../../packages/inspection/src/intents/weights.js";
export { REPORTED } from "../../packages/inspection/src/intents/read-intents.js";
export { heard } from "./listening-intents.js";
