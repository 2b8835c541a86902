// The policies that our pages show, and one with every key of the program this one took its format from, load as they stand.
import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { join, relative } from "node:path";
import { describe, expect, it } from "vitest";
import { decide } from "../../src/policy/decide.js";
import { decideCommand } from "../../src/policy/decide-command.js";
import { parsePolicy } from "../../src/policy/parse-policy.js";

const ROOT = fileURLToPath(new URL("../../../../", import.meta.url));
const ENVIRONMENT = { HOME: "/home/somebody", USER: "somebody" };
const SECTIONS =
  /^(?:version|extends|network|filesystem|commands|tools|resources|prompts|audit|approvals|secrets|databases|plugins|sandbox|output):/m;

interface Example {
  readonly at: string;
  readonly text: string;
}

/** Blocks of YAML that begin with sections of a policy. */
function examplesIn(path: string): Example[] {
  const page = readFileSync(path, "utf8");
  return [...page.matchAll(/^( *)```ya?ml\n(.*?)^ *```/gms)].flatMap(({ 1: indent = "", 2: block = "", index }) => {
    const text = block.replaceAll(new RegExp(`^${indent}`, "gm"), "");
    const line = page.slice(0, index).split("\n").length + 1;
    // Three dots stand for what every reader has another of.
    if (text.includes("…")) return [];
    return SECTIONS.exec(text)?.index === 0 || /^(?:#[^\n]*\n)+\w/.test(text)
      ? [{ at: `${relative(ROOT, path)}:${line}`, text }]
      : [];
  });
}

function pages(): string[] {
  const folders = ["docs", "docs/tools"].map((folder) => join(ROOT, folder));
  const found = folders.flatMap((folder) =>
    readdirSync(folder).flatMap((name) => (name.endsWith(".md") ? [join(folder, name)] : [])),
  );
  return [...found, join(ROOT, "README.md"), join(ROOT, "packages/secure-local/README.md")];
}

const EXAMPLES = pages().flatMap(examplesIn);

describe("examples in our pages", () => {
  it("are there", () => {
    expect(EXAMPLES.length).toBeGreaterThan(20);
  });

  it.each(EXAMPLES)("load: $at", async ({ text }) => {
    const whole = /^version:/m.test(text) ? text : `version: "1.0"\n${text}`;
    await parsePolicy(whole, { file: "/etc/policy.yaml", environment: ENVIRONMENT });
  });
});

/** As that program's own configuration is written: with keys for tools and places that are not here. */
const TAKEN_OVER = `
version: "1.0"
network:
  allowed_ranges: ["127.0.0.0/8", "10.0.0.0/8", "::1/128", "fe80::/10"]
  allowed_endpoints:
    - host: "lite.duckduckgo.com"
      ports: [443]
      description: "pages of results"
  blocked_ports:
    - 22
  allow_dns: true
  dns_allowlist: ["lite.duckduckgo.com"]
filesystem:
  allowed_paths: ["\${HOME}/work/**", "/tmp/shared/**"]
  denied_paths: ["**/.ssh/**", "**/*.pem", "**/.env", "**/.env.*", "**/private/**", "**/.git/config"]
commands:
  blocked: ["curl", "ssh"]
tools:
  rate_limits:
    default: 60
    filesystem_write: 30
    command_execute: 10
    web_search: 20
    add_bug: 60
  timeout: 30
audit:
  log_file: "\${HOME}/.other/audit.log"
  log_level: "INFO"
  include: [timestamp, request_id, tool_name, arguments, result_status, execution_time, security_events]
`;

it("a policy in the keys of that program's means here what it means there", async () => {
  const policy = await parsePolicy(TAKEN_OVER, { file: "/etc/policy.yaml", environment: ENVIRONMENT });
  const file = (path: string): boolean => decide(policy, { kind: "file", path, op: "read" }).allowed;
  expect(file("/home/somebody/work/a")).toBe(true);
  expect(file("/home/somebody/work/.env")).toBe(false);
  expect(file("/home/somebody/other")).toBe(false);
  const host = (name: string, port: number) => decide(policy, { kind: "network", host: name, port }).allowed;
  expect([
    host("lite.duckduckgo.com", 443),
    host("10.1.2.3", 80),
    host("10.1.2.3", 22),
    host("example.com", 443),
  ]).toEqual([true, true, false, false]);
  expect(decideCommand(policy, "curl", []).allowed).toBe(false);
  expect(policy.tools.rateLimits.byName.get("web_search")).toBe(20);
  expect(policy.audit.logFile).toBe("/home/somebody/.other/audit.log");
});
