// Servers killed between question, consent and run, and logs that cannot be written: what was not on record is not run.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { approving, ASK, ASKED, FORMS, nothingRan, outcome, STATELESS } from "./approving.mjs";

const SERVER = fileURLToPath(new URL("approval-crash.mjs", import.meta.url));
/** Until the handler has begun; what comes after is an effect with its intent and consent on record. */
const MOMENTS = ["before approval.asked", "after approval.asked", "before approval.given", "after approval.given"];

export async function crashes(report, parts) {
  report.kind("an end of the server between question and call");
  for (const moment of MOMENTS) {
    const life = await killed(moment);
    await report.attack(`killed ${moment}: not run`, () => !life.effect || "it was run");
    await report.attack(`killed ${moment}: the log stands`, async () => {
      const verdict = await parts.verifyAudit(life.log);
      return verdict.ok || JSON.stringify(verdict);
    });
    if (life.asked !== undefined) await handedOver(report, parts, { moment, asked: life.asked });
    life.remove();
  }
  const whole = await killed("none");
  await handedOver(report, parts, { moment: "after its question", asked: whole.asked });
  whole.remove();
  await report.attack("a log that does not take the question", () => unrecorded(parts, "approval.asked", false));
  await report.attack("a log that does not take the consent", () => unrecorded(parts, "approval.given", false));
  await report.attack("a log that does not take a kept consent", () => unrecorded(parts, "approval.given", true));
}

/** The answer to a dead server's question, given to the next one. */
async function handedOver(report, parts, { moment, asked }) {
  await report.attack(`killed ${moment}: its answer given to the next server`, async () => {
    const server = await approving(parts, ASK);
    const peer = await server.connect({ revision: STATELESS, capabilities: FORMS });
    return nothingRan(server, await outcome(peer.request("tools/call", parts.retry(asked, parts.yes(), ASKED))));
  });
}

async function unrecorded(parts, failing, remembered) {
  const server = await approving(parts, remembered ? "  - { approve: destructive, remember: 10 }" : ASK);
  const decision = remembered ? "approve this very call for 10 minutes" : "approve this one call";
  const peer = await server.connect(parts.person(() => ({ action: "accept", content: { decision } })));
  if (remembered) await parts.erase(peer, ASKED);
  const record = server.audit.record.bind(server.audit);
  server.audit.record = (event) => (event.kind === failing ? Promise.reject(new Error("full")) : record(event));
  return nothingRan(server, await outcome(parts.erase(peer, ASKED)), remembered ? 1 : 0);
}

async function killed(moment) {
  const folder = mkdtempSync(join(tmpdir(), "approval-"));
  const [log, effects] = [join(folder, "audit.log"), join(folder, "effects")];
  const child = spawn(process.execPath, [SERVER, process.argv[3], log, effects, moment], {
    stdio: ["ignore", "pipe", "inherit"],
    timeout: 20_000,
    killSignal: "SIGKILL",
  });
  let said = "";
  child.stdout.on("data", (text) => (said += text));
  await once(child, "close");
  const asked = said === "" ? undefined : JSON.parse(said);
  const effect = existsSync(effects) && readFileSync(effects, "utf8") !== "";
  return { log, asked, effect, remove: () => rmSync(folder, { recursive: true, force: true }) };
}
