// The bench's tools behind the product's whole guard chain and a token. Runs bundled, as the product does.
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { staticTokenAuthenticator } from "@secure-local/mcp/auth";
import { serveHttp } from "@secure-local/mcp/http";
import { AuditLog } from "../../../packages/secure-local/src/audit/audit-log.ts";
import { loadPolicy } from "../../../packages/secure-local/src/policy/load-policy.ts";
import { SecureServer } from "../../../packages/secure-local/src/server/secure-server.ts";
import { ADD, ECHO } from "../../stdio/servers/tool-set.mjs";
import { listening } from "./serving.mjs";

const { values } = parseArgs({
  options: { audit: { type: "string" }, policy: { type: "string" }, mode: { type: "string" } },
});
const folder = join(process.env.XDG_STATE_HOME, `http-${values.audit}`);
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
  const { server } = new SecureServer({ policy, audit, version: "1.0.0", tools });

  const token = staticTokenAuthenticator([{ token: process.env.BENCH_TOKEN, principal: "bench" }]);
  async function authenticate(request) {
    const outcome = await token.authenticate({
      method: request.method,
      url: request.path,
      header: (name) => request.header(name),
    });
    if (outcome.ok) return outcome.identity.principal;
    return { status: outcome.status, headers: { "www-authenticate": outcome.challenge }, text: outcome.message };
  }
  const serving = await serveHttp(server, { authenticate, answers: values.mode === "sse" ? "sse" : "auto" });
  listening(Number(new URL(serving.url).port));
  await serving.closed;
  await audit.close();
}

void main();
