// What the MCP registry asks of a server.json, as its schema of 2025-12-11 says: the members we use, and what they may be.
// https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json
const text = (more = {}) => ({ type: "string", ...more });
const uri = text({ format: "uri" });

const input = {
  description: text(),
  default: text(),
  placeholder: text(),
  value: text(),
  format: { enum: ["string", "number", "boolean", "filepath"] },
  isRequired: { type: "boolean" },
  isSecret: { type: "boolean" },
  isRepeated: { type: "boolean" },
  choices: { type: "array", items: text() },
};

const named = {
  type: "object",
  required: ["type", "name"],
  properties: { ...input, type: { const: "named" }, name: text() },
};
const positional = {
  type: "object",
  required: ["type"],
  anyOf: [{ required: ["value"] }, { required: ["valueHint"] }],
  properties: { ...input, type: { const: "positional" }, valueHint: text() },
};
const http = {
  type: "object",
  required: ["type", "url"],
  properties: { type: { enum: ["streamable-http", "sse"] }, url: text({ pattern: "^https?://[^\\s]+$" }) },
};
const stdio = { type: "object", required: ["type"], properties: { type: { const: "stdio" } } };

const packaged = {
  type: "object",
  required: ["registryType", "identifier", "transport"],
  properties: {
    registryType: text(),
    registryBaseUrl: uri,
    identifier: text(),
    version: { ...text({ minLength: 1 }), not: { const: "latest" } },
    fileSha256: text({ pattern: "^[a-f0-9]{64}$" }),
    transport: { anyOf: [stdio, http] },
    packageArguments: { type: "array", items: { anyOf: [positional, named] } },
    environmentVariables: { type: "array", items: { type: "object", required: ["name"], properties: input } },
  },
};

export const SERVER_JSON = {
  type: "object",
  required: ["name", "description", "version"],
  properties: {
    $schema: { const: "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json" },
    name: text({ minLength: 3, maxLength: 200, pattern: "^[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+$" }),
    title: text({ minLength: 1, maxLength: 100 }),
    description: text({ minLength: 1, maxLength: 100 }),
    version: text({ maxLength: 255 }),
    websiteUrl: uri,
    repository: {
      type: "object",
      required: ["url", "source"],
      properties: { url: uri, source: text(), subfolder: text(), id: text() },
    },
    packages: { type: "array", items: packaged },
    remotes: { type: "array", items: http },
  },
};
