// What a policy that extends a preset may add, and what it cannot take away.
import { describe, expect, it } from "vitest";
import { decide, type PolicyRequest } from "../../src/policy/decide.js";
import { grantedPolicy } from "../../src/policy/granted-policy.js";
import { parsePolicy } from "../../src/policy/parse-policy.js";
import type { Policy } from "../../src/policy/policy.js";
import { PRESET_NAMES } from "../../src/policy/policy-text.js";

function parse(text: string): Promise<Policy> {
  return parsePolicy(`version: "1.0"\n${text}\n`, { file: "policy.yaml", environment: { HOME: "/home/ada" } });
}
const allows = (policy: Policy, request: PolicyRequest): boolean => decide(policy, request).allowed;
const tool = (name: string): PolicyRequest => ({ kind: "tool", name });
const host = (name: string, port = 443): PolicyRequest => ({ kind: "network", host: name, port });
const file = (path: string, op: "read" | "write"): PolicyRequest => ({ kind: "file", path, op });

describe("a preset", () => {
  it.each(PRESET_NAMES)("%s is a whole policy, and says where its rules come from", async (name) => {
    const policy = await parse(`extends: ${name}`);
    expect(policy.presets).toEqual([name]);
    expect(decide(policy, tool("calculate"))).toMatchObject({
      allowed: true,
      rule: { text: `preset ${name}, tools.allowed: calculate`, line: 2, column: 10, preset: name },
    });
  });

  it("offline reaches nothing, whatever the file allows", async () => {
    const own = `network: { allowed_endpoints: [{ host: a.example }], allowed_ranges: ["10.0.0.0/8"] }`;
    const policy = await parse(`extends: offline\n${own}\ntools: { allowed: [web_search] }`);
    expect(decide(policy, host("a.example"))).toMatchObject({
      allowed: false,
      rule: { text: "preset offline, network.offline: true" },
    });
    expect(allows(policy, host("10.0.0.1"))).toBe(false);
    expect(allows(policy, tool("web_search"))).toBe(false);
  });

  it("read-only writes nothing, whatever the file allows", async () => {
    const policy = await parse(`extends: read-only\nfilesystem: { allowed_paths: ["/a/**"] }`);
    expect([allows(policy, file("/a/x", "read")), allows(policy, file("/a/x", "write"))]).toEqual([true, false]);
    expect(["write_file", "run_command"].map((name) => allows(policy, tool(name)))).toEqual([false, false]);
  });

  it("is added to by the file's own lines", async () => {
    const policy = await parse(
      `extends: [developer]\ntools: { allowed: [mine], denied: [web_*] }\nfilesystem: { allowed_paths: ["~/p/**"] }`,
    );
    expect(["mine", "read_file", "web_search"].map((name) => allows(policy, tool(name)))).toEqual([true, true, false]);
    expect(allows(policy, file("/home/ada/p/x", "write"))).toBe(true);
    expect(allows(policy, file("/home/ada/p/.git/config", "write"))).toBe(false);
    expect(allows(policy, file("/home/ada/p/.env", "read"))).toBe(false);
    expect(policy.approvals).toHaveLength(2);
  });

  it("may be joined by another: the denials of both hold", async () => {
    const policy = await parse("extends: [developer, offline, read-only]");
    expect(policy.presets).toEqual(["developer", "offline", "read-only"]);
    expect(allows(policy, host("duckduckgo.com"))).toBe(false);
    expect(["write_file", "web_fetch", "read_file"].map((name) => allows(policy, tool(name)))).toEqual([
      false,
      false,
      true,
    ]);
  });

  it("may be followed by empty sections", async () => {
    expect(allows(await parse("extends: offline\nnetwork:\ntools:"), tool("calculate"))).toBe(true);
  });
});

describe("readable_paths and denied_write_paths", () => {
  it("let be read what cannot be written", async () => {
    const policy = await parse(
      `filesystem: { allowed_paths: ["/w/**"], readable_paths: ["/r/**"], denied_write_paths: ["**/Keep"], denied_paths: [/w/no] }`,
    );
    const verdicts = ["/w/a", "/r/a", "/w/keep/a", "/x", "/w/NO/a/b", "/w/none"].map((path) =>
      (["read", "write"] as const).map((op) => allows(policy, file(path, op))),
    );
    expect(verdicts).toEqual([
      [true, true],
      [true, false],
      [true, false],
      [false, false],
      [false, false],
      [true, true],
    ]);
    expect(decide(policy, file("/r/a", "write")).reason).toContain("allows only reading it");
  });
});

describe("a granted policy", () => {
  it("has the grant's permissions and everybody's denials", async () => {
    const policy = await parse(`network:
  allowed_endpoints: [{ host: main.example }]
  denied_endpoints: [{ host: bad.example }]
  blocked_ports: [22]
  dns_allowlist: ["*.a.example", own.example]
filesystem: { allowed_paths: ["/main/**"], denied_paths: ["**/.ssh/**"] }
secrets: { k: { from: env:K, hosts: [] }, other: { from: env:O, hosts: [] } }
commands: { allowed: [{ name: c, executable: /c }, { name: d, executable: /d }] }
plugins:
  load:
    - name: p
      path: /p
      commands: [c]
      secrets: [k]
      network:
        allowed_endpoints: [{ host: own.example, ports: [22, 443] }, { host: bad.example }]
        dns_allowlist: [own.example, other.test]
      filesystem: { allowed_paths: ["/own/**"] }
`);
    const own = grantedPolicy(policy, policy.plugins.load.get("p")!);
    expect(["own.example", "bad.example", "main.example"].map((name) => allows(own, host(name)))).toEqual([
      true,
      false,
      false,
    ]);
    expect(allows(own, host("own.example", 22))).toBe(false);
    expect(own.network.dnsNames?.rules.map(({ pattern }) => pattern)).toEqual(["own.example", "own.example"]);
    expect(["/own/a", "/own/.ssh/a", "/main/a"].map((path) => allows(own, file(path, "write")))).toEqual([
      true,
      false,
      false,
    ]);
    expect([...own.secrets.keys(), ...own.commands.allowed.keys()]).toEqual(["k", "c"]);
    const bare = grantedPolicy(policy, { network: policy.plugins.load.get("p")!.network });
    expect(allows(bare, file("/main/a", "read"))).toBe(false);
    expect([bare.secrets.size, bare.commands.allowed.size]).toEqual([0, 0]);
  });
});
