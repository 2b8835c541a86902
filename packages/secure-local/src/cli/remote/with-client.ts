// Runs a command on a connection to its target, which is closed whatever comes, and writes what the target gave for a
// person.
import { openClient, type Target, targetText } from "@secure-local/mcp-tools/target";
import type {
  Client,
  ClientOptions,
  ContentBlock,
  ElicitRequest,
  ElicitResult,
  LogMessage,
  PrimitiveSchemaDefinition,
  ResourceContents,
} from "@secure-local/mcp/client";
import { ConnectError, LocalError } from "@secure-local/mcp/client/node";
import { cleanLine, cleanText } from "../../guard/cleaning/clean-text.js";
import type { SecureServer } from "../../server/secure-server.js";
import { type CommandLine, UsageError } from "../command-line.js";
import { namedText } from "../write-new-file.js";
import { clientTokensFile, programVersion } from "../settings.js";
import { type Ask, askYesNo, clearProgress, complain, InterruptedError, showProgress, styled } from "../terminal.js";
import { findTarget } from "./find-target.js";
import { isInteractive, questioner } from "./questioner.js";

export interface Connected {
  readonly client: Client;
  readonly target: Target;
  /** The words of the command line that are no target. */
  readonly words: readonly string[];
  readonly signal: AbortSignal;
}

interface Usage {
  /** What a person is told who leaves something out. */
  readonly usage: string;
  /** How many words there have to be, and may be, beside the target. */
  readonly least: number;
  readonly most: number;
}

/** Throws a UsageError before anything is connected. */
export async function withClient(
  line: CommandLine,
  { usage, least, most }: Usage,
  work: (connected: Connected) => Promise<number>,
): Promise<number> {
  const { target, words } = await findTarget(line, usage);
  if (words.length < least) throw new UsageError(usage);
  if (words.length > most) throw new UsageError(`there is a word too many, "${words[most]}": ${usage}`);
  return interruptible(async (signal) => {
    showProgress(`connecting to ${cleanLine(targetText(target))}`);
    const client = await openClient(target, { ...clientOptions(line), ...connecting(line), signal }).finally(
      clearProgress,
    );
    const before = client.ignoredMessages;
    try {
      return await work({ client, target, words, signal });
    } catch (error) {
      throw strayTold(error, client.ignoredMessages - before);
    } finally {
      await client.close();
    }
  }).catch((error: unknown) => {
    throw openingTold(error);
  });
}

/** A server that answers under another id than it was asked under looks like one that does not answer: whose fault it is has to be said. */
function strayTold(error: unknown, stray: number): unknown {
  if (!(error instanceof LocalError) || error.code !== "TIMEOUT" || stray === 0) return error;
  const some = stray === 1 ? "1 message that answers" : `${stray} messages that answer`;
  return new LocalError(
    "TIMEOUT",
    `${error.message} It did send ${some} nothing that is waited for: an answer that came too late, or under another id than its request has (a text for a number is another). A wrong id is the server's fault, and mcp-secure-local doctor TARGET shows it.`,
  );
}

/** Before there is a conversation nobody counts what came in; there the way to find out is told. */
function openingTold(error: unknown): unknown {
  if (!(error instanceof ConnectError) || !/was not answered within/.test(error.message)) return error;
  error.message +=
    "\nIf it does answer, it may do so under another id: mcp-secure-local doctor TARGET shows what it sends.";
  return error;
}

/** The same on the server this program is itself. */
export async function withOwnClient(
  line: CommandLine,
  needsPlugins: (secure: SecureServer) => boolean,
  work: (connected: Connected) => Promise<number>,
): Promise<number> {
  const { withOwnServer } = await import("../own-client.js");
  return interruptible((signal) =>
    withOwnServer(line, { client: { ...ownOptions(line), signal }, needsPlugins }, (client) =>
      work({ client, target: OWN, words: line.words, signal }),
    ),
  );
}

/** What a server of the policy asks is asked here; what the guard asks it asks at this terminal by itself. */
function ownOptions(line: CommandLine): ClientOptions {
  const { onLog = () => undefined, ...options } = clientOptions(line);
  // What the guard says in the log, it says in its answer too.
  return { ...options, onLog: (message) => message.logger !== "guard" && onLog(message) };
}

/** What the own server is called where targets are named. */
const OWN: Target = { kind: "command", command: "mcp-secure-local", args: [], env: {} };

/** Milliseconds after Ctrl-C for ending in order what was begun: a person waits, and what hangs never ends. */
const ORDERLY_END_MS = 3_000;

/**
 * Ctrl-C aborts the signal, and what was begun is ended in order, or given up; pressed once more it ends the program.
 * @throws InterruptedError in place of what else the work says of its end
 */
export async function interruptible(work: (signal: AbortSignal) => Promise<number>): Promise<number> {
  const interrupted = new AbortController();
  const stop = (): void => interrupted.abort();
  let late: NodeJS.Timeout | undefined;
  const givenUp = new Promise<never>((_resolve, reject) => {
    const giveUp = (): void => reject(new InterruptedError("interrupted"));
    interrupted.signal.addEventListener("abort", () => (late = setTimeout(giveUp, ORDERLY_END_MS)));
  });
  process.once("SIGINT", stop).once("SIGTERM", stop);
  try {
    return await Promise.race([work(interrupted.signal), givenUp]);
  } catch (error) {
    if (interrupted.signal.aborted) throw new InterruptedError("interrupted; what was begun has been ended");
    throw error;
  } finally {
    clearTimeout(late);
    clearProgress();
    process.removeListener("SIGINT", stop).removeListener("SIGTERM", stop);
  }
}

/** Milliseconds of `--timeout`. */
export function timeoutMs({ timeout }: Pick<CommandLine, "timeout">): number | undefined {
  if (timeout === undefined) return undefined;
  const seconds = Number(timeout);
  if (seconds > 0 && seconds <= 86_400) return Math.ceil(seconds * 1000);
  throw new UsageError(`--timeout needs seconds from 1 to 86400, not "${timeout}"`);
}

/** Five values for each member, as in the long lists of tools that were looked at. */
const VALUES_PER_MEMBER = 5;
/** More than one string of Node's holds, and than a person waits for. */
const MOST_MB = 256;
const MOST_MEMBERS = 20_000_000;

/** What `--max-message-mb` and `--max-members` say; empty without them. */
export function limitsOf({ maxMessageMb, maxMembers }: Pick<CommandLine, "maxMessageMb" | "maxMembers">): {
  readonly limits?: { readonly messageBytes?: number; readonly members?: number; readonly values?: number };
} {
  const number = (text: string | undefined, option: string, most: number): number | undefined => {
    if (text === undefined) return undefined;
    if (/^[1-9]\d*$/.test(text) && Number(text) <= most) return Number(text);
    throw new UsageError(`${option} needs a number from 1 to ${most}, not "${text}"`);
  };
  const megabytes = number(maxMessageMb, "--max-message-mb", MOST_MB);
  const members = number(maxMembers, "--max-members", MOST_MEMBERS);
  if (megabytes === undefined && members === undefined) return {};
  return {
    limits: {
      ...(megabytes === undefined ? {} : { messageBytes: megabytes * 1024 * 1024 }),
      ...(members === undefined ? {} : { members, values: members * VALUES_PER_MEMBER }),
    },
  };
}

/** Where tokens are kept, and who is asked for them. */
export function person(): { readonly tokensFile: string; readonly show: ((url: string) => void) | undefined } {
  const show = (url: string): void =>
    complain(`Authorize this program in your browser. If none opens, open this page:\n  ${cleanLine(url)}`);
  return { tokensFile: clientTokensFile(), show: isInteractive() ? show : undefined };
}

/** More than any header holds. */
const MOST_TOKEN_BYTES = 64 * 1024;

/** `--token`, or what is in the file of `--token-file`. @throws UsageError */
export function bearerToken({ token, tokenFile }: Pick<CommandLine, "token" | "tokenFile">): string | undefined {
  if (tokenFile === undefined) return token;
  if (token !== undefined) throw new UsageError("--token and --token-file: give one of them");
  const text = namedText(tokenFile, MOST_TOKEN_BYTES, "name the file of the token with --token-file").trim();
  if (/^[\x21-\x7e]+$/.test(text)) return text;
  throw new UsageError(`${tokenFile} holds no token: write it there, one word of printed characters and nothing else`);
}

function connecting(line: CommandLine): { token: string | undefined; person: ReturnType<typeof person> } {
  return { token: bearerToken(line), person: person() };
}

function clientOptions(line: CommandLine): ClientOptions {
  const limit = timeoutMs(line);
  const note = (kind: string, text: string): void => complain(styled("dim", `[${kind}] ${cleanLine(text)}`, "stderr"));
  return {
    clientInfo: { name: "mcp-secure-local", version: programVersion() },
    ...(line.revision === undefined ? {} : { revision: line.revision }),
    ...(limit === undefined ? {} : { timeoutMs: limit, maxTimeoutMs: limit, connectTimeoutMs: limit }),
    ...(isInteractive()
      ? { elicit: (request, { server }) => questioner((ask) => askForm(request, server.name, ask)) }
      : {}),
    ...limitsOf(line),
    reconnect: false,
    cache: false,
    verdicts: false,
    validateOutput: "warn",
    onLog: (message) => note(message.level, logText(message)),
    onNoise: (text) => note("stdout", text),
    onWarning: (text) => note("warning", text),
  };
}

function logText({ logger, data }: LogMessage): string {
  const text = typeof data === "string" ? data : JSON.stringify(data);
  return logger === undefined ? text : `${logger}: ${text}`;
}

// Reads what a person typed as the value of one field of a form, or says what is wrong with it.

export interface Field {
  readonly name: string;
  readonly schema: PrimitiveSchemaDefinition;
  readonly required: boolean;
}

/** `value` is undefined for an optional field that is left out. */
type Read = { readonly value: string | number | boolean | string[] | undefined } | { readonly fault: string };

type Schema<T extends PrimitiveSchemaDefinition["type"]> = Extract<PrimitiveSchemaDefinition, { type: T }>;

const YES = ["y", "yes", "true"];
const NO = ["n", "no", "false"];
const FORMATS = {
  email: [/^[^\s@]+@[^\s@]+$/, "an e-mail address"],
  uri: [/^[a-z][a-z0-9+.-]*:\S+$/i, "a URI, as in https://example.com/"],
  date: [/^\d{4}-\d\d-\d\d$/, "a date, as in 2026-01-31"],
  "date-time": [
    /^\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d)$/i,
    "a time, as in 2026-01-31T12:00:00Z",
  ],
} as const;

export function readField(text: string, { schema, required }: Field): Read {
  if (text === "") {
    if (schema.default !== undefined) return { value: schema.default as string };
    return required ? { fault: "This is needed." } : { value: undefined };
  }
  if (schema.type === "boolean") return readBoolean(text);
  if (schema.type === "number" || schema.type === "integer") return readNumber(text, schema);
  if (schema.type === "array") return readSeveral(text, schema);
  return readText(text, schema as Schema<"string">);
}

function readBoolean(text: string): Read {
  const word = text.toLowerCase();
  if (YES.includes(word)) return { value: true };
  return NO.includes(word) ? { value: false } : { fault: "Answer yes or no." };
}

function readNumber(text: string, { type, minimum, maximum }: Schema<"number" | "integer">): Read {
  const value = Number(text);
  if (!Number.isFinite(value)) return { fault: "That is no number." };
  if (type === "integer" && !Number.isSafeInteger(value)) return { fault: "That is no whole number." };
  if (minimum !== undefined && value < minimum) return { fault: `At least ${minimum}, please.` };
  if (maximum !== undefined && value > maximum) return { fault: `At most ${maximum}, please.` };
  return { value };
}

function readText(text: string, schema: Schema<"string">): Read {
  const values = valuesOf(schema);
  if (values !== undefined) {
    const value = choose(text, values);
    return value === undefined ? { fault: choiceFault(values) } : { value };
  }
  const { minLength, maxLength, format } = schema as { minLength?: number; maxLength?: number; format?: string };
  const length = [...text].length;
  if (minLength !== undefined && length < minLength) return { fault: `At least ${minLength} characters, please.` };
  if (maxLength !== undefined && length > maxLength) return { fault: `At most ${maxLength} characters, please.` };
  const rule = Object.hasOwn(FORMATS, format ?? "") ? FORMATS[format as keyof typeof FORMATS] : undefined;
  return rule === undefined || rule[0].test(text) ? { value: text } : { fault: `This has to be ${rule[1]}.` };
}

function readSeveral(text: string, { items, minItems = 0, maxItems = Infinity }: Schema<"array">): Read {
  const values = valuesOf(items) ?? [];
  const chosen = text.split(",").map((word) => choose(word.trim(), values));
  if (chosen.includes(undefined)) return { fault: `${choiceFault(values)} Several with commas between.` };
  const value = [...new Set(chosen as string[])];
  if (value.length < minItems) return { fault: `At least ${minItems} of them, please.` };
  return value.length > maxItems ? { fault: `At most ${maxItems} of them, please.` } : { value };
}

function valuesOf(schema: object): readonly string[] | undefined {
  const {
    enum: names,
    oneOf,
    anyOf,
  } = schema as {
    readonly enum?: readonly string[];
    readonly oneOf?: readonly { readonly const: string }[];
    readonly anyOf?: readonly { readonly const: string }[];
  };
  return names ?? (oneOf ?? anyOf)?.map((choice) => choice.const);
}

/** A choice by itself, or by its place in the list. */
function choose(word: string, values: readonly string[]): string | undefined {
  return values.find((each) => each === word) ?? (/^\d{1,4}$/.test(word) ? values[Number(word) - 1] : undefined);
}

function choiceFault(values: readonly string[]): string {
  return `One of the choices, by its number (1 to ${values.length}) or its value.`;
}

// Puts a server's question to the person at the terminal: a form field by field, or a page to open.

type Form = Extract<ElicitRequest, { mode: "form" }>;
type Page = Extract<ElicitRequest, { mode: "url" }>;
type Values = NonNullable<ElicitResult["content"]>;

/** Tries at one field until the question counts as cancelled. */
const TRIES = 5;

/** Whoever goes away (end of input, interruption) has cancelled. */
export async function askForm(request: ElicitRequest, server: string, ask: Ask): Promise<ElicitResult> {
  complain(`\n${cleanLine(server)} asks: ${cleanText(request.message)}`);
  try {
    return request.mode === "url" ? await askForPage(request, ask) : await askForValues(request, ask);
  } catch (error) {
    if ((error as Error).name === "AbortError") return { action: "cancel" };
    throw error;
  }
}

/** The page is never opened for the person: its address is shown in full, and they decide. */
async function askForPage({ url }: Page, ask: Ask): Promise<ElicitResult> {
  const host = URL.canParse(url) ? new URL(url).host : "no host at all";
  complain(`It wants you to open a page at ${cleanLine(host)} yourself:\n  ${cleanLine(url)}`);
  const agreed = await askYesNo(ask, "Will you open it, and may the server know?", false);
  return { action: agreed ? "accept" : "decline" };
}

async function askForValues({ requestedSchema }: Form, ask: Ask): Promise<ElicitResult> {
  const { properties, required = [] } = requestedSchema;
  const content: Values = {};
  for (const [name, schema] of Object.entries(properties)) {
    const value = await askField({ name, schema, required: required.includes(name) }, ask);
    if (value === GIVEN_UP) return { action: "cancel" };
    if (value !== undefined) content[name] = value;
  }
  const agreed = await askYesNo(ask, "Send this answer?", true);
  return agreed ? { action: "accept", content } : { action: "decline" };
}

const GIVEN_UP = Symbol("given up");

async function askField(
  field: Parameters<typeof readField>[1],
  ask: Ask,
): Promise<Values[string] | undefined | typeof GIVEN_UP> {
  const { name, schema, required } = field;
  if (schema.description !== undefined) complain(`  ${cleanText(schema.description)}`);
  for (const [at, choice] of choicesOf(field.schema).entries()) complain(`    ${at + 1}. ${cleanLine(choice)}`);
  const usual = schema.default === undefined ? "" : ` [${cleanLine(String(schema.default))}]`;
  for (let tries = 0; tries < TRIES; tries++) {
    const text = await ask(`${cleanLine(schema.title ?? name)}${required ? "" : " (optional)"}${usual}: `);
    const read = readField(text.trim(), field);
    if ("value" in read) return read.value;
    complain(`  ${read.fault}`);
  }
  complain("  No usable answer, so the question is cancelled.");
  return GIVEN_UP;
}

function choicesOf(schema: Form["requestedSchema"]["properties"][string]): string[] {
  const source: object = schema.type === "array" ? schema.items : schema;
  const {
    enum: names,
    oneOf,
    anyOf,
  } = source as {
    readonly enum?: readonly string[];
    readonly oneOf?: readonly Titled[];
    readonly anyOf?: readonly Titled[];
  };
  const { enumNames } = schema as { readonly enumNames?: readonly string[] };
  const titled = (oneOf ?? anyOf)?.map(({ title, const: value }) => `${title} (${value})`);
  return (
    titled ?? names?.map((each, at) => (enumNames?.[at] === undefined ? each : `${enumNames[at]} (${each})`)) ?? []
  );
}

interface Titled {
  readonly const: string;
  readonly title: string;
}

// Writes what a server gave as text for a person; nothing in it reaches the terminal as a command.

const BASE64_SHARE = 3 / 4;

/** A block of a tool's or prompt's answer. */
export function blockText(block: ContentBlock): string {
  switch (block.type) {
    case "text":
      return cleanText(block.text);
    case "image":
    case "audio":
      return `[${block.type} ${cleanLine(block.mimeType)}, ${bytes(block.data)}]`;
    case "resource_link":
      return `[link ${cleanLine(block.uri)}: ${cleanLine(block.title ?? block.name)}]`;
    case "resource":
      return contentsText(block.resource);
    default:
      return `[${cleanLine(String((block as { type: unknown }).type))}]`;
  }
}

/** What a resource holds. */
export function contentsText(contents: ResourceContents): string {
  if ("text" in contents && typeof contents.text === "string") return cleanText(contents.text);
  const {
    blob = "",
    mimeType = "application/octet-stream",
    uri,
  } = contents as {
    readonly blob?: string;
    readonly mimeType?: string;
    readonly uri: string;
  };
  return `[${cleanLine(mimeType)} of ${cleanLine(uri)}, ${bytes(blob)}]`;
}

function bytes(base64: string): string {
  return `${Math.floor(base64.length * BASE64_SHARE)} bytes`;
}
