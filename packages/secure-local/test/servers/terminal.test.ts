// Words of a server on their way to a terminal: whatever command shows them, nothing in them steers it, and none are made up.
import { copyFileSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { LocalError, RpcError } from "@secure-local/mcp/client/node";
import { tellFailure } from "../../src/cli/failure.js";
import { complain, print } from "../../src/cli/terminal.js";
import { denied, unknown } from "../../src/guard/audit-recorder.js";
import { decide } from "../../src/policy/decide.js";
import { parsePolicy } from "../../src/policy/parse-policy.js";
import { run } from "../cli/command.js";
import { runQuickly } from "../cli/command-in-thread.js";
import { Household, said } from "./household.js";

const house = new Household();
const program = join(house.folder, "programs", "nasty.mjs");
/** What acts on a terminal, or is not seen on one. */
// oxlint-disable-next-line no-control-regex
const STEERING = /[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u202a-\u202e\u2028\u2029\ufeff]/u;

beforeAll(async () => {
  mkdirSync(join(house.folder, "programs"));
  copyFileSync(fileURLToPath(new URL("nasty.mjs", import.meta.url)), program);
  const entry = (mode: string): string => `{ command: [node, ${program}, ${mode}], ${house.readable} }`;
  house.write(`version: "1.0"
tools: { allowed: ["nasty__*"], rate_limits: { default: 10000 } }
prompts: { allowed: ["*"] }
resources: { allowed: ["note://*"] }
servers:
  nasty: ${entry("lives")}
  odd: ${entry("odd")}
  late: ${entry("starts-not")}
  shut: ${entry("opens-not")}
`);
  shows(await house.approve(), "stderr says");
});
afterAll(() => house.close());

interface Shown {
  readonly stdout: string;
  readonly stderr: string;
}

/** `words`: something of the server's that has to be among what is shown. */
function shows({ stdout, stderr }: Shown, words?: string): void {
  for (const text of [stdout, stderr]) {
    const at = STEERING.exec(text)?.index ?? -1;
    expect(at < 0 ? "" : JSON.stringify(text.slice(Math.max(0, at - 200), at + 40))).toBe("");
  }
  if (words !== undefined) expect(stdout + stderr).toContain(words);
}

const direct = ["--", process.execPath, program];
const COMMANDS: readonly (readonly [words: string, more: readonly string[], shown: string | undefined])[] = [
  ["servers review odd", [], "description says"],
  ["servers review odd --json", [], "description says"],
  ["servers review late", [], "stderr says"],
  ["servers review shut", [], "error says"],
  ["servers list", [], "nasty"],
  ["servers show nasty", [], "description says"],
  ["servers show nasty --json", [], "instructions says"],
  ["servers test late", [], undefined],
  ["tools", [], "description says"],
  ["tools --json", [], "description says"],
  ["call nasty__talk", [], "result says"],
  ["call nasty__talk --json", [], "result says"],
  ["call nasty__fail", [], "result says"],
  ["call nasty__refuse", [], "refusal says"],
  ["call nasty__refuse --json", [], "refusal says"],
  ["call nasty__break", [], "violated the protocol"],
  ["call nasty__die", [], "exited with status 9"],
  ["read mcp.nasty+note://a", [], "contents says"],
  ["prompt nasty__p", [], "message says"],
  ["policy explain call nasty__talk", [], "nasty__talk"],
  ["policy check", [], undefined],
  ["audit query", [], "nasty__talk"],
  ["audit query --json", [], "stderr of die says"],
  ["servers logs nasty", [], "stderr says"],
  ["servers logs nasty --json", [], "stderr says"],
  ["status", [], undefined],
  ["inspect", direct, "description says"],
  ["inspect --json", direct, "description says"],
  ["doctor", direct, undefined],
  ["doctor --json", direct, undefined],
  ["inspect", [...direct, "starts-not"], "stderr says"],
  ["inspect", [...direct, "opens-not"], "error says"],
  ["inspect --debug", [...direct, "opens-not"], "error says"],
  ["doctor", [...direct, "starts-not"], "stderr says"],
];

it("prints nothing that steers, whatever a command forgot", () => {
  const written: string[] = [];
  const spies = (["stdout", "stderr"] as const).map((name) =>
    vi.spyOn(process[name], "write").mockImplementation((text) => written.push(String(text)) > 0),
  );
  print("a\u001b[2Jb\rc");
  complain("a\u009bb\u001b[31mc");
  for (const spy of spies) spy.mockRestore();
  expect(written).toEqual(["a\\u001b[2Jb\\u000dc\n", "a\\u009bb\\u001b[31mc\n"]);
});

/** Line breaks of every kind, and lines that would pass for ours. */
const BREAKS = ["\n", "\r\n", "\r", "\v", "\f", "\u0085", "\u2028", "\u2029"].map(
  (each) => `EVIL${each}ok  policy.yaml can be used`,
);

it.each(BREAKS)("puts no line of a stranger where one of ours begins: %j", async (evil) => {
  const written: string[] = [];
  const spy = vi.spyOn(process.stderr, "write").mockImplementation((text) => written.push(String(text)) > 0);
  const fault = await parsePolicy(JSON.stringify({ version: "1.0", [evil]: 1, tools: { [evil]: {} } }), {
    file: "p.yaml",
  }).catch((thrown: unknown) => thrown);
  for (const error of [fault, new RpcError(-32_000, evil), new LocalError("CLOSED", evil), new Error(evil)])
    tellFailure(error, { json: false, debug: false });
  spy.mockRestore();
  expect(written).toHaveLength(4);
  const lines = written.flatMap((text) => text.trimEnd().split(/[\n\r\v\f\u0085\u2028\u2029]/));
  for (const line of lines) expect(line).toMatch(/^(?:p\.yaml:|mcp-secure-local: |  )/);
  const subject = { kind: "tool", name: evil, path: "/name" } as const;
  const policy = await parsePolicy('version: "1.0"', { file: "p.yaml" });
  const refused = [unknown(subject), denied(subject, decide(policy, { kind: "tool", name: evil }))];
  for (const { text, error } of refused) expect(text + error.message).not.toMatch(/[\n\r\v\f\u0085\u2028\u2029]/);
});

it.each(COMMANDS)("%s shows its words and obeys none of them", async (words, more, shown) => {
  const policy = more.length > 0 ? [] : ["--policy", house.policy];
  shows(await runQuickly([...words.split(" "), ...policy, ...more], { home: house.folder }), shown);
});

it.each([
  ["servers run late", [] as string[]],
  ["servers run nasty", []],
  [`record ${house.folder}/made.jsonl`, [...direct, "starts-not"]],
])("%s lets no word of its standard error through as it is", async (words, more) => {
  const policy = more.length > 0 ? [] : ["--policy", house.policy];
  const { stderr } = await run([...words.split(" "), ...policy, ...more], { home: house.folder });
  shows({ stdout: "", stderr }, "stderr says");
});

it("tells a client how a server ended and nothing else of it, and its owner all", async () => {
  const client = await house.client();
  const told = await said(client, "nasty__die");
  expect(told).toMatch(
    /^nasty: its process exited with status 9 \(after [\d.]+ s\)\. Whether the call did its work is not known: look, before you make it again$/,
  );
  expect(JSON.stringify(client.messages)).not.toMatch(/mcp-secure-local\.cjs|policy\.yaml|nasty\.mjs|stderr/);
  const listed = await house.run(["servers", "list"]);
  shows(listed, "stderr of die says");
  shows({ stdout: "", stderr: client.stderr }, "stderr of die says");
  expect(client.stderr).toContain("server nasty: ");
  await house.closeClients();
  const log = readFileSync(join(house.folder, "state/mcp-secure-local/audit.log"), "utf8");
  expect(log).toContain("stderr of die says");
});
