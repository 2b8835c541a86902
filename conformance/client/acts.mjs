// What the client does in each scenario: the calls a program would make, by the library's public surface alone.
import { connect } from "@secure-local/mcp/client/node";

/** The act of a scenario; most only list the tools and call one. */
export function actFor(scenario) {
  return ACTS[scenario] ?? (scenario.startsWith("auth/") ? useTestTool : listTools);
}

const ACTS = {
  tools_call: withClient(async (client) => {
    await client.tools().all();
    await client.call("add_numbers", { a: 5, b: 3 });
  }),
  "elicitation-sep1034-client-defaults": withClient(
    async (client) => {
      await client.tools().all();
      await client.call("test_client_elicitation_defaults");
    },
    { elicit: () => ({ action: "accept", content: {} }) },
  ),
  "sse-retry": withClient(async (client) => {
    await client.tools().all();
    await client.call("test_reconnection");
  }),
  "request-metadata": withClient(listDeclared, everyHandler()),
  "sep-2322-client-request-state": withClient(
    async (client) => {
      const names = (await client.tools().all()).map(({ name }) => name);
      for (const name of names) await client.call(name).catch(report);
    },
    { elicit: () => ({ action: "accept", content: { confirmed: true } }) },
  ),
  "http-standard-headers": withClient(useEverything),
  "http-custom-headers": withClient(async (client, { context }) => {
    await client.tools().all();
    for (const { name, arguments: args } of context.toolCalls) await client.call(name, args);
  }),
  "http-invalid-tool-headers": withClient(async (client) => {
    for (const { name, inputSchema } of await client.tools().all()) await client.call(name, valuesFor(inputSchema));
  }),
  "json-schema-2020-12-preservation": withClient(async (client) => {
    const tools = await client.tools().all();
    const { inputSchema } = tools.find(({ name }) => name === "json_schema_2020_12_tool");
    await client.call("json_schema_echo", { schema: inputSchema });
  }),
  "auth/authorization-server-migration": withClient(async (client) => {
    for (let i = 0; i < 3; i++) {
      await client.tools().all();
      await client.call("test-tool", {});
    }
  }),
};

const listTools = withClient(listDeclared);

const useTestTool = withClient(async (client) => {
  await client.tools().all();
  await client.call("test-tool", {});
});

/** `act(client, scenario)` with a client that speaks the scenario's revision. */
function withClient(act, options = {}) {
  return async (scenario) => {
    const { url, revision, authorizer } = scenario;
    const client = await connect(url, {
      clientInfo: { name: "conformance-client", version: "1.0.0" },
      ...(revision === "2026-07-28" ? { revision } : { era: "handshake" }),
      cache: false,
      verdicts: false,
      onWarning: report,
      http: authorizer === undefined ? {} : { authorizer },
      ...options,
    });
    try {
      await act(client, scenario);
    } finally {
      await client.close();
    }
  };
}

/** Some of the suite's servers declare no tools, and the client calls nothing that was not declared. */
async function listDeclared(client) {
  if (client.capabilities.tools === undefined) await client.ping();
  else await client.tools().all();
}

async function useEverything(client) {
  const [tool] = await client.tools().all();
  await client.call(tool.name, valuesFor(tool.inputSchema));
  for (const { uri } of await client.resources().all()) await client.read(uri);
  const [prompt] = await client.prompts().all();
  const args = (prompt.arguments ?? []).map(({ name }) => [name, "value"]);
  await client.prompt(prompt.name, Object.fromEntries(args));
}

function everyHandler() {
  return {
    elicit: () => ({ action: "decline" }),
    sample: () => ({ role: "assistant", model: "none", content: { type: "text", text: "" } }),
    roots: [],
  };
}

/** Values that fit the types of a tool's properties. */
function valuesFor({ properties = {} }) {
  const samples = { string: "text", integer: 1, number: 1, boolean: true, array: [], object: {} };
  return Object.fromEntries(Object.entries(properties).map(([name, { type }]) => [name, samples[type] ?? null]));
}

function report(fault) {
  console.error(fault instanceof Error ? fault.message : fault);
}
