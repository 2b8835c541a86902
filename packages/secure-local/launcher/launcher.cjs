#!/usr/bin/env node
// Starts the command: runs the bundle beside this file, with the code V8 compiled for it at an earlier start.
//
// Compiling the bundle takes longer than everything else at start. What V8 made of each of its files is kept in the
// user's cache folder, for this very build and Node; where that folder is missing, or others could write to it,
// nothing is kept.
"use strict";
const { hash } = require("node:crypto");
const fs = require("node:fs");
const path = require("node:path");
const vm = require("node:vm");

/** Written in by the build: changes with the bundle, so that no old code runs under a new one. */
const BUILD = "development";
/** Code for this many builds and Nodes is kept; the oldest goes. */
const MOST_KEPT = 4;
/** After the first answers: making the code takes 10 ms, and the functions that ran by then are in it. */
const KEEP_AFTER_MS = 250;
const OTHERS_CAN_WRITE = 0o022;
/** A file begins with the SHA-256 of the rest: V8 runs damaged code as if it were sound. */
const DIGEST_BYTES = 32;

const folder = cacheFolder();
/** What the names of this build's files begin with; a file of the bundle has a file of code. */
const KEPT = `code-${BUILD}-${process.version}-${process.arch}`;

/** The files of the bundle that are loaded; Node's own way to find a file costs more than loading it from here. */
const modules = new Map();
/** What was compiled without kept code, by name, until its code is kept. */
const fresh = new Map();
local("./main.cjs");

/** `require` as the files of the bundle see it: each other by `./name`, everything else as Node finds it. */
function local(id) {
  if (!id.startsWith("./")) return require(id);
  const loaded = modules.get(id);
  if (loaded !== undefined) return loaded.exports;
  const name = id.slice(2);
  const filename = path.join(__dirname, name);
  const module = { exports: {}, filename, id: filename, require: local };
  modules.set(id, module);
  compile(name, filename).call(module.exports, module.exports, local, module, filename, __dirname);
  return module.exports;
}

/** The function of a file. The build has put it around the code: putting it there now would copy the whole text. */
function compile(name, filename) {
  const source = fs.readFileSync(filename, "latin1");
  const cachedData = folder && sound(readOwn(codeFile(name)));
  const importModuleDynamically = vm.constants.USE_MAIN_CONTEXT_DEFAULT_LOADER;
  const script = new vm.Script(source, { filename, cachedData, importModuleDynamically });
  if (folder && script.cachedDataRejected !== false) keepLater(name, script);
  return script.runInThisContext();
}

/** Node's own switch turns this off too. */
function cacheFolder() {
  const { env, platform } = process;
  if (env.NODE_DISABLE_COMPILE_CACHE || typeof process.getuid !== "function") return undefined;
  const home = env.HOME && path.join(env.HOME, platform === "darwin" ? "Library/Caches" : ".cache");
  const base = env.XDG_CACHE_HOME || home;
  return base && path.isAbsolute(base) ? path.join(base, "mcp-secure-local") : undefined;
}

function codeFile(name) {
  return path.join(folder, `${KEPT}-${name}.bin`);
}

/** The file's bytes, if nobody but this user can have written them. */
function readOwn(file) {
  let handle;
  try {
    if (!isOwn(fs.lstatSync(folder))) return undefined;
    handle = fs.openSync(file, fs.constants.O_RDONLY | fs.constants.O_NOFOLLOW);
    const stats = fs.fstatSync(handle);
    return stats.isFile() && isOwn(stats) ? fs.readFileSync(handle) : undefined;
  } catch {
    return undefined;
  } finally {
    if (handle !== undefined) fs.closeSync(handle);
  }
}

/** The code in these bytes, if it is what was written. */
function sound(bytes) {
  if (bytes === undefined || bytes.length <= DIGEST_BYTES) return undefined;
  const code = bytes.subarray(DIGEST_BYTES);
  return digest(code).equals(bytes.subarray(0, DIGEST_BYTES)) ? code : undefined;
}

function digest(code) {
  return hash("sha256", code, "buffer");
}

function isOwn(stats) {
  return stats.uid === process.getuid() && (stats.mode & OTHERS_CAN_WRITE) === 0;
}

/** Only a program that goes on running keeps its code: a short one has not run what the next start needs. */
function keepLater(name, script) {
  if (fresh.size === 0) setTimeout(keep, KEEP_AFTER_MS).unref();
  fresh.set(name, script);
}

function keep() {
  try {
    fs.mkdirSync(folder, { recursive: true, mode: 0o700 });
    if (!isOwn(fs.lstatSync(folder))) return;
    for (const [name, script] of fresh) write(codeFile(name), script.createCachedData());
    removeOldest();
  } catch {
    // A start without kept code is only slower.
  } finally {
    fresh.clear();
  }
}

/** The file appears whole: a start that comes meanwhile reads all of it or none. */
function write(file, code) {
  const unfinished = `${file}.${process.pid}`;
  fs.writeFileSync(unfinished, Buffer.concat([digest(code), code]), { mode: 0o600, flag: "wx" });
  fs.renameSync(unfinished, file);
}

function removeOldest() {
  const newest = new Map();
  const files = fs.readdirSync(folder).filter((name) => name.startsWith("code-"));
  const buildOf = (name) => name.split("-", 4).join("-");
  for (const name of files) {
    const { mtimeMs } = fs.statSync(path.join(folder, name));
    newest.set(buildOf(name), Math.max(newest.get(buildOf(name)) ?? 0, mtimeMs));
  }
  const kept = [...newest.keys()].sort((a, b) => newest.get(b) - newest.get(a)).slice(0, MOST_KEPT);
  for (const name of files) if (!kept.includes(buildOf(name))) fs.rmSync(path.join(folder, name), { force: true });
}
