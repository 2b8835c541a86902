// What each value of a policy may be: its least and its greatest are taken, what lies beyond and what is of another kind is not.
import { describe, expect, it } from "vitest";
import { parsePolicy } from "../../src/policy/parse-policy.js";
import { PolicyError } from "../../src/policy/faults.js";
import { PRESET_NAMES } from "../../src/policy/policy-text.js";
import { VERSION_LINE } from "./malformed-policies.js";

/** What is wrong with a policy, as its reader is told; anything but a fault of the policy is thrown. */
async function faultsOf(text: string): Promise<string> {
  try {
    await parsePolicy(VERSION_LINE + text, { file: "policy.yaml", environment: { HOME: "/home/ada" } });
    return "";
  } catch (error) {
    if (!(error instanceof PolicyError)) throw error;
    return error.errors.map(({ line, column, message }) => `${line}:${column} ${message}`).join("\n");
  }
}

const command = (rest: string): string => `commands: { allowed: [{ name: g, executable: /g, ${rest} }] }`;
const server = (rest: string): string => `servers: { s: { command: [/s], ${rest} } }`;

/** The text with VALUE in its place, the least and the greatest number it may be. */
const WHOLE_NUMBERS: readonly (readonly [text: string, least: number, most: number])[] = [
  ["network: { blocked_ports: [VALUE] }", 1, 65_535],
  ["network: { allowed_endpoints: [{ host: a.example, ports: [VALUE] }] }", 1, 65_535],
  ["tools: { rate_limits: { default: VALUE } }", 1, 1_000_000],
  ["tools: { rate_limits: { calculate: VALUE } }", 1, 1_000_000],
  ["tools: { max_output_bytes: VALUE }", 1_024, 64 * 1024 * 1024],
  ["output: { max_bytes: VALUE }", 1_024, 64 * 1024 * 1024],
  ["databases: { a: { file: /a.db, row_limit: VALUE } }", 1, 100_000],
  ["plugins: { load: [{ name: a, path: /a, storage_kb: VALUE }] }", 0, 65_536],
  ["sandbox: { processes: VALUE }", 1, 4_096],
  ["sandbox: { memory_mb: VALUE }", 16, 1_048_576],
  ["sandbox: { cpu_seconds: VALUE }", 1, 86_400],
  ["sandbox: { file_mb: VALUE }", 1, 1_048_576],
  ["audit: { rotate_mb: VALUE }", 1, 4_096],
  ["audit: { checkpoints: { file: /c, every_records: VALUE } }", 1, 1_000_000],
  ["audit: { checkpoints: { file: /c, every_seconds: VALUE } }", 1, 86_400],
  [server("idle: VALUE"), 1, 1_440],
];
const SECONDS: readonly (readonly [text: string, most: number])[] = [
  ["tools: { timeout: VALUE }", 3_600],
  ["tools: { timeouts: { calculate: VALUE } }", 3_600],
  ["tools: { task_timeout: VALUE }", 86_400],
  ["approvals: [{ approve: all, timeout: VALUE }]", 300],
  ["databases: { a: { file: /a.db, timeout: VALUE } }", 600],
  [command("timeout: VALUE"), 3_600],
];
/** Texts, with one that may stand there. */
const TEXTS: readonly (readonly [text: string, good: string])[] = [
  ["tools: { allowed: [VALUE] }", "calculate"],
  ["resources: { denied: [VALUE] }", "file:///*"],
  ["network: { allowed_endpoints: [{ host: VALUE }] }", "a.example"],
  ["network: { dns_allowlist: [VALUE] }", "a.example"],
  ["network: { allowed_ranges: [VALUE] }", "10.0.0.0/8"],
  ["filesystem: { allowed_paths: [VALUE] }", "/a/**"],
  ["secrets: { a: { from: VALUE, hosts: [] } }", "env:A"],
  ["secrets: { a: { from: env:A, hosts: [VALUE] } }", "a.example"],
  ["secrets: { a: { from: env:A, hosts: [], header: VALUE } }", "Authorization"],
  ["secrets: { a: { from: env:A, hosts: [], query: VALUE } }", "appid"],
  ["secrets: { a: { from: env:A, hosts: [], body: VALUE } }", "client_secret"],
  ["databases: { a: { file: VALUE } }", "/a.db"],
  ["databases: { a: { secret: b, functions: [VALUE] } }\nsecrets: { b: { from: env:B, hosts: [] } }", "lower"],
  ["plugins: { load: [{ name: VALUE, path: /a }] }", "a"],
  ["plugins: { load: [{ name: a, path: VALUE }] }", "/a"],
  [`plugins: { load: [{ name: a, path: /a, sha256: VALUE }] }`, "ab".repeat(32)],
  ["plugins: { load: [{ name: a, path: /a, accept: [VALUE] }] }", "override.instructions"],
  [command("working_directory: VALUE"), "/w"],
  ["audit: { log_file: VALUE }", "/a.log"],
  ["audit: { log_level: VALUE }", "INFO"],
  ["output: { hidden_unicode: VALUE }", "strip"],
  ["sandbox: { mode: VALUE }", "required"],
];
const SWITCHES = [
  "filesystem: { read_only: VALUE }",
  "network: { offline: VALUE }",
  "network: { allow_dns: VALUE }",
  "output: { mark_untrusted: VALUE }",
  "output: { redact_secrets: VALUE }",
  "databases: { a: { file: /a.db, read_only: VALUE } }",
  "plugins: { load: [{ name: a, path: /a, enabled: VALUE }] }",
];

const faultsWith = (text: string, value: unknown): Promise<string> =>
  faultsOf(`${text.replace("VALUE", () => JSON.stringify(value))}\n`);
/** Each stands in the first line of the policy that is not its version. */
const REFUSED = /^2:\d+ \S/;

describe("a number", () => {
  it.each(WHOLE_NUMBERS)("%s is whole, from %i to %i", async (text, least, most) => {
    for (const value of [least, most]) expect(await faultsWith(text, value), `${value}`).toBe("");
    for (const value of [least - 1, most + 1, least + 0.5, -least - 1, `${least}`, true, [least], { a: least }])
      expect(await faultsWith(text, value), JSON.stringify(value)).toMatch(REFUSED);
  });

  it.each(SECONDS)("%s is of seconds, above 0 and up to %i", async (text, most) => {
    for (const value of [0.001, 1.5, most]) expect(await faultsWith(text, value), `${value}`).toBe("");
    for (const value of [0, -1, most + 0.001, "1", true, [1], { a: 1 }])
      expect(await faultsWith(text, value), JSON.stringify(value)).toMatch(REFUSED);
  });
});

it.each(TEXTS)("a text %s may be %s, and nothing that is no text", async (text, good) => {
  expect(await faultsWith(text, good)).toBe("");
  for (const value of [1, 0, true, false, ["a"], { a: "b" }, ""])
    expect(await faultsWith(text, value), JSON.stringify(value)).toMatch(REFUSED);
});

it.each(SWITCHES)("%s is true or false, and nothing that looks like it", async (text) => {
  for (const value of [true, false]) expect(await faultsWith(text, value)).toBe("");
  for (const value of [0, 1, "true", "yes", "", ["a"], { a: true }])
    expect(await faultsWith(text, value), JSON.stringify(value)).toMatch(REFUSED);
});

describe.each(PRESET_NAMES)("a file that extends %s", (preset) => {
  it.each([
    ["tools: calculate"],
    ["tools: [calculate]"],
    ["tools: { allowed: calculate }"],
    ["tools: { allowed: { a: b } }"],
    ["tools: { denied: 3 }"],
    ["filesystem: /a"],
    ["filesystem: { denied_paths: /a }"],
    ["filesystem: { read_only: [true] }"],
    ["network: [offline]"],
    ["network: { offline: [true] }"],
    ["network: { offline: { a: true } }"],
    ["approvals: all"],
    ["approvals: { approve: all }"],
    ["resources: { allowed: x }"],
  ])("is told where a value is of another kind than the preset's: %s", async (text) => {
    expect(await faultsOf(`extends: ${preset}\n${text}\n`)).toMatch(/^3:\d+ \S/);
  });
});
