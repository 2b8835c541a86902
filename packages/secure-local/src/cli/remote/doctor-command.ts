// `mcp-secure-local doctor [TARGET]`: says what is wrong with a server, or with this machine, and what to do about it.
import { shown, TIERS } from "@secure-local/mcp-tools/examination";
import { CHECKS, type Diagnosis, examine, type DoctorFinding as Finding } from "@secure-local/mcp-tools/examine";
import { cleanLine } from "../../guard/cleaning/clean-text.js";
import { routeTo, type TargetRoute, targetText } from "@secure-local/mcp-tools/target";
import { type CommandLine, nearest, UsageError } from "../command-line.js";
import { ExitCode, print, printJson, showProgress, styled } from "../terminal.js";
import { type Changeable, changeableBy, inOptions } from "../failure.js";
import { findTarget, isOwn } from "./find-target.js";
import { bearerToken, interruptible, limitsOf, person, timeoutMs } from "./with-client.js";

export async function doctorCommand(line: CommandLine): Promise<number> {
  if (line.redis !== undefined) return (await import("../redis-doctor.js")).redisDoctor(line);
  const lonely = Object.entries({
    "--share-key": line.shareKey,
    "--prefix": line.prefix,
    "--tokens": line.tokens,
    "--profile": line.profile,
  }).find(([, value]) => value !== undefined);
  if (lonely !== undefined)
    throw new UsageError(`${lonely[0]} belongs to doctor --redis, as in doctor --redis redis://127.0.0.1`);
  if (isOwn(line, 0)) return ownDoctor(line);
  ignoredChecks(line);
  const { target, words } = await findTarget(line, "doctor needs a target, as in doctor TARGET");
  if (words.length > 0) throw new UsageError(`doctor takes one target, not also "${words[0]}"`);
  const answerMs = timeoutMs(line);
  const options = { token: bearerToken(line), person: person(), timeoutMs: answerMs, ...limitsOf(line) };
  return examined(line, {
    shown: targetText(target),
    way: () => routeTo(target, options),
    answerMs,
    by: await changeableBy(["doctor"]),
  });
}

/** This machine, and what its processes share over where that is said by the variable. */
async function ownDoctor(line: CommandLine): Promise<number> {
  const code = await (await import("../status-command.js")).machineDoctor(line);
  if (line.json || process.env["MCP_SECURE_LOCAL_REDIS"] === undefined) return code;
  const redis = await (await import("../redis-doctor.js")).redisDoctor(line);
  return redis === ExitCode.Ok ? code : redis;
}

/** A server, and the way to it. */
interface Examined {
  /** What it is called where it is shown. */
  readonly shown: string;
  readonly way: () => Promise<TargetRoute>;
  /** As `ExamineOptions` has it. */
  readonly answerMs?: number | undefined;
  /** What the person who reads of it can change. */
  readonly by: Changeable;
}

/** Runs all checks, and shows what needs attention. */
export function examined(line: CommandLine, { shown: target, way, answerMs, by }: Examined): Promise<number> {
  const ignore = ignoredChecks(line);
  return interruptible(async (interrupted) => {
    showProgress(`starting ${cleanLine(target)}`);
    const diagnosis = await examine({
      ...(await way()),
      answerMs,
      ignore,
      // What a server that was interrupted answers says nothing of it.
      onCheck: (id, at, all) => (interrupted.throwIfAborted(), showProgress(`check ${at + 1} of ${all}: ${id}`)),
      ...(line.json ? {} : { onFinding: (finding) => interrupted.aborted || tell(finding, by) }),
    });
    interrupted.throwIfAborted();
    if (line.json) printJson({ target, ...diagnosis });
    else print(summary(diagnosis));
    return failed(diagnosis, line) ? ExitCode.Failed : ExitCode.Ok;
  });
}

/** What breaks clients fails the server; with `--strict` whatever is found does. A limit of ours never does. */
function failed({ counts: { fail, warn, note } }: Diagnosis, { strict }: CommandLine): boolean {
  return fail > 0 || (strict && warn + note > 0);
}

function ignoredChecks({ ignore }: CommandLine): readonly string[] {
  const names = CHECKS.map(({ id }) => id);
  const unknown = ignore.find((name) => !names.includes(name));
  if (unknown === undefined) return ignore;
  const words = unknown.toLowerCase().split(/[^a-z]+/);
  const alike = names
    .filter((name) => words.some((word) => word.length > 2 && name.includes(word)))
    .slice(0, MOST_ALIKE);
  const [one = ""] = alike;
  const near = alike.length > 1 ? `; near it are ${alike.join(", ")}` : nearest(unknown, [one, ...names]);
  throw new UsageError(`--ignore: there is no check "${unknown}"${near || "; doctor --json TARGET lists them"}`);
}

/** Names of checks that are told in place of one that does not exist. */
const MOST_ALIKE = 6;

const COLOURS = { fail: "red", warn: "yellow", note: "cyan" } as const;

/** Only what needs attention is shown: the rest is counted. */
function tell({ verdict, id, title, must, detail, page, advice = "" }: Finding, by: Changeable): void {
  if (verdict === "ok" || verdict === "skipped") return;
  const rule = must === undefined ? "" : ` (M${String(must).padStart(2, "0")})`;
  const what = `${styled("bold", id)}${rule}  A healthy server ${title}.`;
  if (verdict === "unchecked")
    return print(`${styled("dim", verdict)}  ${what}\n      ${cleanLine(inOptions(detail, by))}`);
  print(`${styled(COLOURS[verdict], TIERS[verdict])}  ${what}`);
  print(`      ${cleanLine(detail)}\n      ${styled("dim", advice)}\n      ${styled("dim", page)}`);
}

function summary({ server, revisions, startMs, counts }: Diagnosis): string {
  const { ok, fail, warn, note, unchecked, skipped } = counts;
  const name = cleanLine(`${shown(server.name ?? "the server")} ${shown(server.version ?? "")}`.trim());
  const verdict = fail > 0 ? styled("red", "breaks clients") : styled("green", warn > 0 ? "works" : "is well");
  const found = `${fail} break clients, ${warn} break the letter, ${note} notes`;
  const rest = `${ok} ok, ${skipped} skipped, ${unchecked} not checked`;
  return `${styled("bold", name)} ${verdict}: ${found}, ${rest}; speaks ${revisions.map(cleanLine).map(shown).join(" and ")}, first answer after ${startMs} ms`;
}
