// Writes the programs of the mistakes, has them compiled, runs those the compiler lets pass, and says who noticed.
import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { root, run } from "../lib/run-command.mjs";
import { FROM_FINDINGS } from "./findings.mjs";
import { MORE } from "./more.mjs";

export const MISTAKES = [...FROM_FINDINGS, ...MORE];

/** Who noticed, best first. "the client": it is answered with the fault, and whoever wrote the server sees nothing. */
export const NOTICED = ["the compiler", "registration", "the log", "the client", "nobody"];

/** No program has anything to wait for: one that hangs is ended, and told as such. */
const PROGRAM_MS = 20_000;
/** What a server that was told to end may still write. */
const END_MS = 2_000;

/** How the programs of a library begin and end, and where its packages lie. */
export const LIBRARIES = {
  ours: {
    packages: { "@secure-local/mcp": join(root, "packages/mcp"), zod: join(root, "node_modules/zod") },
    begin: `import { image, Server } from "@secure-local/mcp/server";
      import { scopeRules, staticTokenAuthenticator } from "@secure-local/mcp/auth";
      import { toFetch } from "@secure-local/mcp/fetch";
      import { serveStdio } from "@secure-local/mcp/stdio";`,
    server: `const server = new Server({ name: "a", version: "1" });`,
    end: `await serveStdio(server);`,
  },
  v2: {
    packages: {
      "@modelcontextprotocol/server": join(root, "node_modules/@modelcontextprotocol/server"),
      zod: join(root, "node_modules/zod"),
    },
    begin: `import { fromJsonSchema, McpServer, requireScopes, ResourceTemplate } from "@modelcontextprotocol/server";
      import { StdioServerTransport } from "@modelcontextprotocol/server/stdio";`,
    server: `const server = new McpServer({ name: "a", version: "1" }, { capabilities: { logging: {} } });`,
    end: `await server.connect(new StdioServerTransport());`,
  },
  fastmcp: {
    begin: `import { FastMCP, jsonSchemaAdapter } from "fastmcp";`,
    server: `const server = new FastMCP({ name: "a", version: "1.0.0" });`,
    end: `await server.start({ transportType: "stdio" });`,
  },
};

const COMPILER = {
  strict: true,
  target: "es2022",
  module: "nodenext",
  skipLibCheck: true,
  types: ["node"],
  typeRoots: [join(root, "node_modules/@types")],
  noUnusedLocals: false,
};

const sideOf = (text, side) =>
  text.replaceAll(/<<([\s\S]*?)\|\|([\s\S]*?)>>/g, (_, wrong, right) => (side === "wrong" ? wrong : right));

/** What is asked of a server with the mistake, or with what was meant. */
const askedOf = ({ ask = ["tools/call", { name: "t", arguments: {} }] }, side) =>
  JSON.parse(sideOf(JSON.stringify(ask), side));

/** A program with the mistake, or with what was meant. */
function programText({ begin, server, end }, body, side) {
  const chosen = sideOf(body, side);
  const made = /\bconst server = new \w+\(/.test(chosen) ? "" : server;
  return `${begin}\nimport { z } from "zod";\nvoid z;\n${made}\n${chosen}\n${end}\n`;
}

/** Writes and compiles all programs of a library: the compiler's words by file name. */
async function compiled(folder, library, mistakes) {
  for (const [name, place] of Object.entries(library.packages)) {
    const link = join(folder, "node_modules", name);
    mkdirSync(dirname(link), { recursive: true });
    symlinkSync(place, link);
  }
  writeFileSync(join(folder, "package.json"), '{ "type": "module" }\n');
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions: COMPILER, include: ["*.ts"] }));
  for (const { index, body } of mistakes) {
    for (const side of ["wrong", "right"]) {
      writeFileSync(join(folder, `${index}-${side}.ts`), programText(library, body, side));
    }
  }
  const { output } = await run("tsc", ["-p", folder, "--pretty", "false"], { cwd: folder, env: { GOGC: "off" } });
  const faults = new Map();
  for (const [, name, words] of output.matchAll(/(\d+-\w+)\.ts\(\d+,\d+\): error (.*)/g)) {
    if (!faults.has(name)) faults.set(name, words);
  }
  return faults;
}

/** One server on standard input and output, asked for its list and then what the mistake is about. */
async function conversation(file, [method, params]) {
  const child = spawn(process.execPath, [file], { stdio: "pipe", timeout: PROGRAM_MS, killSignal: "SIGKILL" });
  let stderr = "";
  child.stderr.setEncoding("utf8").on("data", (text) => (stderr += text));
  child.stdin.on("error", () => undefined);
  const ended = new Promise((resolve) => child.once("close", () => resolve(undefined)));
  const waiting = new Map();
  const noise = [];
  const send = (message) => child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
  createInterface({ input: child.stdout }).on("line", (line) => {
    let message;
    try {
      message = JSON.parse(line);
    } catch {
      noise.push(line);
      return;
    }
    if (message.method === "elicitation/create") {
      send({ id: message.id, result: { action: "accept", content: { sure: true } } });
    } else waiting.get(message.id)?.(message);
  });
  let last = 0;
  const ask = (what, given) => {
    const id = ++last;
    const answer = new Promise((resolve) => waiting.set(id, resolve));
    send({ id, method: what, params: given });
    return Promise.race([answer, ended]);
  };
  const clientInfo = { name: "mistakes", version: "1" };
  const opened = await ask("initialize", {
    protocolVersion: "2025-11-25",
    capabilities: { elicitation: {} },
    clientInfo,
  });
  const served = opened !== undefined;
  const answers = [];
  if (served) {
    send({ method: "notifications/initialized" });
    if (method === "tools/call") answers.push(await ask("tools/list", {}));
    answers.push(await ask(method, params));
  }
  child.stdin.end();
  const late = setTimeout(() => child.kill("SIGKILL"), END_MS);
  await ended;
  clearTimeout(late);
  return { served, stderr, noise, answers };
}

/** The page with the table, and where it stands on it. */
export const PAGE = join(root, "docs/library/mistakes.md");
const TABLE = /^\| mistake \|[^]*?\n(?=\n)/m;

/** The table of columns by name, each as `judge` gives it. */
export function mistakeTable(columns) {
  const names = Object.keys(columns);
  const row = (cells) => `| ${cells.join(" | ")} |`;
  const rows = MISTAKES.map(({ what }, index) => row([what, ...names.map((name) => columns[name][index]?.by ?? "–")]));
  const sums = NOTICED.map((by) =>
    row([`**${by}**`, ...names.map((name) => columns[name].filter((cell) => cell?.by === by).length)]),
  );
  return `${[row(["mistake", ...names]), row(["---", ...names.map(() => "---")]), ...rows, ...sums].join("\n")}\n`;
}

export const tableOf = (page) => TABLE.exec(page)?.[0];
export const withTable = (page, table) => page.replace(TABLE, () => table);

const refused = (answer) => answer === undefined || answer.error !== undefined || answer.result?.isError === true;

/** Who noticed, by what was seen. */
function noticedBy({ names }, { served, stderr, answers }) {
  const named = names.test(stderr);
  if (!served) return { by: named ? "registration" : "nobody", words: stderr };
  if (named) return { by: "the log", words: stderr };
  if (answers.some(refused) && names.test(JSON.stringify(answers)))
    return { by: "the client", words: JSON.stringify(answers) };
  return { by: "nobody", words: JSON.stringify(answers) };
}

/** The line of somebody's words that names the fault. */
const lineOf = ({ names }, words) => words.split("\n").find((line) => names.test(line) && !/^\s*at /.test(line)) ?? "";

/** What a program without the mistake may not do: a mistake that shows in none would be one of the program. */
function faultOfRight({ quiet = true }, { served, stderr, noise, answers }) {
  if (!served) return `does not serve: ${stderr.slice(0, 500)}`;
  const wrong = answers.find(refused);
  if (wrong !== undefined || answers.length === 0)
    return `is not answered: ${JSON.stringify(wrong)} ${stderr.slice(0, 500)}`;
  if (noise.length > 0) return `writes ${noise[0]}`;
  return quiet && /error|warning/i.test(stderr) ? `complains: ${stderr.slice(0, 500)}` : undefined;
}

async function inTurn(items, work) {
  const left = items.entries();
  const results = [];
  const lane = async () => {
    for (const [at, item] of left) results[at] = await work(item);
  };
  await Promise.all(Array.from({ length: availableParallelism() }, lane));
  return results;
}

/**
 * Judges the mistakes for one library, in the order of `MISTAKES`: `{ by, words }` with who noticed and what was said, or undefined
 * where the library has no place to make it. With `meant`, also runs what was meant, and rejects unless that is served quietly.
 */
export async function judge(name, { packages, meant = false } = {}) {
  const library = { ...LIBRARIES[name], ...(packages === undefined ? {} : { packages }) };
  const folder = mkdtempSync(join(tmpdir(), "mistakes-"));
  try {
    const programs = MISTAKES.flatMap((mistake, index) =>
      mistake[name] === undefined ? [] : [{ mistake, index, body: mistake[name] }],
    );
    const faults = await compiled(folder, library, programs);
    const spoilt = [];
    const results = await inTurn(programs, async ({ mistake, index }) => {
      const talk = (side) => conversation(join(folder, `${index}-${side}.js`), askedOf(mistake, side));
      const compiles = faults.get(`${index}-right`);
      const right = compiles ?? (meant ? faultOfRight(mistake, await talk("right")) : undefined);
      if (right !== undefined) spoilt.push(`${name}: ${mistake.what}: what was meant ${right}`);
      const words = faults.get(`${index}-wrong`);
      if (words !== undefined) return { by: "the compiler", words };
      const found = noticedBy(mistake, await talk("wrong"));
      return { by: found.by, words: found.by === "nobody" ? found.words : lineOf(mistake, found.words) };
    });
    if (spoilt.length > 0) throw new Error(spoilt.join("\n"));
    const byMistake = new Map(programs.map(({ mistake }, at) => [mistake, results[at]]));
    return MISTAKES.map((mistake) => byMistake.get(mistake));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
