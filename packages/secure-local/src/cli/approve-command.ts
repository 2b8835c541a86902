// `mcp-secure-local approve`: shows the calls that wait for a person's consent, one at a time, and takes the answers; shows those that are
// remembered, and takes them back.
import {
  ApprovalsInbox,
  type PendingQuestion,
  rememberedAnswers,
  type SettledQuestion,
  takeBackAnswers,
} from "../control/control-client.js";
import { localTime } from "./audit-lines.js";
import { cleanLine, cleanText } from "../guard/cleaning/clean-text.js";
import { type CommandLine, UsageError } from "./command-line.js";
import { controlFolder } from "./settings.js";
import { calm, complain, ExitCode, print, styled, tell } from "./terminal.js";

/** Milliseconds between two looks for servers that ask: a person does not notice, a machine neither. */
const LOOK_MS = 500;
/** Characters of a question's name that allow its call: what was typed ahead does not fit. */
const CODE = 4;

const BELL = "\u0007";

/** Puts one line to the person; rejects when `signal` is aborted. */
export type AskLine = (prompt: string, signal: AbortSignal) => Promise<string>;

/** Resolves when the person leaves. @throws UsageError where there is no person */
export async function approveCommand(line: CommandLine): Promise<number> {
  const [action, id, more] = line.words;
  if (action === "remembered" && id === undefined) return showRemembered(line);
  if (action === "take-back" && id !== undefined && more === undefined) return takeBack(line, id);
  if (action === "take-back") throw new UsageError("approve take-back needs one ID, or all: see approve remembered");
  if (action !== undefined)
    throw new UsageError(`approve takes remembered, take-back ID or nothing, not "${action}"; leave it out`);
  if (!process.stdin.isTTY || !process.stdout.isTTY)
    throw new UsageError("approve is answered by a person: run it in a terminal, without pipes");
  const { createInterface } = await import("node:readline/promises");
  const lines = createInterface({ input: process.stdin, output: process.stdout });
  const left = new Promise<void>((resolve) => lines.on("close", resolve));
  const inbox = new ApprovalsInbox(controlFolder(), "terminal");
  inbox.look();
  const looking = setInterval(() => inbox.look(), LOOK_MS);
  print(styled("dim", "Calls that need consent appear here. Leave with Ctrl-C; what is open then is refused."));
  const ask: AskLine = (prompt, signal) => lines.question(prompt, { signal });
  await Promise.race([left, answerAll(inbox, ask)]);
  clearInterval(looking);
  inbox.close();
  lines.close();
  return ExitCode.Ok;
}

async function showRemembered(line: CommandLine): Promise<number> {
  const { answers, unanswered } = await rememberedAnswers(controlFolder());
  const words = answers.map(({ id, tool, about, client, actor, principal, at, by, until, used, isVoid }) => {
    const who = [actor, client, principal].filter((each) => each !== "").join(", ") || "its client";
    const ends = until === undefined ? "its session ends" : localTime(until);
    const counts = isVoid ? "; the policy has changed since, so it lets nothing pass" : "";
    return [
      `${styled("bold", id.slice(0, ID_SHOWN))}  ${cleanLine(tool)}, for ${cleanLine(who)}, until ${ends}`,
      cleanText(about),
      styled(
        "dim",
        `  answered ${localTime(at)} (${by}); has let ${used} ${used === 1 ? "call" : "calls"} pass here${counts}`,
      ),
    ].join("\n");
  });
  const silent = unanswered.map((pid) => `Process ${pid} did not say what it remembers: ${SILENT}.`);
  const none = unanswered.length > 0 ? [] : ["No answer is remembered."];
  tell(line, { remembered: answers, unanswered }, [...(words.length === 0 ? none : words), ...silent].join("\n\n"));
  return unanswered.length === 0 ? ExitCode.Ok : ExitCode.Failed;
}

/** Why a process that runs may not say, and what helps. */
const SILENT = "it may be busy, or its Redis away. Try again, or end it: what it remembers ends with it";

/** Characters of a name that are shown, and at least those that have to be given. */
const ID_SHOWN = 8;

/** @throws UsageError where nothing is remembered under that name, or more than one thing */
async function takeBack(line: CommandLine, id: string): Promise<number> {
  const folder = controlFolder();
  const { answers, unanswered: silent } = await rememberedAnswers(folder);
  const named = answers.filter((each) => id === "all" || each.id.startsWith(id));
  const [first] = named;
  if (first === undefined && silent.length === 0 && id !== "all")
    throw new UsageError(`no answer "${id}" is remembered; see mcp-secure-local approve remembered`);
  if (named.length > 1 && id !== "all") throw new UsageError(`more than one ID begins with "${id}"; give more of it`);
  const { taken, unanswered } =
    first === undefined
      ? { taken: [], unanswered: silent }
      : await takeBackAnswers(folder, id === "all" ? undefined : first.id, "terminal");
  const isAll = taken.length >= named.length && unanswered.length === 0;
  const said =
    taken.length === 1
      ? "Taken back: the next such call asks again."
      : `Taken back: ${taken.length}. Such calls ask again.`;
  const left = unanswered.map((pid) => ` Process ${pid} has not said that it did: ${SILENT}.`).join("");
  const told = isAll ? said : `${said} Not all could be: see approve remembered.${left}`;
  tell(line, { takenBack: taken, unanswered }, told);
  return isAll ? ExitCode.Ok : ExitCode.Failed;
}

async function answerAll(inbox: ApprovalsInbox, ask: AskLine): Promise<void> {
  for (;;) await answerOne(await inbox.next(), ask);
}

/** Only the question's own code allows the call; anything else refuses it. */
export async function answerOne(waiting: PendingQuestion, ask: AskLine): Promise<void> {
  const code = waiting.id.slice(0, CODE);
  const { remember, gone } = waiting;
  // What a server sends is harmless as it is; one that sends anything else gets no consent.
  if (cleanText(waiting.text) !== waiting.text) return void (await waiting.answer("deny"));
  // A sound where the person may look elsewhere: itself, and not as what is printed, which acts on no terminal.
  if (process.stderr.isTTY) process.stderr.write(BELL);
  complain(`\n${waiting.text}`);
  const left = `${Math.ceil(waiting.secondsLeft)} s left. `;
  const keep = remember === undefined ? "" : `, ${styled("bold", `${code} keep`)} for this very call ${remember}`;
  try {
    const typed = await ask(
      calm(`${left}Type the code ${styled("bold", code)} to allow it${keep}; anything else, y too, refuses: `),
      gone,
    );
    const given = typed.trim().toLowerCase().replace(/\s+/g, " ");
    const keeps = remember !== undefined && given === `${code} keep`;
    const answer = keeps ? "remember" : given === code ? "approve" : "deny";
    complain(outcomeText(await waiting.answer(answer)));
  } catch (error) {
    if (!gone.aborted) throw error;
    complain(`\n${outcomeText(gone.reason as SettledQuestion | undefined)}`);
  }
}

/** What became of a question, for whoever had it before their eyes. */
function outcomeText(settled: SettledQuestion | undefined): string {
  const { answer, reason, by, counted = false } = settled ?? {};
  if (settled === undefined) return styled("yellow", "its server has not said that it heard the answer", "stderr");
  if (answer === undefined) return styled("yellow", `no longer open: ${reason ?? "it was withdrawn"}`, "stderr");
  const word = answer === "deny" ? styled("red", "refused", "stderr") : styled("green", "allowed", "stderr");
  const elsewhere = { console: "in the console", terminal: "in another terminal" };
  return counted ? word : `${word} already, ${by === undefined ? "elsewhere" : elsewhere[by]}`;
}
