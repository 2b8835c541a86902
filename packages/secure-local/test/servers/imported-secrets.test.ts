// What becomes of the values of a client's file on their way under the policy: secrets leave it, the rest is named, and no screen shows one.
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterAll, beforeEach, expect, it } from "vitest";
import { hasWall } from "../sandbox/walls.js";
import { Household, tool } from "./household.js";

const house = new Household();
afterAll(() => house.close());
const cursor = join(house.folder, ".cursor/mcp.json");
const board = house.program("board", { tools: [tool("list_cards")] });

function client(servers: object): void {
  mkdirSync(dirname(cursor), { recursive: true });
  writeFileSync(cursor, JSON.stringify({ mcpServers: servers }, null, 2));
}

beforeEach(() => {
  house.write('version: "1.0"\nsandbox: none\n');
  for (const path of [".config/mcp-secure-local/secrets", "state/mcp-secure-local/installs"])
    rmSync(join(house.folder, path), { recursive: true, force: true });
});

const SECRETS = {
  SMTP_PASS: "hunter2",
  DB_PASS: "S3cretPw!x",
  MYSQL_PASS: "hunter22",
  PASS: "hunter2",
  PASSPHRASE: "correct horse",
  SMTP_PASSWORD: "kept before",
  SIGNING_KEY: "some words",
  GCP_CREDENTIALS: "ada:lovelace",
};

it("takes the usual names for secrets, and names what stays as it is", async () => {
  client({
    board: { command: "node", args: [board], env: { ...SECRETS, LOG_LEVEL: "debug", REGION: "eu-central-1" } },
  });
  const { stdout } = await house.run(["servers", "import", "cursor", "--yes"]);
  const policy = readFileSync(house.policy, "utf8");
  for (const [name, value] of Object.entries(SECRETS)) {
    expect(policy).toContain(`${name}: \${secret:board_${name.toLowerCase()}}`);
    expect(policy).not.toContain(value);
    expect(stdout).not.toContain(value);
  }
  expect(stdout).toContain("in plain: LOG_LEVEL, REGION. Is one of them a secret?");
  expect(stdout).toContain("write ${secret:NAME} in servers.board.env");
  expect(stdout).not.toContain("eu-central-1");
});

it("takes a random value for a secret whatever its header is called, and says it in JSON, too", async () => {
  client({
    far: { url: "http://127.0.0.1:9/mcp", headers: { "X-Thing": "Zk4vQ9sT1xWm3LpR7nBf", "X-Client": "desktop" } },
  });
  const { stdout } = await house.run(["servers", "import", "cursor", "--yes", "--json"]);
  expect(JSON.parse(stdout)).toMatchObject({ servers: [{ secrets: ["far_x_thing"], plain: ["X-Client"] }] });
  expect(readFileSync(house.policy, "utf8")).not.toContain("Zk4vQ9sT1xWm3LpR7nBf");
});

const NEIGHBOUR = `{"mcpServers": {"board": {"command": "node", "args": ["b.mjs", "--db-pass", "hunter2"],
  "env": {"BOARD_KEY": "key-90d1e6c2b7f04a11", "SMTP_PASS": "p4ss"}, "headers": {"X-Thing": "Zk4vQ9sT1xWm3LpR7nBf"}}}}`;

it.each([["--yes"], ["--attach", "--yes"], []])(
  "shows no secret of the neighbours in what install changes (%s)",
  async (...words) => {
    mkdirSync(dirname(cursor), { recursive: true });
    writeFileSync(cursor, NEIGHBOUR.replace("\n", ""));
    const { stdout, stderr } = await house.run(["install", "cursor", ...words.filter(Boolean)]);
    expect(stdout).toContain("BOARD_KEY");
    expect(stdout).toContain("[secret]");
    for (const value of ["hunter2", "key-90d1", "p4ss", "Zk4vQ9"]) expect(stdout + stderr).not.toContain(value);
    await house.run(["uninstall", "cursor"]);
  },
);

it.skipIf(!hasWall())("gives the reason in place of the advice to do what was just done", async () => {
  house.write('version: "1.0"\n');
  client({
    board: { command: "node", args: [board] },
    wiki: { url: "https://wiki.example/mcp?api_key=s3cretvalue" },
  });
  const { stdout, stderr } = await house.run(["install", "cursor", "--move", "--yes"]);
  expect(stderr).toContain("a secret stands in its address");
  expect(stdout).toContain("Not under the policy: wiki. Cursor still starts them itself, for the reasons above.");
  expect(stdout).not.toContain("To bring them");
  await house.run(["uninstall", "cursor"]);
  client({ board: { command: "node", args: [board] } });
  expect((await house.run(["install", "cursor", "--yes"])).stdout).toContain(
    "To bring them: mcp-secure-local install cursor --move",
  );
  await house.run(["uninstall", "cursor"]);
});

it.skipIf(!hasWall())(
  "says what it cannot put back where what install kept is gone, and begins nothing then",
  async () => {
    house.write('version: "1.0"\n');
    client({ board: { command: "node", args: [board] } });
    await house.run(["install", "cursor", "--move", "--yes"]);
    const installs = join(house.folder, "state/mcp-secure-local/installs");
    const copy = readdirSync(installs).find((name) => name.endsWith(".copy"))!;
    rmSync(join(installs, copy));
    const file = readFileSync(cursor, "utf8").replace(
      '"mcpServers": {',
      `"mcpServers": { "more": { "command": "node", "args": ["${board}"], "env": { "A": "b" } },`,
    );
    writeFileSync(cursor, file);
    const before = readFileSync(house.policy, "utf8");
    expect((await house.run(["install", "cursor", "--move", "--yes"])).stderr).toContain(
      "is gone, so board cannot be put back",
    );
    expect(readFileSync(house.policy, "utf8")).toBe(before);
    rmSync(installs, { recursive: true });
    const { stdout } = await house.run(["uninstall", "cursor"]);
    expect(stdout).toContain("cursor.json is gone, so nobody knows what else install changed there.");
    expect(stdout).toContain("the policy has board: mcp-secure-local servers list");
    expect(stdout).not.toContain("was changed since");
  },
);

it("leaves out a server that asks for what nobody gives, with its reason, and brings the others", async () => {
  const file = join(house.folder, ".vscode/mcp.json");
  mkdirSync(dirname(file), { recursive: true });
  const lacks = { command: "node", args: [board], env: { TOKEN: "${input:key}" } };
  writeFileSync(file, JSON.stringify({ servers: { lacks, board: { command: "node", args: [board] } } }));
  const { stdout, stderr } = await house.run(["servers", "import", file, "--yes"]);
  expect(stderr).toMatch(/"lacks" of .* is left out: .*key.*; set the variable, or write the value there/);
  expect(stderr).not.toContain("--header");
  expect(stdout).toContain("names board now");
});
