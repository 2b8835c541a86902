// T41: a log that is taken away while the server runs, and logs forged by who knows how records are sealed.
import { execFileSync } from "node:child_process";
import * as fs from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

export const goal = { id: "T41", title: "The audit log taken away or forged", atLeast: 160, refusalMs: 500 };

export const defences = [
  {
    name: "a record is read back from the file under its name",
    file: "secure-local/src/audit/log-writer.ts",
    find: "!this.#nameHolds(bytes.subarray(-PROOF_BYTES), size)",
    replace: "false",
  },
  {
    name: "each record names the one before it",
    file: "secure-local/src/audit/verify-audit.ts",
    find: "next.prev !== last.hash",
    replace: "false",
  },
  {
    name: "the head file remembers the last record",
    file: "secure-local/src/audit/verify-audit.ts",
    find: "head?.seq === next.seq && head.hash !== next.hash",
    replace: "false",
  },
  {
    name: "a record's hash is that of its text",
    file: "secure-local/src/audit/event-text.ts",
    find: "bodyHash(line.subarray(0, end)) !== suffix[1]",
    replace: "false",
  },
];

const aside = (path) => `${path}.away`;

/** What may stand under a name afterwards. Each is given the name and where it stood is `aside` of it. */
const FILLS = {
  nothing: () => undefined,
  "an empty file": (file) => fs.writeFileSync(file, ""),
  "a copy": (file) => fs.cpSync(aside(file), file, { recursive: true }),
  "a copy made by hard links": (file) => execFileSync("cp", ["-al", aside(file), file]),
  "a link to it": (file) => fs.symlinkSync(aside(file), file),
  "a link to nothing": (file) => fs.symlinkSync("/nowhere/at/all", file),
  "a link to a device": (file) => fs.symlinkSync("/dev/null", file),
  "a pipe": (file) => execFileSync("mkfifo", [file]),
  "a folder": (file) => fs.mkdirSync(file),
};
/** What is moved: the file, its folder, the one above, the one above that. */
const LEVELS = { file: 0, folder: 1, "folder above": 2, "folder above that": 3 };

function* ways() {
  for (const [level, up] of Object.entries(LEVELS))
    for (const [what, fill] of Object.entries(FILLS)) {
      // Of a folder that is copied by hard links, or led to by a link, the file in it still is the log.
      if (up > 0 && (what.includes("hard links") || what === "a link to it")) continue;
      if (up === 0 && what.includes("hard links")) continue;
      yield { name: `the ${level} moved, in its place ${what}`, way: moved(up, fill) };
    }
  yield { name: "the file removed", way: (file) => fs.rmSync(file) };
  for (const up of [1, 2, 3])
    yield { name: `removed with ${up} folders`, way: (file) => fs.rmSync(above(file, up), { recursive: true }) };
  yield { name: "the file replaced by renaming another over it", way: replaced };
  yield { name: "the file replaced by a copy renamed over it", way: (file) => replaced(file, fs.readFileSync(file)) };
  yield { name: "the file emptied", way: (file) => fs.truncateSync(file, 0) };
  yield { name: "the file cut", way: (file) => fs.truncateSync(file, fs.statSync(file).size - 9) };
  yield { name: "the file written by another", way: (file) => fs.appendFileSync(file, "x\n") };
  yield { name: "the file put in a folder and its name a link there", way: intoFolder };
  yield { name: "a link above it led elsewhere", way: linked };
  if (canMount()) {
    yield { name: "a file system mounted over its folder", way: (file) => mounted(dirname(file)) };
    yield { name: "a file system mounted two folders above", way: (file) => mounted(above(file, 2)) };
    yield { name: "a file mounted over it", way: boundOver };
  }
}

function above(file, up) {
  return up === 0 ? file : above(dirname(file), up - 1);
}

const moved = (up, fill) => (file) => {
  const path = above(file, up);
  fs.renameSync(path, aside(path));
  fill(path);
  return () => {
    fs.rmSync(path, { recursive: true, force: true });
    fs.renameSync(aside(path), path);
  };
};

function replaced(file, text = "") {
  fs.writeFileSync(`${file}.new`, text);
  fs.renameSync(`${file}.new`, file);
}

function intoFolder(file) {
  fs.mkdirSync(`${file}.d`);
  fs.renameSync(file, `${file}.d/log`);
  fs.symlinkSync(`${file}.d/log`, file);
  return () => fs.renameSync(`${file}.d/log`, file);
}

/** The place of each case has a link on the way to it. */
function linked(file) {
  const link = above(file, 4);
  const before = fs.readlinkSync(link);
  fs.rmSync(link);
  fs.cpSync(before, `${before}.other`, { recursive: true });
  fs.symlinkSync(`${before}.other`, link);
  return () => {
    fs.rmSync(link);
    fs.symlinkSync(before, link);
  };
}

function mounted(folder) {
  execFileSync("mount", ["-t", "tmpfs", "none", folder]);
  return () => execFileSync("umount", [folder]);
}

function boundOver(file) {
  fs.copyFileSync(file, `${file}.copy`);
  execFileSync("mount", ["--bind", `${file}.copy`, file]);
  return () => execFileSync("umount", [file]);
}

function canMount() {
  if (process.platform !== "linux" || process.getuid() !== 0) return false;
  const folder = fs.mkdtempSync(join(tmpdir(), "scorecard-mount-"));
  try {
    mounted(folder)();
    return true;
  } catch {
    return false;
  } finally {
    fs.rmSync(folder, { recursive: true, force: true });
  }
}

export async function run(report, parts) {
  const root = fs.mkdtempSync(join(tmpdir(), "scorecard-log-"));
  try {
    let number = 0;
    for (const { name, way } of ways())
      for (const sync of [true, false])
        await takenAway(report, parts, { name, way, sync, root: join(root, String((number += 1))) });
    await forged(report, parts, root);
  } finally {
    fs.rmSync(root, { recursive: true, force: true });
  }
}

/** A canary that counts how often it ran, behind the whole product with a log on the disk. */
async function takenAway(report, parts, { name, way, sync, root }) {
  report.kind(`log: ${name}`, {
    found: /removed|moved, in its place (?:nothing|an empty file)$/.test(name) ? "attack" : "own",
  });
  fs.mkdirSync(join(root, "real"), { recursive: true });
  fs.symlinkSync(join(root, "real"), join(root, "link"));
  const file = join(root, "link", "a", "b", "c", "audit.log");
  const audit = await parts.AuditLog.open(file, { sync });
  const policy = await parts.parsePolicy(POLICY, { file: "policy.yaml" });
  const ran = [];
  const secure = new parts.SecureServer({ policy, audit, version: "1.0.0", tools: [canary(ran)] });
  const peer = await parts.connectInMemory(secure.server, { revision: "2025-11-25" });
  const call = (id) =>
    peer
      .request("tools/call", { name: "canary", arguments: { id } })
      .catch((error) => ({ isError: true, content: [{ text: error.message }] }));
  await report.benign(`${name}: a call before`, async () => (await call("before")).isError !== true);
  const putBack = way(file);
  await report.attack(`${name}, ${sync ? "synced" : "not synced"}`, async () => {
    const answers = [await call("one"), ...(await Promise.all([call("two"), call("three")]))];
    const wrong = answers.find(
      ({ isError, content }) => isError !== true || !/audit log is unavailable/.test(content[0].text),
    );
    if (wrong !== undefined) return JSON.stringify(wrong);
    return audit.failure !== undefined || "the log is called healthy";
  });
  for (const id of ran) if (id !== "before") report.sideEffect(`${name}: ${id} ran without a record`);
  if (putBack !== undefined) {
    putBack();
    await report.benign(`${name}: a call when it is back`, async () => {
      const answer = await call("after");
      if (answer.isError === true) return JSON.stringify(answer);
      return fs.readFileSync(file, "utf8").includes('"id":"after"') || "no record";
    });
  }
  await peer.close();
  await audit.close();
  if (putBack !== undefined)
    await report.benign(`${name}: the log afterwards`, async () => (await parts.verifyAudit(file)).ok);
}

const POLICY = 'version: "1.0"\ntools:\n  rate_limits: { default: 1000000 }\n  allowed: [canary]\n';

function canary(ran) {
  return {
    name: "canary",
    title: "Canary",
    description: "Notes that it ran.",
    input: { type: "object", properties: { id: { type: "string" } } },
    annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: false },
    run: ({ id }) => {
      ran.push(id);
      return "ran";
    },
  };
}

/** Every change of lines with every degree of making it fit, at several places, against each witness. */
async function forged(report, parts, root) {
  const folder = join(root, "forged");
  const own = await written(parts, join(folder, "own.log"), "own");
  const other = await written(parts, join(folder, "other.log"), "other");
  const file = join(folder, "log");
  for (const at of [7, 12, own.length - 8])
    for (const { name, lines, sound } of parts.forgeries(own, other, at)) {
      report.kind(`forged: ${name}`, { found: name.endsWith("its own hash made to fit") ? "reader" : "own" });
      const put = (head) => {
        fs.writeFileSync(file, `${lines.join("\n")}\n`);
        if (head === undefined) fs.rmSync(`${file}.head`, { force: true });
        else fs.writeFileSync(`${file}.head`, head);
      };
      await report.attack(`${name} at ${at}, the head file as it was`, async () => {
        put(parts.headOf(own));
        return !(await parts.verifyAudit(file)).ok || "not found";
      });
      // Where the chain is sound to its end only a second place can tell: SECURITY.md says so.
      for (const [head, text] of Object.entries({ removed: undefined, "made to fit": parts.headOf(lines) }))
        if (!sound)
          await report.attack(`${name} at ${at}, the head file ${head}`, async () => {
            put(text);
            return !(await parts.verifyAudit(file)).ok || "not found";
          });
    }
}

async function written({ AuditLog }, file, name) {
  const log = await AuditLog.open(file, { sync: false });
  for (let id = 0; id < 30; id += 1) void log.record({ kind: "call.intent", id: `${name}${id}`, tool: `t${id}` });
  await log.close();
  return fs.readFileSync(file, "utf8").trimEnd().split("\n");
}
