// What other people's servers say of themselves: installs each package in its version, starts it once, lists all it offers, and keeps that in the
// user's cache, outside of the repository. A version that was asked before is not asked again.
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect } from "@secure-local/mcp/client/node";
import { FOLDER, installed, programOf } from "../../world/install.mjs";

const KEPT = join(FOLDER, "definitions");
/** Programs that start at the same time: each keeps one core busy for a second or two. */
const AT_ONCE = 3;
/** A server that is installed starts within this, on a busy machine too. */
const START_MS = 45_000;
/** One that does not start is not asked again by the next run within this: it wants a database or a network. */
const GIVEN_UP_MS = 24 * 3_600_000;

/** The servers whose definitions are judged: those of the matrix of other people's software, and some more. */
export function realServers() {
  const read = (path) => JSON.parse(readFileSync(new URL(path, import.meta.url), "utf8"));
  return [...read("../../world/servers.json"), ...read("../data/more-servers.json")];
}

/**
 * For each server its name, version and `offering`, or `missing`, which says why there is none. What cannot be had within `withinMs` is
 * left for the next run.
 */
export async function realOfferings(servers, { withinMs }) {
  const until = performance.now() + withinMs;
  const rows = [];
  const waiting = servers.entries();
  const one = async () => {
    for (const [index, entry] of waiting) rows[index] = await offeringOf(entry, until);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, one));
  return rows;
}

async function offeringOf(entry, until) {
  const { package: name, version, as = name } = entry;
  const path = keptAt(entry);
  const known = keptIn(path);
  if (known !== undefined) return { name: as, package: name, version, ...known };
  const left = until - performance.now();
  if (left <= 0) return { name: as, package: name, version, missing: "no time was left to fetch it" };
  let timer;
  const late = new Promise((resolve) => {
    timer = setTimeout(() => resolve({ missing: "no time was left to fetch it", later: true }), left);
  });
  const { later, ...found } = await Promise.race([fetched(entry), late]);
  clearTimeout(timer);
  if (later !== true) keep(path, found);
  return { name: as, package: name, version, ...found };
}

/** Another version, other arguments or other variables may say something else. */
function keptAt({ call: _, ...entry }) {
  const digest = createHash("sha256").update(JSON.stringify(entry)).digest("hex").slice(0, 16);
  return join(KEPT, `${`${entry.package}@${entry.version}`.replaceAll(/[^\w.@+-]+/g, "_")}-${digest}.json`);
}

function keptIn(path) {
  if (!existsSync(path)) return undefined;
  const { at, ...kept } = JSON.parse(readFileSync(path, "utf8"));
  return kept.missing !== undefined && Date.now() - at > GIVEN_UP_MS ? undefined : kept;
}

/** Whole or not at all: two runs may keep the same. */
function keep(path, found) {
  mkdirSync(KEPT, { recursive: true });
  const beside = `${path}.${process.pid}`;
  writeFileSync(beside, JSON.stringify({ at: Date.now(), ...found }));
  renameSync(beside, path);
}

async function fetched(entry) {
  const scratch = mkdtempSync(join(tmpdir(), "definitions-"));
  try {
    const folder = await installed(entry);
    return { offering: await listed(entry, folder, scratch) };
  } catch (error) {
    const missing = String(error?.message ?? error).replaceAll(/\s+/g, " ");
    // An error of the network is no reason to give up for a day.
    return { missing: missing.slice(0, 200), later: /cannot be installed/.test(missing) };
  } finally {
    rmSync(scratch, { recursive: true, force: true, maxRetries: 3 });
  }
}

async function listed(entry, folder, scratch) {
  const fill = (text) => text.replaceAll("{scratch}", scratch);
  const set = Object.entries(entry.env ?? {}).map(([name, value]) => [name, fill(value)]);
  const args = [programOf(folder, entry.package, entry.bin), ...(entry.args ?? []).map(fill)];
  const env = { PATH: process.env.PATH, HOME: scratch, ...Object.fromEntries(set) };
  const target = { command: process.execPath, args, env };
  const verdicts = { get: () => undefined, set: () => undefined, delete: () => undefined };
  const client = await connect(target, { connectTimeoutMs: START_MS, timeoutMs: START_MS, verdicts });
  try {
    const { capabilities, instructions } = client;
    const has = (name, listing, options) => (capabilities[name] ? all(listing, options) : []);
    return {
      instructions,
      tools: await has("tools", () => client.tools(), { orNone: false }),
      prompts: await has("prompts", () => client.prompts()),
      resources: await has("resources", () => client.resources()),
      resourceTemplates: await has("resources", () => client.resourceTemplates()),
    };
  } finally {
    await client.close();
  }
}

/** Tools must be listed; of the rest, what a server says it has it may still refuse to list. */
async function all(listing, { orNone = true } = {}) {
  const found = [];
  try {
    for await (const one of listing()) found.push(one);
  } catch (error) {
    if (!orNone) throw error;
  }
  return found;
}
