// `npm run world [-- --quick N] [--seed S] [--newest] [--only TEXT] [--servers | --clients]`: other people's servers and
// clients with ours, at the versions that servers.json and clients.json pin. Prints a row each and what changed since the
// last whole run, whose rows are kept in last.json. Exit code 1 where something works with the official SDK and not with us.
//
// --quick N      N servers and N clients, chosen by --seed (printed; else by the clock); without doctor, times and the host
// --gateway      the servers behind the product instead, all of them under one policy, asked by the official clients
// --newest       the newest versions in place of the pinned ones
// --only TEXT    rows whose name contains it
// --without-doctor, which takes most of the time of a whole run
// --write        keep this run in last.json though it is not a whole one: rows that were not asked stay as they are
import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { createConnection } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { askClients } from "./ask-client.mjs";
import { askGateway } from "./ask-gateway.mjs";
import { askHost } from "./ask-host.mjs";
import { askServer, medians, misses } from "./ask-server.mjs";
import { installed, NotInstalled, programOf, versionOf } from "./install.mjs";
import { removeFolder } from "./remove-folder.mjs";

const LAST = new URL("last.json", import.meta.url);
/** Rows asked at the same time: starting a program keeps one core busy, and most of the rest is waiting. */
const AT_ONCE = 3;
const read = (name) => JSON.parse(readFileSync(new URL(name, import.meta.url), "utf8"));

const { values: options } = parseArgs({
  options: {
    quick: { type: "string" },
    seed: { type: "string" },
    newest: { type: "boolean", default: false },
    only: { type: "string" },
    servers: { type: "boolean", default: false },
    clients: { type: "boolean", default: false },
    gateway: { type: "boolean", default: false },
    write: { type: "boolean", default: false },
    "without-doctor": { type: "boolean", default: false },
  },
});
const seed = Number(options.seed ?? Date.now() % 1_000_000);
const quick = options.quick !== undefined;
const whole = !quick && options.only === undefined && !options.servers && !options.clients && !options.gateway;
const servers = read("servers.json");

/** As many as asked for, another choice for each seed; all of them without `--quick`. */
function chosen(list) {
  const wanted = list.filter((entry) => options.only === undefined || nameOf(entry).includes(options.only));
  if (!quick) return wanted;
  let state = seed + 1;
  const random = () => (state = (state * 48_271) % 2_147_483_647) / 2_147_483_647;
  const major = Number(process.versions.node.split(".", 1)[0]);
  const drawn = wanted.filter(({ allowed, node = 0 }) => allowed?.start === undefined && node <= major);
  const ordered = drawn.map((entry) => [random(), entry]).toSorted(([a], [b]) => a - b);
  return ordered.slice(0, Number(options.quick)).map(([, entry]) => entry);
}

function nameOf({ package: name, as }) {
  return as ?? name;
}

/** Whether somebody listens on a port of this machine: some servers want a database. */
async function listens(port) {
  const socket = createConnection({ host: "127.0.0.1", port });
  const open = await new Promise((resolve) => {
    socket.once("connect", () => resolve(true)).once("error", () => resolve(false));
  });
  socket.destroy();
  return open;
}

/**
 * The start of a server in a folder of its own: its program, arguments and variables with `{scratch}` filled in, and the policy of the
 * sandbox it is tried in, which shows it its own package and lets it write in its folder.
 */
async function startIn(entry, scratch) {
  const folder = await installed({ ...entry, version: versionWanted(entry) });
  const home = join(scratch, "home");
  const work = join(scratch, "work");
  for (const each of [home, work]) mkdirSync(each, { recursive: true });
  const fill = (text) => text.replaceAll("{scratch}", work);
  for (const [file, text] of Object.entries(entry.files ?? {})) writeFileSync(join(work, file), text);
  const policy = join(scratch, "policy.yaml");
  const readable = JSON.stringify([`${folder}/**`]);
  const paths = `filesystem: { readable_paths: ${readable}, allowed_paths: ${JSON.stringify([`${work}/**`])} }`;
  const limits = "sandbox: { file_mb: 512, memory_mb: 8192, processes: 512, cpu_seconds: 120 }";
  writeFileSync(policy, `version: "1.0"\n${paths}\n${limits}\n`, { mode: 0o600 });
  const set = Object.entries(entry.env ?? {}).map(([name, value]) => [name, fill(value)]);
  return {
    program: programOf(folder, entry.package, entry.bin),
    args: (entry.args ?? []).map(fill),
    env: { PATH: process.env.PATH, HOME: home, ...Object.fromEntries(set) },
    call: entry.call && JSON.parse(JSON.stringify(entry.call).replaceAll("{scratch}", work)),
    version: versionOf(folder, entry.package),
    policy,
    scratch,
    folder,
    work,
  };
}

function versionWanted({ version }) {
  return options.newest ? "latest" : version;
}

/** `ask` with the start of a server in a folder that is gone afterwards. */
async function withStart(entry, ask) {
  const base = mkdtempSync(join(tmpdir(), "world-"));
  try {
    return await ask(await startIn(entry, base));
  } finally {
    await removeFolder(base);
  }
}

async function serverRow(entry) {
  const name = nameOf(entry);
  if (entry.needs !== undefined && !(await listens(entry.needs)))
    return { name, version: entry.version, skipped: `nobody listens on port ${entry.needs}` };
  const hopeless = entry.allowed?.start !== undefined;
  try {
    return await withStart(entry, async (start) => {
      const row = await askServer(start, { call: start.call, doctor: !quick && !options["without-doctor"], hopeless });
      const version = start.version;
      if (![row.sdkV1, row.sdkV2, row.ours].some(({ ok }) => ok))
        return { name, version, nobody: entry.allowed?.start ?? row.sdkV1.why };
      return { name, version, entry, ...row, misses: misses(row, entry.allowed) };
    });
  } catch (error) {
    return notHad(name, entry.version, error);
  }
}

/** A package that cannot be fetched tells nothing of us: it is left out, and named. */
function notHad(name, version, error) {
  const why = String(error.message).replaceAll(/\s+/g, " ").slice(0, 200);
  return error instanceof NotInstalled ? { name, version, skipped: why } : { name, version, broken: why };
}

function line(row) {
  const { name, version, skipped, nobody, broken } = row;
  if (broken !== undefined) return `MISS  ${name}@${version}: ${broken}`;
  if (skipped !== undefined) return `skip  ${name}@${version}: ${skipped}`;
  if (nobody !== undefined) return `none  ${name}@${version}: with no client at all: ${nobody}`;
  const what =
    row.cells === undefined ? (row.ours === undefined ? `${row.tools} tools` : serverCells(row)) : clientCells(row);
  const head = `${row.misses.length === 0 ? "ok   " : "MISS "} ${name}@${version}: ${what}`;
  return [head, ...row.misses.map((miss) => `        ${miss}`)].join("\n");
}

function serverCells({ entry, sdkV1, sdkV2, ours, call, doctor, replay, sandbox }) {
  const [v1, v2] = [sdkV1, sdkV2].map(({ ok, tools, why }) => (ok ? tools : `fails (${why})`));
  const us = ours.ok ? `${ours.tools} tools, ${ours.revision}` : "fails";
  const walled = sandbox === "ok" ? "ok" : `no (${entry.allowed?.sandbox ?? "see below"})`;
  return `${us}; SDK v1 ${v1}, v2 ${v2}; call ${call ?? "–"}, doctor ${doctor ?? "–"}, replay ${replay ?? "–"}, sandbox ${walled}`;
}

function clientCells({ cells }) {
  return cells
    .map(({ way, ok, skipped }) => `${way} ${skipped === undefined ? (ok ? "ok" : "fails") : `left out (${skipped})`}`)
    .join(", ");
}

/** A row as it is kept, and compared with the next run's. */
function summary(row) {
  const bad = row.broken !== undefined || (row.misses ?? []).length > 0;
  const verdict = bad ? "miss" : row.skipped !== undefined ? "skipped" : row.nobody !== undefined ? "nobody" : "ok";
  const { name, version, ours, doctor, call, sandbox } = row;
  const kept = { name, version, verdict, tools: ours?.tools, revision: ours?.revision, doctor, call };
  return {
    ...kept,
    sandbox: sandbox === undefined || sandbox === "ok" ? sandbox : "no",
    ways: row.cells?.map(({ way, ok }) => `${way}: ${ok ? "ok" : "no"}`).join("; "),
  };
}

/** What a person wants to know beside the table: what is otherwise than in the last whole run. */
function changes(now, last) {
  const before = new Map(last.map((row) => [row.name, row]));
  const lines = now.flatMap((row) => {
    const old = before.get(row.name);
    if (old === undefined) return [`new: ${row.name}: ${row.verdict}`];
    const keys = Object.keys(row).filter((key) => row[key] !== undefined && old[key] !== undefined && key !== "name");
    const other = keys.filter((key) => JSON.stringify(row[key]) !== JSON.stringify(old[key]));
    return other.map((key) => `changed: ${row.name}: ${key}: ${old[key]} -> ${row[key]}`);
  });
  return lines.length === 0 ? ["nothing changed since the last whole run"] : lines;
}

/** `ask` for each of a list, some at a time; rows are printed as they come and returned in the order of the list. */
async function each(list, ask, atOnce = AT_ONCE) {
  const rows = [];
  const waiting = list.entries();
  const one = async () => {
    for (const [index, entry] of waiting) {
      rows[index] = await ask(entry);
      console.log(line(rows[index]));
    }
  };
  await Promise.all(Array.from({ length: atOnce }, one));
  return rows;
}

/** Alone, one after the other: the ratio is of two clients under the same conditions. */
async function ratios(rows) {
  const list = [];
  for (const { entry, sdkV2, ours } of rows) {
    if (entry === undefined || !sdkV2.ok || !ours.ok) continue;
    const { sdkV2: theirs, ours: own } = await withStart(entry, medians);
    if (own > 0 && theirs > 0) list.push(own / theirs);
  }
  return list.toSorted((a, b) => a - b);
}

function lastRun() {
  try {
    return read("last.json");
  } catch {
    return [];
  }
}

/** Servers under one policy: more than people have, and few enough to start one after the other. */
const AT_ONE_GATEWAY = 13;

async function startedIn(entries, base) {
  const started = [];
  for (const entry of entries) {
    const name = nameOf(entry);
    const scratch = mkdtempSync(join(base, "server-"));
    try {
      started.push({ name, start: await startIn(entry, scratch), allowed: entry.allowed });
    } catch (error) {
      console.log(line(notHad(name, entry.version, error)));
    }
  }
  return started;
}

/** Servers behind the product; exit code 1 where one of them answers otherwise than by itself, or none was asked. */
async function behindGateway() {
  const base = mkdtempSync(join(tmpdir(), "world-"));
  try {
    const rows = [];
    const behindWall = servers.filter(({ needs, allowed }) => needs === undefined && allowed?.sandbox === undefined);
    const entries = chosen(behindWall.filter(({ allowed }) => allowed?.start === undefined));
    for (let at = 0; at < entries.length; at += AT_ONE_GATEWAY) {
      const scratch = mkdtempSync(join(base, "policy-"));
      const some = await askGateway(await startedIn(entries.slice(at, at + AT_ONE_GATEWAY), scratch), scratch);
      for (const row of some) console.log(line(row));
      rows.push(...some);
    }
    const missed = rows.filter(({ misses, nobody }) => nobody === undefined && misses.length > 0).length;
    const asked = rows.filter(({ nobody }) => nobody === undefined).length;
    console.log(`\n${asked - missed} of ${asked} servers answer the same through the gateway`);
    return missed > 0 || asked === 0 ? 1 : 0;
  } finally {
    await removeFolder(base);
  }
}

console.log(`seed ${seed}`);
if (options.gateway) process.exit(await behindGateway());
const served = options.clients ? [] : await each(chosen(servers), serverRow);
const clients = options.servers ? [] : chosen(read("clients.json"));
const asked = await askClients(clients, { each, versionWanted, notHad });
const rows = [...served, ...asked];
// What starts only while somebody else on the net answers may not start again a moment later.
const working = served.filter(({ ours, entry }) => ours?.ok && entry.allowed?.start === undefined);
if (!quick && working.length > 0) {
  const host = await askHost(working, ({ entry }, folder) => startIn(entry, folder));
  console.log(line(host));
  rows.push(host);
}
const now = rows.map(summary);
const last = lastRun();
console.log();
for (const change of changes(now, last)) console.log(change);
const count = (verdict) => now.filter((row) => row.verdict === verdict).length;
console.log(
  `${count("ok")} ok, ${count("miss")} missed, ${count("nobody")} start with nobody, ${count("skipped")} skipped`,
);
if (whole || options.write) {
  const fresh = new Map(now.map((row) => [row.name, row]));
  const known = new Set(last.map(({ name }) => name));
  const kept = [...last.map((row) => fresh.get(row.name) ?? row), ...now.filter(({ name }) => !known.has(name))];
  writeFileSync(LAST, `${JSON.stringify(whole ? now : kept, null, 2)}\n`);
}
if (!quick) {
  const list = await ratios(served);
  const median = list[list.length >> 1];
  if (median !== undefined)
    console.log(
      `start: ${median.toFixed(2)} times what SDK v2's client takes (median of ${list.length} servers; wanted: at most 1.10)`,
    );
}
// Nothing that works is no proof that nothing fails.
process.exit(count("miss") === 0 && count("ok") > 0 ? 0 : 1);
