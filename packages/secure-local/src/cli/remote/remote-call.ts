// `mcp-secure-local call` and `read`: one tool with its progress and Ctrl-C to cancel it, or one resource, of any
// server or of our own.
import { randomUUID } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { escapeUnseen } from "@secure-local/inspection/escape-unseen";
import { targetText } from "@secure-local/mcp-tools/target";
import { type CallToolResult, type Client, McpErrorCode, type Progress, type Tool } from "@secure-local/mcp/client";
import { RpcError } from "@secure-local/mcp/client/node";
import { cleanLine } from "../../guard/cleaning/clean-text.js";
import { otherNames } from "../../policy/host-matcher.js";
import { loadPolicy } from "../../policy/load-policy.js";
import type { Policy } from "../../policy/policy.js";
import type { SecureServer } from "../../server/secure-server.js";
import { readArguments } from "../call-arguments.js";
import { adviceWord, type CommandLine, inUse, nearest, UsageError } from "../command-line.js";
import { openAudit } from "../open-audit.js";
import { policyFile, programVersion } from "../settings.js";
import { askYesNo, complain, ExitCode, print, printJson, styled } from "../terminal.js";
import { isOwn, namesTarget } from "./find-target.js";
import { isInteractive, questioner } from "./questioner.js";
import { blockText, type Connected, contentsText, timeoutMs, withClient, withOwnClient } from "./with-client.js";

const USAGE = {
  usage: "call needs a target and the name of a tool, as in call TARGET NAME key=value",
  least: 1,
  most: Infinity,
};

/** One of our own: what the policy wants asked is asked by the guard. */
export function ownCall(line: CommandLine): Promise<number> {
  const [name = "", ...given] = line.words;
  // What is built in needs no plugin, and is answered sooner without.
  let policy: Policy | undefined;
  const needsPlugins = (secure: SecureServer): boolean => {
    ({ policy } = secure);
    return !secure.tools().some((tool) => tool.name === name);
  };
  return withOwnClient(line, needsPlugins, async (connected) => {
    const tools = await connected.client.tools().all();
    const tool = tools.find((each) => each.name === name);
    const args = readArguments(given, tool?.inputSchema);
    try {
      const called = { connected, name, args, needsTask: tool?.execution?.taskSupport === "required" };
      return conclude(await answerTo(called, line), name, line);
    } catch (error) {
      if (asksSomebody(error)) throw new RpcError(error.code, `${error.message}. ${NOBODY_HERE}`, error.data);
      // Asked all the same, so that the log has it and the policy's rule is told.
      const names = tools.map((each) => each.name);
      const near = tool === undefined ? nearTool(name, names, policy) || ownerOf(name, policy, line) : "";
      if (near === "" || !(error instanceof RpcError)) throw error;
      throw new RpcError(error.code, `${error.message}${near}`, error.data);
    }
  });
}

const NOBODY_HERE = "It asks whoever calls it, and here is no terminal to ask in: run this in one";

/** Whether a server wants to ask somebody, and nobody is there to be asked. */
function asksSomebody(error: unknown): error is RpcError {
  return error instanceof RpcError && error.code === McpErrorCode.MissingRequiredClientCapability && !isInteractive();
}

/** A slip of the pen; beside a server that the name begins with only tools of that one are meant. */
function nearTool(name: string, names: readonly string[], policy: Policy | undefined): string {
  const shown = otherNames(name).find((each) => names.includes(each));
  if (shown !== undefined) return `; its name is too long for clients, which call it ${shown}`;
  const owner = [...(policy?.servers.keys() ?? [])].find((server) => name.startsWith(`${server}__`));
  return nearest(name, owner === undefined ? names : names.filter((each) => each.startsWith(`${owner}__`)));
}

/** Whose tool it would be, where a server or plugin of the policy offers none of that name: it may wait to be approved. */
function ownerOf(name: string, policy: Policy | undefined, line: CommandLine): string {
  const named = inUse(line);
  for (const server of policy?.servers.keys() ?? [])
    if (name.startsWith(`${server}__`))
      return `; the server ${server} offers what you approved of it: mcp-secure-local servers review ${server}${named}`;
  for (const plugin of policy?.plugins.load.keys() ?? [])
    if (name.startsWith(`${plugin}_`))
      return `; what the plugin ${plugin} offers, and what is withheld: mcp-secure-local plugins list${named}`;
  return "";
}

export function remoteCall(line: CommandLine): Promise<number> {
  return withClient(line, USAGE, async (connected) => {
    const [name = "", ...given] = connected.words;
    const tools = await connected.client.tools().all();
    const tool = tools.find((each) => each.name === name);
    if (tool === undefined) return unlisted(connected, tools, line);
    const args = readArguments(given, tool.inputSchema);
    if (!(await agreed(tool, args, line))) return ExitCode.Failed;
    const call = { connected, name: tool.name, args, needsTask: tool.execution?.taskSupport === "required" };
    return conclude(await onRecord(line, call), name, line);
  });
}

/** What a server does not list is not called; another process of this program is asked all the same, for it says why it withholds something. */
async function unlisted(connected: Connected, tools: readonly Tool[], line: CommandLine): Promise<number> {
  const [name = "", ...given] = connected.words;
  const names = tools.map((each) => each.name);
  const near = nearest(name, names);
  if (near === "" && connected.client.server.name === OURS) {
    const args = readArguments(given, undefined);
    if (!(await agreed({ name }, args, line))) return ExitCode.Failed;
    return conclude(await onRecord(line, { connected, name, args, needsTask: false }), name, line);
  }
  complain(`mcp-secure-local: the server has no tool "${name}"${near || "; mcp-secure-local tools TARGET lists them"}`);
  return ExitCode.Tool;
}

const OURS = "mcp-secure-local";

interface Call {
  readonly connected: Connected;
  readonly name: string;
  readonly args: NonNullable<Parameters<Client["call"]>[1]>;
  /** The server answers with a task only. */
  readonly needsTask: boolean;
}

function conclude(result: CallToolResult, name: string, line: CommandLine): number {
  for (const file of savedImages(result, name, line.saveImages)) complain(`mcp-secure-local: wrote ${cleanLine(file)}`);
  return show(result, line.json);
}

/** A call is made when it is on record, and so is how it ended. */
async function onRecord(line: CommandLine, call: Call): Promise<CallToolResult> {
  const { connected, name, args } = call;
  const audit = await openAudit(line, await loadPolicy(policyFile(line)), complain);
  const about = {
    id: randomUUID(),
    client: `mcp-secure-local ${programVersion()}`,
    method: "tools/call",
    tool: name,
    detail: { target: targetText(connected.target) },
  };
  const started = performance.now();
  let outcome = "error";
  try {
    const decision = { allowed: true, rule: "a person called it" };
    await audit.record({ kind: "call.intent", ...about, arguments: args, decision });
    const result = await answerTo(call, line);
    outcome = result.isError === true ? "error" : "ok";
    return result;
  } finally {
    if (connected.signal.aborted) outcome = "cancelled";
    const duration_ms = Math.round(performance.now() - started);
    await audit.record({ kind: "call.result", ...about, outcome, duration_ms });
    await audit.close();
  }
}

async function answerTo({ connected, name, args, needsTask }: Call, line: CommandLine): Promise<CallToolResult> {
  const { client, signal } = connected;
  const progress = progressLine();
  const limit = timeoutMs(line);
  const limits = limit === undefined ? {} : { timeoutMs: limit, maxTimeoutMs: limit };
  try {
    if (needsTask) {
      const task = await client.callTask(name, args, { signal });
      return await task.result();
    }
    return await client.call(name, args, { ...limits, signal, onProgress: progress.show, logLevel: "info" });
  } finally {
    progress.end();
  }
}

/** Whether a tool may destroy something: the specification takes it for granted where nothing is said. */
export function mayDestroy({ readOnlyHint, destructiveHint }: NonNullable<Tool["annotations"]>): boolean {
  return readOnlyHint !== true && destructiveHint !== false;
}

/** A tool that may destroy is called when somebody agrees to exactly this call. */
async function agreed(
  { name, annotations }: Pick<Tool, "name" | "annotations">,
  args: object,
  line: CommandLine,
): Promise<boolean> {
  const { readOnlyHint, destructiveHint } = annotations ?? {};
  // A script has been written by somebody who knows the tool; whoever types its name may not.
  const unsaid = readOnlyHint === undefined && destructiveHint === undefined;
  if (line.yes || !mayDestroy(annotations ?? {}) || (unsaid && !isInteractive())) return true;
  if (!isInteractive())
    throw new UsageError(`the tool "${name}" may destroy something; add --yes to call it all the same`);
  complain(
    `The tool "${cleanLine(name)}" may destroy something${unsaid ? ", for it does not say otherwise" : ""}. It would be called with ${cleanLine(JSON.stringify(args))}`,
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
    throw new UsageError(
      `the images cannot be written to ${folder} (${(error as Error).message}); name another folder with --save-images`,
    );
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

// `mcp-secure-local call [TARGET] NAME [ARGUMENTS]`: calls a tool of another server, or one of ours through the same guard a client's calls pass.

export async function callCommand(line: CommandLine): Promise<number> {
  const own = !namesTarget(line, 1);
  if (own && line.words[0] === undefined)
    throw new UsageError("call needs the name of a tool; mcp-secure-local tools lists them");
  return await (own ? ownCall(line) : remoteCall(line).catch((error: unknown) => throwWith(error, line)));
}

/** Two words are a server and its tool; whoever meant a tool of ours and its argument hears how that is written. */
function throwWith(error: unknown, { words: [name = "", word = ""], after, url, config }: CommandLine): never {
  const named = after === undefined && url === undefined && config === undefined;
  if (!named || !(error instanceof Error) || !error.message.startsWith(`there is no server "${name}"`)) throw error;
  throw new UsageError(
    `${error.message}. If ${name} is a tool: its arguments are key=value, as in call ${name} KEY=${adviceWord(word)}`,
  );
}

// `mcp-secure-local read TARGET URI`: reads a resource of any server; without TARGET one of our own.

const READ_USAGE = {
  usage: "read needs a target and the URI of a resource, as in read TARGET file:///a.txt",
  least: 1,
  most: 1,
};

type Work = (connected: Connected) => Promise<number>;

/** On the server that is named, or on our own where none is. */
function own(line: CommandLine, usage: typeof READ_USAGE, work: Work): Promise<number> {
  return isOwn(line, 1) ? withOwnClient(line, () => true, work) : withClient(line, usage, work);
}

/** A scheme and more (RFC 3986). */
const ABSOLUTE = /^[a-z][a-z0-9+.-]*:[^]/i;

export function readCommand(line: CommandLine): Promise<number> {
  return own(line, READ_USAGE, async ({ client, words: [uri = ""], signal }) => {
    if (!ABSOLUTE.test(uri))
      throw new UsageError(
        `${JSON.stringify(uri)} is no URI, which begins with a scheme and a colon, as file:///home/ada/notes.txt does; those there are: mcp-secure-local inspect${isOwn(line, 1) ? inUse(line) : " TARGET"}`,
      );
    const result = await client.read(uri, undefined, { signal });
    if (line.json) printJson(result);
    else print(result.contents.map(contentsText).join("\n"));
    return ExitCode.Ok;
  });
}

// `mcp-secure-local prompt TARGET NAME [key=value…]`: gets a prompt of any server.

const PROMPT_USAGE = {
  usage: "prompt needs a target and the name of a prompt, as in prompt TARGET NAME key=value",
  least: 1,
  most: Infinity,
};

export function promptCommand(line: CommandLine): Promise<number> {
  return own(line, PROMPT_USAGE, async ({ client, words: [name = "", ...given], signal }) => {
    // Arguments of prompts are texts, whatever they look like.
    const values = Object.entries(readArguments(given, undefined)).map(([key, value]): [string, string] => {
      const written = given.find((word) => word.startsWith(`${key}=`))?.slice(key.length + 1);
      return [key, written ?? (typeof value === "string" ? value : JSON.stringify(value))];
    });
    const result = await client.prompt(name, Object.fromEntries(values), { signal });
    if (line.json) printJson(result);
    else for (const { role, content } of result.messages) print(`${styled("bold", `${role}:`)} ${blockText(content)}`);
    return ExitCode.Ok;
  });
}
