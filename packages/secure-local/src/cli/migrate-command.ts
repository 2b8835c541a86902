// `mcp-secure-local migrate DIR`: brings a server of the official SDK over to our library, by its imports or to our own API.

import { lstat, readFile, readdir } from "node:fs/promises";
import { dirname, extname, join, relative, resolve } from "node:path";
import { escapeUnseen } from "@secure-local/inspection/escape-unseen";
import { readAtOnce, whyUnread } from "../audit/owned-files.js";
import { type Leftover, lineNumberAt } from "./migrate/source-tree.js";
import { type CommandLine, UsageError } from "./command-line.js";
import { ExitCode, print, printJson, showProgress } from "./terminal.js";
import { writeInPlace } from "./write-new-file.js";

export interface Migrated {
  readonly text: string;
  /** Imports that lead to our package now. */
  readonly rewritten: number;
  readonly leftovers: readonly Leftover[];
  /** What is otherwise than one might think, and right as it is. */
  readonly notes?: readonly Leftover[];
}

const PACKAGE = "@secure-local/mcp/compat";

/** Modules of the SDKs with a place of their own; everything else a server imports is in `/compat`. */
const PLACES: readonly (readonly [RegExp, string])[] = [
  [/^sdk\/server\/stdio(?:\.js)?$|^server\/stdio$/, `${PACKAGE}/stdio`],
  [/^sdk\/server\/streamableHttp(?:\.js)?$|^node$/, `${PACKAGE}/http`],
  [
    /^sdk\/(?:server\/(?:mcp|index|completable)|types|inMemory|shared\/(?:uriTemplate|metadataUtils))(?:\.js)?$|^sdk\/server$/,
    PACKAGE,
  ],
  [/^sdk\/experimental\/tasks(?:\/index\.js)?$|^server$/, PACKAGE],
];

/** Why a module has no place. */
const STAYS: readonly (readonly [RegExp, string])[] = [
  [/^(?:sdk\/)?client/, "clients stay with the SDK, or are written with connect of @secure-local/mcp/client"],
  [/^sdk\/server\/sse/, "HTTP+SSE is served by serveHttp(server, { sse: true })"],
  [
    /^sdk\/server\/(?:auth|middleware|express)|^express|^hono|^fastify/,
    "authorization and frameworks: see toNodeHandler and the entry /auth",
  ],
];

/** What compat gives away at run time: imports of anything else would not be found. */
const NAMES: ReadonlySet<string> = new Set(
  `
  acceptedContent AudioContentSchema BlobResourceContentsSchema CallToolRequestParamsSchema CallToolRequestSchema
  CallToolResultSchema CancelledNotificationSchema CancelTaskRequestSchema CLIENT_CAPABILITIES_META_KEY
  CLIENT_INFO_META_KEY ClientCapabilitiesSchema ClientNotificationSchema ClientRequestSchema ClientResultSchema
  CompatibilityCallToolResultSchema completable CompleteRequestSchema CompleteResultSchema ContentBlockSchema
  createMcpHandler CreateMessageRequestSchema CreateMessageResultSchema CreateMessageResultWithToolsSchema
  CreateTaskResultSchema CursorSchema DEFAULT_NEGOTIATED_PROTOCOL_VERSION ElicitationCompleteNotificationSchema
  ElicitRequestSchema ElicitResultSchema EmbeddedResourceSchema EmptyResultSchema ErrorCode fromJsonSchema
  getDisplayName GetPromptRequestSchema GetPromptResultSchema GetTaskPayloadRequestSchema GetTaskRequestSchema
  GetTaskResultSchema ImageContentSchema ImplementationSchema InitializedNotificationSchema InitializeRequestSchema
  InitializeResultSchema InMemoryServerEventBus InMemoryTaskMessageQueue InMemoryTaskStore InMemoryTransport
  inputRequired inputResponse isCallToolResult isCompletable isInitializedNotification isInitializeRequest
  isInputRequiredResult isJSONRPCErrorResponse isJSONRPCNotification isJSONRPCRequest isJSONRPCResponse
  isJSONRPCResultResponse JSONRPC_VERSION JSONRPCMessageSchema JSONRPCNotificationSchema JSONRPCRequestSchema
  JSONRPCResponseSchema LATEST_PROTOCOL_VERSION ListPromptsRequestSchema ListPromptsResultSchema
  ListResourcesRequestSchema ListResourcesResultSchema ListResourceTemplatesRequestSchema
  ListResourceTemplatesResultSchema ListRootsRequestSchema ListRootsResultSchema ListTasksRequestSchema
  ListToolsRequestSchema ListToolsResultSchema LOG_LEVEL_META_KEY LoggingLevelSchema LoggingMessageNotificationSchema
  McpError McpServer NodeStreamableHTTPServerTransport NotificationSchema PingRequestSchema ProgressNotificationSchema
  ProgressTokenSchema PromptArgumentSchema PromptListChangedNotificationSchema PromptMessageSchema PromptSchema
  PROTOCOL_VERSION_META_KEY ProtocolError ProtocolErrorCode ReadResourceRequestSchema ReadResourceResultSchema
  Registered RegisteredResource RegisteredTool RELATED_TASK_META_KEY RequestIdSchema RequestSchema
  ResourceContentsSchema ResourceLinkSchema ResourceListChangedNotificationSchema ResourceSchema ResourceTemplate
  ResourceTemplateSchema ResourceUpdatedNotificationSchema ResultSchema RoleSchema RootSchema
  RootsListChangedNotificationSchema SamplingMessageSchema Server ServerCapabilitiesSchema ServerNotificationSchema
  ServerRequestSchema ServerResultSchema serveStdio SetLevelRequestSchema StdioServerTransport
  StreamableHTTPServerTransport SubscribeRequestSchema SUBSCRIPTION_ID_META_KEY SUPPORTED_PROTOCOL_VERSIONS TaskSchema
  TaskStatusNotificationSchema TextContentSchema TextResourceContentsSchema toNodeHandler ToolAnnotationsSchema
  ToolListChangedNotificationSchema ToolSchema UnsubscribeRequestSchema UriTemplate UrlElicitationRequiredError
  `
    .trim()
    .split(/\s+/),
);

/** Names that are looked up at run time wherever they stand: of other ones the compiler says that they are missing. */
const VALUES = /^[a-z]|^[A-Z][A-Z_]+$|(?:Schema|Error|ErrorCode|TypeKind|[a-zA-Z]Transport|Buffer)$|^Protocol$/;
const WITHOUT_TYPES = /\.[cm]?jsx?$/;

/** Any text that is exactly the name of one of the SDKs' modules names that module, whatever stands before it. */
const SPECIFIER = /(["'])@modelcontextprotocol\/((?:sdk|server|node|client|express|hono|fastify)(?:\/[^"'\n]*)?)\1/g;
const NAMED_IMPORT =
  /import\s+(?:type\s+)?\{([^}]*)\}\s*from\s*["']@modelcontextprotocol\/((?:sdk|server|node)(?:\/[^"']*)?)["']/g;

/** Rewrites one source. What it cannot place it leaves as it was. */
export function migrateSource(source: string, path: string): Migrated {
  const leftovers = unknownNames(source, path);
  let rewritten = 0;
  const text = source.replaceAll(SPECIFIER, (whole, quote: string, module: string, at: number) => {
    const place = PLACES.find(([pattern]) => pattern.test(module))?.[1];
    if (place !== undefined) {
      rewritten++;
      return `${quote}${place}${quote}`;
    }
    const why = STAYS.find(([pattern]) => pattern.test(module))?.[1] ?? "this module has no counterpart";
    leftovers.push({ line: lineNumberAt(source, at), what: `@modelcontextprotocol/${module}: ${why}` });
    return whole;
  });
  return { text, rewritten, leftovers: leftovers.sort((a, b) => a.line - b.line), notes: sessionNotes(source) };
}

/** A program that looks its transports up by session hands no request to one that names none. */
const BY_SESSION = /\bonsessioninitialized\b|\bisInitializeRequest\s*\(/;
const ONLY_SESSIONS =
  "transports kept by session serve revisions up to 2025-11-25, since requests of 2026-07-28 name no session: serveHttp(server.coreServer()) and toNodeHandler(server.coreServer()) of @secure-local/mcp/http serve them all";

function sessionNotes(source: string): Leftover[] {
  const found = /StreamableHTTPServerTransport/.test(source) ? BY_SESSION.exec(source) : null;
  return found === null ? [] : [{ line: lineNumberAt(source, found.index), what: ONLY_SESSIONS }];
}

function unknownNames(source: string, path: string): Leftover[] {
  const found: Leftover[] = [];
  for (const match of source.matchAll(NAMED_IMPORT)) {
    const module = match[2] ?? "";
    if (match[0].startsWith("import type") || !PLACES.some(([pattern]) => pattern.test(module))) continue;
    for (const part of (match[1] ?? "").split(",")) {
      const name = part.trim().split(/\s+as\s+/)[0] ?? "";
      if (name === "" || name.startsWith("type ") || NAMES.has(name)) continue;
      if (!VALUES.test(name) && !WITHOUT_TYPES.test(path)) continue;
      found.push({ line: lineNumberAt(source, match.index), what: `${name}: ${PACKAGE} has no such name` });
    }
  }
  return found;
}

const SOURCES: ReadonlySet<string> = new Set([".ts", ".mts", ".cts", ".tsx", ".js", ".mjs", ".cjs"]);
const LEFT_OUT: ReadonlySet<string> = new Set(["node_modules", "dist", "build", "out", "coverage"]);
/** A project of this many sources is no server: somebody named the wrong folder. */
const MOST_SOURCES = 10_000;
/** Longer files are bundles, which are built anew. */
const LONGEST_SOURCE = 2 * 1024 * 1024;

/** A person need not see each of them go by. */
const SHOWN_EVERY = 100;

interface FileReport {
  readonly file: string;
  readonly rewritten: number;
  readonly leftovers: readonly Leftover[];
  readonly notes: readonly Leftover[];
}

/** Exit code 1 where something is left for a person. */
export async function migrateCommand({ words, json, own }: CommandLine): Promise<number> {
  const [folder, more] = words;
  if (folder === undefined) throw new UsageError("migrate takes a folder, as in mcp-secure-local migrate src");
  if (more !== undefined) throw new UsageError(`migrate takes one folder, and "${more}" is one too many`);
  const sources = await sourcesOf(folder);
  const reports: FileReport[] = [];
  const rewrite = own ? (await import("./migrate/own-api.js")).toOwnApi : migrateSource;
  for (const [at, path] of sources.entries()) {
    if (at % SHOWN_EVERY === 0) showProgress(`rewriting ${at + 1} of ${sources.length} sources`);
    const before = await readFile(path, "utf8");
    const { text, rewritten, leftovers, notes = [] } = rewrite(before, path) as Migrated;
    if (text !== before) writeInPlace(path, text);
    const file = relative(folder, path);
    if (rewritten > 0 || leftovers.length > 0) reports.push({ file, rewritten, leftovers, notes });
  }
  const old = own && reports.length > 0 ? oldZod(folder) : undefined;
  if (old !== undefined) reports.push(old);
  if (json) printJson(reports);
  else tell(reports, own);
  return reports.some(({ leftovers }) => leftovers.length > 0) ? ExitCode.Failed : ExitCode.Ok;
}

function tell(reports: readonly FileReport[], own: boolean): void {
  const what = own ? "place" : "import";
  if (reports.length === 0)
    return print(`No source here imports the official SDK. Not looked into: ${[...LEFT_OUT].join(", ")}.`);
  for (const { file, rewritten, leftovers, notes } of reports) {
    print(`${escapeUnseen(file)}: ${rewritten} ${what}${rewritten === 1 ? "" : "s"} rewritten`);
    for (const each of leftovers) print(`  line ${each.line} is left to you: ${escapeUnseen(each.what)}`);
    for (const each of notes) print(`  line ${each.line}: ${escapeUnseen(each.what)}`);
  }
  if (own) print("Models read only a ToolError's message now; any other error goes to standard error with its stack.");
  print("Now: npm install ./secure-local-mcp-VERSION.tgz, then build and run your tests.");
}

/** A range of versions none of which is zod 4. */
const ZOD_3 = /^[\s^~=v]*3(?:\.[^\s|]*)?(?:\s*\|\|\s*[\s^~=v]*3(?:\.[^\s|]*)?)*\s*$/;

/** The package a folder is in, where it asks for a zod whose schemas our own API cannot read. */
function oldZod(folder: string): FileReport | undefined {
  for (let at = resolve(folder); ; at = dirname(at)) {
    const path = join(at, "package.json");
    const text = readPackage(path);
    if (text !== undefined) {
      const range = zodOf(text);
      if (range === undefined || !ZOD_3.test(range)) return undefined;
      const what = `package.json asks for zod ${range}: npm install zod@4, whose schemas say what they are as JSON Schema`;
      const line = lineNumberAt(text, Math.max(0, text.indexOf('"zod"')));
      return { file: relative(folder, path), rewritten: 0, leftovers: [{ line, what }], notes: [] };
    }
    if (dirname(at) === at) return undefined;
  }
}

function readPackage(path: string): string | undefined {
  try {
    return readAtOnce(path);
  } catch {
    // Not there, or nothing to read: the next folder up may have one.
    return undefined;
  }
}

function zodOf(text: string): string | undefined {
  try {
    const { dependencies, devDependencies, peerDependencies } = Object(JSON.parse(text)) as Record<string, unknown>;
    for (const list of [dependencies, devDependencies, peerDependencies]) {
      const range: unknown = Object(list).zod;
      if (typeof range === "string") return range;
    }
  } catch {
    // npm will say what is wrong with it.
  }
  return undefined;
}

/** Sources below a folder; links are not followed. */
async function sourcesOf(folder: string): Promise<string[]> {
  const found: string[] = [];
  const folders = [folder];
  for (let next = folders.pop(); next !== undefined; next = folders.pop()) {
    const entries = await readdir(next, { withFileTypes: true }).catch((error: NodeJS.ErrnoException) => {
      throw new UsageError(`migrate cannot read the folder ${next} (${whyUnread(error)}): name one that is there`);
    });
    for (const entry of entries) {
      const path = join(next, entry.name);
      if (entry.isDirectory() && !entry.name.startsWith(".") && !LEFT_OUT.has(entry.name)) folders.push(path);
      else if (entry.isFile() && SOURCES.has(extname(entry.name))) found.push(path);
    }
    if (found.length > MOST_SOURCES) {
      throw new UsageError(`there are more than ${MOST_SOURCES} sources in ${folder}: name the folder of the server`);
    }
  }
  const sizes = await Promise.all(found.map(async (path) => (await lstat(path)).size));
  return found.filter((_, i) => (sizes[i] ?? 0) <= LONGEST_SOURCE).sort();
}
