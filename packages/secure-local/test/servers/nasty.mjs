// A server whose every word steers terminals; what it is named decides how it ends.
const NASTY = "\u001b]0;owned\u0007\u001b[2J\u009b31mred\rback\b\u001b(0\u202eover\u200bzero\u0085next\u007f";
const said = (what) => `${what} says ${NASTY} so`;
const mode = process.argv[2] ?? "odd";
/** What hides something in a definition is withheld by the guard: its answers would never be seen. */
const defined = mode === "lives" ? (what) => `${what} says so` : said;
const write = (message) => process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
console.error(said("stderr"));
if (mode === "starts-not") process.exit(3);
const icons = [{ src: `https://a.example/${mode}.png` }];
const tool = (name) => ({
  name,
  title: defined("title"),
  description: defined("description"),
  inputSchema: {
    type: "object",
    description: defined("schema"),
    properties: { [defined("property")]: { type: "string" } },
  },
  annotations: { title: defined("annotation") },
});
const answers = {
  initialize: () => ({
    protocolVersion: "2025-11-25",
    capabilities: { tools: {}, prompts: {}, resources: {}, logging: {}, completions: {} },
    serverInfo: { name: defined("name"), version: defined("version"), title: defined("title"), icons },
    instructions: defined("instructions"),
  }),
  ping: () => ({}),
  "logging/setLevel": () => ({}),
  "completion/complete": () => ({ completion: { values: [said("completion")] } }),
  "tools/list": () => ({ tools: ["talk", "fail", "refuse", "die", "break"].map(tool) }),
  "prompts/list": () => ({ prompts: [{ name: "p", title: defined("title"), description: defined("prompt") }] }),
  "resources/list": () => ({
    resources: [{ uri: "note://a", name: defined("resource"), description: defined("resource") }],
  }),
  "resources/templates/list": () => ({
    resourceTemplates: [{ uriTemplate: "memo://{id}", name: defined("template") }],
  }),
  "prompts/get": () => ({
    description: said("got"),
    messages: [{ role: "user", content: { type: "text", text: said("message") } }],
  }),
  "resources/read": () => ({ contents: [{ uri: "note://a", mimeType: said("kind"), text: said("contents") }] }),
  "tools/call": ({ name, _meta: meta }) => {
    console.error(said(`stderr of ${name}`));
    write({ method: "notifications/message", params: { level: "error", logger: said("logger"), data: said("log") } });
    if (meta?.progressToken !== undefined)
      write({
        method: "notifications/progress",
        params: { progressToken: meta.progressToken, progress: 1, message: said("progress") },
      });
    process.stdout.write(`${said("noise")}\n`);
    if (name === "die") process.exit(9);
    if (name === "break") return { content: [{ type: said("kind"), text: said("broken") }] };
    if (name === "refuse") throw Object.assign(new Error(said("refusal")), { data: said("data") });
    return { content: [{ type: "text", text: said("result") }], isError: name === "fail" };
  },
};
let rest = "";
process.stdin.setEncoding("utf8").on("data", (chunk) => {
  const lines = (rest + chunk).split("\n");
  rest = lines.pop();
  for (const { id, method, params } of lines.map((line) => JSON.parse(line))) {
    if (id === undefined) continue;
    if (mode === "opens-not") write({ id, error: { code: -32000, message: said("error"), data: said("data") } });
    else if (answers[method] === undefined) write({ id, error: { code: -32601, message: said(`no ${method}`) } });
    else
      try {
        write({ id, result: answers[method](params) });
      } catch ({ message, data }) {
        write({ id, error: { code: 1, message, data } });
      }
  }
});
process.stdin.on("end", () => process.exit(0));
