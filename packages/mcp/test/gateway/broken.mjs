// A server of 2025-06-18, or the revision it is given, that answers calls with the bytes it is given; ID stands for the id of the call.
const send = (message) => process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
const inputSchema = { type: "object" };
const outputSchema = {
  type: "object",
  properties: { n: { type: "integer" } },
  required: ["n"],
  additionalProperties: false,
};
const answers = {
  initialize: () => ({
    protocolVersion: process.argv[2] ?? "2025-06-18",
    capabilities: { tools: {} },
    serverInfo: { name: "broken", version: "1" },
  }),
  "tools/list": () => ({
    tools: [
      { name: "raw", inputSchema },
      { name: "shaped", inputSchema, outputSchema },
    ],
  }),
  ping: () => ({}),
};
let rest = "";
process.stdin.setEncoding("utf8").on("data", (chunk) => {
  const lines = (rest + chunk).split("\n");
  rest = lines.pop();
  for (const line of lines) {
    const { id, method, params } = JSON.parse(line);
    if (id === undefined || method === undefined) continue;
    if (method === "tools/call")
      process.stdout.write(`${params.arguments.line.replaceAll("ID", JSON.stringify(id))}\n`);
    else if (answers[method] === undefined) send({ id, error: { code: -32601, message: "no" } });
    else send({ id, result: answers[method]() });
  }
});
process.stdin.on("end", () => process.exit(0));
