// The stumbles that a new user's first hour had, each with the test that catches its return; and the tests of those that no
// other file has.
import { mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { connect } from "@secure-local/mcp/client/node";
import { afterEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { readArguments } from "../../src/cli/call-arguments.js";
import { inOptions } from "../../src/cli/failure.js";
import { temporaryFolder } from "../audit/temporary-folder.js";
import { approvePlugins, run, start } from "./command.js";
import { runQuickly } from "./command-in-thread.js";

const ROOT = join(dirname(fileURLToPath(import.meta.url)), "../../../..");
const HERE = "packages/secure-local/test/cli/stumbles.test.ts";
const TRIES = "packages/secure-local/test/cli/first-tries.test.ts";
const READING = "packages/secure-local/test/cli/audit-reading.test.ts";
const OPTIONS = "packages/secure-local/test/cli/remote-options.test.ts";

/** What went wrong, and where it is tested: the file, and words of the test's title. */
const STUMBLES: Readonly<Record<string, readonly [what: string, file: string, title: string]>> = {
  S1: ["an HTTP entry for Claude Desktop", OPTIONS, "prints a program for Claude Desktop, which takes nothing else"],
  S2: [
    "record emptied a recording",
    "packages/mcp-tools/test/recording/recording.test.ts",
    "overwrites nothing without being told to",
  ],
  S3: ["an audit table without objects and clients", READING, "is one line, with what was asked for, by whom"],
  S4: ["an error on record as a denial", HERE, "is an error on record, and no denial by a rule"],
  S5: [
    "a handler's exception was lost",
    "packages/mcp/test/server/reporter.test.ts",
    "is written to standard error with its stack",
  ],
  S6: ["policy init wrote where nothing reads", TRIES, "is what policy init writes and every command reads"],
  S7: ["a typo in a case passed", TRIES, "refuses a tool that does not exist, which every policy denies"],
  S8: ["a folder without /** was ok", TRIES, "says of a folder that its files are not named"],
  S9: ["own calls left half-done files", TRIES, "cancels a call of our own, which leaves nothing half-done behind"],
  S10: ["limits without their key", TRIES, "name the key that raises them"],
  S11: ["nobody said what the machine lacks", HERE, "says what this machine lacks for a policy with plugins"],
  S12: ["a host allowed that nothing fetches", TRIES, "says that a host which is allowed is fetched by nobody"],
  S13: ["advice to open metadata addresses", TRIES, "advises nobody to open where clouds keep credentials"],
  S14: [
    "one help for every command",
    "packages/secure-local/test/cli/help.test.ts",
    "explains one command with examples",
  ],
  S15: ["stack traces", "packages/secure-local/test/cli/every-command.test.ts", "say so in its own words"],
  S16: ["sandbox left no record", TRIES, "leaves records: a sandboxed command, a recording, a call of another server"],
  S17: ["unannotated tools ran unasked", TRIES, "asks before it calls a tool that does not say it destroys nothing"],
  S18: ["yes was no boolean", HERE, "takes yes and no where a tool wants true or false"],
  S19: ["the interview", TRIES, "takes several folders, divided as people divide them"],
  S20: ["approve showed the path last", TRIES, "sees what the call reaches for first, and which client asks"],
  S21: [
    "doctor failed healthy servers",
    "packages/secure-local/test/cli/remote-commands.test.ts",
    "leaves out what it is told to",
  ],
  S22: ["serve printed the token, and no calls", HERE, "serve prints calls and what ails the log, and never its token"],
  S23: ["limits by the library's names", HERE, "are told by the options of the command line"],
  S24: ["a child's errors glued together", TRIES, "a server that ended is told in lines of their own"],
  S25: ["--json that printed text", "packages/secure-local/test/cli/every-command.test.ts", "of %s prints JSON"],
  S26: ["exit codes", TRIES, "ends a conversation with the code that shells give it"],
  S27: ["two lines a call, file by file", READING, "stands in the order of time, over all logs"],
  S28: ["lines wider than the terminal", TRIES, "tools fit the width of a terminal"],
  S29: ["explain run without a hint", TRIES, "says what is missing of a URL or a command line"],
  S30: ["an endpoint as a string", TRIES, "shows how an endpoint is written"],
  S31: ["an address without https://", TRIES, "says what is missing of a URL or a command line"],
  S32: ["policy test of a policy", TRIES, "says of a policy that it is one"],
  S33: ["advice without the policy in use", HERE, "advises the whole command, with the policy in use"],
  S34: ["-V, two policies, --strict", TRIES, "fails for notes with --strict alone, and takes one policy"],
  S35: ["own server only by tools and call", TRIES, "is read, prompted and inspected like any other server"],
  S36: ["a template's test that is skipped", TRIES, "says that an older Node skips the test of a TypeScript plugin"],
  S37: ["an empty head beside the log", TRIES, "a head that cannot be written leaves nothing beside the log"],
  S38: [
    "servers and tools that cannot work",
    "packages/mcp/test/server/definitions.test.ts",
    "a server without a name or version is refused",
  ],
};

describe("each stumble", () => {
  it("has a number of its own, from 1 to 38", () => {
    expect(Object.keys(STUMBLES)).toEqual(Array.from({ length: 38 }, (_, at) => `S${at + 1}`));
  });

  it.each(Object.entries(STUMBLES))("%s has the test that catches it", (_number, [, file, title]) => {
    // A title may be broken over two lines where it is long.
    expect(readFileSync(join(ROOT, file), "utf8").split(title).length).toBeGreaterThan(file === HERE ? 2 : 1);
  });
});

const POLICY = 'version: "1.0"\n';
afterEach(() => vi.restoreAllMocks());

it("a table that is there already is an error on record, and no denial by a rule", async () => {
  const home = temporaryFolder();
  const data = join(home, "data");
  mkdirSync(data);
  writeFileSync(join(data, "a.csv"), "a,b\n1,2\n");
  const policy = join(home, "policy.yaml");
  writeFileSync(
    policy,
    `${POLICY}tools: { allowed: [import_csv] }
filesystem: { readable_paths: [${JSON.stringify(`${data}/**`)}] }
databases: { big: { file: ${JSON.stringify(join(data, "big.sqlite"))}, read_only: false } }
`,
    { mode: 0o600 },
  );
  const call = ["call", "import_csv", `file=${join(data, "a.csv")}`, "--policy", policy, "--yes"];
  expect(await run(call, { home })).toMatchObject({ code: 0 });
  const again = await run(call, { home });
  expect(again).toMatchObject({ code: 5, stderr: expect.stringContaining("replace: true") as never });
  expect(again.stderr).not.toContain("Denied");
  const { stdout } = await run(["audit", "query", "--policy", policy, "decision=denied"], { home });
  expect(stdout).not.toContain("import_csv");
});

it("an argument takes yes and no where a tool wants true or false", () => {
  const schema = {
    type: "object" as const,
    properties: { replace: { type: "boolean" as const }, name: { type: "string" as const } },
  };
  expect(readArguments(["replace=yes", "name=no"], schema)).toEqual({ replace: true, name: "no" });
  expect(readArguments(["replace=no"], schema)).toEqual({ replace: false });
  expect(readArguments(["replace=true"], schema)).toEqual({ replace: true });
});

it("limits of the library are told by the options of the command line", () => {
  const told = inOptions("It took 3 s. Raise maxTimeoutMs if it needs longer. It is above the limit messageBytes.", {
    takes: () => true,
  });
  expect(told).toContain("Give it longer with --timeout SECONDS.");
  expect(told).not.toMatch(/maxTimeoutMs|messageBytes/);
  // Whoever calls hears nothing of a question that a person is asked elsewhere.
  const late = "tools/call was not answered within 60000 ms. Raise maxTimeoutMs if it needs longer.";
  expect(inOptions(late, { takes: () => true })).toBe(
    "tools/call was not answered within 60000 ms. Its server may have asked a person about the call, and still wait for the answer. Give it longer with --timeout SECONDS.",
  );
});

it("an empty recording is compared with nothing, which is a failure", async () => {
  const home = temporaryFolder();
  const file = join(home, "empty.jsonl");
  writeFileSync(file, '{"format":"mcp-recording","version":1,"target":"x","startedAt":"2026-01-01T00:00:00.000Z"}\n');
  const { code, stderr } = await run(["replay", file, "--", process.execPath, "-e", ""], { home });
  expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining("holds no request") as never });
});

it("plugins list advises the whole command, with the policy in use", async () => {
  const home = temporaryFolder();
  const plugin = join(home, "weather");
  await runQuickly(["plugins", "new", "weather"], { home, cwd: home });
  const policy = join(home, "policy.yaml");
  const text = (name: string): string =>
    `${POLICY}sandbox: none\ntools: { allowed: ["weather_*"] }\nplugins: { load: [{ name: weather, path: ${JSON.stringify(name)} }] }\n`;
  writeFileSync(policy, text(plugin), { mode: 0o600 });
  await approvePlugins(policy, home);
  const main = join(plugin, "plugin.mjs");
  writeFileSync(
    main,
    readFileSync(main, "utf8").replace(/description: "[^"]*"/, 'description: "Says something else."'),
  );
  const { stdout } = await run(["plugins", "list", "--policy", policy], { home });
  expect(stdout).toContain(`mcp-secure-local plugins lock weather --policy ${policy}`);
});

it("doctor says what this machine lacks for a policy with plugins, and only notes it for one without", async () => {
  const home = temporaryFolder();
  const file = (name: string, text: string): string => {
    writeFileSync(join(home, name), POLICY + text, { mode: 0o600 });
    return join(home, name);
  };
  const plugin = `plugins: { load: [{ name: weather, path: ${JSON.stringify(join(home, "weather.mjs"))} }] }\n`;
  // Where the sandbox keeps nothing it cannot be set up, as where its programs are missing.
  const lacking = { home, env: { TMPDIR: join(home, "nowhere") } };
  for (const [policy, state, code] of [
    [file("with.yaml", plugin), "fault", 1],
    [file("without.yaml", ""), "note", 0],
  ] as const) {
    const ran = await run(["doctor", "--json", "--policy", policy], lacking);
    const items = JSON.parse(ran.stdout) as { name: string; state: string; text: string }[];
    const sandbox = items.find(({ name }) => name === "sandbox");
    expect({ policy, sandbox }).toMatchObject({
      sandbox: { state, text: expect.stringMatching(/^The sandbox needs .+/) as never },
    });
    if (state === "note") expect(ran.code).toBe(code);
    else expect(ran.code).not.toBe(0);
  }
});

it("serve prints calls and what ails the log, and never its token", async () => {
  const home = temporaryFolder();
  const child = start(["serve", "--port", "0", "--verbose"], { home });
  onTestFinished(() => void child.kill("SIGKILL"));
  let said = "";
  for (const name of ["stdout", "stderr"] as const)
    child[name].setEncoding("utf8").on("data", (text: string) => (said += text));
  const saying = async (text: RegExp): Promise<string> => {
    await expect.poll(() => text.test(said), { timeout: 20_000, interval: 10 }).toBe(true);
    return text.exec(said)?.[1] ?? "";
  };
  const url = await saying(/serving at (http:\S+)/);
  const token = readFileSync(join(home, ".config/mcp-secure-local/token"), "utf8").trim();
  const client = await connect(url, { http: { headers: { authorization: `Bearer ${token}` } } });
  onTestFinished(() => client.close());
  await client.call("calculate", { expression: "2 + 3" });
  await saying(/ (calculate) +2 \+ 3 +ok/);
  // A second server of the same policy is in order, and no warning.
  const second = start(["serve", "--port", "0", "--quiet"], { home });
  onTestFinished(() => void second.kill("SIGKILL"));
  let saidToo = "";
  second.stderr.setEncoding("utf8").on("data", (text: string) => (saidToo += text));
  await expect
    .poll(() => saidToo, { timeout: 20_000 })
    .toContain("attach reaches the server of this policy that was started first");
  const log = join(home, "state/mcp-secure-local/audit.log");
  renameSync(log, `${log}.away`);
  await client.call("calculate", { expression: "1" }).catch(() => undefined);
  await saying(/(audit\.log): the log was moved or removed.*no call is run/);
  expect(said).not.toContain(token);
});

it("what nobody caught ends the program in one line", async () => {
  const thrower = `const { write } = process.stdout;
process.stdout.write = (...args) => (setImmediate(() => { throw new Error("boom"); }), Reflect.apply(write, process.stdout, args));`;
  const env = { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(thrower)}` };
  const { code, stderr } = await run(["audit", "tail"], { home: await withCall(), env });
  expect({ code, stderr }).toEqual({
    code: 1,
    stderr: expect.stringMatching(/^mcp-secure-local: .*boom.*\n$/) as never,
  });
});

/** A home with a call on record. */
async function withCall(): Promise<string> {
  const home = temporaryFolder();
  await runQuickly(["call", "calculate", "expression=1"], { home });
  return home;
}

/** The sentences that a native reader needed twice; each has been written plainly since. */
const OLD_SENTENCES = [
  "every call is decided by one default-deny policy file",
  "behind the operating system's own wall",
  "withheld while their descriptions attack the model",
  "never at the cost of the process",
  "A version nobody knows is answered with",
  "is ready 18 ms after an empty program",
  "a twenty-fifth of SDK v2; 2 KB of heap a session",
  "Nothing is done by asking",
  "A fault is told as",
  "a denial is stronger than any permission",
  "Arguments that all have to fit",
  "An entry is itself the permission",
  "This very text",
  "run behind a wall that the operating system keeps up",
  "Both ask the same: is host and port allowed",
  "/tmp and each file in it: four times this",
  "letters that pass for Latin ones",
  "What a consent is good for",
  "so it gets well by itself",
  "worded as nobody worded one before",
  "rather than to arrive without its secret",
  "What does not survive being read and written as JSON",
  "Linux lets an open file be asked for its path",
  "The separator is what the first line has most of",
  "Who sends more than",
];

const OURS = join(ROOT, "packages/mcp/README.md");

describe("the pages", () => {
  const folders = ["docs", "docs/tools"].map((folder) => join(ROOT, folder));
  const pages = folders.flatMap((folder) =>
    readdirSync(folder).flatMap((name) => (name.endsWith(".md") ? [join(folder, name)] : [])),
  );
  const texts = [...pages, join(ROOT, "README.md"), join(ROOT, "packages/secure-local/README.md")].map(
    (page) => [page, readFileSync(page, "utf8").replace(/\s+/g, " ")] as const,
  );

  it("tell nobody to run or install what stands on npm under a name of ours: nobody has published it yet", () => {
    const sources = [
      join(ROOT, "packages/secure-local/src"),
      join(ROOT, "packages/mcp/src"),
      join(ROOT, "docs/library"),
    ];
    const files = sources.flatMap((folder) =>
      readdirSync(folder, { recursive: true, encoding: "utf8" }).map((name) => join(folder, name)),
    );
    const read = files
      .filter((file) => /\.(?:ts|md)$/.test(file))
      .map((file) => [file, readFileSync(file, "utf8")] as const);
    const all = [...read, ...texts, [OURS, readFileSync(OURS, "utf8")] as const];
    const fetched =
      /\b(?:npx|npm (?:i|install|add|exec)|pnpm (?:add|dlx)|yarn (?:add|dlx)|bunx?(?: add)?)(?: -\S+)* (?:@secure-local\/|mcp-secure-local(?![\w-]*VERSION))/;
    expect(all.filter(([, text]) => fetched.test(text)).map(([file]) => file)).toEqual([]);
    expect(fetched.test("npx -y mcp-secure-local")).toBe(true);
  });

  it.each(OLD_SENTENCES)("say %j no more", (sentence) => {
    expect(texts.filter(([, text]) => text.includes(sentence)).map(([page]) => page)).toEqual([]);
  });
});
