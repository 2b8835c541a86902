// What the scorecard's cases use of the product and the library, and the data that its cases share with the tests.
export { formats } from "../../packages/mcp/src/schema/json-schema/formats.js";
export { compileJsonSchema } from "../../packages/mcp/src/schema/json-schema/compile.js";
export { SchemaError } from "../../packages/mcp/src/schema/json-schema/run.js";
export { oauth, headlessRedirect, redirectTo } from "../../packages/mcp/src/auth/client/authorization-code.js";
export { DEFAULT_LIMITS } from "../../packages/mcp/src/jsonrpc/limits.js";
export { ParseFault } from "../../packages/mcp/src/jsonrpc/parse.js";
export { parseJson } from "../../packages/mcp/src/jsonrpc/parse.js";
export { guardedFetch, isPublicAddress } from "../../packages/mcp/src/node/guarded-fetch.js";
export { openBrowser } from "../../packages/mcp/src/node/user-authorization.js";
export { connectInMemory } from "../../packages/mcp/src/serve/connect-in-memory.js";
export { Server } from "../../packages/mcp/src/server/server.js";
export { LineFraming, UnreadableLine } from "../../packages/mcp/src/transport/stdio-framing.js";
export { AuditLog } from "../../packages/secure-local/src/audit/audit-log.js";
export { MemoryAudit } from "../../packages/secure-local/src/audit/event-text.js";
export { verifyAudit } from "../../packages/secure-local/src/audit/verify-audit.js";
export { nonPublicClass, resolveAllowed } from "../../packages/secure-local/src/capabilities/resolve.js";
export { FetchError, RunError } from "../../packages/secure-local/src/capabilities/refusals.js";
export { createFetch } from "../../packages/secure-local/src/capabilities/fetch.js";
export { FileError } from "../../packages/secure-local/src/capabilities/files/files.js";
export { FileSystem } from "../../packages/secure-local/src/capabilities/files/file-system.js";
export { portableLookup, procLookup } from "../../packages/secure-local/src/capabilities/files/lookup.js";
export { policyEgress } from "../../packages/secure-local/src/capabilities/policy-egress.js";
export { RpcError } from "../../packages/mcp/src/jsonrpc/errors.js";
export { cleanError, cleanResult, cleanValue } from "../../packages/secure-local/src/guard/cleaning/clean-result.js";
export { cleanLine, cleanText } from "../../packages/secure-local/src/guard/cleaning/clean-text.js";
export { RateLimits } from "../../packages/secure-local/src/guard/rate-limits.js";
export { builtInPolicy } from "../../packages/secure-local/src/policy/load-policy.js";
export { runCommandLine } from "../../packages/secure-local/src/cli/run-command-line.js";
export { ownPlaces, pluginFolders } from "../../packages/secure-local/src/cli/settings.js";
export { upstreamOf } from "../../packages/secure-local/src/server/open-server.js";
export { SecretFilter } from "../../packages/secure-local/src/capabilities/secret-exchange.js";
export { rememberSecret } from "../../packages/secure-local/src/audit/secret-shapes.js";
export { spellingsOf } from "../../packages/secure-local/src/audit/secret-spellings.js";
export { approvalNeed, decideCommand } from "../../packages/secure-local/src/policy/decide-command.js";
export { MadeRepository } from "../../packages/secure-local/test/git/made-repository.js";
export { decide } from "../../packages/secure-local/src/policy/decide.js";
export { loadPolicy } from "../../packages/secure-local/src/policy/load-policy.js";
export { parsePolicy } from "../../packages/secure-local/src/policy/parse-policy.js";
export { PolicyError } from "../../packages/secure-local/src/policy/faults.js";
export { followPolicyFile } from "../../packages/secure-local/src/server/follow-policy-file.js";
export { KnownPeople } from "../../packages/secure-local/src/server/http-options.js";
export { SecureServer } from "../../packages/secure-local/src/server/secure-server.js";

export { BOMBS as JSON_BOMBS, request as jsonRequest } from "../../packages/mcp/test/jsonrpc/json-bombs.js";
export { BOMBS as SCHEMA_BOMBS } from "../../packages/mcp/test/schema/schema-bombs.js";
export { activeControls } from "../../packages/secure-local/test/cleaning/terminal.js";
export {
  HONEST,
  manyTraversals,
  PROTECTED,
  spellings,
  traversals,
} from "../../packages/secure-local/test/files/attacks.js";
export { inEveryOrder } from "../../packages/secure-local/test/files/exchange-orders.js";
export { FRAGMENTS, VERSION_LINE, WHOLE } from "../../packages/secure-local/test/policy/malformed-policies.js";
export {
  content,
  parse,
  powers,
  presets,
  stricter,
} from "../../packages/secure-local/test/policy/generated-policies.js";
export { EgressProxy } from "../../packages/secure-local/src/capabilities/egress-proxy.js";
export { createRun } from "../../packages/secure-local/src/capabilities/policy-run.js";
export {
  persistentHome,
  sandboxEnvironment,
} from "../../packages/secure-local/src/capabilities/sandbox-environment.js";
export { leadsToBy } from "../../packages/secure-local/src/capabilities/files/leads-to.js";
export { Mounts } from "../../packages/secure-local/src/capabilities/files/mounted-names.js";
export { checkPlaces, ownFiles } from "../../packages/secure-local/src/capabilities/files/own-files.js";
export { findWall } from "../../packages/secure-local/src/sandbox/find-wall.js";
export { endWalled, startWalled } from "../../packages/secure-local/src/sandbox/start-walled.js";
export { probeEgress } from "../../packages/secure-local/test/sandbox/egress-probing.js";
export { hasWall, runWalled } from "../../packages/secure-local/test/sandbox/walls.js";
export { answerOne } from "../../packages/secure-local/src/cli/approve-command.js";
export { digestOfText } from "../../packages/secure-local/src/control/control-client.js";
export { Grants, shownCall } from "../../packages/secure-local/src/guard/approvals/shown-call.js";
export { ConsoleListener } from "../../packages/secure-local/src/console/console-listener.js";
export { ControlSocket } from "../../packages/secure-local/src/control/control-socket.js";
export { senders } from "../../packages/secure-local/test/approvals/reading-senders.js";
export {
  approvingServer,
  erase,
  person,
  retry,
  yes,
} from "../../packages/secure-local/test/approvals/approving-server.js";
export { systemClock } from "../../packages/secure-local/src/capabilities/clock.js";
export { Pace } from "../../packages/secure-local/src/tools/tool.js";
export { toMarkdown } from "../../packages/secure-local/src/tools/web-fetch/markdown.js";
export { cutBefore, partOf, readPage } from "../../packages/secure-local/src/tools/web-fetch/page-tree.js";
export { FRAMES, liveIn } from "../../packages/secure-local/test/tools/page-liveness.js";
export { readResultsPage } from "../../packages/secure-local/src/tools/web-search/duckduckgo-page.js";
export { POSTGRES_HONEST, SQLITE_HONEST } from "../../packages/secure-local/test/databases/honest-queries.js";
export { CANARY, samplePostgres, sampleSqlite } from "../../packages/secure-local/test/databases/sample-databases.js";
export {
  POSTGRES_ATTACKS,
  POSTGRES_COERCED,
  POSTGRES_DOTTED,
  POSTGRES_HIDDEN,
  POSTGRES_PLANNED,
  POSTGRES_TRAPS,
  POSTGRES_UNLISTED,
  SQLITE_ATTACKS,
} from "../../packages/secure-local/test/databases/sql-attacks.js";
export { telemetry } from "../../packages/secure-local/src/observe/open-telemetry.js";
export { Metrics } from "../../packages/secure-local/src/observe/metrics.js";
export { smallSdk } from "../../packages/secure-local/test/observe/small-sdk.js";
export * as openTelemetry from "@opentelemetry/api";
export { forgeries, headOf } from "../../packages/secure-local/test/audit/forged-logs.js";
export { attackedFolder, SECRET } from "../../packages/secure-local/test/files/attacked-folder.js";
export { driftOf } from "../../packages/inspection/src/items/drift.js";
export { inspectOffering } from "../../packages/inspection/src/items/inspect.js";
export { changesOf } from "../../packages/secure-local/src/server/plugin-lock.js";
export { launchOf } from "../../packages/secure-local/src/server/plugin-reviews.js";
export {
  itemDigest,
  lockFileOf,
  readLock,
  relocked,
  writeLock,
} from "../../packages/secure-local/src/server/plugin-lock.js";
export { findPlugin } from "../../packages/secure-local/src/plugins/find-plugin.js";
export { PluginCache } from "../../packages/secure-local/src/plugins/plugin-cache.js";
export { hashPlugin } from "../../packages/secure-local/src/plugins/plugin-content.js";
export { askingPlugin } from "../../packages/secure-local/test/plugins/asking-plugin.js";
export { readDescription } from "../../packages/secure-local/src/plugins/plugin-description.js";
export { catalogueOf } from "../../packages/secure-local/src/server/catalogue.js";
export { itemsOf, nameConflicts } from "../../packages/secure-local/src/server/plugin-names.js";
export { NAME_CLASSES, namesIn } from "../../packages/secure-local/src/capabilities/files/protected-names.js";
export { Gateway } from "../../packages/mcp/src/gateway/gateway.js";
export { exactJson, exactly, watchNumbers } from "../../packages/mcp/src/jsonrpc/exact-numbers.js";
export { connect as connectClient } from "../../packages/mcp/src/serve/connect.js";
export { passQuestion } from "../../packages/secure-local/src/server/server-questions.js";
export { launchDigest, serverLaunch } from "../../packages/secure-local/src/server/server-launch.js";
export { profiledPolicy } from "../../packages/secure-local/src/policy/read-names.js";
export { offerInspection, serverItems, reviewServer } from "../../packages/secure-local/src/server/server-reviews.js";
export { differenceLines, offeredDefinitions } from "../../packages/secure-local/src/cli/offered-definitions.js";
export { everyKind, Fleet } from "../../packages/secure-local/test/servers/fleet.js";
