// Runs every check on a server, one after another, and collects what came of each.
import type { Finding as DescriptionFinding } from "@secure-local/inspection/finding";
import { inspectOffering } from "@secure-local/inspection/inspect";
import {
  type Check,
  Examination,
  type ExaminationOptions,
  type Need,
  OK,
  type Outcome,
  shown,
  skipped,
  specification,
  type Tier,
  TIERS,
  unchecked,
  unless,
  type Verdict,
} from "./examination.js";
import { type ListName, STATELESS } from "./session.js";
import { HTTP_CHECKS } from "./checks/http.js";
import { HANDSHAKE_CHECKS, LAUNCH_CHECKS } from "./checks/launch.js";
import { MESSAGE_CHECKS, ROUGH_CHECKS } from "./checks/messages.js";
import { LIST_CHECKS, PROMPT_CHECKS, RESOURCE_CHECKS, UTILITY_CHECKS } from "./checks/offers.js";
import { STATELESS_CHECKS } from "./checks/stateless.js";
import { TOOL_CHECKS } from "./checks/tools.js";
import { CLOSING_CHECKS, WIRE_CHECKS } from "./checks/wire.js";

// Checks what a server says of its tools, prompts and resources: whether it speaks to people and models, or acts on models.

const DESCRIPTION_CHECKS: readonly Check[] = [
  {
    id: "descriptions",
    title: "describes what it offers without orders to the model, hidden characters or names that mislead",
    tier: "breaks clients",
    page: specification("server/tools#security-considerations"),
    needs: ["session"],
    advice:
      "Do not use the server before you know why the words are there: mcp-secure-local inspect TARGET shows them with their places.",
    run: inspected,
  },
];

async function inspected(exam: Examination): Promise<Outcome> {
  const { session } = exam;
  const listed = async (name: ListName, capability: string = name) =>
    capability in session.capabilities ? (await session.list(name)).items : [];
  const { instructions } = session.opening;
  const findings = inspectOffering({
    server: shown(session.server["name"] ?? "server"),
    instructions: typeof instructions === "string" ? instructions : undefined,
    tools: await listed("tools"),
    prompts: await listed("prompts"),
    resources: await listed("resources"),
    resourceTemplates: await listed("resourceTemplates", "resources"),
  });
  const hard = findings.filter(({ tier }) => tier === "hard");
  if (hard.length > 0) return unless(hard.map(findingText), "fail");
  return findings.length === 0 ? OK : unless(findings.map(findingText), "note");
}

function findingText({ id, kind, item, at, excerpt }: DescriptionFinding): string {
  return `${kind} ${item}${at === "" ? "" : ` at ${at}`}: ${id} ("${excerpt}")`;
}

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

export interface DoctorFinding extends Outcome {
  readonly id: string;
  readonly title: string;
  readonly must?: number;
  /** How grave it is; for failures, warnings and notes. */
  readonly tier?: Tier;
  /** Where the rule stands. */
  readonly page: string;
  /** What to do; where there is a tier. */
  readonly advice?: string;
}

export interface Diagnosis {
  readonly server: { readonly name?: unknown; readonly version?: unknown };
  /** Revisions that were spoken. */
  readonly revisions: readonly string[];
  readonly startMs: number;
  readonly findings: readonly DoctorFinding[];
  readonly counts: Readonly<Record<Verdict, number>>;
}

export interface ExamineOptions extends ExaminationOptions {
  /** Checks that are left out, by their names. */
  readonly ignore?: readonly string[];
  /** Told of each check before it is run: which it is, and of how many. */
  readonly onCheck?: (id: string, at: number, all: number) => void;
  readonly onFinding?: (finding: DoctorFinding) => void;
}

/** Rejects with the link's error when the server cannot be reached, or speaks no revision at all. */
export async function examine(options: ExamineOptions): Promise<Diagnosis> {
  const { ignore = [], onCheck, onFinding } = options;
  const exam = new Examination(options);
  try {
    await exam.begin();
    const findings: DoctorFinding[] = [];
    for (const [at, check] of CHECKS.entries()) {
      onCheck?.(check.id, at, CHECKS.length);
      const ignored = ignore.includes(check.id);
      const finding = findingOf(check, ignored ? skipped("it is ignored") : await outcomeOf(check, exam));
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

async function outcomeOf(check: Check, exam: Examination): Promise<Outcome> {
  const missing = check.needs?.find((need) => !isThere(need, exam));
  if (missing !== undefined) return skipped(REASONS[missing]);
  try {
    return await check.run(exam);
  } catch (error) {
    // What a server can do wrong is judged by its answers; whatever else happens is ours.
    return unchecked((error as Error).message);
  }
}

function isThere(need: Need, exam: Examination): boolean {
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
  stateless: `it does not speak ${STATELESS}`,
  stdio: "it is not reached over stdio",
  http: "it is not reached over Streamable HTTP",
  tools: "tools is not declared",
  resources: "resources is not declared",
  prompts: "prompts is not declared",
};

function findingOf({ id, title, must, page, advice }: Check, { verdict, detail }: Outcome): DoctorFinding {
  const judged = verdict === "fail" || verdict === "warn" || verdict === "note";
  const rule = must === undefined ? {} : { must };
  return { id, title, ...rule, verdict, detail, ...(judged ? { tier: TIERS[verdict], advice } : {}), page };
}

function counted(findings: readonly DoctorFinding[]): Record<Verdict, number> {
  const counts: Record<Verdict, number> = { ok: 0, fail: 0, warn: 0, note: 0, unchecked: 0, skipped: 0 };
  for (const { verdict } of findings) counts[verdict] += 1;
  return counts;
}
