// A policy by which a sandbox could write where the guard's own files lie is no policy, and says which two lines do not go together.
import { join } from "node:path";
import { expect, it } from "vitest";
import { parsePolicy } from "../../src/policy/parse-policy.js";

const COMMAND = "commands: { allowed: [{ name: make, executable: /usr/bin/make, working_directory: /ground }] }";
const PLUGIN = 'plugins: { load: [{ name: one, path: /opt/one, filesystem: { allowed_paths: ["/ground/**"] } }] }';

async function faultOf(lines: readonly string[], environment: Record<string, string> = {}, file = "/etc/p.yaml") {
  const text = ['version: "1.0"', ...lines].join("\n");
  const options = { file, environment };
  return await parsePolicy(text, options).then(
    () => undefined,
    (error: Error) => error.message,
  );
}

it.each([
  ["the policy", [], {}, "/ground/conf/p.yaml", "this policy lies"],
  ["its log", ["audit: { log_file: /ground/a.log }"], {}, undefined, "the audit log (line 4: audit.log_file) lies"],
  ["its state", [], { XDG_STATE_HOME: "/ground" }, undefined, "this program's state (/ground/mcp-secure-local) lies"],
  ["its data", [], { XDG_DATA_HOME: "/ground/d" }, undefined, "this program's data (/ground/d/mcp-secure-local) lies"],
  ["its cache", [], { XDG_CACHE_HOME: "/ground" }, undefined, "this program's cache (/ground/mcp-secure-local) lies"],
  [
    "several",
    ["audit: { log_file: /ground/a.log }"],
    { XDG_CONFIG_HOME: "/ground" },
    undefined,
    "the audit log (line 4: audit.log_file) and this program's configuration (/ground/mcp-secure-local) lie;",
  ],
] as const)("%s in a folder that a command or plugin may write", async (_, more, environment, file, words) => {
  const grant = 'filesystem: { allowed_paths: ["/ground/**"] }';
  for (const by of [COMMAND, PLUGIN]) {
    const fault = await faultOf([grant, by, ...more], environment, file);
    expect(fault).toContain(`would let a program write where ${words}`);
    expect(fault).toMatch(/:3:\d+: /);
  }
});

it("what a server is to write in this program's own folders, which no sandbox shows", async () => {
  const server = (path: string): string =>
    `servers: { one: { command: [/opt/one], filesystem: { allowed_paths: ["${path}"] } } }`;
  const environment = { XDG_STATE_HOME: "/ground" };
  const kept = "/ground/mcp-secure-local/packages/1/dist/**";
  expect(await faultOf([server(kept)], environment)).toMatch(
    /:2:\d+: servers\.one\.filesystem\.allowed_paths: \S+ lies in this program's state \(\/ground\/mcp-secure-local\), where no server writes; name a folder of yours/,
  );
  expect(await faultOf([server("/ground/mcp-secure-local/**")], environment)).toBeDefined();
  expect(await faultOf([server("/ground/mcp-secure-local-notes/**")], environment)).toBeUndefined();
});

it("the code that runs", async () => {
  const plugin = PLUGIN.replace("/ground", join(import.meta.dirname, "../../src"));
  expect(await faultOf([plugin])).toContain("would let a program write where this program's own code (");
});

it.each([
  ['filesystem: { allowed_paths: ["/ground/**"] }'],
  ['filesystem: { readable_paths: ["/ground/**"] }'],
  [PLUGIN],
  [PLUGIN.replace("allowed_paths", "readable_paths")],
])("homes of sandboxes in what is granted: %s", async (grant) => {
  const fault = await faultOf([grant, "sandbox: { homes: /ground/homes }"]);
  expect(fault).toContain("where sandbox.homes keeps the homes of sandboxes (line 3: sandbox.homes)");
  expect(fault).toMatch(/:2:\d+: /);
  expect(await faultOf([grant, "sandbox: { homes: /grounded/homes }"])).toBeUndefined();
});

it.each([
  [COMMAND],
  [PLUGIN],
  ["commands: { allowed: [{ name: cp, executable: /bin/cp, arguments: [{ path: write }] }] }"],
  ["commands: { allowed: [{ name: cp, executable: /bin/cp, flags: [{ flag: --to, path: write }] }] }"],
])("what every sandbox sees in what a program may write: %s", async (by) => {
  const grant = 'filesystem: { allowed_paths: ["/ground/**"] }';
  const fault = await faultOf([grant, by, "sandbox: { read_only_paths: [/opt, /ground/tools] }"]);
  expect(fault).toContain(
    "would let a program write where what every sandbox sees (line 4: sandbox.read_only_paths) lies",
  );
  expect(await faultOf([grant, by, "sandbox: { read_only_paths: [/opt, /grounds] }"])).toBeUndefined();
});

it("a folder that is only read, and one that is named beside them, is granted", async () => {
  const readable = PLUGIN.replace("allowed_paths", "readable_paths");
  expect(await faultOf([readable, "audit: { log_file: /ground/a.log }"], {}, "/ground/p.yaml")).toBeUndefined();
  expect(await faultOf([PLUGIN, "audit: { log_file: /grounds/a.log }"])).toBeUndefined();
});
