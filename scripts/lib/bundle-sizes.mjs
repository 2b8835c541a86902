// Bundles small programs that use the installed library by esbuild, rollup and webpack, and measures what comes out.
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { nodeResolve } from "@rollup/plugin-node-resolve";
import terser from "@rollup/plugin-terser";
import { build } from "esbuild";
import { rollup } from "rollup";
import webpack from "webpack";

/**
 * The programs, and the most that one may load at its start: KB of 1024 bytes, compressed by gzip. `absent` are words of
 * the part of the library that has no business there.
 */
const PROGRAMS = {
  "one error class": {
    most: 2,
    code: `import { LocalError } from "@secure-local/mcp/client";
      console.log(LocalError);`,
  },
  "browser client": {
    most: 45,
    absent: ["BAD_TOOL", "belongs to a call this server no longer has"],
    code: `import { connect } from "@secure-local/mcp/client";
      const client = await connect("https://example.com/mcp");
      console.log(await client.tools());`,
  },
  "fetch server": {
    most: 77,
    absent: ["ConnectError"],
    code: `import { Server } from "@secure-local/mcp/server";
      import { toFetch } from "@secure-local/mcp/fetch";
      const server = new Server({ name: "a", version: "1" });
      server.tool("hello", { run: () => "hello" });
      export default { fetch: toFetch(server) };`,
  },
  // A server of tools alone, whose schemas bring what they need. Older revisions, questions, subscriptions, and whatever asks callers
  // who they are, come with the first request that needs them.
  "lean fetch server": {
    most: 40,
    absent: ["ConnectError", "unresolved-reference", "working"],
    code: `import { LeanServer } from "@secure-local/mcp/server";
      import { toFetch } from "@secure-local/mcp/fetch";
      const server = new LeanServer({ name: "a", version: "1" });
      server.tool("hello", { run: () => "hello" });
      export default { fetch: toFetch(server) };`,
  },
};

async function byEsbuild(entry, outdir) {
  const options = { bundle: true, minify: true, splitting: true, format: "esm", platform: "browser", target: "es2022" };
  await build({ ...options, entryPoints: { main: entry }, outdir, logLevel: "error" });
}

async function byRollup(entry, dir) {
  const made = await rollup({ input: { main: entry }, plugins: [nodeResolve(), terser({ module: true })] });
  await made.write({ dir, format: "esm", entryFileNames: "[name].js", chunkFileNames: "[name].js" });
  await made.close();
}

function byWebpack(entry, path) {
  const output = { path, filename: "main.js", chunkFilename: "[name].js", module: true, library: { type: "module" } };
  const compiler = webpack({
    mode: "production",
    target: ["web", "es2022"],
    entry: { main: entry },
    output,
    experiments: { outputModule: true },
    performance: { hints: false },
  });
  return new Promise((resolve, reject) => {
    compiler.run((error, stats) => {
      const fault = error ?? (stats.hasErrors() ? new Error(stats.toString("errors-only")) : undefined);
      compiler.close(() => (fault === undefined ? resolve() : reject(fault)));
    });
  });
}

const BUNDLERS = { esbuild: byEsbuild, rollup: byRollup, webpack: byWebpack };

/** The files that `folder`/main.js loads at once: static imports only, in the words of any of the three. */
function loadedAtOnce(folder) {
  const loaded = new Set(["main.js"]);
  for (const name of loaded) {
    const text = readFileSync(join(folder, name), "utf8");
    for (const [, other] of text.matchAll(/(?:\bfrom|\bimport)\s*"\.\/([^"]+\.js)"/g)) loaded.add(other);
  }
  return [...loaded].map((name) => readFileSync(join(folder, name)));
}

const compressed = (texts) => texts.reduce((sum, text) => sum + gzipSync(text, { level: 9 }).length / 1024, 0);

/**
 * Bundles each program in `folder`, in whose node_modules the library is installed.
 * @returns {Promise<{ program: string, bundler: string, start: number, all: number, most: number, found: string[] }[]>}
 * `start`: KB compressed that are loaded at once; `all`: with what is loaded later; `found`: words that should be absent.
 */
export async function bundleSizes(folder) {
  const rows = [];
  for (const [program, { code, most, absent = [] }] of Object.entries(PROGRAMS)) {
    const entry = join(folder, `${program.replaceAll(" ", "-")}.mjs`);
    writeFileSync(entry, code);
    for (const [bundler, bundle] of Object.entries(BUNDLERS)) {
      const out = join(folder, "bundles", `${program} ${bundler}`);
      rmSync(out, { recursive: true, force: true });
      mkdirSync(out, { recursive: true });
      await bundle(entry, out);
      const files = readdirSync(out).filter((name) => name.endsWith(".js"));
      const texts = files.map((name) => readFileSync(join(out, name)));
      const found = absent.filter((word) => texts.some((text) => text.includes(word)));
      rows.push({ program, bundler, start: compressed(loadedAtOnce(out)), all: compressed(texts), most, found });
    }
  }
  return rows;
}

/** The rows that hold too much. */
export function tooLarge(rows) {
  return rows.filter(({ start, most, found }) => start > most || found.length > 0);
}

/** The rows as text. */
export function sizeTable(rows) {
  const lines = rows.map(({ program, bundler, start, all, most, found }) => {
    const held = found.length === 0 ? "" : `; holds ${found.join(", ")}`;
    return `${program} by ${bundler}: ${start.toFixed(1)} KB at the start (at most ${most}), ${all.toFixed(1)} in all${held}`;
  });
  return `${lines.join("\n")}\n`;
}
