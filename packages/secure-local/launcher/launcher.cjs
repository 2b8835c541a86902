#!/usr/bin/env node
// Starts the command: runs the bundle beside this file, with the code V8 compiled for it at an earlier start.
//
// Compiling the bundle takes longer than everything else at start. What V8 made of it is kept in the user's cache
// folder, for this very build and Node; where that folder is missing, or others could write to it, nothing is kept.
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
/** Each file begins with the SHA-256 of the rest: V8 runs damaged code as if it were sound. */
const DIGEST_BYTES = 32;

const folder = cacheFolder();
const kept = folder && path.join(folder, `code-${BUILD}-${process.version}-${process.arch}.bin`);
const cachedData = kept && sound(readOwn(kept));
const source = fs.readFileSync(BUNDLE, "latin1");
const wrapped = `(function (exports, require, module, __filename, __dirname) {${source}\n})`;
const script = new vm.Script(wrapped, {
  filename: BUNDLE,
  cachedData,
  importModuleDynamically: vm.constants.USE_MAIN_CONTEXT_DEFAULT_LOADER,
});
if (kept && (cachedData === undefined || script.cachedDataRejected)) keepLater();
// A module like any other, because the files loaded later share what it has.
const main = new Module(BUNDLE, module);
main.filename = BUNDLE;
main.loaded = true;
const load = Module.createRequire(BUNDLE);
load.cache[BUNDLE] = main;
script.runInThisContext().call(main.exports, main.exports, load, main, BUNDLE, __dirname);

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
  if (bytes === undefined || bytes.length <= DIGEST_BYTES) return undefined;
  const code = bytes.subarray(DIGEST_BYTES);
  return digest(code).equals(bytes.subarray(0, DIGEST_BYTES)) ? code : undefined;
}

function digest(code) {
  return createHash("sha256").update(code).digest();
}

function isOwn(stats) {
  return stats.uid === process.getuid() && (stats.mode & OTHERS_CAN_WRITE) === 0;
}

/** Only a program that goes on running keeps its code: a short one has not run what the next start needs. */
function keepLater() {
  const keep = () => {
    try {
      write(script.createCachedData());
    } catch {
      // A start without kept code is only slower.
    }
  };
  setTimeout(keep, KEEP_AFTER_MS).unref();
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
