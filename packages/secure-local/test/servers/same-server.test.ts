// Which servers of clients are one server: all that makes two of them different counts, and nothing of any is lost.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, afterEach, beforeEach, expect, it, vi } from "vitest";
import { importFrom } from "../../src/cli/servers-import.js";
import { parsePolicy } from "../../src/policy/parse-policy.js";
import type { Policy, ServerGrant } from "../../src/policy/policy.js";
import { filled, filledArguments } from "../../src/server/open-server.js";
import { Household } from "./household.js";

const house = new Household();
afterAll(() => house.close());
let count = 0;
let folder: string;
beforeEach(() => {
  folder = join(house.folder, String(++count));
  mkdirSync(folder);
  vi.stubEnv("XDG_CONFIG_HOME", join(folder, "config"));
  house.write('version: "1.0"\n');
});
afterEach(() => vi.unstubAllEnvs());

type Entry = Readonly<Record<string, unknown>>;

/** Brings each map of servers in as a client of its own, one after the other. */
async function bring(...clients: readonly Readonly<Record<string, Entry>>[]): Promise<Policy> {
  for (const [index, mcpServers] of clients.entries()) {
    const file = join(folder, `client-${index}.json`);
    writeFileSync(file, JSON.stringify({ mcpServers }));
    await importFrom(file, { policy: await policy(), file: house.policy, yes: true, json: true });
  }
  return policy();
}

async function policy(): Promise<Policy> {
  return parsePolicy(readFileSync(house.policy, "utf8"), { file: house.policy });
}

/** What a server of the policy is really started with. */
function asStarted(from: Policy, grant: ServerGrant): object {
  const { launch, env, headers, workingDirectory: cwd } = grant;
  if (launch.kind === "url") return { url: launch.url, headers: filled(from, grant, headers) };
  const [command, ...args] = filledArguments(from, grant, launch.command);
  return { command, args, env: filled(from, grant, env), ...(cwd === undefined ? {} : { cwd }) };
}

const STARTED: Entry = {
  command: "node",
  args: ["/srv/tickets.mjs", "--api-key", "k-0123456789"],
  env: { PROFILE: "job", API_TOKEN: "tok-job-1234567890" },
  cwd: "/srv/job",
};
const REMOTE: Entry = {
  url: "https://tickets.example/mcp",
  headers: { Authorization: "Bearer far-0123456789", "X-Team": "a" },
};

/** Each differs from what stands before it in one member. */
const ONE_OTHER: readonly (readonly [string, Entry, Entry])[] = [
  ["the command", STARTED, { ...STARTED, command: "nodejs" }],
  ["an argument", STARTED, { ...STARTED, args: ["/srv/other.mjs", "--api-key", "k-0123456789"] }],
  ["a secret argument", STARTED, { ...STARTED, args: ["/srv/tickets.mjs", "--api-key", "k-9876543210"] }],
  ["one argument more", STARTED, { ...STARTED, args: ["/srv/tickets.mjs", "--api-key", "k-0123456789", "-v"] }],
  ["a variable", STARTED, { ...STARTED, env: { PROFILE: "private", API_TOKEN: "tok-job-1234567890" } }],
  ["a secret variable", STARTED, { ...STARTED, env: { PROFILE: "job", API_TOKEN: "tok-private-1234567890" } }],
  ["one variable more", STARTED, { ...STARTED, env: { ...(STARTED["env"] as object), LANG: "de" } }],
  ["one variable less", STARTED, { ...STARTED, env: { PROFILE: "job" } }],
  ["no variables", STARTED, { command: "node", args: STARTED["args"], cwd: "/srv/job" }],
  ["the folder", STARTED, { ...STARTED, cwd: "/srv/private" }],
  ["no folder", STARTED, { command: "node", args: STARTED["args"], env: STARTED["env"] }],
  ["the address", REMOTE, { ...REMOTE, url: "https://tickets.example/mcp2" }],
  ["a header", REMOTE, { ...REMOTE, headers: { ...(REMOTE["headers"] as object), "X-Team": "b" } }],
  ["a secret header", REMOTE, { ...REMOTE, headers: { Authorization: "Bearer far-9876543210", "X-Team": "a" } }],
  ["one header less", REMOTE, { ...REMOTE, headers: { Authorization: "Bearer far-0123456789" } }],
];

it.each(
  ONE_OTHER.flatMap(([what, one, other]) =>
    ["tickets", "tickets-2", "private"].map((name) => [what, name, one, other] as const),
  ),
)(
  "two that differ in %s are two, the second called %s: each with what it was started with",
  async (_, name, one, other) => {
    const whole = await bring({ tickets: one }, { [name]: other });
    const [first, second, ...more] = [...whole.servers.values()].map((grant) => asStarted(whole, grant));
    const full = ({ headers, ...rest }: Entry): object => ("url" in rest ? { ...rest, headers } : { env: {}, ...rest });
    expect([first, second, more]).toEqual([full(one), full(other), []]);
  },
);

it.each([STARTED, REMOTE])("the very same under another name, or again, is one: %j", async (entry) => {
  const spelt = { ...entry, ...("env" in entry ? { env: { API_TOKEN: "tok-job-1234567890", PROFILE: "job" } } : {}) };
  const whole = await bring({ tickets: entry }, { private: spelt, tickets: entry }, { tickets: entry });
  expect([...whole.servers.keys()]).toEqual(["tickets"]);
});

it("says of each that it was the same as which", async () => {
  await bring({ tickets: STARTED });
  const file = join(folder, "again.json");
  writeFileSync(file, JSON.stringify({ mcpServers: { private: STARTED } }));
  const { stdout } = await house.run(["servers", "import", file, "--yes"], {
    env: { XDG_CONFIG_HOME: join(folder, "config") },
  });
  expect(stdout).toContain("private: the same as tickets of the policy");
});

it("secrets whose names come to the same text stay two, in one server and in two", async () => {
  const entry = (env: object): Entry => ({ command: "node", args: ["--api-token", "tok-args-1234567890"], env });
  const one = entry({ API_TOKEN: "tok-one-1234567890" });
  const other = { command: "node", args: [], env: { TOKEN: "tok-other-1234567890" } };
  const whole = await bring({ a: one, a_api: other });
  const [first, second] = [...whole.servers.values()].map((grant) => asStarted(whole, grant));
  expect([first, second]).toEqual([one, other]);
});

it("a file that holds another secret is left as it is", async () => {
  const kept = join(folder, "config/mcp-secure-local/secrets/tickets_api_token");
  mkdirSync(join(kept, ".."), { recursive: true });
  writeFileSync(kept, "of another policy");
  const whole = await bring({ tickets: STARTED });
  expect(readFileSync(kept, "utf8")).toBe("of another policy");
  expect(asStarted(whole, [...whole.servers.values()][0] as ServerGrant)).toEqual(STARTED);
});

it("names whole what its command names beside the file, or in the folder that it starts in", async () => {
  mkdirSync(join(folder, "sub"));
  for (const file of ["srv.mjs", "sub/srv.mjs"]) writeFileSync(join(folder, file), "");
  const { servers } = await bring({
    beside: { command: "node", args: ["./srv.mjs", "sub", "--config=./srv.mjs", "./none"] },
    inside: { command: "node", args: ["srv.mjs"], cwd: "sub" },
  });
  const started = [...servers.values()].map(({ launch }) => (launch.kind === "command" ? launch.command : []));
  const [file, other] = ["srv.mjs", "sub/srv.mjs"].map((each) => join(folder, each));
  expect(started).toEqual([
    ["node", file, "sub", `--config=${file}`, "./none"],
    ["node", other],
  ]);
  expect(readFileSync(house.policy, "utf8")).toContain(`- ${folder}/**\n`);
});
