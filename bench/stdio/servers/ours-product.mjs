// The bench's tools in the product itself, behind its whole guard chain. Runs bundled (bundle-chain.mjs), as the product does.
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { serveStdio } from "@secure-local/mcp/stdio";
import { AuditLog } from "../../../packages/secure-local/src/audit/audit-log.ts";
import { loadPolicy } from "../../../packages/secure-local/src/policy/load-policy.ts";
import { SecureServer } from "../../../packages/secure-local/src/server/secure-server.ts";
import { ADD, ECHO } from "./tool-set.mjs";

const { values } = parseArgs({ options: { audit: { type: "string" }, policy: { type: "string" } } });
const folder = join(process.env.XDG_STATE_HOME, `chain-${values.audit}`);
mkdirSync(folder, { recursive: true });

const annotations = { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false };
const tool = ({ name, description, inputSchema }, run) => ({
  name,
  title: name,
  description,
  input: inputSchema,
  annotations,
  run,
});
const tools = [tool(ECHO, ({ text }) => text), tool(ADD, ({ a, b }) => String(a + b))];

// A function, because the bundle is CommonJS and has no await of its own.
async function main() {
  const policy = await loadPolicy(values.policy);
  const audit = await AuditLog.open(join(folder, "audit.log"), { sync: values.audit === "synced" });
  const serving = await serveStdio(new SecureServer({ policy, audit, version: "1.0.0", tools }).server);
  await serving.closed;
  await audit.close();
}

void main();
