// Names everything the package gives away, subpath by subpath: a name is added, renamed or lost here on purpose or not at all.
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { describe, expect, it } from "vitest";
import { exportedNames } from "../support/module-facts.js";

const SURFACE: Record<string, readonly string[]> = {
  "./server": [
    "AskError",
    "DEFAULT_SERVER_LIMITS",
    "HandleError",
    "LocalError",
    "McpErrorCode",
    "MemoryTaskStore",
    "ReadyResult",
    "RpcError",
    "Server",
    "aesSeal",
    "audio",
    "handles",
    "image",
    "inputRequired",
    "link",
    "resource",
    "result",
    "serve",
    "text",
    "type Answer",
    "type AskOptions",
    "type Block",
    "type Call",
    "type CallToolResult",
    "type Caller",
    "type CapabilityOptions",
    "type ClientCapabilities",
    "type Completer",
    "type CompletionReturn",
    "type ContentBlock",
    "type Context",
    "type Fault",
    "type FromJsonSchema",
    "type GetPromptResult",
    "type HandleOptions",
    "type HandleUser",
    "type Handles",
    "type Implementation",
    "type JsonSchema",
    "type LoggingLevel",
    "type MaybePromise",
    "type Middleware",
    "type Next",
    "type Outcome",
    "type PromptDefinition",
    "type PromptReturn",
    "type ReadResourceResult",
    "type ReadReturn",
    "type Registration",
    "type Reporter",
    "type ResourceContents",
    "type ResourceDefinition",
    "type ResourceTemplateDefinition",
    "type Root",
    "type Schema",
    "type Seal",
    "type ServeOptions",
    "type ServerCapabilities",
    "type ServerLimits",
    "type ServerOptions",
    "type Serving",
    "type Task",
    "type TaskPage",
    "type TaskRecord",
    "type TaskStatus",
    "type TaskStore",
    "type TaskStoreLimits",
    "type TaskSupport",
    "type ToolAnnotations",
    "type ToolDefinition",
    "type ToolResult",
    "type ToolReturn",
    "type Variables",
    "type Visibility",
  ],
  "./stdio": ["serveStdio", "type ServeStdioOptions", "type Serving"],
  "./http": [
    "DEFAULT_HTTP_LIMITS",
    "DEFAULT_SESSION_LIMITS",
    "serveHttp",
    "type Answers",
    "type Authenticate",
    "type Entrance",
    "type EventStore",
    "type HttpAdmission",
    "type HttpAuthorization",
    "type HttpLimits",
    "type HttpOptions",
    "type HttpPage",
    "type HttpPageReply",
    "type HttpRefusal",
    "type HttpRequestHead",
    "type HttpServing",
    "type HttpStats",
    "type Identity",
    "type RefusedRequest",
    "type ServeHttpOptions",
    "type SessionLimits",
    "type StoredEvent",
  ],
  "./fetch": [
    "DEFAULT_HTTP_LIMITS",
    "DEFAULT_SESSION_LIMITS",
    "toFetch",
    "type Answers",
    "type Authenticate",
    "type Entrance",
    "type EventStore",
    "type FetchHandler",
    "type HttpAdmission",
    "type HttpAuthorization",
    "type HttpLimits",
    "type HttpOptions",
    "type HttpRefusal",
    "type HttpRequestHead",
    "type Identity",
    "type RefusedRequest",
    "type SessionLimits",
    "type StoredEvent",
  ],
  "./testing": ["connectInMemory", "type MemoryPeer", "type MemoryPeerOptions", "type WireMessage"],
  "./task-files": ["taskFileStore", "type TaskFileStoreOptions"],
  "./auth": [
    "anyOf",
    "dpopVerifier",
    "introspectionAuthenticator",
    "jwtAuthenticator",
    "memoryReplayStore",
    "protectedResource",
    "refusalReply",
    "requestGate",
    "requireScopes",
    "scopeRules",
    "staticTokenAuthenticator",
    "tokenAuthenticator",
    "type Admission",
    "type AuthOutcome",
    "type AuthRequest",
    "type Authenticator",
    "type Claims",
    "type DpopOptions",
    "type DpopVerifier",
    "type FetchLike",
    "type FetchOptions",
    "type GateRefusal",
    "type Identity",
    "type IntrospectionOptions",
    "type JsonWebKeySet",
    "type JwtOptions",
    "type NonceSource",
    "type ProofOutcome",
    "type ProtectedResource",
    "type ProtectedResourceMetadata",
    "type Refusal",
    "type RefusalReason",
    "type RefusalReply",
    "type ReplayStore",
    "type ReplayVerdict",
    "type RequestGate",
    "type RequestHead",
    "type ResourceOptions",
    "type Scheme",
    "type ScopeHierarchy",
    "type ScopeOptions",
    "type ScopeRules",
    "type ScopeTable",
    "type StaticToken",
    "type TokenOptions",
    "type TokenVerdict",
    "type TokenVerifier",
    "type WellKnown",
    "type WellKnownOptions",
    "type WellKnownPage",
    "type WellKnownReply",
    "wellKnown",
  ],
  "./jsonrpc": [
    "DEFAULT_LIMITS",
    "ErrorCode",
    "LocalError",
    "ParseFault",
    "RpcError",
    "parseJson",
    "resolveLimits",
    "type Carrier",
    "type ErrorObject",
    "type Excerpt",
    "type FailureMessage",
    "type JsonObject",
    "type JsonRpcLimits",
    "type JsonValue",
    "type MessageSink",
    "type NotificationMessage",
    "type OutgoingKind",
    "type RequestId",
    "type RequestMessage",
    "type SuccessMessage",
    "type Transport",
  ],
};

interface Manifest {
  readonly name: string;
  readonly exports: Record<string, string | Record<string, string>>;
}

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
const manifest = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as Manifest;
const subpaths = Object.entries(manifest.exports).filter(([, target]) => typeof target === "object");

it("lists every subpath of package.json", () => {
  expect(subpaths.map(([subpath]) => subpath).sort()).toEqual(Object.keys(SURFACE).sort());
});

describe.each(subpaths)("%s", (subpath, target) => {
  const entry = (target as Record<string, string>)["@secure-local/source"] ?? "";

  it("gives away exactly these names", () => {
    expect(exportedNames(join(root, entry))).toEqual(SURFACE[subpath]);
  });

  it("has those that are no types at run time", async () => {
    const module = (await import(pathToFileURL(join(root, entry)).href)) as object;
    expect(Object.keys(module).sort()).toEqual(SURFACE[subpath]?.filter((name) => !name.startsWith("type ")));
  });

  it("leads source, types and code to the same entry, types before code", () => {
    const { "@secure-local/source": source, types, default: code, ...others } = target as Record<string, string>;
    expect(others).toEqual({});
    expect(Object.keys(target).slice(-2)).toEqual(["types", "default"]);
    const name = subpath.slice("./".length);
    expect([source, types, code]).toEqual([
      `./src/entries/${name}.ts`,
      `./dist/entries/${name}.d.ts`,
      expect.stringMatching(new RegExp(`^\\./dist/(?:.+/)?${name}\\.js$`)),
    ]);
  });
});
