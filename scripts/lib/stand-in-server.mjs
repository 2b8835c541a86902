// Writes a server of 2025-06-18 in a few lines: what stands behind the policy in pictures and on the console's stage.
import { writeFileSync } from "node:fs";

/** A tool without arguments worth a description. */
export function plainTool(name, description) {
  return { name, description, inputSchema: { type: "object" } };
}

/**
 * Sources, since what a server does is what differs: `tools` an expression for the list, `begins` statements before the first
 * line is read, `does` the body that answers `tools/call` by `params`; it may wait.
 */
export function writeStandInServer(file, { name, tools, does, begins = "" }) {
  const info = { protocolVersion: "2025-06-18", capabilities: { tools: {} }, serverInfo: { name, version: "1.4" } };
  writeFileSync(
    file,
    `import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
const said = (text) => ({ content: [{ type: "text", text }] });
${begins}
const tools = ${tools};
const fault = (code, message) => Object.assign(new Error(message), { code });
const answers = {
  initialize: () => (${JSON.stringify(info)}),
  ping: () => ({}),
  "tools/list": () => ({ tools }),
  "tools/call": async (params) => {
    if (!tools.some(({ name }) => name === params.name)) throw fault(-32602, "Unknown tool");
    ${does}
  },
};
const answer = async ({ method, params }) => {
  if (!Object.hasOwn(answers, method)) throw fault(-32601, "Method not found");
  return { result: await answers[method](params) };
};
createInterface({ input: process.stdin }).on("line", async (line) => {
  const message = JSON.parse(line);
  const said = await answer(message).catch(({ code = -32603, message }) => ({ error: { code, message } }));
  const { id } = message;
  if (id !== undefined) process.stdout.write(JSON.stringify({ jsonrpc: "2.0", id, ...said }) + "\\n");
});
`,
  );
}
