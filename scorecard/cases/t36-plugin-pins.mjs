// T36: what was approved of a plugin is what is started, at every start: files exchanged in every way, between any two steps.
import { once } from "node:events";
import * as fs from "node:fs";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { Worker } from "node:worker_threads";

export const goal = { id: "T36", title: "Plugins as they were approved", atLeast: 100, refusalMs: 15_000 };

/** The product's own parts, as `run` is handed them. */
let parts;

export const defences = [
  {
    name: "what is started is the copy",
    steps: ["exchanged"],
    file: "secure-local/src/plugins/plugin-command.ts",
    find: "const own: Reach = shows ? { path: kept.root,",
    replace: "const own: Reach = shows ? { path: kept.source,",
  },
  {
    name: "the hash covers whether a file may be run",
    steps: ["twoTrees"],
    file: "secure-local/src/plugins/plugin-content.ts",
    find: '"file", executable, hash.digest("hex")',
    replace: '"file", executable && false, hash.digest("hex")',
  },
  {
    name: "names with line breaks are refused",
    steps: ["twoTrees"],
    file: "secure-local/src/plugins/plugin-content.ts",
    find: "if (text !== undefined && !CONTROL.test(text)) return text;",
    replace: "if (text !== undefined) return text;",
  },
  {
    name: "links that lead out are refused",
    steps: ["twoTrees"],
    file: "secure-local/src/plugins/plugin-content.ts",
    find: "if (end === undefined || isSystem(end)) continue;",
    replace: "if (end === undefined || end !== undefined) continue;",
  },
  {
    name: "folders are read by handles that follow no link",
    steps: ["swapped"],
    file: "secure-local/src/plugins/plugin-content.ts",
    find: "const fd = fs.openSync(at, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);",
    replace: "const fd = fs.openSync(at, O_RDONLY | O_DIRECTORY);",
  },
  {
    name: "a copy is hashed before it is believed",
    steps: ["touched"],
    file: "secure-local/src/plugins/plugin-cache.ts",
    find: "if (content?.hash === hash) return { ...content, root };",
    replace: "if (content !== undefined) return { kind: content.kind, hash, root };",
  },
  {
    name: "what is not approved is not started",
    steps: ["exchanged"],
    file: "secure-local/src/plugins/plugin.ts",
    find: "if (unapproved === undefined) this.#launch(this.#place);",
    replace: "if (unapproved === undefined || unapproved !== undefined) this.#launch(this.#place);",
  },
  {
    name: "a lock of an earlier form counts no more",
    steps: ["locks"],
    file: "secure-local/src/server/plugin-lock.ts",
    find: "if (version !== VERSION) throw",
    replace: "if (version === VERSION - 3) throw",
  },
  {
    name: "no file of a plugin is another name of one that no tool reads",
    steps: ["otherNames"],
    file: "secure-local/src/plugins/plugin-content.ts",
    find: "if (apart !== undefined) yield* reader.refuseOtherNames(apart);",
    replace: "",
  },
  {
    name: "other names of a plugin's files are looked for in the whole home",
    steps: ["otherNames"],
    file: "secure-local/src/capabilities/files/second-names.ts",
    find: "if (entry.isDirectory() && this.#mayHold(at)) waiting.push(at);",
    replace: "",
  },
  {
    name: "a copy has one name",
    steps: ["otherNames"],
    file: "secure-local/src/plugins/plugin-cache.ts",
    find: 'await takeContent(root, { apart: "copy" })',
    replace: "await takeContent(root)",
  },
];

const MAIN = `#!/bin/sh
. "$(dirname "$0")/lib/words.sh"
while read -r line; do
  id=$(printf %s "$line" | sed 's/.*"id":\\([0-9]*\\).*/\\1/')
  case $line in *crash*) exit 1;; esac
  printf '{"id":%s,"content":"%s"}\\n' "$id" "$words"
done
`;
const OTHER = `words=OTHER\n`;

/** Ways to have other code in the place of what was approved; each is given the plugin's folder and one beside it. */
const WAYS = {
  "a nested file written": (at) => fs.writeFileSync(join(at, "lib/words.sh"), OTHER),
  "a nested file replaced": (at, aside) => fs.renameSync(put(aside, "new", OTHER), join(at, "lib/words.sh")),
  "a nested file written by another name": (at, aside) => fs.writeFileSync(join(aside, "held"), OTHER),
  "a link in place of a nested file": (at, aside) => {
    fs.rmSync(join(at, "lib/words.sh"));
    fs.symlinkSync(put(aside, "led", OTHER), join(at, "lib/words.sh"));
  },
  "a link in place of a folder": (at, aside) => {
    fs.renameSync(join(at, "lib"), join(at, "was"));
    fs.symlinkSync(dirname(put(join(aside, "lib"), "words.sh", OTHER)), join(at, "lib"));
  },
  "another folder in place of a folder": (at, aside) => {
    fs.renameSync(join(at, "lib"), join(aside, "gone"));
    put(join(at, "lib"), "words.sh", OTHER);
  },
  "the program written": (at) => fs.writeFileSync(join(at, "main.sh"), MAIN.replace('"$words"', "OTHER")),
  "the program replaced": (at, aside) => {
    const path = put(aside, "main", MAIN.replace('"$words"', "OTHER"));
    fs.chmodSync(path, 0o755);
    fs.renameSync(path, join(at, "main.sh"));
  },
  "another program in the manifest": (at) => {
    const path = put(at, "other.sh", MAIN.replace('"$words"', "OTHER"));
    fs.chmodSync(path, 0o755);
    fs.writeFileSync(join(at, "manifest.yaml"), manifest("other.sh"));
  },
  "the whole folder replaced": (at, aside) => {
    fs.renameSync(at, join(aside, "whole"));
    write(at, "OTHER");
  },
  "a link in place of the whole folder": (at, aside) => {
    fs.renameSync(at, join(aside, "whole"));
    write(join(aside, "led"), "OTHER");
    fs.symlinkSync(join(aside, "led"), at);
  },
};

function put(folder, name, text) {
  fs.mkdirSync(folder, { recursive: true });
  const path = join(folder, name);
  fs.rmSync(path, { force: true });
  fs.writeFileSync(path, text);
  return path;
}

const manifest = (run, persistent = false) =>
  JSON.stringify({ name: "shell", version: "1", persistent, run: [`./${run}`], tools: [{ name: "go" }] });

function write(at, words, persistent) {
  fs.rmSync(at, { recursive: true, force: true });
  put(at, "manifest.yaml", manifest("main.sh", persistent));
  put(join(at, "lib"), "words.sh", `words=${words}\n`);
  fs.chmodSync(put(at, "main.sh", MAIN), 0o755);
}

export async function run(report, given) {
  parts = given;
  const base = fs.mkdtempSync(join(homedir(), ".scorecard-pins-"));
  try {
    await report.take({ exchanged, twoTrees, swapped, touched, locks, otherNames }, base);
  } finally {
    for (const folder of foldersIn(base)) fs.chmodSync(folder, 0o700);
    fs.rmSync(base, { recursive: true, force: true });
  }
}

function foldersIn(folder) {
  fs.chmodSync(folder, 0o700);
  return fs
    .readdirSync(folder, { withFileTypes: true })
    .flatMap((each) => (each.isDirectory() ? [join(folder, each.name), ...foldersIn(join(folder, each.name))] : []));
}

/** The product with one plugin; `call` gives the text of its answer, or why there is none. */
async function served({ at, policyFile, copies, pin }) {
  const load = `{ name: shell, path: ${at}${pin === undefined ? "" : `, sha256: ${pin}`} }`;
  const sandbox = parts.hasWall() ? "" : "sandbox: none\n";
  const text = `version: "1.0"\n${sandbox}tools: { allowed: ["*"], rate_limits: { default: 100000 } }\nplugins: { load: [${load}] }\n`;
  const policy = await parts.parsePolicy(text, { file: policyFile, environment: {} });
  const said = [];
  const secure = new parts.SecureServer({
    policy,
    audit: new parts.MemoryAudit(),
    version: "1",
    copies,
    say: (line) => said.push(line),
  });
  secure.start();
  for (let tries = 0; tries < 500 && !["ready", "refused"].includes(secure.pluginHealth()[0]?.state); tries += 1)
    await wait(10);
  const peer = await parts.connectInMemory(secure.server, { revision: "2025-11-25" });
  const call = async (args = {}) => {
    const asked = peer.request("tools/call", { name: "shell_go", arguments: args });
    return JSON.stringify(await asked.catch((error) => ({ refused: error.message })));
  };
  return { secure, call, said, stop: () => secure.stop() };
}

const honest = (answer) => answer.includes("approved") || `answered: ${answer.slice(0, 400)}`;
const holds = (answer) => !answer.includes("OTHER") || `other code answered: ${answer.slice(0, 200)}`;

/** Every way, with a pin or a lock, between every two starts: of a call, after a crash, after a change is noticed, of the server. */
async function exchanged(report, base) {
  report.kind("files exchanged between two starts", { found: "reader" });
  for (const [way, exchange] of Object.entries(WAYS))
    for (const guard of ["pin", "lock"])
      for (const persistent of [false, true]) {
        const name = `${way}, ${guard}, ${persistent ? "one process for all calls" : "one a call"}`;
        const at = join(base, "plugin");
        const aside = join(base, "aside");
        fs.rmSync(aside, { recursive: true, force: true });
        fs.mkdirSync(aside);
        write(at, "approved", persistent);
        fs.linkSync(join(at, "lib/words.sh"), join(aside, "held"));
        const given = { at, policyFile: join(base, "policy.yaml"), copies: join(base, "copies") };
        if (guard === "pin") given.pin = parts.hashPlugin(at);
        fs.rmSync(parts.lockFileOf(given.policyFile), { force: true });
        let server = await served(given);
        if (guard === "lock") {
          const approved = lockNow(server, given);
          await server.stop();
          if (!approved) {
            await report.benign(`${name}: offered for approval`, () => false);
            continue;
          }
          server = await served(given);
        }
        await report.benign(`${name}: before`, async () => honest(await server.call()));
        exchange(at, aside);
        await report.attack(`${name}: next call`, async () => holds(await server.call()));
        if (persistent)
          await report.attack(`${name}: after a crash`, async () => {
            await server.call({ text: "crash" });
            return holds(await server.call());
          });
        await report.attack(`${name}: next start of the server`, async () => {
          await server.stop();
          server = await served(given);
          return holds(await server.call());
        });
        if (persistent && guard === "lock")
          await report.attack(`${name}: nothing of it is started`, () => {
            const [{ starts, state }] = server.secure.pluginHealth();
            return starts === 0 || way.includes("another name") || `${starts} starts, ${state}`;
          });
        await server.stop();
      }
}

/** Approves what is there; false where nothing is. */
function lockNow({ secure }, { policyFile }) {
  const [review] = secure.pluginReviews();
  if (review === undefined) return false;
  const { description, launch } = review;
  const items = new Map([...parts.itemsOf(description), ["launch", launch]]);
  parts.writeLock(parts.lockFileOf(policyFile), new Map([["shell", parts.relocked(undefined, items)]]));
  return true;
}

/** Trees that differ in one thing; the first has it in one form, the second in another. */
const PAIRS = {
  "a file that may be run, and not": [(at) => fs.chmodSync(put(at, "x", "a"), 0o755), (at) => put(at, "x", "a")],
  "a link, and a file of its text": [(at) => fs.symlinkSync("y", join(at, "x")), (at) => put(at, "x", "y")],
  "a folder, and a file": [(at) => fs.mkdirSync(join(at, "x")), (at) => put(at, "x", "")],
  "an empty folder, and none": [(at) => fs.mkdirSync(join(at, "x")), () => undefined],
  "two files, and one of a name that holds both lines": [
    (at) => (put(at, "a", "1"), put(at, "b", "2")),
    (at) => put(at, `a\n${"0".repeat(64)}  b`, "1"),
  ],
  "a name in two forms of Unicode": [(at) => put(at, "\u00e9", "1"), (at) => put(at, "e\u0301", "1")],
  "a slash in place of a folder": [(at) => put(join(at, "a"), "b", "1"), (at) => put(at, "a\\b", "1")],
  "bytes at the end of one file or the beginning of the next": [
    (at) => (put(at, "a", "12"), put(at, "b", "3")),
    (at) => (put(at, "a", "1"), put(at, "b", "23")),
  ],
  "two links of other targets": [
    (at) => fs.symlinkSync("a", join(at, "x")),
    (at) => fs.symlinkSync("b", join(at, "x")),
  ],
  "two files that changed places": [
    (at) => (put(at, "a", "1"), put(at, "b", "2")),
    (at) => (put(at, "a", "2"), put(at, "b", "1")),
  ],
};
const ODD_NAMES = ["a\nb", "a\rb", "a\u001b[31mb", "a\u0000b".slice(0, 1) + "\u0085", "a\u2028b", "a\u2029b", "\u0007"];
const LINKS_OUT = ["..", "../x", "/home", "/tmp/x", "in/../../x", "./../y", "/usr/../home/x", "lib/../../x"];

async function twoTrees(report, base) {
  report.kind("two contents of one hash", { found: "reader" });
  const at = join(base, "tree");
  const fresh = () => {
    fs.rmSync(at, { recursive: true, force: true });
    put(join(at, "lib"), "words.sh", "words=approved\n");
  };
  for (const [name, [one, other]] of Object.entries(PAIRS))
    await report.attack(name, () => {
      const hashes = [one, other].map((make) => (fresh(), make(at), hashOrRefusal(at)));
      return hashes[0] !== hashes[1] || "the same hash";
    });
  report.kind("names and links that no hash can hold");
  for (const name of ODD_NAMES)
    await report.attack(`a file named ${JSON.stringify(name)}`, () => {
      fresh();
      put(at, name, "");
      return hashOrRefusal(at).startsWith("refused: ") || "hashed";
    });
  await report.attack("a name that is no UTF-8", () => {
    fresh();
    fs.writeFileSync(Buffer.from(`${at}/\xff`, "latin1"), "");
    return hashOrRefusal(at).startsWith("refused: ") || "hashed";
  });
  for (const target of [...LINKS_OUT, join(at, "lib")])
    for (const folder of ["", "lib"])
      await report.attack(`a link to ${target} in ${folder || "the plugin"}`, () => {
        fresh();
        fs.symlinkSync("lib", join(at, "in"));
        // From a folder, one step up is still inside.
        const far = folder === "" || target.startsWith("/") ? target : `../${target}`;
        fs.symlinkSync(far, join(at, folder, "link"));
        return /^refused: .*leads out/.test(hashOrRefusal(at)) || "hashed";
      });
  for (const target of ["lib", "lib/words.sh", "./lib", "lib/../lib", "nothing", "/usr/bin/env", "/bin/sh"])
    await report.benign(`a link to ${target}`, () => {
      fresh();
      fs.symlinkSync(target, join(at, "link"));
      return /^[0-9a-f]{64}$/.test(hashOrRefusal(at)) || hashOrRefusal(at);
    });
}

function hashOrRefusal(at) {
  try {
    return parts.hashPlugin(at);
  } catch (error) {
    return error.name === "PluginError" || error.constructor.name === "PluginError"
      ? `refused: ${error.message}`
      : `threw ${error.stack}`;
  }
}

const SWAPPER = `
const { renameSync, symlinkSync, rmSync } = require("node:fs");
const { workerData: { at, outside, stop } } = require("node:worker_threads");
while (Atomics.load(stop, 0) === 0) {
  renameSync(at + "/lib", at + "/was");
  symlinkSync(outside, at + "/lib");
  Atomics.wait(stop, 0, 0, 1);
  rmSync(at + "/lib");
  renameSync(at + "/was", at + "/lib");
  Atomics.wait(stop, 0, 0, 1);
}
`;

/** While it is taken, a folder is exchanged for a link to one outside, as fast as can be. */
async function swapped(report, base) {
  report.kind("folders exchanged while they are read", { found: "attack" });
  const at = join(base, "swapped");
  write(at, "approved");
  const outside = dirname(put(join(base, "outside"), "words.sh", "words=SECRET\n"));
  // Between the look at what there is and the look into it there is much to read.
  for (let file = 0; file < 150; file += 1) put(at, `filler${file}`, `${file}`);
  const keeper = new parts.PluginCache(join(base, "swaps"));
  const stop = new Int32Array(new SharedArrayBuffer(4));
  const swapper = new Worker(SWAPPER, { eval: true, workerData: { at, outside, stop } });
  await once(swapper, "online");
  for (let round = 0; round < 200; round += 1)
    await report.attack(`round ${round}`, async () => {
      const kept = await keeper.take(at, { own: [] }).catch(() => undefined);
      if (kept === undefined) return true;
      const held = ["lib/words.sh", "was/words.sh"].some(
        (file) =>
          fs.existsSync(join(kept.root, file)) && fs.readFileSync(join(kept.root, file), "utf8").includes("SECRET"),
      );
      const same = parts.hashPlugin(kept.root) === kept.hash;
      kept.release();
      if (held) report.sideEffect("a file outside was copied");
      return (!held && same) || "the copy is not what it should be";
    });
  Atomics.store(stop, 0, 1);
  await once(swapper, "exit");
  keeper.close();
}

const DAMAGES = {
  "another byte": (path) => (fs.chmodSync(path, 0o600), fs.writeFileSync(path, "OTHER")),
  "another mode": (path) => fs.chmodSync(path, (fs.statSync(path).mode & 0o111) === 0 ? 0o700 : 0o600),
  gone: (path) => fs.rmSync(path),
  "a link in its place": (path) => (fs.rmSync(path), fs.symlinkSync("/bin/sh", path)),
  "one more beside it": (path) => fs.writeFileSync(`${path}.more`, ""),
};

/** Every file of a copy, damaged in every way: it is never started as it is. */
async function touched(report, base) {
  report.kind("copies that were touched");
  const at = join(base, "touched");
  for (const file of ["main.sh", "lib/words.sh", "manifest.yaml"])
    for (const [how, damage] of Object.entries(DAMAGES))
      await report.attack(`${file}: ${how}`, async () => {
        write(at, "approved");
        const keeper = new parts.PluginCache(join(base, "touches"));
        const sha256 = parts.hashPlugin(at);
        const kept = await keeper.take(at, { sha256, own: [] });
        fs.chmodSync(dirname(join(kept.root, file)), 0o700);
        damage(join(kept.root, file));
        const again = await keeper.take(at, { sha256, own: [] });
        const mended = parts.hashPlugin(again.root) === sha256;
        write(at, "OTHER");
        fs.chmodSync(dirname(join(again.root, file)), 0o700);
        damage(join(again.root, file));
        const refused = await keeper.take(at, { sha256, own: [] }).then(
          () => false,
          () => true,
        );
        keeper.close();
        return (mended && refused) || `mended ${mended}, refused ${refused}`;
      });
}

/** A lock that was edited, or written by an earlier version, approves nothing of what it does not fit. */
async function locks(report, base) {
  report.kind("locks that do not fit");
  const at = join(base, "locked");
  const given = { at, policyFile: join(base, "locked.yaml"), copies: join(base, "lock-copies") };
  const file = parts.lockFileOf(given.policyFile);
  write(at, "approved");
  const first = await served(given);
  lockNow(first, { policyFile: given.policyFile });
  await first.stop();
  const good = fs.readFileSync(file, "utf8");
  const zeros = "0".repeat(64);
  const edits = {
    "an earlier version": (text) => text.replace('"version": 2', '"version": 1'),
    "a later version": (text) => text.replace('"version": 2', '"version": 3'),
    "another content": (text) => text.replace(/"content": "[0-9a-f]{64}"/, `"content": "${zeros}"`),
    "another plugin": (text) => text.replace('"shell": {', '"other": {'),
    empty: () => "",
    "cut off": (text) => text.slice(0, text.length / 2),
    "no launch": (text) => text.replace('"launch"', '"start"'),
  };
  for (const [name, edit] of Object.entries(edits))
    await report.attack(name, async () => {
      fs.writeFileSync(file, edit(good));
      const server = await served(given);
      const answer = await server.call();
      await server.stop();
      return /withheld|Denied/.test(answer) || answer.slice(0, 300);
    });
  await report.benign("the lock as it was written", async () => {
    fs.writeFileSync(file, good);
    const server = await served(given);
    const answer = await server.call();
    await server.stop();
    return honest(answer);
  });
}

/** Files that no tool reads, by where they lie: at home, above the plugin, among the program's own. */
const UNREAD = [
  ...[".ssh/id", ".ssh/a/b/c/d/e/f", ".netrc", ".aws/credentials", ".config/gh/hosts.yml", ".gnupg/private/key"],
  ...[".local/share/keyrings/login.keyring", ".mozilla/firefox/p/logins.json", ".bash_history", ".docker/config.json"],
  ...["work/.env", "work/server.key", "work/config/secrets.yml", ".env", "own/tokens.json", "own/deep/er/token"],
  ...["log/audit.jsonl", "conf/policy.yaml"],
];
/** Anywhere else at home, at any depth. */
const DEEP = ["", "projects/", "projects/web/", ".x/y/", "a/b/c/d/e/f/g/"].flatMap((folder) =>
  [".env", ".ssh/work", ".aws/work", "server.key", "id_rsa", "config/secrets.yml", ".gnupg/a/b/c/d/e"].map(
    (name) => `zz/${folder}${name}`,
  ),
);
/** What package managers link into projects, by names of any kind. */
const PACKAGES = [
  "other/node_modules/.pnpm/p@1/node_modules/p/test/server.key",
  ".local/share/pnpm/store/v10/files/00/id_rsa",
  "venv/lib/python3.12/site-packages/p/.env",
  ".cache/uv/archive-v0/x/p/server.key",
];
const PLACES = ["words.txt", "lib/deep/words.txt", "node_modules/x/index.js"];

/** A file of the plugin that is the same file as one of those, in each place of a plugin. */
async function otherNames(report, base) {
  report.kind("hard links of files that no tool reads in a plugin's folder", { found: "attack" });
  const home = join(base, "hard-home");
  const before = process.env.HOME;
  process.env.HOME = home;
  const at = join(home, "work/plugin");
  const keeper = new parts.PluginCache(join(base, "hard-copies"));
  const own = [join(home, "own"), join(home, "log/audit"), join(home, "conf/policy.yaml")];
  const take = () =>
    keeper.take(at, { own }).then(
      (kept) => kept.root,
      (error) => error,
    );
  const linked = (name, place) => {
    write(at, "approved");
    const path = put(dirname(join(home, name)), name.split("/").at(-1), "SECRET");
    fs.mkdirSync(dirname(join(at, place)), { recursive: true });
    fs.linkSync(path, join(at, place));
    return path;
  };
  try {
    for (const name of UNREAD)
      for (const place of PLACES)
        await report.attack(`${name} as ${place}`, async () => {
          const secret = linked(name, place);
          const got = await take();
          if (typeof got === "string") report.sideEffect(`${name} was copied`);
          fs.rmSync(secret);
          return /another name \(hard link\)/.test(got.message ?? "") || String(got);
        });
    report.kind("hard links of secrets anywhere at home in a plugin's folder", { found: "attack" });
    for (const name of DEEP)
      for (const place of PLACES)
        await report.attack(`${name} as ${place}`, async () => {
          const secret = linked(name, place);
          const got = await take();
          if (typeof got === "string") report.sideEffect(`${name} was copied`);
          fs.rmSync(secret);
          return /another name \(hard link\)/.test(got.message ?? "") || String(got);
        });
    for (const name of ["store/x.js", "work/src/x.js", "work/plugin/lib/other.sh", ...PACKAGES])
      await report.benign(`another name of ${name}`, async () => {
        linked(name, "same.js");
        return typeof (await take()) === "string";
      });
    await report.attack("a copy that was given another name is started", async () => {
      write(at, "approved");
      const kept = await take();
      fs.chmodSync(kept, 0o700);
      fs.linkSync(join(kept, "main.sh"), join(base, "hard-held"));
      return fs.statSync(join(await take(), "main.sh")).nlink === 1 || "it has two names";
    });
  } finally {
    keeper.close();
    process.env.HOME = before;
  }
}
