// Paths that the policy names are what they were when it was loaded: a link that a program may put on the way leads nowhere.
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, expect, it, onTestFinished } from "vitest";
import { PolicyDatabases } from "../../src/capabilities/databases/policy-databases.js";
import { rememberBases } from "../../src/capabilities/files/bases.js";
import { logTail } from "../../src/capabilities/files/file-system.js";
import { parsePolicy } from "../../src/policy/parse-policy.js";
import type { Policy } from "../../src/policy/policy.js";
import { tree } from "./tree.js";
import "../databases/plain-wasm.js";

/** What the program opens by itself because the policy names it. */
interface Kind {
  readonly section: (path: string) => object;
  readonly fill: (path: string, text: string) => void;
  /** What is in the file, or the code of the refusal. */
  readonly open: (policy: Policy) => Promise<string>;
  /** Which of the places of a link are tried. */
  readonly links: readonly string[];
}

/** What becomes a link, of `top/mid/file`. */
const LINKS = ["top/mid/file", "top/mid", "top"];

const CODE = (error: unknown): string => (error as { readonly code?: string }).code ?? String(error);

const NOTHING: AsyncIterable<never[]> = (async function* () {})();
const SAMPLES = mkdtempSync(join(tmpdir(), "named-"));
afterAll(() => rmSync(SAMPLES, { recursive: true }));

/** A database that holds the text, made once. */
function sample(text: string): string {
  const path = join(SAMPLES, text);
  if (existsSync(path)) return path;
  const { Database } = createRequire(import.meta.url)("node-sqlite3-wasm") as typeof import("node-sqlite3-wasm");
  const database = new Database(path);
  database.exec(`CREATE TABLE t (v TEXT); INSERT INTO t VALUES ('${text}')`);
  database.close();
  return path;
}

const KINDS: Readonly<Record<string, Kind>> = {
  log: {
    section: (path) => ({ prompts: { analyze_logs: { log_file: path } } }),
    fill: (path, text) => writeFileSync(path, text),
    open: (policy) => logTail(() => policy, [])(100).catch(CODE),
    links: LINKS,
  },
  database: {
    section: (path) => ({ databases: { d: { file: path, read_only: false } } }),
    fill: (path, text) => copyFileSync(sample(text), path),
    open: async (policy) => {
      const databases = new PolicyDatabases(() => policy);
      onTestFinished(() => databases.close());
      const { signal } = new AbortController();
      const found = await databases
        .query({ database: "d", sql: "SELECT * FROM t", limit: 1, signal })
        .then(({ rows: [row] }) => (typeof row?.[0] === "string" ? row[0] : "nothing"), CODE);
      if (found !== "denied") return found;
      // Nor is it written.
      const table = { database: "d", table: "more", columns: [], replace: false, batches: NOTHING, signal };
      return databases.importTable(table).then(() => "written", CODE);
    },
    // Each look takes a thread.
    links: [LINKS[1] as string],
  },
};
/** Who may write the folder in which the link is put; nobody, for the control. */
const WRITERS: Readonly<Record<string, (folder: string) => object>> = {
  "a plugin": (folder) => ({
    plugins: { load: [{ name: "p", path: "/opt/p", filesystem: { allowed_paths: [`${folder}/**`] } }] },
  }),
  "a server": (folder) => ({
    servers: { s: { command: ["/usr/bin/s"], filesystem: { allowed_paths: [`${folder}/**`] } } },
  }),
  "a command's folder": (folder) => ({
    filesystem: { allowed_paths: [`${folder}/**`] },
    commands: { allowed: [{ name: "make", executable: "/usr/bin/make", working_directory: folder }] },
  }),
  "a command told what to write": (folder) => ({
    filesystem: { allowed_paths: [`${folder}/**`] },
    commands: { allowed: [{ name: "tar", executable: "/usr/bin/tar", arguments: [{ path: "write" }] }] },
  }),
  nobody: () => ({}),
};

const cases = Object.keys(KINDS).flatMap((kind) =>
  Object.keys(WRITERS).flatMap((writer) => ["before", "after"].map((moment) => ({ kind, writer, moment }))),
);

it.each(cases)("a $kind behind a link that $writer put there $moment the load", async (given) => {
  const { section, fill, open, links } = KINDS[given.kind] as Kind;
  for (const [index, link] of links.entries()) {
    const t = tree();
    const file = join(t.inside, "top/mid/file");
    const target = join(index % 2 === 0 ? t.outside : join(t.inside, "else"), "to");
    for (const folder of [dirname(file), join(target, "top/mid")]) mkdirSync(folder, { recursive: true });
    fill(file, "ours");
    fill(join(target, "top/mid/file"), "theirs");
    const put = (): void => {
      renameSync(join(t.inside, link), join(t.inside, "kept"));
      symlinkSync(join(target, link), join(t.inside, link));
    };
    if (given.moment === "before") put();
    const policy = await parsePolicy(
      JSON.stringify({ version: "1.0", ...section(file), ...WRITERS[given.writer]?.(t.inside) }),
      { file: "/nowhere/policy.yaml", environment: {} },
    );
    rememberBases(policy);
    if (given.moment === "after") {
      expect(await open(policy)).toBe("ours");
      put();
    }
    const found = await open(policy);
    if (given.writer === "nobody" && given.moment === "before") expect(found, link).toBe("theirs");
    else expect(found, link).toMatch(/^(?:denied|link)$/);
  }
});
