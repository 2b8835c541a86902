// `mcp-secure-local audit query [KEY=VALUE…] [WORD…]`: the records that fit, as a table or as JSON lines.
import { once } from "node:events";
import type { CommandLine } from "./command-line.js";
import { readLog } from "./read-log.js";
import { recordFilter } from "./record-filter.js";
import { jsonLine, TABLE_HEAD, tableRow } from "./record-line.js";
import { complain, ExitCode, styled } from "./terminal.js";

export async function auditQuery(
  line: CommandLine,
  files: readonly string[],
  words: readonly string[],
): Promise<number> {
  const wanted = recordFilter(words);
  let found = 0;
  if (!line.json) await written(styled("dim", TABLE_HEAD));
  for (const file of files) {
    for await (const { record, line: text } of readLog(file)) {
      if (!wanted(record, text)) continue;
      found += 1;
      await written(line.json ? jsonLine(text) : tableRow(record));
    }
  }
  if (!line.json) complain(`${found} record${found === 1 ? "" : "s"}`);
  return ExitCode.Ok;
}

/** A reader that is slower than the disk is waited for. */
async function written(text: string): Promise<void> {
  if (!process.stdout.write(`${text}\n`)) await once(process.stdout, "drain");
}
