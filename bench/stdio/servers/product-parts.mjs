// The bench's tools in the product: its whole guard chain and its audit log, for whatever serves them.
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { AuditLog } from "../../../packages/secure-local/src/audit/audit-log.ts";
import { loadPolicy } from "../../../packages/secure-local/src/policy/load-policy.ts";
import { tuneEngine } from "../../../packages/secure-local/src/server/engine.ts";
import { SecureServer } from "../../../packages/secure-local/src/server/secure-server.ts";
import { ADD, ECHO } from "./tool-set.mjs";

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

/** A server and its log, in a `folder` of its own; `audit` is "synced" or "unsynced"; `more` goes to the server as it is. */
export async function benchProduct({ folder, policy: file, audit: sync }, more = {}) {
  const place = join(process.env.XDG_STATE_HOME, `${folder}-${sync}`);
  mkdirSync(place, { recursive: true });
  tuneEngine();
  const policy = await loadPolicy(file);
  const audit = await AuditLog.open(join(place, "audit.log"), { sync: sync === "synced" });
  return { server: new SecureServer({ policy, audit, version: "1.0.0", tools, ...more }).server, audit };
}
