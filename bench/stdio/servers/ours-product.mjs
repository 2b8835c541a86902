// The bench server behind the product's whole guard chain: echo and add as two more of its tools.
//
// --audit synced | unsynced   whether a record waits for the disk (default synced)
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { serveStdio } from "@secure-local/mcp/stdio";
import { AuditLog } from "../../../packages/secure-local/src/audit/audit-log.ts";
import { loadPolicy } from "../../../packages/secure-local/src/policy/load-policy.ts";
import { SecureServer } from "../../../packages/secure-local/src/server/secure-server.ts";
import { ADD, ECHO } from "./tool-set.mjs";

/** Seen from the bundle in bench/dist/chain, which is what runs. */
const POLICY = fileURLToPath(new URL("../../stdio/policy.yaml", import.meta.url));
const annotations = { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false };

function tool({ name, description, inputSchema }, run) {
  return { name, title: name, description, input: inputSchema, annotations, run };
}

const sync = process.argv[process.argv.indexOf("--audit") + 1] !== "unsynced";
const policy = await loadPolicy(POLICY);
const audit = await AuditLog.open(join(process.env.XDG_STATE_HOME, "chain", "audit.log"), { sync });
const tools = [tool(ECHO, ({ text }) => text), tool(ADD, ({ a, b }) => String(a + b))];
const secure = new SecureServer({ policy, audit, version: "1.0.0", tools, say: console.error });
const serving = await serveStdio(secure.server);
await serving.closed;
await audit.close();
