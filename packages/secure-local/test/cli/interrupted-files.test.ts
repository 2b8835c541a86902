// Commands that write files, ended in the middle by Ctrl-C or by a disk that takes no more: what people had is as it was, or whole
// as it was to be, and nothing else is left behind.
import { spawnSync } from "node:child_process";
import {
  cpSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { closeSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { bodyHash, GENESIS, lineBody, sealText } from "../../src/audit/event-text.js";
import { archivePath, archivesOf } from "../../src/audit/log-file.js";
import { temporaryFolder } from "../audit/temporary-folder.js";
import { COMMAND, environmentOf, run } from "./command.js";
import { hasTerminals, interrupted } from "./ctrl-c.js";

/** More than can be verified or copied between two looks of a test. */
const RECORDS = 120_000;
/** A file of that size holds nothing and takes no room; nobody reads to its end. */
const ENDLESS = 2 ** 40;
const SOURCE = `import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";\n`;
const SOURCES = 800;
const MOST_TRIES = 5;

let long = "";
let last = { seq: RECORDS, hash: GENESIS };

/** The lines of a log that nobody waited for. */
function lines(from: { seq: number; hash: string }, count: number): { text: string; last: typeof from } {
  const all: string[] = [];
  let { seq, hash: prev } = from;
  for (let at = 0; at < count; at++) {
    const body = lineBody((seq += 1), prev, ',"kind":"call.intent","tool":"calculate"');
    prev = bodyHash(body);
    all.push(body + sealText(prev));
  }
  return { text: all.join(""), last: { seq, hash: prev } };
}

beforeAll(() => {
  const made = lines({ seq: 0, hash: GENESIS }, RECORDS);
  long = join(temporaryFolder(afterAll), "audit.log");
  writeFileSync(long, made.text);
  ({ last } = made);
});

/** A home with a policy, a client's file, and sources of a server; its log is put there by whoever needs one. */
interface Home {
  readonly home: string;
  readonly log: string;
  readonly policy: string;
  readonly client: string;
  readonly sources: string;
}

function homeWithFiles(): Home {
  const home = temporaryFolder();
  const client = join(home, ".cursor/mcp.json");
  const policy = join(home, "policy.yaml");
  const state = join(home, "state/mcp-secure-local");
  const sources = join(home, "src");
  for (const folder of [join(home, ".cursor"), state, sources]) mkdirSync(folder, { recursive: true });
  const filler = "x".repeat(20_000);
  const servers = { notes: { command: "node", args: ["notes.js"], env: { API_TOKEN: "ghp_0123456789abcdef" } } };
  writeFileSync(client, JSON.stringify({ filler, mcpServers: servers }, null, 2));
  writeFileSync(policy, `version: "1.0"\nsandbox: none\n# ${filler}\n`, { mode: 0o600 });
  return { home, log: join(state, "audit.log"), policy, client, sources };
}

/** All files of a home with what they hold, but those that every command may leave. */
function filesOf({ home }: Home): Record<string, string> {
  const names = readdirSync(home, { recursive: true, withFileTypes: true }).filter((each) => each.isFile());
  const paths = names.map((each) => join(each.parentPath, each.name));
  const ours = paths.filter((path) => !/code-key$|\.cache/.test(path));
  return Object.fromEntries(ours.map((path) => [path.slice(home.length + 1), readFileSync(path, "latin1")]));
}

function endless(log: string): void {
  closeSync(openSync(log, "w"));
  truncateSync(log, ENDLESS);
}

interface Case {
  readonly args: (its: Home) => string[];
  readonly prepare?: (its: Home) => void;
  readonly moment: (shown: string, its: Home) => boolean;
  /** What is right besides all files being as they were. */
  readonly also?: (its: Home) => Promise<void> | void;
  /** Files may have been changed whole, each as `also` says. */
  readonly changes?: true;
  /** Something was started before, and that is on record. */
  readonly records?: true;
}

const CASES: Readonly<Record<string, Case>> = {
  "audit verify": {
    args: () => ["audit", "verify"],
    prepare: ({ log }) => cpSync(long, log),
    moment: (shown) => /verifying .*audit\.log …/.test(shown),
  },
  "audit query": {
    args: () => ["audit", "query"],
    prepare: ({ log }) => endless(log),
    moment: (shown) => shown.includes("outcome"),
  },
  "audit report": {
    args: ({ home }) => ["audit", "report", "--output", join(home, "week.html")],
    prepare: ({ log }) => endless(log),
    moment: (shown) => /reading .*audit\.log …/.test(shown),
  },
  "audit archive": {
    args: ({ home }) => ["audit", "archive", join(home, "archive")],
    prepare({ log }) {
      cpSync(long, archivePath(log, RECORDS));
      writeFileSync(log, lines(last, 3).text);
    },
    moment: (_shown, { home }) => existsSync(join(home, "archive")) && readdirSync(join(home, "archive")).length > 0,
    changes: true,
    async also({ home, log }) {
      expect(readdirSync(join(home, "archive")).filter((name) => name.endsWith(".part"))).toEqual([]);
      expect(await run(["audit", "verify"], { home })).toMatchObject({ code: 0 });
      expect(await run(["audit", "archive", join(home, "archive")], { home })).toMatchObject({ code: 0 });
      expect(archivesOf(log)).toEqual([]);
      expect((await run(["audit", "verify"], { home })).stdout).toContain("continues from");
    },
  },
  "servers import": {
    args: ({ policy }) => ["servers", "import", "cursor", "--policy", policy],
    moment: (shown) => shown.includes("Write this server into"),
  },
  install: {
    args: ({ policy }) => ["install", "cursor", "--policy", policy],
    moment: (shown) => shown.includes("Write this into"),
  },
  "install --move": {
    args: ({ policy }) => ["install", "cursor", "--move", "--policy", policy],
    moment: (shown) => shown.includes("Write this into"),
    records: true,
  },
  migrate: {
    args: ({ sources }) => ["migrate", sources],
    prepare: ({ sources }) => {
      for (let at = 0; at < SOURCES; at++) writeFileSync(join(sources, `${at}.ts`), SOURCE);
    },
    moment: (shown) => /rewriting \d{3,} of 800 sources …/.test(shown),
    changes: true,
    also({ sources }) {
      const names = readdirSync(sources);
      const texts = new Set(names.map((name) => readFileSync(join(sources, name), "utf8")));
      expect(names).toHaveLength(SOURCES);
      expect([...texts].toSorted()).toEqual(
        [SOURCE, `import { McpServer } from "@secure-local/mcp/compat";\n`].toSorted(),
      );
    },
  },
};

describe.runIf(hasTerminals)("Ctrl-C in the middle", () => {
  it.each(Object.keys(CASES))("of %s leaves no file half-written", { timeout: 90_000 }, async (name) => {
    const { args, prepare, moment, also, changes, records } = CASES[name]!;
    const isEndless = name === "audit query" || name === "audit report";
    let its!: Home;
    let before: Record<string, string> = {};
    let [code, shown]: [number | null, string] = [0, ""];
    // On a busy machine a command may have come to its end before the key did, and the terminal may lose its last words.
    for (let tries = 0; tries < MOST_TRIES && (code === 0 || shown.endsWith("^C")); tries++) {
      its = homeWithFiles();
      prepare?.(its);
      before = changes || isEndless ? {} : filesOf(its);
      [code, shown] = await interrupted({ args: args(its), home: its.home }, (text) => moment(text, its));
    }
    expect({ code, shown }).toMatchObject({ code: 130, shown: expect.stringContaining("interrupted") as string });
    expect(shown).not.toMatch(/\n\s+at .*:\d+|node:internal/);
    if (isEndless) expect(readdirSync(its.home)).not.toContain("week.html");
    else if (!changes) {
      const after = Object.entries(filesOf(its)).filter(
        // A Node outside of the system's folders is started from a copy, which is kept by its hash; the log's keys are its own.
        ([path]) => records !== true || !/audit\.log|audit-record-key|mcp-secure-local\/programs\//.test(path),
      );
      expect(Object.fromEntries(after)).toEqual(before);
    }
    await also?.(its);
  });
});

describe.runIf(process.platform !== "win32")("a disk that takes no more", () => {
  const cases: Readonly<Record<string, (its: Home) => string[]>> = {
    install: ({ policy }) => ["install", "cursor", "--yes", "--policy", policy],
    "servers import": ({ policy }) => ["servers", "import", "cursor", "--yes", "--policy", policy],
    "servers add": ({ policy }) => ["servers", "add", "far", "http://127.0.0.1:9/mcp", "--policy", policy],
    migrate: ({ sources }) => ["migrate", sources],
  };

  it.each(Object.keys(cases))("leaves what %s was to change as it was, and says so", (name) => {
    const its = homeWithFiles();
    writeFileSync(join(its.sources, "server.ts"), SOURCE + "/".repeat(20_000));
    const wanted = filesOf(its);
    const args = cases[name]!(its);
    const sh = ["-c", 'ulimit -f 16; exec "$0" "$@"', process.execPath, COMMAND, ...args];
    const ran = spawnSync("sh", sh, { env: environmentOf(its.home), encoding: "utf8" });
    expect({ status: ran.status, stderr: ran.stderr }).toEqual({
      status: 2,
      stderr: expect.stringMatching(/^mcp-secure-local: \S+ cannot be written \(.*as it was; see to .*\n$/) as never,
    });
    const after = filesOf(its);
    for (const [path, text] of Object.entries(wanted)) expect(after[path] === text, path).toBe(true);
    expect(Object.keys(after).filter((path) => path.endsWith(".new"))).toEqual([]);
  });
});
