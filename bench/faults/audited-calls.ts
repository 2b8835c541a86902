// Makes calls whose effect is a line in a file, with a real audit log, and says how each ended. A disk fails meanwhile.
import * as fs from "node:fs";
import { connectInMemory } from "@secure-local/mcp/testing";
import { AuditLog } from "../../packages/secure-local/src/audit/audit-log.js";
import { parsePolicy } from "../../packages/secure-local/src/policy/parse-policy.js";
import type { AnyTool } from "../../packages/secure-local/src/server/catalogue.js";
import { SecureServer } from "../../packages/secure-local/src/server/secure-server.js";

const [log = "", effects = ""] = process.argv.slice(2);
/** Calls of one run; long enough that the log is put away on the way. */
const CALLS = 8;
const ROTATE_BYTES = 4_000;

const effect: AnyTool = {
  name: "effect",
  title: "effect",
  description: "effect",
  input: { type: "object", properties: { n: { type: "integer" } } },
  annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: false },
  run: ({ n }: { n: number }) => {
    fs.appendFileSync(effects, `${n}\n`);
    return "done";
  },
};

const policy = await parsePolicy('version: "1.0"\ntools: { allowed: [effect], rate_limits: { default: 10000 } }', {
  file: "policy.yaml",
});
let audit: AuditLog;
try {
  audit = await AuditLog.open(log, { rotateBytes: ROTATE_BYTES });
} catch (error) {
  process.stdout.write(`${JSON.stringify({ refused: String(error) })}\n`);
  process.exit(3);
}
const secure = new SecureServer({ policy, audit, version: "1.0.0", tools: [effect] });
const peer = await connectInMemory(secure.server, { revision: "2025-11-25" });
const answers: { n: number; ok: boolean; text: string }[] = [];
let n = 0;

async function call(): Promise<boolean> {
  n += 1;
  const result = (await peer.request("tools/call", { name: "effect", arguments: { n } })) as {
    isError?: boolean;
    content: { text: string }[];
  };
  const ok = result.isError !== true;
  answers.push({ n, ok, text: result.content[0]?.text ?? "" });
  return ok;
}

for (let count = 0; count < CALLS; count++) await call();
await peer.close();
let closed = "ok";
try {
  await audit.close();
} catch (error) {
  closed = String(error);
}
process.stdout.write(`${JSON.stringify({ answers, closed })}\n`);
