// A server that is added by hand: what of its command it may read, and the variables it is given, its secrets out of the policy.
import { mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeEach, describe, expect, it } from "vitest";
import { variableHint } from "../../src/cli/why-not.js";
import { parsePolicy } from "../../src/policy/parse-policy.js";
import type { ServerGrant } from "../../src/policy/policy.js";
import { runQuickly } from "../cli/command-in-thread.js";
import type { Ran } from "../cli/command.js";
import { hasWall } from "../sandbox/walls.js";
import { Household, said, tool } from "./household.js";

const house = new Household();
afterAll(() => house.close());
beforeEach(() => house.write('version: "1.0"\ntools: { allowed: [] }\n'));

const add = (words: readonly string[], command: readonly string[], env: Record<string, string> = {}): Promise<Ran> =>
  runQuickly(
    ["servers", "add", ...words, "--policy", house.policy, ...(command.length > 0 ? ["--", ...command] : [])],
    {
      home: house.folder,
      env,
    },
  );

/** Ends at once without its variable, as many do. */
function board(): string {
  const source = house.program("board", {
    tools: [tool("key")],
    answers: { key: "() => process.env.BOARD_KEY.length + ' ' + process.env.BOARD_REGION" },
  });
  writeFileSync(
    source,
    `if (!process.env.BOARD_KEY) { console.error("Error: BOARD_KEY is required"); process.exit(3); }\n${readFileSync(source, "utf8").replace('import { readFileSync } from "node:fs";', "")}`.replace(
      /^/,
      'import { readFileSync } from "node:fs";\n',
    ),
  );
  return source;
}

describe.runIf(hasWall())("a server that is added", () => {
  it("may read the folders that its command names, which is said", async () => {
    const source = house.program("notes", {
      tools: [tool("read")],
      answers: { read: '() => readFileSync(process.argv[2] + "/a.txt", "utf8")' },
    });
    const notes = join(house.folder, "notes");
    mkdirSync(notes);
    writeFileSync(join(notes, "a.txt"), "one note");
    const added = await add(["notes"], [process.execPath, source, notes]);
    expect(added.stdout).toContain(`may read ${notes}/**`);
    expect(added.stderr).not.toContain("cannot be looked at");
    await house.approve("notes");
    expect(await said(await house.client(), "notes__read")).toBe("one note");
    await house.closeClients();
  });

  it("starts where its program and a folder behind a flag were named from the folder of the command", async () => {
    house.program("near", {
      tools: [tool("read")],
      answers: { read: '() => readFileSync(process.argv[2].slice("--root=".length) + "/b.txt", "utf8")' },
    });
    const near = join(house.folder, "near");
    mkdirSync(near);
    writeFileSync(join(near, "b.txt"), "a note nearby");
    const words = ["servers", "add", "near", "--policy", house.policy, "--"];
    const added = await runQuickly([...words, process.execPath, "./programs/near.mjs", "--root=./near"], {
      home: house.folder,
      env: {},
      cwd: house.folder,
    });
    expect(added.stdout).toContain(`may read ${near}/**`);
    expect(added.stderr).not.toContain("cannot be looked at");
    await house.approve("near");
    expect(await said(await house.client(), "near__read")).toBe("a note nearby");
    await house.closeClients();
  });

  it.each([
    ["a value of this environment", ["--env", "BOARD_KEY"], { BOARD_KEY: "plain" }],
    ["a value that is one by its name", ["--env", "BOARD_KEY=key-90d1e6c2b7"], {}],
  ])("is given a secret by name: %s", async (_, words, env) => {
    const source = board();
    const name = words.length === 2 && words[1] === "BOARD_KEY" ? "board" : "board-2";
    const added = await add([name, ...words, "--env", "BOARD_REGION=eu"], [process.execPath, source], env);
    expect(added.stderr).not.toContain("cannot be looked at");
    const policy = readFileSync(house.policy, "utf8");
    expect(policy).not.toMatch(/plain|90d1e6c2b7/);
    expect(policy).toContain("${secret:");
    const file = /file:([^\s"',}]+)/.exec(policy)?.[1] ?? "";
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(added.stdout).toContain(`from file:${file}`);
    expect(added.stdout).toContain("in plain: BOARD_REGION");
    await house.approve(name);
    expect(await said(await house.client(), `${name}__key`)).toBe(`${words[1] === "BOARD_KEY" ? 5 : 14} eu`);
    await house.closeClients();
  });

  it("says, where it lacks one, which lines give it, and that its entry stays", async () => {
    const { code, stderr } = await add(["board-3"], [process.execPath, board()]);
    expect(code).toBe(1);
    expect(stderr).toContain('\nservers:\n  board-3:\n    env: { BOARD_KEY: "${secret:board_3_board_key}" }\n');
    expect(stderr).toContain('\nsecrets:\n  board_3_board_key: { from: "file:/');
    expect(stderr).toContain(
      `Its entry stays in ${house.policy}, and nothing of it is offered. Mend it there, then: mcp-secure-local servers review board-3 --policy ${house.policy}`,
    );
  });
});

describe("the paths of a command that is added", () => {
  /** The command and what may be read, as they were written. */
  async function written(command: readonly string[], cwd: string): Promise<{ launch: string[]; reads: string[] }> {
    house.write('version: "1.0"\ntools: { allowed: [] }\n');
    await runQuickly(["servers", "add", "named", "--policy", house.policy, "--", ...command], {
      home: house.folder,
      env: {},
      cwd,
    });
    const { servers } = await parsePolicy(readFileSync(house.policy, "utf8"), { file: house.policy });
    const { launch, filesystem } = servers.get("named") as ServerGrant;
    if (launch.kind === "url") throw new Error("a command was added");
    return { launch: [...launch.command], reads: filesystem.readable.rules.map(({ pattern }) => pattern) };
  }

  const place = join(house.folder, "place");
  const [program, data] = [join(place, "board.mjs"), join(place, "data")];
  beforeEach(() => {
    mkdirSync(data, { recursive: true });
    writeFileSync(program, "process.exit(1);\n");
  });

  it.each([
    ["a file of the folder", "./board.mjs", program],
    ["a file above", "../place/board.mjs", program],
    ["a bare file with an ending", "board.mjs", program],
    ["a folder", "./data", data],
    ["the folder itself", ".", place],
    ["a file behind a flag", "--program=./board.mjs", `--program=${program}`],
    ["a folder behind a flag", "--root=./data", `--root=${data}`],
  ])("are written whole, and may be read: %s", async (_, word, whole) => {
    const { launch, reads } = await written([process.execPath, word, "last"], place);
    expect(launch).toEqual([process.execPath, whole, "last"]);
    const path = whole.replace(/^--\w+=/, "");
    expect(reads.some((pattern) => pattern === path || pattern === `${path}/**` || pattern === `${place}/**`)).toBe(
      true,
    );
  });

  it("may be read behind the first = of a flag, where they are whole already", async () => {
    const { launch, reads } = await written([process.execPath, program, `--root=${data}`, `--a=b=${place}`], "/");
    expect(launch).toEqual([process.execPath, program, `--root=${data}`, `--a=b=${place}`]);
    expect(reads).toContain(`${data}/**`);
    expect(reads.filter((pattern) => pattern === "/**")).toEqual([]);
  });

  it("are whole for a program of the folder, too", async () => {
    const script = join(place, "run.sh");
    writeFileSync(script, "#!/bin/sh\nexit 1\n", { mode: 0o755 });
    expect((await written(["./run.sh"], place)).launch).toEqual([script]);
  });

  it.each([
    ["a bare word, which may be an order", "data"],
    ["what is not there", "./gone.mjs"],
    ["an address", "https://a.example/data"],
    ["a flag", "--data"],
    ["a flag with a word", "--data=data"],
    ["a word that is longer than names are", `--text=a/${"b ".repeat(300)}`],
  ])("stay as they are: %s", async (_, word) => {
    expect((await written([process.execPath, program, word], place)).launch).toEqual([process.execPath, program, word]);
  });
});

it.each([
  [
    ["one", "--env", "NOT_SET_HERE"],
    ["node", "x"],
    "--env NOT_SET_HERE: it is not set here; set it, or write NOT_SET_HERE=VALUE",
  ],
  [["one", "https://a.example", "--env", "A=b"], [], "servers add takes --env for a command, and --header for a URL"],
  [["one", "--header", "A: b"], ["node", "x"], "servers add takes --env for a command, and --header for a URL"],
])("refuses %j", async (words, command, message) => {
  expect(await add(words, command)).toMatchObject({ code: 2, stderr: expect.stringContaining(message) as string });
  expect(readFileSync(house.policy, "utf8")).not.toContain("one");
});

it("has variables in servers add alone", async () => {
  const { code, stderr } = await house.run(["servers", "list", "--env", "A=b"]);
  expect([code, stderr]).toEqual([2, expect.stringContaining("servers list takes no --env")]);
});

describe("the variable that a program lacks", () => {
  async function grantOf(entry: object): Promise<ServerGrant> {
    const text = JSON.stringify({ version: "1.0", servers: { board: entry } });
    return (await parsePolicy(text, { file: "policy.yaml" })).servers.get("board") as ServerGrant;
  }

  it.each([
    ["BOARD_KEY is required", "BOARD_KEY"],
    ["Please set the GITHUB_TOKEN environment variable", "GITHUB_TOKEN"],
    ["KeyError: missing API_KEY_2", "API_KEY_2"],
  ])("is named: %s", async (words, variable) => {
    const hint = variableHint(await grantOf({ command: ["/opt/x"] }), words) ?? "";
    expect(hint).toContain(`To give it ${variable}, put`);
    // To be pasted as it stands.
    const [, servers = "", secrets = ""] = /\n(servers:\n[^]*)(\nsecrets:\n[^]*)$/.exec(hint) ?? [];
    const pasted = `version: "1.0"\n${servers.replace("    env", '    command: ["/opt/x"]\n    env')}${secrets}\n`;
    const policy = await parsePolicy(pasted, { file: "policy.yaml" });
    expect([...(policy.servers.get("board")?.env.keys() ?? [])]).toEqual([variable]);
    const given = await grantOf({ command: ["/opt/x"], env: { [variable]: "1" } });
    expect(variableHint(given, words)).toBeUndefined();
  });

  it.each(["ERR_MODULE_NOT_FOUND: it must be there", "EACCES", "I read BOARD_KEY", "it needs a key"])(
    "and nothing of %s",
    async (words) => expect(variableHint(await grantOf({ command: ["/opt/x"] }), words)).toBeUndefined(),
  );
});

describe("a server that is added by its address", () => {
  it("has its user and password out of the policy", async () => {
    await add(["web", "https://ada:Lovelace-1815@127.0.0.1:9/mcp"], []);
    const policy = readFileSync(house.policy, "utf8");
    expect(policy).toContain("https://127.0.0.1:9/mcp");
    expect(policy).toMatch(/Authorization: .*\$\{secret:/);
    expect(policy).not.toMatch(/Lovelace|YWRhOkxv/);
  });

  it("is not written with another secret in it", async () => {
    const before = readFileSync(house.policy, "utf8");
    const added = await add(["web", "https://127.0.0.1:9/mcp?api_key=Qx7Secret99abcdef"], []);
    expect([added.code, readFileSync(house.policy, "utf8")]).toEqual([2, before]);
    expect(added.stderr).toContain("a secret stands in its address");
    expect(added.stderr).not.toContain("Qx7Secret99abcdef");
  });
});
