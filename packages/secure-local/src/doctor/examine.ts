// Runs every check on a server, one after another, and collects what came of each.
import { type Check, fail, type Need, type Outcome, skipped, type Verdict } from "./check.js";
import { DESCRIPTION_CHECKS } from "./checks/descriptions.js";
import { HTTP_CHECKS } from "./checks/http.js";
import { HANDSHAKE_CHECKS, LAUNCH_CHECKS } from "./checks/launch.js";
import { MESSAGE_CHECKS, ROUGH_CHECKS } from "./checks/messages.js";
import { LIST_CHECKS, PROMPT_CHECKS, UTILITY_CHECKS } from "./checks/offers.js";
import { RESOURCE_CHECKS } from "./checks/resources.js";
import { STATELESS_CHECKS } from "./checks/stateless.js";
import { TOOL_CHECKS } from "./checks/tools.js";
import { CLOSING_CHECKS, WIRE_CHECKS } from "./checks/wire.js";
import { Exam, type ExamOptions } from "./exam.js";

/** In the order they are run: what was heard in all of them is judged before the end, and the end last. */
export const CHECKS: readonly Check[] = [
  ...LAUNCH_CHECKS,
  ...HANDSHAKE_CHECKS,
  ...MESSAGE_CHECKS,
  ...TOOL_CHECKS,
  ...RESOURCE_CHECKS,
  ...PROMPT_CHECKS,
  ...UTILITY_CHECKS,
  ...DESCRIPTION_CHECKS,
  ...LIST_CHECKS,
  ...STATELESS_CHECKS,
  ...HTTP_CHECKS,
  ...ROUGH_CHECKS,
  ...WIRE_CHECKS,
  ...CLOSING_CHECKS,
];

export interface Finding extends Outcome {
  readonly id: string;
  readonly title: string;
  readonly must?: number;
  /** What to do; for warnings and failures. */
  readonly advice?: string;
}

export interface Diagnosis {
  readonly server: { readonly name?: unknown; readonly version?: unknown };
  /** Revisions that were spoken. */
  readonly revisions: readonly string[];
  readonly startMs: number;
  readonly findings: readonly Finding[];
  readonly counts: Readonly<Record<Verdict, number>>;
}

/** Rejects with the link's error when the server cannot be reached, or speaks no revision at all. */
export async function examine(options: ExamOptions, onFinding?: (finding: Finding) => void): Promise<Diagnosis> {
  const exam = new Exam(options);
  try {
    await exam.begin();
    const findings: Finding[] = [];
    for (const check of CHECKS) {
      const finding = findingOf(check, await outcomeOf(check, exam));
      findings.push(finding);
      onFinding?.(finding);
    }
    const { server } = exam.session;
    const revisions = exam.sessions.map(({ revision }) => revision);
    return { server, revisions, startMs: Math.round(exam.startMs), findings, counts: counted(findings) };
  } finally {
    await exam.close();
  }
}

async function outcomeOf(check: Check, exam: Exam): Promise<Outcome> {
  const missing = check.needs?.find((need) => !isThere(need, exam));
  if (missing !== undefined) return skipped(REASONS[missing]);
  try {
    return await check.run(exam);
  } catch (error) {
    return fail(`it could not be found out: ${(error as Error).message}`);
  }
}

function isThere(need: Need, exam: Exam): boolean {
  if (need === "session") return exam.sessions.length > 0;
  if (need === "handshake" || need === "stateless") return exam[need] !== undefined;
  // In memory a server is spoken to as over stdio, except that there is no process.
  if (need === "stdio") return exam.kind === "stdio" || exam.kind === "memory";
  if (need === "http") return exam.kind === "http" && exam.url?.startsWith("http") === true;
  return need in exam.session.capabilities;
}

const REASONS: Readonly<Record<Need, string>> = {
  session: "there is no session",
  handshake: "it does not speak the revisions that begin with initialize",
  stateless: "it does not speak 2026-07-28",
  stdio: "it is not reached over stdio",
  http: "it is not reached over Streamable HTTP",
  tools: "tools is not declared",
  resources: "resources is not declared",
  prompts: "prompts is not declared",
};

function findingOf({ id, title, must, advice }: Check, { verdict, detail }: Outcome): Finding {
  const helps = verdict === "warn" || verdict === "fail";
  return { id, title, ...(must === undefined ? {} : { must }), verdict, detail, ...(helps ? { advice } : {}) };
}

function counted(findings: readonly Finding[]): Record<Verdict, number> {
  const counts: Record<Verdict, number> = { ok: 0, warn: 0, fail: 0, skipped: 0 };
  for (const { verdict } of findings) counts[verdict] += 1;
  return counts;
}
