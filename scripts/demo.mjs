#!/usr/bin/env node
// `npm run demo`: tells what happens to an AI client's calls, with the built server. `npm run demo -- --wire` shows its conversations line by
// line. Exits 0 only if everything went as it should.
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { Conversation, print } from "./demo/conversation.mjs";
import { storyIn } from "./demo/story.mjs";
import { startSearchStandIn } from "./lib/search-stand-in.mjs";

const SERVER = join(
  dirname(dirname(fileURLToPath(import.meta.url))),
  "packages/secure-local/dist/mcp-secure-local.cjs",
);
const CLIENT = { name: "test-client", version: "1.0.0" };
const SUM = { name: "calculate", arguments: { expression: "2 + 3 * 4" } };
const SEARCH = { name: "web_search", arguments: { query: "hello" } };
const INFO = { uri: "server://info" };
const NOWHERE = { name: "nonexistent_tool", arguments: {} };

/** The built-in policy's permissions, with the search page of this machine in place of the real one. */
function policyFor(searchPage, log) {
  return `version: "1.0"
network:
  allowed_endpoints: [{ host: "127.0.0.1", ports: [${new URL(searchPage).port}] }]
tools:
  allowed: ["web_search", "calculate", "get_timestamp"]
  rate_limits: { web_search: 20 }
  web_search: { endpoint: "${searchPage}" }
resources: { allowed: ["server://info"] }
prompts: { allowed: ["code_review", "analyze_logs"] }
audit: { log_file: ${JSON.stringify(log)} }
`;
}

const textOf = (message) => message.result.content[0].text;
const answers = {
  initialize:
    (version) =>
    ({ result }) =>
      result.protocolVersion === version &&
      result.serverInfo.name === "mcp-secure-local" &&
      result.capabilities.tools.listChanged === true,
  tools: ({ result }) => {
    const search = result.tools.find(({ name }) => name === "web_search");
    const { query } = search.inputSchema.properties;
    return (
      search.description === "Search the web using DuckDuckGo" && query.type === "string" && result.tools.length === 3
    );
  },
  search: (message) =>
    textOf(message).startsWith("Search results for: hello\n\n1. ") && message.result.isError !== true,
  sum: (message) => textOf(message) === "14" && message.result.isError !== true,
  info: ({ result }) => {
    const info = JSON.parse(result.contents[0].text);
    return result.contents[0].uri === INFO.uri && info.server.name === "mcp-secure-local" && info.pid > 0;
  },
  unknown: ({ error }) => error.code === -32602 && error.message.includes(NOWHERE.name),
};

/** The sample session of the protocol reference. */
async function sampleSession(talk) {
  const params = { protocolVersion: "2025-11-25", clientInfo: { name: "test", version: "1.0" }, capabilities: {} };
  await talk.ask("initialize", params, "revision 2025-11-25 and our name", answers.initialize("2025-11-25"));
  talk.tell("notifications/initialized");
  await talk.ask("tools/list", undefined, "web_search as the reference describes it", answers.tools);
  await talk.ask("tools/call", SEARCH, "search results (from a stand-in for the search page)", answers.search);
}

/** A client of an older revision. */
async function rawSession(talk) {
  const params = { protocolVersion: "2025-03-26", capabilities: {}, clientInfo: CLIENT };
  await talk.ask("initialize", params, "revision 2025-03-26 and our name", answers.initialize("2025-03-26"));
  talk.tell("notifications/initialized");
  await talk.ask("tools/list", {}, "the tools", answers.tools);
  await talk.ask("tools/call", SUM, "14", answers.sum);
  await talk.ask("resources/read", INFO, "what the server says of itself", answers.info);
  await talk.ask("tools/call", NOWHERE, "error -32602 naming the tool", answers.unknown);
  print("  the specification has -32602 for an unknown tool; some servers answer -32002.");
}

/** The same calls in 2026-07-28: no handshake, every request brings its envelope. */
async function statelessSession(talk) {
  const _meta = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": CLIENT,
    "io.modelcontextprotocol/clientCapabilities": {},
  };
  const complete = (judge) => (message) => message.result.resultType === "complete" && judge(message);
  const discovered = ({ result }) => result.supportedVersions.length === 5 && result.capabilities.tools.listChanged;
  await talk.ask("server/discover", { _meta }, "all five revisions", complete(discovered));
  await talk.ask("tools/list", { _meta }, "the tools", complete(answers.tools));
  await talk.ask("tools/call", { ...SEARCH, _meta }, "search results", complete(answers.search));
  await talk.ask("tools/call", { ...SUM, _meta }, "14", complete(answers.sum));
  await talk.ask("resources/read", { ...INFO, _meta }, "what the server says of itself", complete(answers.info));
  await talk.ask("tools/call", { ...NOWHERE, _meta }, "error -32602 naming the tool", answers.unknown);
}

const SESSIONS = [
  ["Sample session of the protocol reference, 2025-11-25", sampleSession],
  ["A client of 2025-03-26", rawSession],
  ["The same calls without a handshake, 2026-07-28", statelessSession],
];

async function main() {
  if (!existsSync(SERVER)) throw new Error("the server is not built; run npm run build (npm run demo does)");
  const started = performance.now();
  const folder = mkdtempSync(join(tmpdir(), "secure-local-demo-"));
  const standIn = await startSearchStandIn();
  const faults = [];
  let count = 0;
  try {
    const policy = join(folder, "policy.yaml");
    writeFileSync(policy, policyFor(standIn.url, join(folder, "audit.log")), { mode: 0o600 });
    for (const [title, session] of SESSIONS) {
      print(`\n${title}`);
      const talk = new Conversation(SERVER, ["--policy", policy]);
      await session(talk);
      await talk.close();
      faults.push(...talk.faults);
      count += talk.answers;
    }
  } finally {
    await standIn.close();
    rmSync(folder, { recursive: true, force: true });
  }
  const seconds = ((performance.now() - started) / 1_000).toFixed(1);
  for (const fault of faults) print(`WRONG: ${fault}`);
  print(
    `\n${faults.length === 0 ? `All ${count} answers were right` : `${faults.length} of ${count} answers were wrong`} (${seconds} s).`,
  );
  return faults.length === 0 ? 0 : 1;
}

async function story() {
  if (!existsSync(SERVER)) throw new Error("the server is not built; run npm run build (npm run demo does)");
  const started = performance.now();
  const faults = await storyIn(mkdtempSync(join(tmpdir(), "secure-local-demo-")), SERVER);
  for (const fault of faults) print(`WRONG: ${fault}`);
  const seconds = ((performance.now() - started) / 1_000).toFixed(1);
  print(
    `\n${faults.length === 0 ? "Everything went as it should" : `${faults.length} things went wrong`} (${seconds} s).`,
  );
  print(
    "Next: docs/first-policy.md makes a policy of your own in ten minutes; npm run demo -- --wire shows the protocol.",
  );
  return faults.length === 0 ? 0 : 1;
}

process.exitCode = await (process.argv.includes("--wire") ? main : story)().catch((error) => {
  console.error(`demo: ${error.message}`);
  return 1;
});
