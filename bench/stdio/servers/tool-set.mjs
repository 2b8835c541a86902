// The tools every server of the bench offers: echo and add, and for the list workload as many more as are asked for.

const requested = process.argv.indexOf("--tools");
/** How many tools this process offers: `--tools N`, two when not given. */
export const toolCount = requested === -1 ? 2 : Number(process.argv[requested + 1]);

export const ECHO = {
  name: "echo",
  description: "Returns the text it is given",
  inputSchema: { type: "object", properties: { text: { type: "string" } }, required: ["text"] },
};

export const ADD = {
  name: "add",
  description: "Adds two numbers",
  inputSchema: { type: "object", properties: { a: { type: "number" }, b: { type: "number" } }, required: ["a", "b"] },
};

/** The names of the tools beyond echo and add. */
export function fillerNames() {
  return Array.from({ length: Math.max(0, toolCount - 2) }, (_, index) => `lookup_${index}`);
}

export function fillerDescription(name) {
  return `Looks records up in the collection behind ${name} and returns those that match, newest first`;
}

export const FILLER_TEXTS = {
  query: "Words that must all occur in a record",
  limit: "The most records to return",
  fresh: "Whether to pass over what was seen before",
};

/** The JSON Schema of a filler tool; the zod schema beside it in sdk-tools.mjs says the same. */
export const FILLER_SCHEMA = {
  type: "object",
  properties: {
    query: { type: "string", minLength: 1, description: FILLER_TEXTS.query },
    limit: { type: "number", minimum: 1, maximum: 100, description: FILLER_TEXTS.limit },
    fresh: { type: "boolean", description: FILLER_TEXTS.fresh },
  },
  required: ["query"],
};
