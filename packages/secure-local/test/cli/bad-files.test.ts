// Every command and option that reads a file by name, held against what may lie there in place of one: each ends soon, with an exit code
// of the documentation, and says in one sentence which file it is and what to do.
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import * as fs from "node:fs";
import { createServer } from "node:net";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it, onTestFinished } from "vitest";
import { COMMAND_PAGES } from "../../src/cli/command-reference.js";
import { EXIT_CODES, OPTION_PAGES } from "../../src/cli/option-reference.js";
import { pipeAt } from "../audit/rescued-pipe.js";
import { temporaryFolder } from "../audit/temporary-folder.js";
import { COMMAND, environmentOf, type Ran, run } from "./command.js";
import { runInThread } from "./command-in-thread.js";

const SMALL = fileURLToPath(new URL("small-program.mjs", import.meta.url));
const TARGET = ["--", process.execPath, SMALL];
const URL_TARGET = "http://127.0.0.1:9/mcp";
const REDIS = ["--redis", "redis://127.0.0.1:9"];
const POLICY = ".config/mcp-secure-local/policy.yaml";
const STATE = "state/mcp-secure-local";

interface Reader {
  /** What is typed, after the file was put where it is named. */
  readonly typed: (file: string, home: string) => readonly string[];
  /** Where the file lies below the home. */
  readonly at?: string;
  readonly env?: (file: string) => Readonly<Record<string, string>>;
  /** Of what is no file: where it is not that of a wrong command line. */
  readonly code?: number;
  /** What it finds besides, by paths below the home. */
  readonly beside?: Readonly<Record<string, string>>;
  /** It goes on until it is ended where the file can be read, or writes it. */
  readonly only?: "no file";
  /** A folder is meant as well. */
  readonly folders?: true;
  /** What a file holds, or that there is none, is no fault of the file: what is said then is about something else. */
  readonly mayHold?: true;
  /** The library says it, in words of the system. */
  readonly library?: true;
}

const EMPTY_POLICY = { [POLICY]: 'version: "1.0"\n' };
const WITH_SERVER = { [POLICY]: `version: "1.0"\nservers:\n  far:\n    url: ${URL_TARGET}\n` };
const STARTED = { format: "mcp-recording", version: 1, target: "node a.mjs", startedAt: "2026-01-01T00:00:00.000Z" };
const RECORDING = { "sound.jsonl": `${JSON.stringify({ ...STARTED, session: "YBsizD9Of2XB" })}\n` };
const secretIn = (file: string): string =>
  `version: "1.0"\nsecrets:\n  key:\n    from: ${JSON.stringify(`file:${file}`)}\n    hosts: [a.example]\n    header: X-Key\n`;

/** By what is read, as a person would say it. */
const READERS: Readonly<Record<string, Reader>> = {
  "tools --policy": { typed: (file) => ["tools", "--policy", file] },
  "tools, by MCP_SECURE_LOCAL_POLICY": {
    typed: () => ["tools"],
    env: (file) => ({ MCP_SECURE_LOCAL_POLICY: file }),
  },
  "tools, the policy in its usual place": { typed: () => ["tools"], at: POLICY },
  "serve --policy": { typed: (file) => ["serve", "--port", "0", "--policy", file], only: "no file" },
  "console --policy": { typed: (file) => ["console", "--policy", file], only: "no file" },
  "sandbox --policy": { typed: (file) => ["sandbox", "--policy", file, "--", "true"], only: "no file" },
  "install --policy": { typed: (file) => ["install", "cursor", "--policy", file] },
  "plugins list --policy": { typed: (file) => ["plugins", "list", "--policy", file] },
  "plugins lock --policy": { typed: (file) => ["plugins", "lock", "--policy", file] },
  "servers list --policy": { typed: (file) => ["servers", "list", "--policy", file] },
  "servers add --policy": { typed: (file) => ["servers", "add", "a", URL_TARGET, "--policy", file] },
  "servers remove --policy": { typed: (file) => ["servers", "remove", "a", "--policy", file] },
  "servers review --policy": { typed: (file) => ["servers", "review", "--policy", file] },
  "status --policy": { typed: (file) => ["status", "--policy", file], code: 1 },
  "doctor --policy": { typed: (file) => ["doctor", "--policy", file], code: 1 },
  "policy init": { typed: (file) => ["policy", "init", file, "--yes"], only: "no file" },
  "policy check": { typed: (file) => ["policy", "check", file] },
  "policy show": { typed: (file) => ["policy", "show", file] },
  "policy map": { typed: (file) => ["policy", "map", file] },
  "policy map --output": { typed: (file) => ["policy", "map", "--output", file, "--force"], only: "no file" },
  "policy explain --policy": { typed: (file) => ["policy", "explain", "calculate", "--policy", file] },
  "policy test": { typed: (file) => ["policy", "test", file] },
  "policy import": { typed: (file) => ["policy", "import", "vscode", file] },
  "policy export": { typed: (file) => ["policy", "export", "vscode", file] },
  "audit verify": { typed: (file) => ["audit", "verify", file], folders: true },
  "audit verify --audit": { typed: (file) => ["audit", "verify", "--audit", file] },
  "audit verify, a log in a folder": {
    typed: (file) => ["audit", "verify", dirname(file)],
    at: "logs/more.log",
    folders: true,
  },
  "audit verify --share-key": { typed: (file, home) => ["audit", "verify", home, ...REDIS, "--share-key", file] },
  "audit query --audit": { typed: (file) => ["audit", "query", "--audit", file] },
  "audit tail --audit": { typed: (file) => ["audit", "tail", "--audit", file], code: 1, only: "no file" },
  "audit report --audit": {
    typed: (file, home) => ["audit", "report", "--audit", file, "--output", join(home, "report.html")],
  },
  "audit report --output": {
    typed: (file) => ["audit", "report", "--output", file, "--force"],
    beside: { [`${STATE}/audit.log`]: "" },
    only: "no file",
  },
  "audit archive --audit": { typed: (file, home) => ["audit", "archive", join(home, "to"), "--audit", file], code: 1 },
  "audit restored --audit": { typed: (file) => ["audit", "restored", "a disk", "--audit", file], code: 1 },
  "call --audit": { typed: (file) => ["call", "calculate", "expression=1", "--audit", file], code: 1 },
  "serve --audit": { typed: (file) => ["serve", "--port", "0", "--audit", file], code: 1, only: "no file" },
  "sandbox --audit": { typed: (file) => ["sandbox", "--audit", file, "--", "true"], code: 1, only: "no file" },
  "console --audit": { typed: (file) => ["console", "--audit", file], only: "no file" },
  "status --audit": { typed: (file) => ["status", "--audit", file], code: 1 },
  "doctor --audit": { typed: (file) => ["doctor", "--audit", file], code: 1 },
  "call, the head of the log": {
    typed: () => ["call", "calculate", "expression=1"],
    at: `${STATE}/audit.log.head`,
    code: 1,
  },
  "audit verify, the journal": {
    typed: () => ["audit", "verify"],
    at: `${STATE}/audit.log.journal`,
    beside: { [`${STATE}/audit.log`]: "" },
  },
  "serve --tokens": { typed: (file) => ["serve", "--port", "0", "--tokens", file] },
  "serve, its token": { typed: () => ["serve", "--port", "0"], at: ".config/mcp-secure-local/token" },
  "status, the token of serve": { typed: () => ["status"], at: ".config/mcp-secure-local/token", code: 1 },
  "serve --share-key": { typed: (file) => ["serve", "--port", "0", ...REDIS, "--share-key", file] },
  "doctor --share-key": { typed: (file) => ["doctor", ...REDIS, "--share-key", file] },
  "tools --token-file": { typed: (file) => ["tools", URL_TARGET, "--token-file", file] },
  "doctor --token-file": { typed: (file) => ["doctor", URL_TARGET, "--token-file", file] },
  "bridge --token-file": { typed: (file) => ["bridge", URL_TARGET, "--token-file", file] },
  "record --token-file": {
    typed: (file, home) => ["record", join(home, "new.jsonl"), URL_TARGET, "--token-file", file],
  },
  "replay --token-file": {
    typed: (file, home) => ["replay", join(home, "sound.jsonl"), URL_TARGET, "--token-file", file],
    beside: RECORDING,
  },
  "tools, the tokens of servers": {
    mayHold: true,
    library: true,
    typed: () => ["tools", URL_TARGET],
    env: (file) => ({ MCP_SECURE_LOCAL_CLIENT_TOKENS: file }),
    code: 3,
  },
  record: { typed: (file) => ["record", file, ...TARGET], only: "no file" },
  "record --append": { typed: (file) => ["record", file, "--append", ...TARGET], only: "no file" },
  "record --force": { typed: (file) => ["record", file, "--force", ...TARGET], only: "no file" },
  replay: { typed: (file) => ["replay", file] },
  "replay TARGET": { typed: (file) => ["replay", file, ...TARGET] },
  "list --config": { typed: (file) => ["list", "--config", file] },
  "inspect --config": { typed: (file) => ["inspect", "a", "--config", file] },
  "trust --config": { typed: (file) => ["trust", "a", "--config", file] },
  "sandbox --config": { typed: (file) => ["sandbox", "--config", file, "a"] },
  "servers import": { typed: (file) => ["servers", "import", file], beside: EMPTY_POLICY },
  "servers import, the file of a client": {
    typed: () => ["servers", "import", "cursor"],
    at: ".cursor/mcp.json",
    beside: EMPTY_POLICY,
  },
  "install, the file of a client": { typed: () => ["install", "cursor"], at: ".cursor/mcp.json" },
  "uninstall, the file of a client": { typed: () => ["uninstall", "cursor"], at: ".cursor/mcp.json" },
  "servers list, what was approved": {
    mayHold: true,
    typed: () => ["servers", "list"],
    at: `${POLICY}.servers.lock`,
    beside: WITH_SERVER,
    code: 1,
  },
  "call, a value of a file": { mayHold: true, typed: (file) => ["call", "calculate", `expression=@${file}`] },
  "status, a secret": {
    typed: (_file, home) => ["status", "--policy", join(home, "secret.yaml")],
    beside: { "secret.yaml": secretIn("FILE") },
    code: 1,
  },
  "doctor, a secret": {
    typed: (_file, home) => ["doctor", "--policy", join(home, "secret.yaml")],
    beside: { "secret.yaml": secretIn("FILE") },
    code: 1,
  },
  "plugins hash": { typed: (file) => ["plugins", "hash", file], code: 1, folders: true },
  migrate: { typed: (file) => ["migrate", file], folders: true },
};

it("holds every option and argument that names a file", () => {
  const typed = Object.values(READERS).map(({ typed: words }) => words("FILE", "HOME"));
  const options = Object.entries(OPTION_PAGES).filter(([, { value }]) => value === "FILE");
  for (const [option] of options)
    expect(
      typed.some((words) => words.includes(option)),
      option,
    ).toBe(true);
  const pages = COMMAND_PAGES.filter(({ usage }) => /FILE|PATH/.test(usage)).map(({ name }) => name);
  for (const page of pages)
    expect(
      typed.some((words) => words.join(" ").startsWith(page) && words.includes("FILE")),
      page,
    ).toBe(true);
});

interface Kind {
  readonly put: (file: string) => void;
  /** A file all the same: what it holds is for its reader to judge. */
  readonly isFile?: true;
}

const KINDS: Readonly<Record<string, Kind>> = {
  "a pipe": { put: pipeAt },
  "a folder": { put: (file) => fs.mkdirSync(file) },
  "a device": { put: (file) => fs.symlinkSync("/dev/zero", file) },
  "a socket": { put: (file) => fs.linkSync(socket, file) },
  "an empty file": { put: (file) => fs.writeFileSync(file, "", { mode: 0o600 }), isFile: true },
  "a file with a NUL": { put: (file) => fs.writeFileSync(file, "a\0b: [\n", { mode: 0o600 }), isFile: true },
  "a file of a gigabyte": {
    put(file) {
      fs.writeFileSync(file, "", { mode: 0o600 });
      fs.truncateSync(file, 2 ** 30);
    },
    isFile: true,
  },
  "a link that leads nowhere": { put: (file) => fs.symlinkSync("nowhere", file), isFile: true },
};

/** What `a socket` puts everywhere. */
let socket = "";
async function listenAt(path: string): Promise<void> {
  const server = createServer().listen(path);
  onTestFinished(() => void server.close());
  await once(server, "listening");
  socket = path;
}

/** Where a link leads: commands that change a file, or copy it, say that. */
function led(file: string): string {
  return fs.lstatSync(file).isSymbolicLink() && fs.existsSync(file) ? fs.realpathSync(file) : file;
}

interface Typed {
  readonly args: readonly string[];
  readonly home: string;
  readonly file: string;
  readonly env: Readonly<Record<string, string>>;
}

function prepared({ typed, at = "bad.yaml", env, beside = {} }: Reader, put: Kind["put"]): Typed {
  const home = temporaryFolder();
  const file = join(home, at);
  for (const [path, text] of Object.entries(beside)) {
    fs.mkdirSync(dirname(join(home, path)), { recursive: true });
    fs.writeFileSync(join(home, path), text.replace("FILE", file), { mode: 0o600 });
  }
  fs.mkdirSync(dirname(file), { recursive: true });
  put(file);
  return { args: typed(file, home), home, file, env: env?.(file) ?? {} };
}

const CODES = new Set(EXIT_CODES.map(([code]) => code));
/** A stack, or words that are nobody's. */
const POORLY = "says it poorly";
const POOR =
  /\n +at |unexpected went wrong|the system refused|TypeError|allocation|\bEN[A-Z]+: |\bE[A-Z]{3,}\b.*, (?:open|read) '/;

/** What is wrong with how it ended; undefined where nothing is. */
function faultOf(
  { code, stdout, stderr }: Ran,
  file: readonly string[],
  wanted: number | undefined,
): string | undefined {
  const said = stdout + stderr;
  if (code === null || !CODES.has(code)) return `ended with ${code}`;
  if (wanted !== undefined && code !== wanted) return `ended with ${code}, not ${wanted}`;
  if (POOR.test(said)) return POORLY;
  // Tables of status and doctor are wrapped at any place.
  if (code !== 0 && !file.some((each) => said.replaceAll(/\s+/g, "").includes(each))) return "names no file";
  if (wanted !== undefined && stderr.trim().split("\n").length > 1) return "says more than a sentence";
  return undefined;
}

describe.skipIf(process.platform === "win32")("in the place of a file", () => {
  describe.each(Object.entries(KINDS))("%s", (_kind, { put, isFile }) => {
    const readers = Object.entries(READERS).filter(([, { only }]) => !isFile || only === undefined);

    it.each(readers)("%s", { timeout: 60_000 }, async (_name, reader) => {
      await listenAt(join(temporaryFolder(), "socket"));
      const { args, home, file, env } = prepared(reader, put);
      const isMeant = reader.folders === true && fs.statSync(file, { throwIfNoEntry: false })?.isDirectory();
      const ran = await runInThread(args, { home, env });
      const named = isFile && reader.mayHold ? [""] : reader.folders ? [dirname(file), led(file)] : [file, led(file)];
      const fault = faultOf(ran, named, isFile || isMeant ? undefined : (reader.code ?? 2));
      if (reader.library === undefined || fault !== POORLY) expect(fault, ran.stderr || ran.stdout).toBeUndefined();
    });
  });

  it("a pipe, of the built command", { timeout: 60_000 }, async () => {
    for (const name of ["replay", "tools --token-file", "audit verify"]) {
      const { args, home, file } = prepared(READERS[name] as Reader, pipeAt);
      expect(faultOf(await run(args, { home }), [file], 2), name).toBeUndefined();
    }
  });

  it("a file that one may not read", { timeout: 240_000 }, async (context) => {
    const names = ["tools --policy", "policy test", "policy import", "audit verify", "audit query --audit", "replay"];
    names.push("serve --tokens", "tools --token-file", "servers import", "list --config", "call, a value of a file");
    const asRoot = process.getuid?.() === 0;
    if (asRoot && !runsForNobody()) context.skip("root may read everything, and the command is in a folder of root's");
    const faults: Record<string, string> = {};
    for (const name of names) {
      const { args, home, file, env } = prepared(READERS[name] as Reader, (path) => {
        fs.writeFileSync(path, "x", { mode: 0o600 });
        if (!asRoot) fs.chmodSync(path, 0);
      });
      const ran = asRoot ? await runAsNobody(args, home, file) : await runInThread(args, { home, env });
      const fault = faultOf(ran, [file], 2);
      if (fault !== undefined) faults[name] = `${fault}: ${ran.stderr}`;
    }
    expect(faults).toEqual({});
  });
});

/** The user nobody, as nearly every system numbers it. */
const NOBODY = { uid: 65_534, gid: 65_534 };

function runsForNobody(): boolean {
  try {
    execFileSync(process.execPath, [COMMAND, "--version"], { ...NOBODY, stdio: "ignore", env: {} });
    return true;
  } catch {
    return false;
  }
}

/** All of the home is nobody's but the file. */
async function runAsNobody(args: readonly string[], home: string, file: string): Promise<Ran> {
  const env = environmentOf(home);
  for (const path of ["", ...(fs.readdirSync(home, { recursive: true }) as string[])]) {
    if (join(home, path) !== file) fs.chownSync(join(home, path), NOBODY.uid, NOBODY.gid);
  }
  const child = spawn(process.execPath, [COMMAND, ...args], {
    ...NOBODY,
    env,
    cwd: home,
    stdio: ["ignore", "pipe", "pipe"],
  });
  const output = { stdout: "", stderr: "" };
  for (const name of ["stdout", "stderr"] as const)
    child[name].setEncoding("utf8").on("data", (text: string) => (output[name] += text));
  const [code] = (await once(child, "close")) as [number | null];
  return { code, ...output };
}
