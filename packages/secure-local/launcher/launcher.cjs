#!/usr/bin/env node
// Starts the command: runs the bundle beside this file, with the code V8 compiled for it at an earlier start.
//
// Compiling the bundle takes longer than everything else at start. What V8 made of each of its files is kept in the
// user's cache folder, for this very build and Node; where that folder is missing, or others could write to it,
// nothing is kept.
"use strict";
const { createHash } = require("node:crypto");
const fs = require("node:fs");
const Module = require("node:module");
const path = require("node:path");
const vm = require("node:vm");

/** Written in by the build: changes with the bundle, so that no old code runs under a new one. */
const BUILD = "development";
const BUNDLE = path.join(__dirname, "main.cjs");
/** Code for this many builds and Nodes is kept; the oldest goes. */
const MOST_KEPT = 4;
/** After the first answers: making the code takes 10 ms, and the functions that ran by then are in it. */
const KEEP_AFTER_MS = 250;
const OTHERS_CAN_WRITE = 0o022;
/** The file begins with the SHA-256 of the rest: V8 runs damaged code as if it were sound. */
const DIGEST_BYTES = 32;
/** Then the length of a table, `{ name: [offset, length] }`, and the code of each file of the bundle that has run. */
const LENGTH_BYTES = 4;

const folder = cacheFolder();
const kept = folder && path.join(folder, `code-${BUILD}-${process.version}-${process.arch}.bin`);
/** The code of earlier starts by file, for as long as it takes to start: a megabyte is much to hold for nothing. */
let known;
/** What this start compiled, by file. */
const scripts = new Map();
let keeper;

/** The files of the bundle that are loaded; Node's own way to find a file costs more than loading it from here. */
const modules = new Map();
const elsewhere = Module.createRequire(BUNDLE);
local("./main.cjs");

/** `require` as the files of the bundle see it: each other by `./name`, everything else as Node finds it. */
function local(id) {
  if (!id.startsWith("./")) return elsewhere(id);
  const loaded = modules.get(id);
  if (loaded !== undefined) return loaded.exports;
  const filename = path.join(__dirname, id);
  const module = { exports: {}, filename, id: filename, require: local };
  modules.set(id, module);
  compile(filename).runInThisContext().call(module.exports, module.exports, local, module, filename, __dirname);
  return module.exports;
}

function earlier() {
  if (known === undefined) {
    known = sound(readOwn(kept)) ?? new Map();
    setTimeout(() => (known = undefined), KEEP_AFTER_MS).unref();
  }
  return known;
}

function compile(filename) {
  const name = path.basename(filename);
  const source = fs.readFileSync(filename, "latin1");
  const wrapped = `(function (exports, require, module, __filename, __dirname) {${source}\n})`;
  const cachedData = kept && earlier().get(name);
  const importModuleDynamically = vm.constants.USE_MAIN_CONTEXT_DEFAULT_LOADER;
  const script = new vm.Script(wrapped, { filename, cachedData, importModuleDynamically });
  if (kept) {
    if (cachedData === undefined || script.cachedDataRejected) keepLater();
    scripts.set(name, script);
  }
  return script;
}

/** Node's own switch turns this off too. */
function cacheFolder() {
  const { env, platform } = process;
  if (env.NODE_DISABLE_COMPILE_CACHE || typeof process.getuid !== "function") return undefined;
  const home = env.HOME && path.join(env.HOME, platform === "darwin" ? "Library/Caches" : ".cache");
  const base = env.XDG_CACHE_HOME || home;
  return base && path.isAbsolute(base) ? path.join(base, "mcp-secure-local") : undefined;
}

/** The file's bytes, if nobody but this user can have written them. */
function readOwn(file) {
  let handle;
  try {
    if (!isOwn(fs.lstatSync(path.dirname(file)))) return undefined;
    handle = fs.openSync(file, fs.constants.O_RDONLY | fs.constants.O_NOFOLLOW);
    const stats = fs.fstatSync(handle);
    return stats.isFile() && isOwn(stats) ? fs.readFileSync(handle) : undefined;
  } catch {
    return undefined;
  } finally {
    if (handle !== undefined) fs.closeSync(handle);
  }
}

function sound(bytes) {
  if (bytes === undefined || bytes.length <= DIGEST_BYTES + LENGTH_BYTES) return undefined;
  const rest = bytes.subarray(DIGEST_BYTES);
  if (!digest(rest).equals(bytes.subarray(0, DIGEST_BYTES))) return undefined;
  const start = LENGTH_BYTES + rest.readUInt32LE();
  const table = JSON.parse(rest.latin1Slice(LENGTH_BYTES, start));
  return new Map(
    Object.entries(table).map(([name, [offset, length]]) => [
      name,
      rest.subarray(start + offset, start + offset + length),
    ]),
  );
}

function digest(code) {
  return createHash("sha256").update(code).digest();
}

function isOwn(stats) {
  return stats.uid === process.getuid() && (stats.mode & OTHERS_CAN_WRITE) === 0;
}

/** Only a program that goes on running keeps its code: a short one has not run what the next start needs. */
function keepLater() {
  if (keeper !== undefined) return;
  keeper = setTimeout(() => {
    keeper = undefined;
    try {
      write(packed());
    } catch {
      // A start without kept code is only slower.
    }
  }, KEEP_AFTER_MS).unref();
}

/** What this start ran, and what it did not need of what earlier ones did. */
function packed() {
  const codes = new Map(earlier());
  for (const [name, script] of scripts) codes.set(name, script.createCachedData());
  const table = {};
  let offset = 0;
  for (const [name, code] of codes) {
    table[name] = [offset, code.length];
    offset += code.length;
  }
  const head = Buffer.from(JSON.stringify(table), "latin1");
  const length = Buffer.alloc(LENGTH_BYTES);
  length.writeUInt32LE(head.length);
  return Buffer.concat([length, head, ...codes.values()]);
}

function write(data) {
  fs.mkdirSync(folder, { recursive: true, mode: 0o700 });
  if (!isOwn(fs.lstatSync(folder))) return;
  const fresh = `${kept}.${process.pid}`;
  fs.writeFileSync(fresh, Buffer.concat([digest(data), data]), { mode: 0o600, flag: "wx" });
  fs.renameSync(fresh, kept);
  const files = fs.readdirSync(folder).filter((name) => name.startsWith("code-"));
  const aged = files.map((name) => ({ name, at: fs.statSync(path.join(folder, name)).mtimeMs }));
  aged.sort((a, b) => b.at - a.at);
  for (const { name } of aged.slice(MOST_KEPT)) fs.rmSync(path.join(folder, name), { force: true });
}
