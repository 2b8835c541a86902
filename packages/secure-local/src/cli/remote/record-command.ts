// `mcp-secure-local record FILE TARGET`: a server for a client, which is the target and writes down what is said.
import { createInterface } from "node:readline";
import { LocalError } from "@secure-local/mcp/client/node";
import { recordChild, recordLink } from "@secure-local/mcp-tools/record-link";
import { type RecordedLine, readRecording, readSessions, RecordingFile } from "@secure-local/mcp-tools/recording";
import { routeTo, targetText } from "@secure-local/mcp-tools/target";
import { loadPolicy } from "../../policy/load-policy.js";
import { openAudit } from "../open-audit.js";
import { policyFile } from "../settings.js";
import { type CommandLine, UsageError } from "../command-line.js";
import { complain, ExitCode, print, printJson, showProgress, styled } from "../terminal.js";
import { findTarget } from "./find-target.js";
import { bearerToken, interruptible, person, timeoutMs } from "./with-client.js";
import { cleanLine } from "../../guard/cleaning/clean-text.js";
import { type Comparison, replayClient, ReplayServer } from "@secure-local/mcp-tools/replay-client";

const USAGE = "record needs a file and a target, as in record session.jsonl -- npx -y some-server";

export async function recordCommand(line: CommandLine): Promise<number> {
  const { after = [] } = line;
  const [file, ...words] = line.words;
  if (file === undefined || line.words.length === after.length) throw new UsageError(USAGE);
  if (line.append && line.force) throw new UsageError("--append adds to a recording and --force replaces it; keep one");
  const { target } = await findTarget({ ...line, words }, USAGE);
  const existing = line.append ? "append" : line.force ? "replace" : "keep";
  const recording = new RecordingFile(file, targetText(target), existing);
  const streams = { input: process.stdin, output: process.stdout };
  const audit = await openAudit(line, await loadPolicy(policyFile(line)), complain);
  const about = { tool: "record", detail: { target: targetText(target), file } };
  try {
    await audit.record({ kind: "recording.begun", ...about });
    if (target.kind === "command") return await recordChild(target, recording, streams);
    const { link } = await routeTo(target, { token: bearerToken(line), person: person() });
    await recordLink(link(), recording, streams);
    return ExitCode.Ok;
  } finally {
    recording.close();
    await audit.record({ kind: "recording.ended", ...about });
    await audit.close();
  }
}

// `mcp-secure-local replay FILE [TARGET]`: acts as the recorded server, or as the recorded client towards a target.

const REPLAY_USAGE = "replay needs a file, as in replay session.jsonl, or replay session.jsonl -- npx -y some-server";
const ANSWER_MS = 60_000;

export async function replayCommand(line: CommandLine): Promise<number> {
  const [file, ...words] = line.words;
  if (file === undefined || line.words.length === line.after?.length) throw new UsageError(REPLAY_USAGE);
  if (words.length === 0 && line.url === undefined) return await asServer(readRecording(file), line);
  if (line.strict) throw new UsageError("--strict is for replay without a target; leave one of them out");
  const sessions = readSessions(file);
  const { target } = await findTarget({ ...line, words }, REPLAY_USAGE);
  const { link } = await routeTo(target, { token: bearerToken(line), person: person() });
  const compared: Comparison[] = [];
  await interruptible(async (signal) => {
    for (const [at, entries] of sessions.entries()) {
      showProgress(`session ${at + 1} of ${sessions.length}, with ${cleanLine(targetText(target))}`);
      compared.push(...(await replayClient(link(), entries, timeoutMs(line) ?? ANSWER_MS)));
      signal.throwIfAborted();
    }
    return ExitCode.Ok;
  });
  if (compared.length > 0) return show(compared, line.json);
  throw new LocalError(
    "EMPTY",
    `${file} holds no request, so there is nothing to compare: record a conversation first`,
  );
}

async function asServer(entries: readonly RecordedLine[], { strict }: CommandLine): Promise<number> {
  const send = (message: object): void => void process.stdout.write(`${JSON.stringify(message)}\n`);
  const server = new ReplayServer(entries, { strict, send });
  for await (const text of createInterface({ input: process.stdin, crlfDelay: Infinity })) {
    if (text.trim() !== "") server.receive(text);
  }
  for (const deviation of server.deviations) complain(`mcp-secure-local: ${cleanLine(deviation)}`);
  return server.deviations.length > 0 ? ExitCode.Failed : ExitCode.Ok;
}

function show(comparisons: readonly Comparison[], json: boolean): number {
  const changed = comparisons.filter(({ differences }) => differences.length > 0);
  if (json) printJson(comparisons);
  else {
    for (const { request, differences } of changed) {
      print(`${styled("red", "differs")}  ${styled("bold", cleanLine(request))}`);
      for (const difference of differences) print(`         ${cleanLine(difference)}`);
    }
    print(
      `${comparisons.length} requests: ${comparisons.length - changed.length} answered as recorded, ${changed.length} different`,
    );
  }
  return changed.length > 0 ? ExitCode.Failed : ExitCode.Ok;
}
