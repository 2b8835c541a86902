#!/usr/bin/env node
// Starts the command: runs the bundle beside this file, with the code V8 compiled for it at an earlier start.
//
// Compiling the bundle takes longer than everything else at start. What V8 made of each of its files is kept in the
// user's cache folder, for this very build and Node; where that folder is missing, or others could write to it,
// nothing is kept. V8 runs that code whatever the bundle says, so it is believed only when it carries a seal made with a key
// that this program keeps in its state folder.
"use strict";
const { createHmac, randomBytes } = require("node:crypto");
const fs = require("node:fs");
const path = require("node:path");
const vm = require("node:vm");

/** Written in by the build: changes with the bundle, so that no old code runs under a new one. */
const BUILD = "development";
/** Code for this many builds and Nodes is kept; the oldest goes. */
const MOST_KEPT = 4;
/** After the first answers: making the code takes 10 ms, and the functions that ran by then are in it. */
const KEEP_AFTER_MS = 250;
/** A program that comes to look so much later was busy: what it starts with it had not run yet, and it looks again, so many times. */
const BUSY_MS = 50;
const MOST_LOOKS = 20;
const OTHERS_CAN_WRITE = 0o022;
const OTHERS_CAN_ANYTHING = 0o077;
/** A file begins with the HMAC of its name and the rest: V8 runs damaged or foreign code as if it were sound. */
const SEAL_BYTES = 32;
const KEY_BYTES = 32;
const KEY_FILE = "code-key";

const folder = ownFolder("XDG_CACHE_HOME", ".cache", "Library/Caches");
/** As the rest of the program has it, which keeps every tool away from it. */
const keyFolder = ownFolder("XDG_STATE_HOME", ".local/state", "Library/Logs");
let key = folder && keyFolder && readKey();
/** Serving and other commands run other functions: by the code of a command that came first each start would compile its own anew. */
const KIND = /^(?:-|serve$|$)/.test(process.argv[2] ?? "") ? "serving" : "command";
/** What the names of this build's files begin with; a file of the bundle has a file of code. */
const KEPT = `code-${BUILD}-${process.version}-${process.arch}-${KIND}`;

/** The files of the bundle that are loaded; Node's own way to find a file costs more than loading it from here. */
const modules = new Map();
/** What was compiled without kept code, by name, until its code is kept. */
const fresh = new Map();
/** Until that is done. */
let waiting;
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
  const cachedData = key && sound(name, readOwn(folder, codeFile(name), OTHERS_CAN_WRITE));
  const importModuleDynamically = vm.constants.USE_MAIN_CONTEXT_DEFAULT_LOADER;
  const script = new vm.Script(source, { filename, cachedData, importModuleDynamically });
  if (folder && keyFolder && script.cachedDataRejected !== false) keepLater(name, script);
  return script.runInThisContext();
}

/** Node's own switch turns this off too. */
function ownFolder(variable, usual, onMac) {
  const { env, platform } = process;
  if (env.NODE_DISABLE_COMPILE_CACHE || typeof process.getuid !== "function") return undefined;
  const base = [env[variable], env.HOME && path.join(env.HOME, platform === "darwin" ? onMac : usual)];
  const first = base.find((each) => each && path.isAbsolute(each));
  return first && path.join(first, "mcp-secure-local");
}

function codeFile(name) {
  return path.join(folder, `${KEPT}-${name}.bin`);
}

/** The bytes of a file in a folder, if nobody but this user can have written them, nor done what `others` forbids. */
function readOwn(within, file, others) {
  let handle;
  try {
    if (!isOwn(fs.lstatSync(within))) return undefined;
    handle = fs.openSync(file, fs.constants.O_RDONLY | fs.constants.O_NOFOLLOW | fs.constants.O_NONBLOCK);
    const stats = fs.fstatSync(handle);
    const sole = stats.isFile() && stats.nlink === 1 && isOwn(stats) && (stats.mode & others) === 0;
    return sole ? fs.readFileSync(handle) : undefined;
  } catch {
    return undefined;
  } finally {
    if (handle !== undefined) fs.closeSync(handle);
  }
}

function readKey() {
  const bytes = readOwn(keyFolder, path.join(keyFolder, KEY_FILE), OTHERS_CAN_ANYTHING);
  return bytes?.length === KEY_BYTES ? bytes : undefined;
}

/** The key, made anew where there is none that is this user's alone. It appears whole, and in place of anything else. */
function keyToKeepBy() {
  if (key !== undefined) return key;
  fs.mkdirSync(keyFolder, { recursive: true, mode: 0o700 });
  if (!isOwn(fs.lstatSync(keyFolder))) return undefined;
  appear(path.join(keyFolder, KEY_FILE), randomBytes(KEY_BYTES));
  return (key = readKey());
}

/** The code in these bytes, if this program wrote it under this name. */
function sound(name, bytes) {
  if (bytes === undefined || bytes.length <= SEAL_BYTES) return undefined;
  const code = bytes.subarray(SEAL_BYTES);
  return seal(name, code).equals(bytes.subarray(0, SEAL_BYTES)) ? code : undefined;
}

function seal(name, code) {
  return createHmac("sha256", key).update(`${KEPT}-${name}\n`).update(code).digest();
}

function isOwn(stats) {
  return stats.uid === process.getuid() && (stats.mode & OTHERS_CAN_WRITE) === 0;
}

/** Only a program that goes on running keeps its code: a short one has not run what the next start needs. */
function keepLater(name, script) {
  fresh.set(name, script);
  wait(0);
}

/** From the file that was compiled last on: what it is loaded for comes after it. */
function wait(looks) {
  clearTimeout(waiting);
  const due = Date.now() + KEEP_AFTER_MS;
  const look = () => (Date.now() > due + BUSY_MS && looks < MOST_LOOKS ? wait(looks + 1) : keep());
  waiting = setTimeout(look, KEEP_AFTER_MS).unref();
}

function keep() {
  try {
    fs.mkdirSync(folder, { recursive: true, mode: 0o700 });
    if (!isOwn(fs.lstatSync(folder)) || keyToKeepBy() === undefined) return;
    for (const [name, script] of fresh) {
      const code = script.createCachedData();
      appear(codeFile(name), Buffer.concat([seal(name, code), code]));
    }
    removeOldest();
  } catch {
    // A start without kept code is only slower.
  } finally {
    fresh.clear();
  }
}

/** The file appears whole: a start that comes meanwhile reads all of it or none. */
function appear(file, bytes) {
  const unfinished = `${file}.${process.pid}`;
  fs.writeFileSync(unfinished, bytes, { mode: 0o600, flag: "wx" });
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
