// A server that dies at a moment of a consent: `node approval-crash.mjs PARTS LOG EFFECTS MOMENT`. What it had asked its
// stateless client is printed, so that another server can be handed the answer.
import { appendFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const [file, log, effects, moment] = process.argv.slice(2);
const parts = await import(pathToFileURL(file).href);
const policy = await parts.parsePolicy(
  'version: "1.0"\ntools: { allowed: [erase] }\napprovals:\n  - { approve: destructive, timeout: 5 }',
  { file: "policy.yaml" },
);
const audit = await parts.AuditLog.open(log);
const record = audit.record.bind(audit);
audit.record = async (event) => {
  if (moment === `before ${event.kind}`) die();
  await record(event);
  if (moment === `after ${event.kind}`) die();
};
const tool = {
  name: "erase",
  title: "erase",
  description: "Erases.",
  input: { type: "object", properties: { path: { type: "string" } } },
  annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: false },
  run: ({ path }) => (appendFileSync(effects, `${path}\n`), "done"),
};
const { server } = new parts.SecureServer({ policy, audit, version: "1.0.0", tools: [tool] });
const peer = await parts.connectInMemory(server, { revision: "2026-07-28", capabilities: { elicitation: {} } });
const asked = await parts.erase(peer, { path: "/srv/a" });
process.stdout.write(`${JSON.stringify(asked)}\n`);
if (moment !== "none") await peer.request("tools/call", parts.retry(asked, parts.yes(), { path: "/srv/a" }));
await audit.close();

function die() {
  process.kill(process.pid, "SIGKILL");
}
