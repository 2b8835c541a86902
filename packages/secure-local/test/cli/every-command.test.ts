// What holds for every command there is: --json prints JSON, and no page of a stack trace reaches a person.
import { spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { COMMAND_PAGES } from "../../src/cli/command-reference.js";
import { COMMON_OPTIONS, OPTION_PAGES } from "../../src/cli/option-reference.js";
import { ExitCode } from "../../src/cli/terminal.js";
import { temporaryFolder } from "../audit/temporary-folder.js";
import { COMMAND, environmentOf, type Ran, run, start } from "./command.js";
import { runInThread, runQuickly } from "./command-in-thread.js";

const SMALL = fileURLToPath(new URL("small-program.mjs", import.meta.url));

/** A home with something of everything in it. */
let home = "";
const at = (name: string): string => join(home, name);

beforeAll(() => {
  home = temporaryFolder(afterAll);
  const sandbox = { servers: { a: { command: "node", args: [], sandbox: { network: { allowedDomains: [] } } } } };
  writeFileSync(at("vscode.json"), JSON.stringify(sandbox));
  const configured = { mcpServers: { small: { command: process.execPath, args: [SMALL] } } };
  writeFileSync(at("mcp.json"), JSON.stringify(configured));
  writeFileSync(at("cases.yaml"), "cases:\n  - allow: calculate expression=1\n");
  writeFileSync(at("plugin.mjs"), "export default {};\n");
  writeFileSync(at("session.jsonl"), "");
  mkdirSync(at("src"));
  for (const args of [
    ["policy", "init", "--yes"],
    ["call", "calculate", "expression=1"],
  ])
    spawnSync(process.execPath, [COMMAND, ...args], { env: environmentOf(home) });
});

const TARGET = ["--", process.execPath, SMALL];

/** Each command of the reference as it is typed, once at least; those in FOREVER go on until they are ended. */
const TYPED = (): Readonly<Record<string, readonly string[][]>> => ({
  tools: [["tools"], ["tools", ...TARGET]],
  call: [
    ["call", "calculate", "expression=2"],
    ["call", "echo", "text=hi", "--yes", ...TARGET],
  ],
  attach: [["attach"]],
  read: [["read", "server://info"]],
  prompt: [["prompt", "code_review", "code=x"]],
  approve: [["approve"]],
  status: [["status"]],
  "policy init": [["policy", "init", at("another.yaml"), "--yes"]],
  "policy check": [["policy", "check"]],
  "policy show": [["policy", "show"]],
  "policy map": [
    ["policy", "map"],
    ["policy", "map", "--force", "--output", at("map.svg")],
  ],
  "policy explain": [["policy", "explain", "calculate"]],
  "policy test": [["policy", "test", at("cases.yaml")]],
  "policy import": [["policy", "import", "vscode", at("vscode.json")]],
  "policy export": [["policy", "export", "vscode"]],
  "audit query": [["audit", "query"]],
  "audit report": [["audit", "report", "--force", "--output", at("report.html")]],
  "audit verify": [["audit", "verify"]],
  "audit archive": [["audit", "archive", at("archive")]],
  "audit restored": [["audit", "restored", "a disk"]],
  "servers list": [["servers", "list"]],
  "servers add": [["servers", "add", "small", "http://127.0.0.1:9/mcp"]],
  "servers review": [["servers", "review"]],
  "servers show": [["servers", "show", "small"]],
  "servers test": [["servers", "test", "nobody"]],
  "servers import": [
    ["servers", "import", "nobody"],
    ["servers", "import", at("mcp.json")],
    ["servers", "import", at("mcp.json"), "--yes"],
  ],
  install: [
    ["install", "nobody"],
    ["install", "cursor"],
    ["install", "cursor", "--yes"],
    ["install", "cursor", "--yes"],
    ["install", "--print"],
    ["install", "windsurf", "--move", "--yes"],
  ],
  uninstall: [
    ["uninstall", "nobody"],
    ["uninstall", "cursor"],
    ["uninstall", "cursor"],
  ],
  "servers restart": [["servers", "restart", "nobody"]],
  "servers stop": [["servers", "stop", "nobody"]],
  "servers logs": [["servers", "logs", "small"]],
  "servers login": [["servers", "login", "nobody"]],
  "servers logout": [["servers", "logout", "nobody"]],
  "servers run": [["servers", "run", "nobody"]],
  "servers remove": [["servers", "remove", "small"]],
  "plugins list": [["plugins", "list"]],
  "plugins lock": [["plugins", "lock"]],
  "plugins new": [["plugins", "new", "weather"]],
  "plugins hash": [["plugins", "hash", at("plugin.mjs")]],
  sandbox: [["sandbox", "--env", "A", "--", "true"]],
  list: [["list", "--config", at("mcp.json")]],
  inspect: [["inspect", ...TARGET]],
  doctor: [["doctor"]],
  record: [["record", at("session.jsonl"), ...TARGET]],
  replay: [["replay", at("session.jsonl"), ...TARGET]],
  trust: [["trust", "small", "--config", at("mcp.json")]],
  migrate: [["migrate", at("src")]],
  completion: [["completion", "bash"]],
  help: [["help"], ["help", "man"], ["--version"], ["tools", "--help"], ["polcy"], []],
});
const FOREVER = (): Readonly<Record<string, string[]>> => ({
  serve: ["serve", "--port", "0"],
  console: ["console"],
  bridge: ["bridge", "--port", "0", ...TARGET],
  "audit tail": ["audit", "tail"],
});

/** What reads its input to the end, or ends the process by itself, is a process always. */
const OF_ITS_OWN = new Set(["approve", "attach", "record", "replay", "sandbox", "servers run", "trust"]);

function withJson(args: readonly string[]): string[] {
  const target = args.indexOf("--");
  return target < 0 ? [...args, "--json"] : [...args.slice(0, target), "--json", ...args.slice(target)];
}

/** Whether all of it is one JSON value, or one in each line. */
function isJson(text: string): boolean {
  const parses = (part: string): boolean => {
    try {
      JSON.parse(part);
      return true;
    } catch {
      return false;
    }
  };
  return text === "" || parses(text) || text.trimEnd().split("\n").every(parses);
}

const names = COMMAND_PAGES.map(({ name }) => name);
/** What Node writes of an exception nobody caught, and what our last handler says of one it does not know. */
const TRACE = /\n\s+at .*:\d+|node:internal|UnhandledPromise|something unexpected/;

it("every command is tried here", () => {
  expect([...Object.keys(TYPED()), ...Object.keys(FOREVER())].toSorted()).toEqual(names.toSorted());
});

describe("--json", () => {
  it.each(names.filter((name) => Object.hasOwn(TYPED(), name)))("of %s prints JSON", async (name) => {
    for (const [time, args] of TYPED()[name]!.entries()) {
      const how = time === 0 || OF_ITS_OWN.has(name) ? run : runQuickly;
      const { stdout, stderr } = await how(withJson(args), { home, cwd: home });
      expect(isJson(stdout), stdout).toBe(true);
      expect(isJson(stderr), stderr).toBe(true);
      expect(stdout + stderr === "" && name !== "record", name).toBe(false);
    }
  });

  it.each(names.filter((name) => Object.hasOwn(FOREVER(), name)))("of %s begins with JSON", async (name) => {
    const child = start(withJson(FOREVER()[name]!), { home, cwd: home });
    let stdout = "";
    child.stderr.resume();
    await new Promise<void>((resolve) => {
      child.stdout.setEncoding("utf8").on("data", (text: string) => {
        stdout += text;
        if (isJson(stdout)) resolve();
      });
      child.once("close", () => resolve());
    });
    child.kill("SIGTERM");
    await once(child, "close");
    expect(isJson(stdout)).toBe(true);
  });
});

/** Nobody may make anything there, root neither. */
const readOnly = process.platform === "linux" ? "/sys" : "/dev";
const READ_ONLY = "every folder can only be read, the current one too";
const NOWHERE = (folder: string): Record<string, string> => ({
  XDG_STATE_HOME: folder,
  XDG_CONFIG_HOME: folder,
  XDG_DATA_HOME: folder,
  XDG_CACHE_HOME: folder,
});

const DOCUMENTED = new Set<number | null>(Object.values(ExitCode));

/** A failure is words of our own with what and where, under a code that the pages name. */
function judge({ code, stdout, stderr }: Ran, about: string): void {
  expect(stdout + stderr, about).not.toMatch(TRACE);
  expect(DOCUMENTED, about).toContain(code);
  if (code !== ExitCode.Ok) expect((stdout + stderr).trim(), about).not.toBe("");
}

describe("each option", () => {
  const pages = COMMAND_PAGES.map((page) => [page.name, page] as const);
  const optionsOf = ({ options = [] }: (typeof COMMAND_PAGES)[number]): readonly string[] => [
    ...options,
    ...COMMON_OPTIONS,
  ];

  it.each(pages)("of %s that is typed wrongly is named, and nothing is done", async (name, page) => {
    const typed = name.split(" ");
    for (const option of optionsOf(page)) {
      const value = OPTION_PAGES[option]?.value;
      const wrong =
        value === undefined ? [[`${option}=x`]] : [[option], [`${option}=`], [option, ""], [option, "--json"]];
      if (value !== undefined && !REPEATED.has(option)) wrong.push([option, "1", option, "2"]);
      for (const words of [...wrong, [`${option}x`], ["--nonsuch"], ["-q"]]) {
        const about = [...typed, ...words].join(" ");
        // Refused before anything is done, by the same lines as in the built program.
        const ran = await runInThread([...typed, ...words], { home, cwd: home });
        judge(ran, about);
        expect([ran.code, ran.stderr], about).toEqual([
          ExitCode.Usage,
          expect.stringContaining(words[0]!.split("=")[0]!),
        ]);
      }
    }
  });

  it.each(pages.filter(([name]) => Object.hasOwn(TYPED(), name) && !OF_ITS_OWN.has(name)))(
    "of %s with a value that cannot be is told of in words",
    async (name, page) => {
      const [args] = TYPED()[name]!;
      for (const option of optionsOf(page)) {
        const value = OPTION_PAGES[option]?.value;
        if (value === undefined) continue;
        for (const wrong of value === "FILE" || value === "FOLDER" ? ["/dev/null/x", home] : ["\u0001 ?", "-1"]) {
          const given = args!.indexOf("--");
          const at = given < 0 ? args!.length : given;
          const words = args!.toSpliced(at, 0, `${option}=${wrong}`);
          judge(await runInThread(words, { home, cwd: home }), words.join(" "));
        }
      }
    },
  );
});

/** Options that may come several times. */
const REPEATED = new Set(["--header", "--env", "--origin", "--public-host", "--ignore", "--only"]);

describe("surroundings that are broken", () => {
  const file = (): string => at("plugin.mjs");
  const folder = (): string => at("src");
  const broken: Readonly<Record<string, () => Record<string, string>>> = {
    "every folder of the person is a file": () => ({
      HOME: file(),
      XDG_STATE_HOME: file(),
      XDG_CONFIG_HOME: file(),
      XDG_DATA_HOME: file(),
      XDG_CACHE_HOME: file(),
    }),
    "policy and log are folders, no program is found and the time zone is none": () => ({
      MCP_SECURE_LOCAL_POLICY: folder(),
      MCP_SECURE_LOCAL_AUDIT: folder(),
      PATH: "",
      TZ: "Nowhere/None",
    }),
    "there is no home": () => ({ HOME: "", ...NOWHERE("") }),
    "the home leads nowhere": () => ({ HOME: "/dev/null/home", ...NOWHERE("") }),
    [READ_ONLY]: () => NOWHERE(`${readOnly}/mcp`),
  };

  it.each(names.filter((name) => Object.hasOwn(TYPED(), name)))("make %s say so in its own words", async (name) => {
    for (const about of Object.keys(broken)) {
      for (const args of TYPED()[name]!) {
        // Without words it serves, until its input ends.
        const how = OF_ITS_OWN.has(name) || args.length === 0 ? run : runQuickly;
        const cwd = about === READ_ONLY ? readOnly : home;
        judge(await how(args, { home, cwd, env: broken[about]!() }), `${args.join(" ")}, while ${about}`);
      }
    }
  });
});
