// `mcp-secure-local record FILE TARGET`: a server for a client, which is the target and writes down what is said.
import { recordChild } from "../../recording/record-child.js";
import { recordLink } from "../../recording/record-link.js";
import { RecordingFile } from "../../recording/recording.js";
import { targetText } from "../../remote/target.js";
import { wayTo } from "../../remote/target-link.js";
import { type CommandLine, UsageError } from "../command-line.js";
import { ExitCode } from "../terminal.js";
import { reportingFailures } from "./failure.js";
import { findTarget } from "./find-target.js";
import { person, tokenOf } from "./with-client.js";

const USAGE = "record needs a file and a target, as in record session.jsonl -- npx -y some-server";

export function recordCommand(line: CommandLine): Promise<number> {
  return reportingFailures(line.json, async () => {
    const { after = [] } = line;
    const [file, ...words] = line.words;
    if (file === undefined || line.words.length === after.length) throw new UsageError(USAGE);
    if (line.append && line.force)
      throw new UsageError("--append adds to a recording and --force replaces it; keep one");
    const { target } = await findTarget({ ...line, words }, USAGE);
    const existing = line.append ? "append" : line.force ? "replace" : "keep";
    const recording = new RecordingFile(file, targetText(target), existing);
    const streams = { input: process.stdin, output: process.stdout };
    try {
      if (target.kind === "command") return await recordChild(target, recording, streams);
      const { link } = await wayTo(target, { token: tokenOf(line), person: person() });
      await recordLink(link(), recording, streams);
      return ExitCode.Ok;
    } finally {
      recording.close();
    }
  });
}
