// What people try in their first hour with the command line, and what they are told.
import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { spawnSync } from "node:child_process";
import { once } from "node:events";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it, vi } from "vitest";
import { writeHead } from "../../src/audit/log-file.js";
import { answerOne } from "../../src/cli/approve-command.js";
import type { PendingQuestion } from "../../src/control/control-client.js";
import { askWishes } from "../../src/cli/policy-command.js";
import { shownCall } from "../../src/guard/approvals/shown-call.js";
import { mayDestroy } from "../../src/cli/remote/remote-call.js";
import { tellFailure } from "../../src/cli/failure.js";
import { askYesNo, InterruptedError } from "../../src/cli/terminal.js";
import { temporaryFolder } from "../audit/temporary-folder.js";
import { stoppedText } from "../../src/capabilities/databases/databases.js";
import { limited, timedOut } from "../../src/guard/audit-recorder.js";
import { COMMAND, environmentOf, type Ran, run, start } from "./command.js";
import { runInThread, runQuickly } from "./command-in-thread.js";

function tried(...args: string[]): Promise<Ran> {
  return runQuickly(args, { home: temporaryFolder() });
}

function fileOf(text: string, name = "policy.yaml"): string {
  const file = join(temporaryFolder(), name);
  writeFileSync(file, text, { mode: 0o600 });
  return file;
}

const POLICY = 'version: "1.0"\n';

describe("failures", () => {
  it("are one line, without a stack but with --debug", async () => {
    const wrong = ["sandbox", "--env", "A", "--", "ls"];
    expect(await tried(...wrong)).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/^mcp-secure-local: [^\n]+\n$/) as never,
    });
    expect((await tried("--debug", ...wrong)).stderr).toContain("\n    at ");
  });

  it("are one JSON object with --json, whatever failed", async () => {
    const cases: [string[], string][] = [
      [["polcy", "--json"], "USAGE"],
      [["--polcy", "--json"], "USAGE"],
      [["policy", "check", "/no/such/file", "--json"], "POLICY"],
      [["inspect", "--revision", "2020-01-01", "--json", "--", "true"], "UNKNOWN_REVISION"],
    ];
    for (const [args, code] of cases) {
      const { stderr, stdout, code: exitCode } = await tried(...args);
      expect(JSON.parse(stderr)).toMatchObject({ error: { code, exitCode: 2 } });
      expect({ stdout, exitCode }).toEqual({ stdout: "", exitCode: 2 });
    }
  });

  it.runIf(existsSync("/dev/full"))("of a full disk behind stdout are one line", () => {
    const full = openSync("/dev/full", "w");
    const stdio = ["ignore", full, "pipe"] as const;
    const ran = spawnSync(process.execPath, [COMMAND, "tools"], {
      stdio: [...stdio],
      env: environmentOf(temporaryFolder()),
    });
    closeSync(full);
    expect(ran.stderr.toString()).toMatch(/^mcp-secure-local: [^\n]*ENOSPC[^\n]*\n$/);
    expect(ran.status).toBe(1);
  });

  it("of the system are one line", async () => {
    const folder = temporaryFolder();
    writeFileSync(join(folder, "weather"), "");
    const { code, stderr } = await runQuickly(["plugins", "new", "weather"], { home: temporaryFolder(), cwd: folder });
    expect({ code, lines: stderr.split("\n").length }).toEqual({ code: 2, lines: 2 });
  });
});

describe("a yes or no", () => {
  it("that is neither is asked again, and says what is wanted", async () => {
    const asked: string[] = [];
    const answers = ["maybe", "n"];
    const ask = (question: string): Promise<string> => {
      asked.push(question);
      return Promise.resolve(answers[asked.length - 1]!);
    };
    expect(await askYesNo(ask, "Call it?", true)).toBe(false);
    expect(asked).toEqual(["Call it? [Y/n] ", "Please answer y or n. Call it? [Y/n] "]);
  });
});

describe("policy check", () => {
  it("says of a folder that its files are not named, and of one that is not there that it is not", async () => {
    const notes = temporaryFolder();
    mkdirSync(join(notes, "a"));
    const paths = [notes, `${notes}/a/**`, `${notes}/b/**`];
    const policy = fileOf(
      `${POLICY}filesystem: { readable_paths: ${JSON.stringify(paths)} }\ntools: { allowed: [read_file] }\n`,
    );
    const { stdout } = await tried("policy", "check", policy);
    expect(stdout).toContain(`this names the folder only, and no file in it; write ${notes}/** for all of it`);
    expect(stdout).toContain(`there is no ${notes}/b on this machine`);
    expect(stdout).not.toContain(`no ${notes}/a on`);
    const servers = fileOf(
      `${POLICY}servers: { n: { command: [node, /x.mjs], filesystem: { allowed_paths: ["${notes}"] } } }\n`,
    );
    expect((await tried("policy", "check", servers)).stdout).toContain(
      `no file in it; write ${notes}/** for all of it`,
    );
  });

  it("says of a database that its secret names no server", async () => {
    const secret = `secrets: { url: { from: "env:HOME", hosts: [] } }`;
    const policy = fileOf(`${POLICY}databases: { shop: { secret: url } }\n${secret}\n`);
    const { stdout } = await tried("policy", "check", policy);
    expect(stdout).toContain(`the secret of "shop" has no hosts, so its server is not reached`);
  });

  it("says of hosts that no tool fetches them, and never to open where clouds keep credentials", async () => {
    const policy = fileOf(`${POLICY}network: { allowed_endpoints: [{ host: 169.254.169.254, ports: [80] }] }
tools: { allowed: [calculate] }\n`);
    const { stdout } = await tried("policy", "check", policy);
    expect(stdout).toContain("add web_fetch to tools.allowed for these hosts");
    expect(stdout).toContain("cloud machines get their credentials from this address");
  });

  it("fails for notes with --strict alone, and takes one policy", async () => {
    const policy = fileOf(`${POLICY}tools: { allowed: [calculat] }\n`);
    expect((await tried("policy", "check", policy)).code).toBe(0);
    expect((await tried("policy", "check", policy, "--strict")).code).toBe(1);
    const two = await tried("policy", "check", policy, "--policy", policy);
    expect(two).toMatchObject({ code: 2, stderr: expect.stringContaining("is given two policies") as never });
  });

  it("shows how an endpoint is written", async () => {
    const policy = fileOf(`${POLICY}network: { allowed_endpoints: [docs.python.org] }\n`);
    const { stderr } = await tried("policy", "check", policy);
    expect(stderr).toContain('network.allowed_endpoints[0] must be a mapping; write { host: "docs.python.org" }');
  });
});

describe("policy test", () => {
  it("refuses a tool that does not exist, which every policy denies", async () => {
    const { code, stderr } = await tried("policy", "test", fileOf("cases:\n  - deny: web_serch query=x\n"));
    expect({ code, stderr }).toEqual({
      code: 2,
      stderr: expect.stringMatching(/:2:11: There is no tool "web_serch"; did you mean "web_search"\?/) as never,
    });
  });

  it("says of a policy that it is one", async () => {
    const { stderr } = await tried("policy", "test", fileOf(POLICY));
    expect(stderr).toContain("this is a policy; name a file with cases");
  });
});

describe("policy explain", () => {
  it("says that a host which is allowed is fetched by nobody", async () => {
    const { stdout } = await tried("policy", "explain", "fetch", "https://duckduckgo.com/");
    expect(stdout).toContain("note: web_search asks its search engine alone, and no tool");
  });

  it("advises nobody to open where clouds keep credentials", async () => {
    const { stdout } = await tried("policy", "explain", "fetch", "http://169.254.169.254/");
    expect(stdout).toContain("leave it so");
    expect(stdout).not.toContain("add it to");
  });

  it("says what is missing of a URL or a command line", async () => {
    expect((await tried("policy", "explain", "fetch", "docs.python.org")).stdout).toContain("begin it with https://");
    expect((await tried("policy", "explain", "run", "ls", "-la")).stderr).toContain("put -- before it");
  });
});

it("policy show names a tool once that a preset and the file allow", async () => {
  const policy = fileOf(`${POLICY}extends: offline\ntools: { allowed: [calculate] }\n`);
  const { stdout } = await tried("policy", "show", policy);
  expect(stdout.match(/calculate/g)).toHaveLength(1);
});

it("-V is the version", async () => {
  expect(await tried("-V")).toEqual(await tried("--version"));
});

describe("sandbox", () => {
  it("starts nothing that the policy blocks, by its name, its path or a link to it", async () => {
    const home = temporaryFolder();
    const name = basename(process.execPath);
    const policy = fileOf(`${POLICY}sandbox: none\ncommands: { blocked: [${name.toUpperCase()}] }\n`);
    symlinkSync(process.execPath, join(home, "other"));
    for (const program of [process.execPath, name, join(home, "other")]) {
      const ran = await run(["sandbox", "--policy", policy, "--", program, "-e", "console.log('ran')"], { home });
      expect(ran, program).toMatchObject({ code: 2, stdout: "" });
      expect(ran.stderr).toMatch(/blocks the command .*commands\.blocked.*line \d+/);
    }
    const others = fileOf(`${POLICY}sandbox: none\ncommands: { blocked: [curl] }\n`);
    const ran = await run(["sandbox", "--policy", others, "--", name, "-e", "console.log('ran')"], { home });
    expect(ran).toMatchObject({ code: 0, stdout: "ran\n" });
  });
});

describe("what this program does itself", () => {
  const SERVER = fileURLToPath(new URL("small-program.mjs", import.meta.url));

  it("leaves records: a sandboxed command, a recording, a call of another server", async () => {
    const home = temporaryFolder();
    const policy = fileOf(`${POLICY}sandbox: none\n`);
    const ours = (...args: string[]): Promise<Ran> => run(args, { home });
    await ours("sandbox", "--policy", policy, "--", process.execPath, "-e", "process.exit(3)");
    await ours("record", join(home, "session.jsonl"), "--", process.execPath, SERVER);
    await ours("call", "echo", "text=hi", "--yes", "--", process.execPath, SERVER);
    const { stdout } = await ours("audit", "query", "--json");
    const records = stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(records.map(({ kind, tool, outcome }) => [kind, tool, outcome])).toEqual([
      ["sandbox.begun", "sandbox", undefined],
      ["sandbox.ended", "sandbox", "error"],
      ["recording.begun", "record", undefined],
      ["recording.ended", "record", undefined],
      ["call.intent", "echo", undefined],
      ["call.result", "echo", "ok"],
    ]);
  });

  it("asks before it calls a tool that does not say it destroys nothing", () => {
    expect([{}, { readOnlyHint: false }, { destructiveHint: true }].map(mayDestroy)).toEqual([true, true, true]);
    expect([{ readOnlyHint: true }, { destructiveHint: false }].map(mayDestroy)).toEqual([false, false]);
  });

  it("is read, prompted and inspected like any other server", async () => {
    expect((await tried("read", "server://info")).stdout).toContain('"mcp-secure-local"');
    expect((await tried("prompt", "code_review", "code=x+y")).stdout).toContain("x+y");
    expect((await tried("inspect", "--json")).stdout).toContain('"calculate"');
    expect((await tried("call", "calculat", "expression=1")).stderr).toContain('did you mean "calculate"?');
  });
});

describe("limits", () => {
  it("name the key that raises them", async () => {
    const policy = fileOf(`${POLICY}tools: { allowed: [calculate], rate_limits: { calculate: 1 } }\n`);
    const { stderr } = await tried("call", "calculate", "expression=1", "--policy", policy);
    expect(stderr).toBe("");
    expect(limited("calls of x", 1, { waitMs: 1, key: "tools.rate_limits.x" }).text).toContain("tools.rate_limits.x");
    expect(timedOut({ kind: "tool", name: "import_csv", path: "" }, 30_000, { task: false })).toContain(
      "tools.timeouts.import_csv",
    );
    expect(stoppedText("sales", 10_000)).toContain("databases.sales.timeout");
  });
});

describe("the policy at its usual place", () => {
  it("is what policy init writes and every command reads", async () => {
    const home = temporaryFolder();
    const here = (...args: string[]): Promise<Ran> => runQuickly(args, { home });
    expect((await here("policy", "init", "--yes", "--preset", "offline")).stdout).toContain("Every command reads it");
    const usual = join(home, ".config/mcp-secure-local/policy.yaml");
    expect((await here("policy", "explain", "fetch", "https://a.example/")).stdout).toContain(`by ${usual}`);
    expect((await here("policy", "check")).stdout).toContain(usual);
    expect((await here("tools")).stdout).not.toContain("web_search");
    writeFileSync(usual, "version: [");
    expect((await here("tools")).code).toBe(2);
  });
});

describe("policy init", () => {
  it("takes several folders, divided as people divide them", async () => {
    const [notes, data] = [temporaryFolder(), temporaryFolder()];
    for (const answer of [`${notes}, ${data}`, `${notes} ${data}`, `${data},${notes}`]) {
      const answers = [answer, "n", "n", ""];
      const { readable } = await askWishes(() => Promise.resolve(answers.shift() ?? ""), undefined);
      expect(readable.toSorted()).toEqual([notes, data].toSorted());
    }
  });

  it("says what it allows, and denies nothing unasked", async () => {
    const home = temporaryFolder();
    const { stdout } = await runQuickly(["policy", "init", "--yes"], { home });
    expect(stdout).toContain("Tools: web_search, calculate, get_timestamp");
    expect(readFileSync(join(home, ".config/mcp-secure-local/policy.yaml"), "utf8")).toContain("denied_paths: []");
  });
});

describe("a person who is asked", () => {
  const call = { tool: "write_file", principal: "owner", rules: [], timeoutMs: 60_000, id: "09e9" };

  it("sees what the call reaches for first, and which client asks", () => {
    const text = shownCall({
      ...call,
      client: "Claude 1.0",
      arguments: { mode: "w", content: "x", path: "/home/ada/plan.txt" },
    });
    const lines = text!.split("\n");
    expect(lines[2]).toContain('"path": "/home/ada/plan.txt"');
    expect(text).toContain('Asked by the client that calls itself "Claude 1.0" ("owner")');
  });

  it("is told that y is no answer, and how long there is", async () => {
    let asked = "";
    const ask = (prompt: string): Promise<string> => ((asked = prompt), Promise.resolve("y"));
    const answers: string[] = [];
    const answer: PendingQuestion["answer"] = (given) => {
      answers.push(given);
      return Promise.resolve({ answer: given, counted: true });
    };
    vi.spyOn(process.stderr, "write").mockReturnValue(true);
    await answerOne(
      {
        id: "09e9aa",
        text: "?",
        remember: undefined,
        secondsLeft: 41.2,
        until: Date.now() + 41_200,
        gone: new AbortController().signal,
        answer,
      },
      ask,
    );
    vi.restoreAllMocks();
    expect(asked).toContain("42 s left. Type the code 09e9");
    expect(answers).toEqual(["deny"]);
  });
});

it("a server that ended is told in lines of their own", async () => {
  const { stderr } = await tried("inspect", "--", process.execPath, "-e", 'console.error("boom");process.exit(1)');
  expect(stderr).toMatch(/\n {2}boom\n {2}Before that: .*the program ended when it was asked/);
});

it("a head that cannot be written leaves nothing beside the log", () => {
  const log = join(temporaryFolder(), "audit.log");
  mkdirSync(`${log}.head`);
  expect(() => writeHead(log, { seq: 1, hash: "x" })).toThrow();
  expect(readdirSync(dirname(log))).toEqual(["audit.log.head"]);
});

describe("Ctrl-C", () => {
  it("ends a conversation with the code that shells give it", () => {
    vi.spyOn(process.stderr, "write").mockReturnValue(true);
    const code = tellFailure(new InterruptedError("interrupted"), { json: false, debug: false });
    vi.restoreAllMocks();
    expect(code).toBe(130);
  });

  it(
    "cancels a call of our own, which leaves nothing half-done behind and its end on record",
    { timeout: 60_000 },
    async () => {
      const home = temporaryFolder();
      const data = temporaryFolder();
      const rows = Array.from({ length: 400_000 }, (_, at) => `${at},name of ${at}`).join("\n");
      writeFileSync(join(data, "big.csv"), `id,name\n${rows}\n`);
      const policy = fileOf(`${POLICY}tools: { allowed: [import_csv] }
filesystem: { readable_paths: [${JSON.stringify(`${data}/**`)}] }
databases: { big: { file: ${JSON.stringify(join(data, "big.sqlite"))}, read_only: false } }
`);
      const child = start(["call", "import_csv", `file=${join(data, "big.csv")}`, "--policy", policy], { home });
      child.stderr.resume();
      await expect
        .poll(() => readdirSync(data).some((name) => name.includes("copy-")), { interval: 5, timeout: 20_000 })
        .toBe(true);
      child.kill("SIGINT");
      const [code] = (await once(child, "exit")) as [number | null];
      expect(code).toBe(130);
      expect(readdirSync(data).filter((name) => name.includes("copy-"))).toEqual([]);
      const { stdout } = await runQuickly(["audit", "query"], { home });
      expect(stdout).toMatch(/import_csv .*cancelled/);
    },
  );
});

it("plugins new says that an older Node skips the test of a TypeScript plugin", async () => {
  const { stdout } = await runQuickly(["plugins", "new", "wts", "ts"], {
    home: temporaryFolder(),
    cwd: temporaryFolder(),
  });
  const reads = (process.features as { readonly typescript?: unknown }).typescript !== undefined;
  expect(stdout.includes("skips the test")).toBe(!reads);
  expect(stdout).toContain("mcp-secure-local call wts_greet");
});

it("tools fit the width of a terminal", async () => {
  const { isTTY, columns } = process.stdout;
  Object.assign(process.stdout, { isTTY: true, columns: 60 });
  const { stdout } = await runInThread(["tools"], { home: temporaryFolder(), env: { NO_COLOR: "1" } });
  Object.assign(process.stdout, { isTTY, columns });
  expect(stdout.split("\n").filter((line) => line.length > 60)).toEqual([]);
});
