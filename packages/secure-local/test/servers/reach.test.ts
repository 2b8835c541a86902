// Each section of a policy that narrows, and a server that runs: what it was started by is not what it goes on by.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Server } from "@secure-local/mcp/server";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { loadPolicy } from "../../src/policy/load-policy.js";
import { parsePolicy } from "../../src/policy/parse-policy.js";
import { profiledPolicy } from "../../src/policy/read-names.js";
import type { Policy, ServerGrant } from "../../src/policy/policy.js";
import { serverReach } from "../../src/server/server-reach.js";
import { Fleet } from "./fleet.js";

const GRANTS = `filesystem: { allowed_paths: ["/srv/a/**"], readable_paths: ["/srv/b/**"] }, network: { allowed_endpoints: [{ host: one.example, ports: [443, 8443] }] }`;

/** What a policy may say more, by its section; each takes something from a server that runs or shows it as something else. */
const NARROWER: Readonly<Record<string, string>> = {
  "filesystem.denied_paths": 'filesystem: { denied_paths: ["/srv/a/x"] }',
  "filesystem.denied_write_paths": 'filesystem: { denied_write_paths: ["/srv/a/x"] }',
  "filesystem.read_only": "filesystem: { read_only: true }",
  "network.offline": "network: { offline: true }",
  "network.denied_endpoints": 'network: { denied_endpoints: [{ host: "one.example" }] }',
  "network.denied_endpoints of one port": 'network: { denied_endpoints: [{ host: "one.example", ports: [443] }] }',
  "network.blocked_ports": "network: { blocked_ports: [8443] }",
  "network.allow_dns": "network: { allow_dns: false }",
  "network.dns_allowlist": 'network: { dns_allowlist: ["two.example"] }',
  "extends: offline": "extends: offline",
  "extends: read-only": "extends: read-only",
  "sandbox.processes": "sandbox: { processes: 3 }",
  "sandbox.memory_mb": "sandbox: { memory_mb: 64 }",
  "sandbox.cpu_seconds": "sandbox: { cpu_seconds: 5 }",
  "sandbox.file_mb": "sandbox: { file_mb: 1 }",
  "sandbox.homes": 'sandbox: { homes: "/var/lib/homes" }',
  "sandbox.git": "sandbox: { git: true }",
  "sandbox.mode": "sandbox: none",
  "audit.log_file, which nobody sees": "audit: { log_file: /srv/b/audit.log }",
  "audit.checkpoints, which nobody sees": "audit: { checkpoints: { file: /srv/b/heads.log } }",
  "secrets, whose files nobody sees": 'secrets: { key: { from: "file:/srv/b/key", hosts: [] } }',
  "commands.allowed, whose programs nobody writes": "commands: { allowed: [{ name: tool, executable: /srv/a/tool }] }",
  "plugins.load, whose files nobody writes": 'plugins: { load: [{ name: helper, path: "/srv/a/helper" }] }',
};

/** The same of the entry of a server itself. */
const OWN: Readonly<Record<string, readonly [string, string]>> = {
  allowed_paths: ['"/srv/a/**"', '"/srv/a/b/**"'],
  readable_paths: ['"/srv/b/**"', '"/srv/b/c/**"'],
  "ports of an endpoint": ["[443, 8443]", "[443]"],
  "an endpoint": ["one.example", "two.example"],
  blocked_ports: ["network: {", "network: { blocked_ports: [443],"],
  read_only: ["filesystem: {", "filesystem: { read_only: true,"],
  may_ask: ["filesystem: {", "may_ask: [roots], filesystem: {"],
  env: ["filesystem: {", "env: { A: b }, filesystem: {"],
};

/** What is asked of the policy in force at each request: nothing has to be started anew for it. */
const ASKED_LATER: Readonly<Record<string, string>> = {
  tools: 'tools: { allowed: ["x__*"], denied: ["x__b"], rate_limits: { default: 5 } }',
  resources: 'resources: { allowed: ["note://*"] }',
  prompts: 'prompts: { allowed: ["x__*"] }',
  approvals: "approvals: [{ approve: all }]",
  output: "output: { max_bytes: 2048 }",
  menu: "menu: search",
  profiles: "profiles: { work: { servers: [x] } }",
  "a comment": "# nothing",
};

const text = (more: string, entry = `{ command: [node, /srv/x.mjs], ${GRANTS} }`): string =>
  `version: "1.0"\n${more}\nservers: { x: ${entry} }\n`;
const read = (more: string, entry?: string): Promise<Policy> =>
  parsePolicy(text(more, entry), { file: "/etc/policy.yaml" });
const reachOf = (policy: Policy): string => serverReach(policy, policy.servers.get("x") as ServerGrant);

describe("what a server is started by", () => {
  it.each(Object.entries(NARROWER))("is another one by %s", async (_name, more) => {
    expect(reachOf(await read(more))).not.toBe(reachOf(await read("")));
  });

  it.each(Object.entries(OWN))("is another one by its own %s", async (_name, [before, after]) => {
    const entry = `{ command: [node, /srv/x.mjs], ${GRANTS} }`;
    expect(entry).toContain(before);
    expect(reachOf(await read("", entry.replace(before, after)))).not.toBe(reachOf(await read("")));
  });

  it.each(Object.entries(ASKED_LATER))("stays as it is by %s", async (_name, more) => {
    expect(reachOf(await read(more))).toBe(reachOf(await read("")));
  });

  it("is the same in every profile, and wherever a rule stands", async () => {
    const policy = await read("profiles: { work: { servers: [x] } }");
    expect(reachOf(profiledPolicy(policy, "work"))).toBe(reachOf(policy));
    expect(reachOf(await read("\n\n"))).toBe(reachOf(await read("")));
  });

  it("is the section network too where a server is remote", async () => {
    const far = "{ url: https://far.example/mcp, login: oauth }";
    const wide = "network: { allowed_endpoints: [{ host: login.example }] }";
    expect(reachOf(await read(wide, far))).not.toBe(reachOf(await read("", far)));
  });
});

describe("a server that runs while the policy is changed", () => {
  let fleet: Fleet;
  let file: string;
  let ended: string[];
  beforeEach(async () => {
    fleet = new Fleet();
    ended = [];
    fleet.make("x", () => waiting(ended));
    const policy = await fleet.policy('tools: { allowed: ["x__*"] }\nsandbox: none', {
      x: `, filesystem: { readable_paths: ["${fleet.folder}/**"] }`,
    });
    file = policy.file as string;
    await fleet.approve(policy);
    await fleet.serve(policy);
  });
  afterEach(() => fleet.close());

  async function change(more: string): Promise<void> {
    const before = readFileSync(file, "utf8");
    writeFileSync(file, before.replace("\nservers:", `\n${more}\nservers:`));
    fleet.secure.reload(await loadPolicy(file));
  }

  it.each(["2025-11-25", "2026-07-28"])(
    "is ended at once with the calls it has, and started anew by the next one (%s)",
    async (revision) => {
      const peer = await fleet.client(revision);
      const call = (name: string) => peer.request("tools/call", { name: `x__${name}`, arguments: {} });
      await call("num");
      const under = call("wait").then(JSON.stringify, String);
      await expect.poll(() => fleet.asked.length).toBe(2);
      await change(`filesystem: { denied_paths: ["${join(fleet.folder, "secret")}"] }`);
      // Not a moment later: what is asked now goes to no process of before.
      const next = call("num");
      expect(await under).toContain("the connection to it ended");
      await next;
      expect(fleet.starts).toEqual(["x", "x"]);
      expect(fleet.said.join("\n")).toContain("server x: the policy changed what it is started by");
    },
  );

  it("goes on where nothing of that changed", async () => {
    const peer = await fleet.client("2026-07-28");
    const call = () => peer.request("tools/call", { name: "x__num", arguments: {} });
    await call();
    await change("output: { max_bytes: 4096 }");
    await call();
    expect(fleet.starts).toEqual(["x"]);
  });

  it("is not the one that was being started by the policy of before", async () => {
    const peer = await fleet.client("2026-07-28");
    const call = () => peer.request("tools/call", { name: "x__num", arguments: {} });
    const first = call().then(JSON.stringify, String);
    await expect.poll(() => fleet.starts.length).toBe(1);
    await change(`filesystem: { denied_paths: ["${join(fleet.folder, "secret")}"] }`);
    await first;
    fleet.asked.length = 0;
    await call();
    expect(fleet.starts.length).toBeGreaterThan(1);
  });

  it("is nobody's any more where its entry is another one, from the reload on", async () => {
    const peer = await fleet.client("2026-07-28");
    const call = () => peer.request("tools/call", { name: "x__num", arguments: {} });
    await call();
    const before = readFileSync(file, "utf8");
    writeFileSync(file, before.replace(", filesystem: {", ", env: { A: b }, filesystem: {"));
    const policy = await loadPolicy(file);
    fleet.asked.length = 0;
    fleet.secure.reload(policy);
    const answer = JSON.stringify(await call().catch((error: unknown) => String(error)));
    expect(answer).toMatch(/another one now|Unknown tool|not as it was approved/);
    expect(fleet.asked).toEqual([]);
  });
});

/** One tool that answers, and one that waits until it is ended. */
function waiting(ended: string[]): Server {
  const server = new Server({ name: "x", version: "1" });
  const input = { type: "object" } as const;
  server.tool("num", { input, run: () => "called" });
  server.tool("wait", {
    input,
    run: (_args, { signal }) =>
      new Promise((_resolve, reject) => {
        signal.addEventListener("abort", () => (ended.push("wait"), reject(signal.reason as Error)), { once: true });
      }),
  });
  return server;
}
