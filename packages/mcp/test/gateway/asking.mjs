// A server of 2025-06-18 whose questions name no call: `ask` asks within a call, `later` when another call comes,
// `hold` says that it has begun and never ends, `hang` says nothing and never ends; `hanging` says how many of those began,
// `ended` how what was asked has ended. What is asked with the tag `pid` says which process asks.
const waiting = new Map();
let late = [];
const ended = [];
let ids = 0;
let hanging = 0;
const send = (message) => process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
const ask = (tag) =>
  new Promise((resolve) => {
    const id = `q${++ids}`;
    waiting.set(id, resolve);
    const requestedSchema = { type: "object", properties: { whose: { type: "string" } } };
    send({
      id,
      method: "elicitation/create",
      params: { message: tag === "pid" ? `${process.pid}` : tag, requestedSchema },
    });
  });
const asked = async (tag) => {
  const { result, error } = await ask(tag);
  const how = error === undefined ? `${tag} -> ${result.content?.whose ?? result.action}` : `${tag} -> refused`;
  ended.push(how);
  return how;
};
const tools = {
  plain: async () => "done",
  ask: ({ tag }) => asked(tag),
  later: async ({ tag }) => {
    late.push(tag);
    return "later";
  },
  hold: (_given, progressToken) => {
    send({ method: "notifications/progress", params: { progressToken, progress: 1 } });
    return new Promise(() => undefined);
  },
  hang: () => {
    hanging += 1;
    return new Promise(() => undefined);
  },
  hanging: async () => hanging,
  ended: async () => ended.join("; "),
  fire: async () => {
    const tags = late;
    late = [];
    return (await Promise.all(tags.map(asked))).join("; ");
  },
};
const answers = {
  initialize: async () => ({
    protocolVersion: "2025-06-18",
    capabilities: { tools: {} },
    serverInfo: { name: "asking", version: "1" },
  }),
  "tools/list": async () => ({ tools: Object.keys(tools).map((name) => ({ name, inputSchema: { type: "object" } })) }),
  "tools/call": async ({ name, arguments: given, _meta: meta }) => ({
    content: [{ type: "text", text: `${process.pid} ${await tools[name](given ?? {}, meta?.progressToken)}` }],
  }),
  ping: async () => ({}),
};
let rest = "";
process.stdin.setEncoding("utf8").on("data", (chunk) => {
  const lines = (rest + chunk).split("\n");
  rest = lines.pop();
  for (const line of lines) {
    const { id, method, params, ...answer } = JSON.parse(line);
    if (method === undefined) waiting.get(id)?.(answer);
    else if (id !== undefined && answers[method] === undefined) send({ id, error: { code: -32601, message: "no" } });
    else if (id !== undefined) void answers[method](params).then((result) => send({ id, result }));
  }
});
process.stdin.on("end", () => process.exit(0));
