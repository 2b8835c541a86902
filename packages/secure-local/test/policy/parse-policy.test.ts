// What a policy file may say, and how every fault in one is told.
import { describe, expect, it } from "vitest";
import { describePolicy } from "../../src/policy/describe-policy.js";
import { builtInPolicy } from "../../src/policy/load-policy.js";
import { parsePolicy } from "../../src/policy/parse-policy.js";
import { PolicyError } from "../../src/policy/faults.js";
import { forTool, type Policy } from "../../src/policy/policy.js";
import { FRAGMENTS, VERSION_LINE, WHOLE } from "./malformed-policies.js";
import { threadMilliseconds } from "../../../mcp/test/support/thread-time.js";

const environment = { HOME: "/home/ada", DATA: "/srv/data", EMPTY_VARIABLE: "", GLOB_VARIABLE: "/x/*" };

function parse(text: string): Promise<Policy> {
  return parsePolicy(text, { file: "policy.yaml", environment });
}

async function faults(text: string): Promise<PolicyError> {
  const error: unknown = await parse(text).catch((thrown: unknown) => thrown);
  if (!(error instanceof PolicyError))
    throw new Error(`this loaded, or failed otherwise: ${text.slice(0, 200)}`, { cause: error });
  return error;
}

describe("a malformed policy", () => {
  const cases = [...WHOLE, ...FRAGMENTS.map(([text, ...rest]) => [VERSION_LINE + text, ...rest] as const)];

  it("exists in at least 120 kinds", () =>
    expect(new Set(cases.map(([text]) => text)).size).toBeGreaterThanOrEqual(120));

  for (const [text, place, word] of cases) {
    it(`${JSON.stringify(text.slice(0, 90))} does not load: ${place} ${word}`, async () => {
      const started = threadMilliseconds();
      const error = await faults(text);
      expect(threadMilliseconds() - started).toBeLessThan(2_000);
      expect(error.errors.length).toBeLessThanOrEqual(20);
      const first = error.errors.at(0)!;
      expect(`${first.line}:${first.column}`).toBe(place);
      expect(first.message).toContain(word);
      expect(error.message.split("\n")[0]).toBe(`policy.yaml:${place}: ${first.message}`);
    });
  }

  it("has all its faults told at once, in order, up to 20", async () => {
    const error = await faults(
      `version: 2\nnetwok: {}\ntools:\n  timeout: x\n  rate_limits: {a: 0, b: 0}\naudit: {log_level: LOUD}\n`,
    );
    expect(error.errors.map(({ line }) => line)).toEqual([1, 2, 4, 5, 5, 6]);
    const many = await faults(`${VERSION_LINE}tools:\n  allowed: [${"'a b', ".repeat(500)}]\n`);
    expect(many.errors).toHaveLength(20);
  });

  it("takes bounded time with tens of thousands of keys", async () => {
    const keys = Array.from({ length: 25_000 }, (_, index) => `k${index}: 1`).join("\n");
    const started = threadMilliseconds();
    await faults(`${VERSION_LINE}${keys}\n`);
    expect(threadMilliseconds() - started).toBeLessThan(5_000);
  });
});

describe("a policy", () => {
  it("allows nothing when it has a version only", async () => {
    const policy = await parse(VERSION_LINE);
    expect(policy.tools.allowed.rules).toEqual([]);
    expect(policy.network.allowedEndpoints.rules).toEqual([]);
    expect(forTool(policy.tools.rateLimits, "x")).toBe(60);
    expect(forTool(policy.tools.timeoutsMs, "x")).toBe(30_000);
    expect(policy.audit).toMatchObject({ logFile: undefined, level: "INFO" });
  });

  it("may have empty sections, comments, a byte order mark and Windows line ends", async () => {
    const text = `\ufeff# policy\r\nversion: "1.0"\r\nnetwork:\r\n  # allowed_endpoints: []\r\ntools: {}\r\n`;
    expect((await parse(text)).version).toBe("1.0");
    expect((await faults(`\ufeffversion: 2`)).errors[0]).toMatchObject({ line: 1, column: 10 });
  });

  it("expands ~ and ${NAME} in paths and nowhere else", async () => {
    const policy = await parse(
      [
        'version: "1.0"',
        "filesystem: {allowed_paths: ['~/a', '~', '${HOME}/b/**', '${DATA}/${DATA}/c'], denied_paths: ['**/.env']}",
        "audit: {log_file: '${DATA}/audit.log'}",
        "prompts: {analyze_logs: {log_file: ~/app.log}}",
        "network: {allowed_endpoints: [{host: example.com, description: '${DATA} ~'}]}",
      ].join("\n"),
    );
    const paths = policy.filesystem.allowed.rules.map(({ pattern }) => pattern);
    expect(paths).toEqual(["/home/ada/a", "/home/ada", "/home/ada/b/**", "/srv/data//srv/data/c"]);
    expect(policy.audit.logFile).toBe("/srv/data/audit.log");
    expect(policy.prompts.analyzeLogsFile).toBe("/home/ada/app.log");
    expect(policy.network.allowedEndpoints.rules[0]?.description).toBe("${DATA} ~");
  });

  it("takes rates and times for every tool and for some", async () => {
    const tools =
      "rate_limits: {default: 10, web_search: 2}, timeout: 5, timeouts: {web_search: 0.5}, max_output_bytes: 2048";
    const policy = await parse(`${VERSION_LINE}tools: {${tools}}\n`);
    expect(["web_search", "x"].map((name) => forTool(policy.tools.rateLimits, name))).toEqual([2, 10]);
    expect(["web_search", "x"].map((name) => forTool(policy.tools.timeoutsMs, name))).toEqual([500, 5_000]);
    expect(policy.tools.maxOutputBytes).toBe(2_048);
  });

  it("may send searches to a server that the network section allows", async () => {
    const search = (endpoint: string): string => `tools: {web_search: {provider: searxng, endpoint: '${endpoint}'}}`;
    const local = `${VERSION_LINE}network: {allowed_ranges: [127.0.0.0/8]}\n${search("http://127.0.0.1:8888/search")}`;
    expect((await parse(local)).tools.webSearch).toEqual({
      provider: "searxng",
      endpoint: "http://127.0.0.1:8888/search",
    });
    const named = `${VERSION_LINE}network: {allowed_endpoints: [{host: s.example.com, ports: [8443]}]}\n`;
    expect((await parse(named + search("https://s.example.com:8443/"))).tools.webSearch.provider).toBe("searxng");
    expect((await faults(named + search("https://s.example.com/"))).message).toContain("port 443");
  });

  it("gets a hash of its text and a number that grows", async () => {
    const [one, two] = [await parse(VERSION_LINE), await parse(`${VERSION_LINE}# other\n`)];
    expect(one.hash).toMatch(/^[0-9a-f]{64}$/);
    expect(one.hash).not.toBe(two.hash);
    expect(two.revision).toBeGreaterThan(one.revision);
  });
});

describe("describePolicy", () => {
  const full = `${VERSION_LINE}
network:
  allowed_endpoints: [{host: "*.example.com", ports: [443, 80], description: "say \\"hi\\""}, {host: "::1"}]
  denied_endpoints: [{host: bad.example.com}]
  allowed_ranges: ["10.0.0.0/8"]
  blocked_ports: [22]
  dns_allowlist: [a.example.com]
filesystem: {allowed_paths: ["~/**"], denied_paths: ["**/.ssh/**"]}
commands:
  blocked: [curl]
  allowed:
    - name: g
      executable: /usr/bin/g
      arguments: [{fixed: log}, {enum: [a, "b c"]}, {integer: [-1, 5]}, {path: write, optional: true, repeat: 3}]
      flags: [-x, {flag: --y, pattern: "a+"}]
      env: {A: "1"}
tools: {allowed: [a, "b_*"], denied: [c], rate_limits: {a: 3}, timeouts: {default: 2, a: 0.5}}
resources: {allowed: ["Server://info", "logs://*"]}
prompts: {allowed: [p], analyze_logs: {log_file: /x/app.log}}
audit: {log_file: /x/audit.log, log_level: WARNING, include: [arguments], rotate_mb: 2, checkpoints: {file: /y/heads}}
extends: [developer]
approvals:
  - {approve: [a, "b_*"], when: {path: "/etc/**", n: 3, "x.y": true, "odd key": "*"}, timeout: 5, remember: 10, answer_by: [client]}
secrets: {k-1: {from: "env:K", hosts: [{host: a.example.com, ports: [1, 2]}, "*.b.example.com"], header: X-Key}, f: {from: "file:~/f", hosts: []}}
databases: {s: {file: ~/s.db, read_only: false}, p: {secret: f}}
plugins:
  folder: ~/plugins
  load: [{name: w, commands: [g], secrets: [k-1], network: {offline: true}, filesystem: {readable_paths: ["/srv/**"], read_only: true}}]
sandbox: {mode: none, read_only_paths: [/opt]}
output: {hidden_unicode: show, redact_secrets: false}
`;
  it.each(["built-in", "read from a file"])("writes a policy file with the same meaning: %s", async (which) => {
    const policy = which === "built-in" ? builtInPolicy() : await parse(full);
    const text = describePolicy(policy);
    const again = describePolicy(await parse(text));
    const withoutOrigin = (described: string): string => described.slice(described.indexOf("\n"));
    expect(withoutOrigin(again)).toBe(withoutOrigin(text));
    // A key without a value means another thing to other readers of YAML.
    const lines = text.split("\n");
    const depth = (line = ""): number => line.search(/[^ -]/);
    for (const [at, line] of lines.entries())
      if (line.endsWith(":")) expect(depth(lines[at + 1]), line).toBeGreaterThan(depth(line));
  });
});
