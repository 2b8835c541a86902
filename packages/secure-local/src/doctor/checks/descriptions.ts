// Checks what a server says of its tools, prompts and resources: whether it speaks to people and models, or acts on models.
import type { Finding } from "../../inspection/finding.js";
import { inspectOffering } from "../../inspection/inspect.js";
import { type Check, OK, type Outcome, shown, unless } from "../check.js";
import type { Exam } from "../exam.js";
import type { ListName } from "../session.js";

export const DESCRIPTION_CHECKS: readonly Check[] = [
  {
    id: "descriptions",
    title: "describes what it offers without orders to the model, hidden characters or names that mislead",
    needs: ["session"],
    advice:
      "Do not use the server before you know why the words are there: mcp-secure-local inspect TARGET shows them with their places.",
    run: inspected,
  },
];

async function inspected(exam: Exam): Promise<Outcome> {
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
  return findings.length === 0 ? OK : unless(findings.map(findingText), "warn");
}

function findingText({ id, kind, item, at, excerpt }: Finding): string {
  return `${kind} ${item}${at === "" ? "" : ` at ${at}`}: ${id} ("${excerpt}")`;
}
