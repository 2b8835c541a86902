// `mcp-secure-local doctor TARGET`: says what is wrong with a server, and what to do about it.
import { type ExamOptions, shown } from "../../doctor/exam.js";
import { type Diagnosis, examine, type ExamineFinding as Finding } from "../../doctor/examine.js";
import { cleanLine } from "../../guard/cleaning/clean-text.js";
import { type Target, targetText } from "../../remote/target.js";
import { wayTo } from "../../remote/target-link.js";
import { type CommandLine, UsageError } from "../command-line.js";
import { ExitCode, print, printJson, styled } from "../terminal.js";
import { reportingFailures } from "./failure.js";
import { findTarget } from "./find-target.js";
import { person, timeoutMs, tokenOf } from "./with-client.js";

export function doctorCommand(line: CommandLine): Promise<number> {
  return reportingFailures(line.json, async () => {
    const { target, words } = await findTarget(line, "doctor needs a target, as in doctor TARGET");
    if (words.length > 0) throw new UsageError(`doctor takes one target, not also "${words[0]}"`);
    const answerMs = timeoutMs(line);
    const options = { ...(await examOptions(target, line, answerMs)), answerMs };
    const diagnosis = await examine(options, line.json ? undefined : (finding) => tell(finding));
    if (line.json) printJson({ target: targetText(target), ...diagnosis });
    else print(summary(diagnosis));
    return diagnosis.counts.fail > 0 ? ExitCode.Failed : ExitCode.Ok;
  });
}

async function examOptions(target: Target, line: CommandLine, timeoutMs?: number): Promise<ExamOptions> {
  const token = tokenOf(line);
  const { kind, link } = await wayTo(target, { token, person: person(), timeoutMs });
  if (target.kind === "command") return { kind, link };
  const authorization = token === undefined ? {} : { authorization: `Bearer ${token}` };
  return { kind, url: target.url, headers: { ...target.headers, ...authorization }, link };
}

/** Only what needs attention is shown: the rest is counted. */
function tell({ verdict, id, title, must, detail, advice = "" }: Finding): void {
  if (verdict === "ok" || verdict === "skipped") return;
  const word = verdict === "fail" ? styled("red", "fail") : styled("yellow", "warn");
  const rule = must === undefined ? "" : ` (M${String(must).padStart(2, "0")})`;
  print(`${word}  ${styled("bold", id)}${rule}  A healthy server ${title}.`);
  print(`      ${cleanLine(detail)}\n      ${styled("dim", advice)}`);
}

function summary({ server, revisions, startMs, counts }: Diagnosis): string {
  const { ok, warn, fail, skipped } = counts;
  const name = cleanLine(`${shown(server.name ?? "the server")} ${shown(server.version ?? "")}`.trim());
  const verdict = fail > 0 ? styled("red", "needs work") : styled("green", warn > 0 ? "works" : "is well");
  return `${styled("bold", name)} ${verdict}: ${ok} ok, ${warn} warn, ${fail} fail, ${skipped} skipped; speaks ${revisions.join(" and ")}, first answer after ${startMs} ms`;
}
