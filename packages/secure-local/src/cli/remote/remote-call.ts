// `mcp-secure-local call TARGET NAME [ARGUMENTS]`: calls a tool of any server.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { CallToolResult, Client, Progress, Tool } from "@secure-local/mcp/client";
import { escapeUnseen } from "../../audit/escape-unseen.js";
import { cleanLine } from "../../guard/cleaning/clean-text.js";
import { askYesNo, complain, ExitCode, print, printJson } from "../terminal.js";
import { readArguments } from "../call-arguments.js";
import { type CommandLine, nearest, UsageError } from "../command-line.js";
import { blockText } from "./content-text.js";
import { isInteractive, questioner } from "./questioner.js";
import { type Connected, timeoutMs, withClient } from "./with-client.js";

const USAGE = {
  usage: "call needs a target and the name of a tool, as in call TARGET NAME key=value",
  least: 1,
  most: Infinity,
};

export function remoteCall(line: CommandLine): Promise<number> {
  return withClient(line, USAGE, async (connected) => {
    const [name = "", ...given] = connected.words;
    const tools = await connected.client.tools().all();
    const tool = tools.find((each) => each.name === name);
    if (tool === undefined) {
      const near = nearest(
        name,
        tools.map((each) => each.name),
      );
      complain(
        `mcp-secure-local: the server has no tool "${name}"${near || "; mcp-secure-local tools TARGET lists them"}`,
      );
      return ExitCode.Tool;
    }
    const args = readArguments(given, tool.inputSchema);
    if (!(await agreed(tool, args, line))) return ExitCode.Failed;
    const result = await called(connected, { tool, args }, line);
    for (const file of savedImages(result, name, line.saveImages))
      complain(`mcp-secure-local: wrote ${cleanLine(file)}`);
    return show(result, line.json);
  });
}

interface Call {
  readonly tool: Tool;
  readonly args: NonNullable<Parameters<Client["call"]>[1]>;
}

async function called({ client, signal }: Connected, { tool, args }: Call, line: CommandLine): Promise<CallToolResult> {
  const progress = progressLine();
  const limit = timeoutMs(line);
  const limits = limit === undefined ? {} : { timeoutMs: limit, maxTimeoutMs: limit };
  try {
    if (tool.execution?.taskSupport === "required") {
      const task = await client.callTask(tool.name, args, { signal });
      return await task.result();
    }
    return await client.call(tool.name, args, { ...limits, signal, onProgress: progress.show, logLevel: "info" });
  } finally {
    progress.end();
  }
}

/** A tool that says it destroys is called when somebody agrees to exactly this call. */
async function agreed({ name, annotations }: Tool, args: object, line: CommandLine): Promise<boolean> {
  const { readOnlyHint, destructiveHint } = annotations ?? {};
  const destroys =
    destructiveHint === true ? readOnlyHint !== true : readOnlyHint === false && destructiveHint !== false;
  if (line.yes || !destroys) return true;
  if (!isInteractive())
    throw new UsageError(`the tool "${name}" may destroy something; add --yes to call it all the same`);
  complain(
    `The tool "${cleanLine(name)}" may destroy something. It would be called with ${cleanLine(JSON.stringify(args))}`,
  );
  return await questioner((ask) => askYesNo(ask, "Call it?", false));
}

function show(result: CallToolResult, json: boolean): number {
  const failed = result.isError === true;
  if (json) printJson(result);
  else {
    const blocks = (result.content ?? []).map(blockText);
    const { structuredContent } = result;
    if (blocks.length === 0 && structuredContent !== undefined)
      blocks.push(escapeUnseen(JSON.stringify(structuredContent, null, 2)));
    (failed ? complain : print)(blocks.join("\n"));
  }
  return failed ? ExitCode.Tool : ExitCode.Ok;
}

/** The usual types of images by the ending of their files. */
const ENDINGS: Readonly<Record<string, string>> = {
  "image/png": "png",
  "image/jpeg": "jpg",
  "image/gif": "gif",
  "image/webp": "webp",
  "image/svg+xml": "svg",
  "audio/wav": "wav",
  "audio/mpeg": "mp3",
};
const MOST_NAMES = 10_000;

/** Writes the images and sounds of an answer into a folder, under names nobody has yet; nothing in a name is the server's but the tool's letters. */
function savedImages({ content }: CallToolResult, tool: string, folder: string | undefined): string[] {
  if (folder === undefined) return [];
  const stem = tool.replace(/[^A-Za-z0-9_-]/g, "_").slice(0, 64) || "image";
  let number = 0;
  try {
    mkdirSync(folder, { recursive: true });
    return content.flatMap((block) => {
      if (block.type !== "image" && block.type !== "audio") return [];
      const ending = (Object.hasOwn(ENDINGS, block.mimeType) && ENDINGS[block.mimeType]) || "bin";
      const bytes = Buffer.from(block.data, "base64");
      while ((number += 1) <= MOST_NAMES) {
        const file = join(folder, `${stem}-${number}.${ending}`);
        if (written(file, bytes)) return [file];
      }
      throw new Error(`${folder} has ${MOST_NAMES} of them already`);
    });
  } catch (error) {
    throw new UsageError(`the images cannot be written to ${folder}: ${(error as Error).message}`);
  }
}

/** False for a name that is taken; a link there is not followed. */
function written(file: string, bytes: Buffer): boolean {
  try {
    writeFileSync(file, bytes, { flag: "wx" });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw error;
  }
}

// Shows a call's progress on one line of the terminal, which is gone when the call ends.

const WIDTH = 24;
const MESSAGE = 50;
const CLEAR_LINE = "\r\u001b[K";

export interface ProgressLine {
  readonly show: (progress: Progress) => void;
  readonly end: () => void;
}

/** Nothing is shown where stderr is no terminal. */
export function progressLine(stream: Pick<NodeJS.WriteStream, "isTTY" | "write"> = process.stderr): ProgressLine {
  let shown = false;
  return {
    show(progress) {
      if (!stream.isTTY) return;
      shown = true;
      stream.write(`${CLEAR_LINE}${progressText(progress)}`);
    },
    end() {
      if (shown) stream.write(CLEAR_LINE);
      shown = false;
    },
  };
}

export function progressText({ progress, total, message }: Progress): string {
  const said = message === undefined ? "" : ` ${cleanLine(message).slice(0, MESSAGE)}`;
  if (total === undefined || !(total > 0)) return `… ${progress}${said}`;
  const share = Math.min(1, Math.max(0, progress / total));
  const full = Math.round(share * WIDTH);
  const percent = String(Math.floor(share * 100)).padStart(3);
  return `[${"#".repeat(full)}${"-".repeat(WIDTH - full)}] ${percent}%${said}`;
}
