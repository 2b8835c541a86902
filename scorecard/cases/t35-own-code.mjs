// T35: what the next start runs: the installed package by whatever way it was installed, the code kept for the next start, the
// key it is sealed with, Node, and the files that secrets come from. The built program is asked, and started again.
import { spawn, spawnSync } from "node:child_process";
import { createHash, createHmac, randomBytes } from "node:crypto";
import { once } from "node:events";
import {
  chmodSync,
  cpSync,
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join, relative } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { place, SECRET } from "../support/place.mjs";

export const goal = { id: "T35", title: "The program's own code", atLeast: 900, refusalMs: 5_000 };

const launcher = "packages/secure-local/launcher/launcher.cjs";
export const defences = [
  {
    name: "the installed package is not written",
    file: "secure-local/src/capabilities/files/own-files.ts",
    find: "const paths = [packageFolder(), process.argv[1], process.execPath]",
    replace: "const paths = [process.execPath]",
    built: true,
  },
  {
    name: "files that secrets come from are the program's own",
    file: "packages/secure-local/src/policy/granted-policy.ts",
    find: '(from.kind === "file" ? [from.path] : [])',
    replace: "(from.kind === undefined ? [] : [])",
    built: true,
  },
  {
    name: "files that the command line names are the program's own",
    file: "secure-local/src/cli/settings.ts",
    find: "[line.tokens, line.shareKey, line.socket]",
    replace: "[line.tokens]",
  },
  {
    name: "kept code is sealed",
    file: launcher,
    find: "return seal(name, code).equals(bytes.subarray(0, SEAL_BYTES)) ? code : undefined;",
    replace: "return code;",
    built: true,
  },
  {
    name: "a key that others can read seals nothing",
    file: launcher,
    find: "const OTHERS_CAN_ANYTHING = 0o077;",
    replace: "const OTHERS_CAN_ANYTHING = 0;",
    built: true,
  },
  {
    name: "the folder of kept code is the program's own",
    file: "packages/secure-local/src/cli/settings.ts",
    find: "[configFolder, stateFolder, dataFolder, cacheFolder]",
    replace: "[configFolder, stateFolder, dataFolder]",
    built: true,
  },
  {
    name: "the program's own files are known where they are mounted a second time",
    file: "packages/secure-local/src/capabilities/files/file-rules.ts",
    find: "return [...new Set([...linked, ...this.#views.namesOf(path), ...names])];",
    replace: "return linked;",
    built: true,
  },
];

const WALL = "bwrap";
const PACKAGE = fileURLToPath(new URL("../../packages/secure-local/", import.meta.url));
const PAGES = ["packages/secure-local/README.md", "docs/first-policy.md"];
const KEPT_AFTER_MS = 20_000;

/** Ways to install it below a folder: where the package is put, where links to it stand, and what is started. */
const INSTALLS = {
  "in a project": {
    real: "node_modules/mcp-secure-local",
    start: "node_modules/mcp-secure-local/dist/mcp-secure-local.cjs",
  },
  "by its link in .bin": {
    real: "node_modules/mcp-secure-local",
    links: { "node_modules/.bin/mcp-secure-local": "node_modules/mcp-secure-local/dist/mcp-secure-local.cjs" },
    start: "node_modules/.bin/mcp-secure-local",
  },
  "as npx does": {
    real: "home/.npm/_npx/0f1e/node_modules/mcp-secure-local",
    links: {
      "home/.npm/_npx/0f1e/node_modules/.bin/mcp-secure-local":
        "home/.npm/_npx/0f1e/node_modules/mcp-secure-local/dist/mcp-secure-local.cjs",
    },
    start: "home/.npm/_npx/0f1e/node_modules/.bin/mcp-secure-local",
  },
  "linked into a project": {
    real: "checkouts/guard",
    links: { "node_modules/mcp-secure-local": "checkouts/guard" },
    start: "node_modules/mcp-secure-local/dist/mcp-secure-local.cjs",
  },
  "with pnpm": {
    real: "node_modules/.pnpm/mcp-secure-local@0.1.0/node_modules/mcp-secure-local",
    links: {
      "node_modules/mcp-secure-local": "node_modules/.pnpm/mcp-secure-local@0.1.0/node_modules/mcp-secure-local",
    },
    start: "node_modules/mcp-secure-local/dist/mcp-secure-local.cjs",
  },
  "under a prefix": {
    real: "prefix/lib/node_modules/mcp-secure-local",
    links: { "prefix/bin/mcp-secure-local": "prefix/lib/node_modules/mcp-secure-local/dist/mcp-secure-local.cjs" },
    start: "prefix/bin/mcp-secure-local",
  },
  "under a name of its own": { real: "tools/guard", start: "tools/guard/dist/mcp-secure-local.cjs" },
};

export async function run(report, parts) {
  await named(report, parts);
  for (const [title, install] of Object.entries(INSTALLS)) await installed(report, title, install);
  await keptCode(report);
  await mounted(report);
  await foundByNpx(report);
}

/** Files that the command line names, in an allowed folder: plainly, by a link, and behind one. */
async function named(report, { parsePolicy, FileSystem, ownPlaces }) {
  report.kind("files of the program's own that the command line names", { found: "attack" });
  const at = place();
  const folder = join(at.base, "named");
  mkdirSync(join(folder, "real"), { recursive: true });
  symlinkSync("real", join(folder, "led"));
  for (const option of ["tokens", "shareKey", "socket"])
    for (const [how, name] of Object.entries({ plainly: "real/it", "below a link": "led/it", "by a link": "it" })) {
      rmSync(join(folder, "real/it"), { force: true });
      rmSync(join(folder, "it"), { force: true });
      writeFileSync(join(folder, "real/it"), SECRET);
      symlinkSync("real/it", join(folder, "it"));
      const text = `version: "1.0"\nfilesystem: { allowed_paths: ["${folder}/**"] }\n`;
      const policy = await parsePolicy(text, { file: "/nowhere/policy.yaml", environment: {} });
      const own = ownPlaces({ audit: undefined, [option]: join(folder, name) });
      const files = new FileSystem(() => policy, { own }).files();
      for (const path of ["real/it", "led/it", "it"]) {
        await report.attack(`${option} named ${how}, read as ${path}`, async () =>
          files.read(join(folder, path)).then(
            () => "it was read",
            ({ code, message }) => code === "denied" || message,
          ),
        );
        await report.attack(`${option} named ${how}, written as ${path}`, async () =>
          files.write(join(folder, path), Buffer.from("x")).then(
            () => "it was written",
            ({ code, message }) => code === "denied" || /is a link/.test(message) || message,
          ),
        );
      }
    }
}

/** What a container or a service mounts into an allowed folder: its own files, seen there a second time. */
async function mounted(report) {
  report.kind("the program's own files mounted a second time in an allowed folder", { found: "attack" });
  const at = place();
  const [own, granted] = [join(at.base, "own"), join(at.inside, "granted")];
  for (const folder of [
    own,
    join(granted, "m"),
    join(granted, "home"),
    join(at.inside, "home/.cache/mcp-secure-local"),
  ])
    mkdirSync(folder, { recursive: true });
  writeFileSync(join(granted, "file.yaml"), "");
  writeFileSync(join(own, "token"), SECRET);
  const policy = join(own, "policy.yaml");
  const text = `version: "1.0"
filesystem: { allowed_paths: ["${granted}/**"] }
tools: { allowed: ["*"] }
audit: { log_file: "${own}/log/audit.jsonl" }
secrets: { tok: { from: "file:${own}/token", hosts: [a.example] } }
`;
  writeFileSync(policy, text, { mode: 0o600 });
  const mounts = { [own]: "m", [join(at.inside, "home")]: "home", [policy]: "file.yaml" };
  const binds = Object.entries(mounts).flatMap(([from, to]) => ["--bind", from, join(granted, to)]);
  const calls = [
    ...["m/policy.yaml", "m/token", "file.yaml", "m/log/audit.jsonl"].map((name) => ["read_file", name, {}]),
    ...["m/policy.yaml", "m/token", "m/log/audit.lock", "m/policy.yaml.new", "home/.cache/mcp-secure-local/new"].map(
      (name) => ["write_file", name, { content: "x" }],
    ),
    ["list_directory", "home/.cache/mcp-secure-local", {}],
  ];
  const run = ([tool, name, more]) => {
    const args = JSON.stringify({ path: join(granted, name), ...more });
    const start = join(PACKAGE, "dist/mcp-secure-local.cjs");
    const words = [process.execPath, start, "call", "--yes", "--policy", policy, tool, args];
    return spawnSync(WALL, ["--dev-bind", "/", "/", ...binds, "--", ...words], {
      env: environment(at),
      encoding: "utf8",
    });
  };
  await report.benign(
    "a file beside what is mounted is written",
    () => run(["write_file", "plain.txt", { content: "x" }]).status === 0,
  );
  for (const call of calls)
    await report.attack(`${call[0]} ${call[1]}`, () => {
      const { stdout, stderr } = run(call);
      return /This name is protected/.test(stdout + stderr) || `${stdout}${stderr}`;
    });
  at.remove();
}

function put(at, { real, links = {} }) {
  const folder = join(at.inside, real);
  mkdirSync(folder, { recursive: true });
  for (const name of ["package.json", "dist"])
    cpSync(join(PACKAGE, name), join(folder, name), {
      recursive: true,
      filter: (path) => !/\/(?:types|plugins)$|\.(?:map|d\.ts|tsbuildinfo)$/.test(path),
    });
  for (const [name, target] of Object.entries(links)) {
    mkdirSync(dirname(join(at.inside, name)), { recursive: true });
    symlinkSync(relative(dirname(join(at.inside, name)), join(at.inside, target)), join(at.inside, name));
  }
  return folder;
}

function environment(at) {
  return { PATH: process.env.PATH, HOME: join(at.inside, "home") };
}

/** The program, started as an AI client does, with calls one after the other. */
class Served {
  #child;
  #lines;
  #id = 0;

  constructor(at, start, policy) {
    const args = [join(at.inside, start), "--policy", policy];
    this.#child = spawn(process.execPath, args, { env: environment(at), stdio: ["pipe", "pipe", "ignore"] });
    this.#lines = createInterface({ input: this.#child.stdout })[Symbol.asyncIterator]();
  }

  async open() {
    const clientInfo = { name: "scorecard", version: "1" };
    await this.#ask("initialize", { protocolVersion: "2025-06-18", capabilities: {}, clientInfo });
    this.#send({ method: "notifications/initialized" });
  }

  async call(name, args) {
    const { result, error } = await this.#ask("tools/call", { name, arguments: args });
    return { refused: error !== undefined || result.isError === true, text: JSON.stringify(error ?? result) };
  }

  async close() {
    this.#child.stdin.end();
    await once(this.#child, "close");
  }

  async #ask(method, params) {
    this.#id += 1;
    this.#send({ id: this.#id, method, params });
    for (;;) {
      const { value, done } = await this.#lines.next();
      if (done) throw new Error("the program ended");
      const message = JSON.parse(value);
      if (message.id === this.#id) return message;
    }
  }

  #send(message) {
    this.#child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
  }
}

function fingerprint(folder) {
  const hash = createHash("sha256");
  for (const name of readdirSync(folder, { recursive: true }).sort())
    hash.update(`${name}\n`).update(/\.(?:cjs|json)$/.test(name) ? readFileSync(join(folder, name)) : "");
  return hash.digest("hex");
}

async function installed(report, title, install) {
  report.kind(`own code: installed ${title}`, { found: "reader" });
  const at = place();
  const folder = put(at, install);
  const { real, links = {} } = install;
  const [policy, secret] = [join(at.inside, "conf/policy.yaml"), at.put("tokens/search", SECRET)];
  at.put(
    "conf/policy.yaml",
    `version: "1.0"
filesystem: { allowed_paths: ["${at.inside}/**"] }
secrets: { search: { from: "file:${secret}", hosts: [x.example] } }
tools:
  rate_limits: { default: 1000000 }
  allowed: [read_file, write_file, edit_file, list_directory]
`,
  );
  chmodSync(policy, 0o600);
  const before = fingerprint(folder);
  const served = new Served(at, install.start, policy);
  await served.open();
  const state = "home/.local/state/mcp-secure-local";
  symlinkSync(join(folder, "dist"), join(at.inside, "to-dist"));
  const code = [
    "dist/main.cjs",
    "dist/mcp-secure-local.cjs",
    "dist/sql-worker.cjs",
    "dist/new.cjs",
    "package.json",
    "node_modules/yaml/index.js",
  ];
  const targets = [
    ...code.flatMap((name) => [
      `${real}/${name}`,
      `${real}/./${name}`,
      `${dirname(real)}/x/../${real.split("/").at(-1)}/${name}`,
    ]),
    ...["to-dist/main.cjs", "to-dist/new.cjs"],
    ...Object.keys(links),
    ...Object.entries(links).flatMap(([name]) => [`${name}/dist/main.cjs`]),
    ...[`${real}/DIST/MAIN.CJS`, `${real.toUpperCase()}/dist/new.cjs`],
    ...[
      "home/.cache/mcp-secure-local/code-x-v1-x64-main.cjs.bin",
      "home/.cache/MCP-secure-local/x",
      `${state}/code-key`,
    ],
    ...[`${state}/audit.log`, "home/.config/mcp-secure-local/token", "home/.local/share/mcp-secure-local/tokens.json"],
    ...["conf/policy.yaml", "tokens/search", "tokens/SEARCH", "node_modules/mcp-secure-local/dist/other.cjs"],
    ...["node_modules/.bin/mcp-secure-local", "node_modules/.bin/mcp-secure-local.cmd"],
  ];
  for (const name of targets) {
    const path = join(at.inside, "x").slice(0, -1) + name;
    const ways = {
      write_file: { path, content: "process.stdout.write('FOREIGN')" },
      "write_file, new folders": { path, content: "process.stdout.write('FOREIGN')", create_folders: true },
      "write_file, base64": { path, content: Buffer.from("FOREIGN").toString("base64"), encoding: "base64" },
      edit_file: { path, edits: [{ old_text: "function", new_text: "FOREIGN" }] },
    };
    for (const [way, args] of Object.entries(ways))
      await report.attack(`${title}: ${way} ${name}`, async () => {
        const { refused, text } = await served.call(way.split(",")[0], args);
        return refused || text.slice(0, 300);
      });
  }
  for (const name of ["tokens/search", "tokens/Search", `${state}/code-key`, "conf/policy.yaml"])
    await report.attack(`${title}: read_file ${name}`, async () => {
      const { refused, text } = await served.call("read_file", { path: join(at.inside, name) });
      return (refused && !text.includes(SECRET)) || text.slice(0, 300);
    });
  await report.benign(`${title}: write beside it`, async () => {
    const path = join(at.inside, "src/config.ts");
    return !(await served.call("write_file", { path, content: "export {}", create_folders: true })).refused;
  });
  await report.benign(
    `${title}: read its own package.json`,
    async () => !(await served.call("read_file", { path: join(realpathSync(folder), "package.json") })).refused,
  );
  await served.close();
  if (fingerprint(folder) !== before) report.sideEffect(`${title}: the package was changed`);
  if (readFileSync(secret, "utf8") !== SECRET) report.sideEffect(`${title}: the secret was changed`);
  const { stdout } = spawnSync(process.execPath, [join(at.inside, install.start), "--version"], {
    env: environment(at),
    encoding: "utf8",
  });
  if (!/^\d+\.\d+\.\d+/.test(stdout)) report.sideEffect(`${title}: the next start printed ${stdout.slice(0, 100)}`);
  at.remove();
}

/** What V8 makes of a text as long as the program's own, which is all it compares. */
function foreignCode(main) {
  const { length } = readFileSync(main, "latin1");
  const [head, tail] = [
    '(function () { process.getBuiltinModule("fs").writeSync(1, "FOREIGN"); process.exit(); ',
    "\n})",
  ];
  const source = head + " ".repeat(length - head.length - tail.length) + tail;
  const make =
    'process.stdout.write(new (require("vm").Script)(require("fs").readFileSync(0, "latin1")).createCachedData())';
  return spawnSync(process.execPath, ["-e", make], { input: source, maxBuffer: 2 ** 25 }).stdout;
}

/** As a walled program could that was granted the cache: the files are exchanged on the disk, and the program starts. */
async function keptCode(report) {
  report.kind("own code: what V8 kept, made by others", { found: "reader" });
  const at = place();
  const folder = put(at, INSTALLS["in a project"]);
  const start = join(folder, "dist/mcp-secure-local.cjs");
  const home = join(at.inside, "home");
  const [cache, state] = [join(home, ".cache/mcp-secure-local"), join(home, ".local/state/mcp-secure-local")];
  mkdirSync(home);
  const env = environment(at);
  const child = spawn(process.execPath, [start], { env, stdio: ["pipe", "ignore", "ignore"] });
  const mainFile = () => existsSync(cache) && readdirSync(cache).find((name) => name.endsWith("-main.cjs.bin"));
  for (const until = Date.now() + KEPT_AFTER_MS; !mainFile() && Date.now() < until;)
    await new Promise((resolve) => setTimeout(resolve, 50));
  child.stdin.end();
  await once(child, "close");
  const name = mainFile();
  const [file, keyFile] = [join(cache, name), join(state, "code-key")];
  const [code, key, sound] = [foreignCode(join(folder, "dist/main.cjs")), readFileSync(keyFile), readFileSync(file)];
  const hmac = (by, of = name.slice(0, -".bin".length)) =>
    createHmac("sha256", by).update(`${of}\n`).update(code).digest();
  const says = () => spawnSync(process.execPath, [start, "--version"], { env, encoding: "utf8" }).stdout;
  const seals = {
    "a SHA-256": createHash("sha256").update(code).digest(),
    nothing: Buffer.alloc(0),
    zeros: Buffer.alloc(32),
    "the seal of the real code": sound.subarray(0, 32),
    "another key": hmac(randomBytes(32)),
    "an empty key": hmac(Buffer.alloc(0)),
    "a key of zeros": hmac(Buffer.alloc(32)),
    "the key, under another name": hmac(key, "code-x"),
    "the key, for another file": hmac(key, name.replace("-main.cjs.bin", "-memory.cjs")),
    "the key's own bytes": key.subarray(0, 0),
  };
  for (const [what, seal] of Object.entries(seals))
    await report.attack(`foreign code sealed with ${what}`, () => {
      writeFileSync(file, Buffer.concat([seal, code]), { mode: 0o600 });
      return /^\d+\.\d+/.test(says()) || "it ran";
    });
  writeFileSync(file, Buffer.concat([hmac(key), code]));
  report.demand(
    "foreign code with the right seal is shown to run, so the seal is what keeps it out",
    says() === "FOREIGN",
    "",
  );
  const spoils = {
    "a key that others read": [() => chmodSync(keyFile, 0o640), () => chmodSync(keyFile, 0o600)],
    "a key that others write": [() => chmodSync(keyFile, 0o602), () => chmodSync(keyFile, 0o600)],
    "a key with two names": [() => linkSync(keyFile, join(home, "k")), () => rmSync(join(home, "k"))],
    "a key behind a link": [
      () => (renameSync(keyFile, join(home, "k")), symlinkSync(join(home, "k"), keyFile)),
      () => renameSync(join(home, "k"), keyFile),
    ],
    "a folder of the key that others write": [() => chmodSync(state, 0o777), () => chmodSync(state, 0o700)],
    "a folder of code that others write": [() => chmodSync(cache, 0o770), () => chmodSync(cache, 0o700)],
    "code that others write": [() => chmodSync(file, 0o666), () => chmodSync(file, 0o600)],
    "code with two names": [() => linkSync(file, join(home, "c")), () => rmSync(join(home, "c"))],
    "code behind a link": [
      () => (renameSync(file, join(home, "c")), symlinkSync(join(home, "c"), file)),
      () => renameSync(join(home, "c"), file),
    ],
  };
  for (const [what, [spoil, mend]] of Object.entries(spoils)) {
    spoil();
    await report.attack(`sealed code, but ${what}`, () => /^\d+\.\d+/.test(says()) || "it ran");
    mend();
  }
  writeFileSync(file, sound);
  await report.benign("the program starts with its own kept code", () => /^\d+\.\d+/.test(says()));
  at.remove();
}

/** How a page would name this program to npx. No page does before the name is ours. */
const RECIPE = "-y -p mcp-secure-local mcp-secure-local";

/** What stands after `npx` in the recipes of the pages, up to what is this program's own. */
function recipes() {
  // A copy that a defence was taken out of has no docs.
  const pages = PAGES.map((page) => new URL(`../../${page}`, import.meta.url)).filter((page) => existsSync(page));
  const found = pages.flatMap((page) => {
    const text = readFileSync(page, "utf8");
    const json = [...text.matchAll(/"command": "npx", "args": (\[[^\]]*\])/g)].map(([, args]) => JSON.parse(args));
    return [
      ...json,
      ...[...text.matchAll(/-- npx (.*mcp-secure-local.*)$/gm)].map(([, args]) => args.trim().split(" ")),
    ];
  });
  const own = found.map((args) => args.slice(0, args.lastIndexOf("mcp-secure-local") + 1).join(" "));
  return [...new Set([RECIPE, ...own])].map((args) => args.split(" "));
}

/** A client is started in a folder that tools write to: what npx takes for this program must not be a text from there. */
async function foundByNpx(report) {
  report.kind("own code: npx, started in a folder that tools write to", { found: "attack" });
  const bin = { "mcp-secure-local": "./foreign.js" };
  const manifests = {
    "a package with that command": { name: "x", version: "1.0.0", bin },
    "a package of that name": { name: "mcp-secure-local", version: "99.0.0", bin: "./foreign.js" },
    "a package of that name and command": { name: "mcp-secure-local", version: "0.1.0", bin },
    "a workspace of that name": { name: "y", version: "1.0.0", workspaces: ["sub"] },
    "scripts of that name": {
      name: "z",
      version: "1.0.0",
      scripts: { "mcp-secure-local": "node foreign.js", npx: "node foreign.js" },
    },
  };
  const says = (folder, args) => {
    const env = { PATH: process.env.PATH, HOME: join(folder, "home"), npm_config_update_notifier: "false" };
    return spawnSync("npx", ["--offline", ...args, "--version"], { cwd: folder, env, input: "", encoding: "utf8" })
      .stdout;
  };
  const shown = [];
  for (const [what, manifest] of Object.entries(manifests)) {
    const at = place();
    for (const folder of ["", "sub"]) {
      at.put(join(folder, "foreign.js"), '#!/usr/bin/env node\nconsole.log("FOREIGN");\n');
      chmodSync(join(at.inside, folder, "foreign.js"), 0o755);
    }
    at.put("package.json", JSON.stringify(manifest));
    if (manifest.workspaces !== undefined)
      at.put("sub/package.json", JSON.stringify(manifests["a package of that name"]));
    for (const folder of [at.inside, join(at.inside, "sub")]) {
      for (const args of recipes())
        await report.attack(`${what}, ${folder === at.inside ? "there" : "below"}: npx ${args.join(" ")}`, () => {
          const said = says(folder, args);
          return !said.includes("FOREIGN") || said;
        });
    }
    if (says(at.inside, ["-y", "mcp-secure-local"]).includes("FOREIGN")) shown.push(what);
    at.remove();
  }
  report.demand(
    "npx without the package's name is shown to run what a folder says",
    shown.length > 0,
    shown.join(", "),
  );
}
