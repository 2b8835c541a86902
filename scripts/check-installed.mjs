#!/usr/bin/env node
// Installs the packed command as a stranger would: from its tarball alone, without a network, as another user, in a path with
// spaces, on the Node this runs on; and makes its first guarded calls. With --fresh the tarball comes from a fresh clone whose
// README is followed word for word, and the time from `npm install` to the first guarded call is printed.
import { spawnSync } from "node:child_process";
import { chmodSync, cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { root } from "./lib/run-command.mjs";

/** Nobody: a user that owns nothing. Only root may become another one. */
const STRANGER = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {};
/** A question of `policy init`, and what a newcomer types: no folder, searches yes, no pages. */
const ANSWERS = "\r\r\r";

const folder = realpathSync(mkdtempSync(join(tmpdir(), "installed ")));
chmodSync(folder, 0o755);

/** Runs a program to its end. @throws Error with all it printed, where it fails */
function run(program, args, options = {}) {
  const ran = spawnSync(program, args, { encoding: "utf8", maxBuffer: 64 * 1024 * 1024, ...options });
  const output = `${ran.stdout ?? ""}${ran.stderr ?? ""}`;
  const code = ran.status ?? 1;
  if (code !== (options.code ?? 0))
    throw new Error(`${[program, ...args].join(" ")} ended with ${code}:\n${output}${ran.error?.message ?? ""}`);
  return output;
}

/** Node and npm where every user may read them: those of a version manager lie in somebody's home. */
function tools() {
  const place = join(folder, "node here");
  const npm = dirname(dirname(realpathSync(run("sh", ["-c", "command -v npm"]).trim())));
  mkdirSync(join(place, "bin"), { recursive: true });
  cpSync(realpathSync(process.execPath), join(place, "bin/node"));
  cpSync(npm, join(place, "npm"), { recursive: true, dereference: true });
  return { bin: join(place, "bin"), node: join(place, "bin/node"), npm: join(place, "npm/bin/npm-cli.js") };
}

/** What a user has in the environment, and nothing of this one. */
function environment(home, { bin }) {
  const path = [join(home, "global/bin"), bin, "/usr/local/bin", "/usr/bin", "/bin"].join(delimiter);
  return {
    PATH: path,
    HOME: home,
    SHELL: "/bin/bash",
    npm_config_prefix: join(home, "global"),
    npm_config_cache: join(home, "npm cache"),
    npm_config_update_notifier: "false",
  };
}

function homeOf(name, owner) {
  const home = join(folder, name);
  mkdirSync(join(home, "global"), { recursive: true });
  if (owner.uid !== undefined) run("chown", ["-R", `${owner.uid}:${owner.gid}`, home]);
  return home;
}

/** Calls what was installed, as a stranger. */
function installed(tarball, found) {
  const home = homeOf("a stranger's home", STRANGER);
  const as = { cwd: home, env: environment(home, found), ...STRANGER };
  run(found.node, [found.npm, "install", "--offline", "--global", "--no-audit", "--no-fund", tarball], as);
  const command = join(home, "global/bin/mcp-secure-local");
  const { version } = JSON.parse(readFileSync(join(root, "packages/secure-local/package.json"), "utf8"));
  expect(run(command, ["--version"], as), version);
  expect(run(command, ["policy", "init", "--yes"], as), "written");
  expect(run(command, ["call", "calculate", "expression=2 + 3 * 4"], as), "14");
  expect(run(command, ["call", "read_file", "path=/etc/passwd"], { ...as, code: 5 }), "Denied.");
  expect(run(command, ["audit", "verify"], as), "none changed, missing or added");
  const who = STRANGER.uid === undefined ? "as this user" : "as another user";
  console.log(`installed offline from its tarball, ${who}, in "${home}", on Node ${process.versions.node}`);
}

function expect(output, wanted) {
  if (!output.includes(wanted)) throw new Error(`"${wanted}" was expected in:\n${output}`);
}

/** The lines of the README's first success, without their remarks. */
function firstSuccess() {
  const page = readFileSync(join(root, "README.md"), "utf8");
  const block = /## First success[^]*?```sh\n([^]*?)```/.exec(page)?.[1] ?? "";
  const lines = block.split("\n").map((line) => line.replace(/\s+# .*$/, ""));
  return lines.filter((line) => line !== "");
}

/** A clone of what is committed, with the dependencies beside it, so that npm need not fetch them again. */
function freshClone() {
  const clone = join(folder, "a fresh clone");
  run("git", ["clone", "--quiet", "--no-hardlinks", root, clone]);
  run("cp", ["-a", join(root, "node_modules"), join(clone, "node_modules")]);
  rmSync(join(clone, "node_modules/.cache"), { recursive: true, force: true });
  return clone;
}

/** Types the README's commands into a shell, one after the other. */
function follow(clone, found) {
  const home = homeOf("a newcomer's home", {});
  const env = environment(home, found);
  const npm = `#!/bin/sh\nexec "${found.node}" "${found.npm}" "$@"\n`;
  run("sh", ["-c", `cat > "${found.bin}/npm" && chmod 755 "${found.bin}/npm"`], { input: npm });
  const lines = firstSuccess();
  const began = performance.now();
  let called = 0;
  for (const line of lines) {
    const denied = line.includes("/etc/passwd");
    const asks = line.endsWith("policy init");
    // A shell of its own for each line, as a page is followed; questions are asked in a terminal.
    const shell = asks ? ["script", ["--quiet", "--return", "--command", line, "/dev/null"]] : ["bash", ["-c", line]];
    const output = run(shell[0], shell[1], {
      cwd: clone,
      env: { ...env, npm_config_offline: "true" },
      input: asks ? ANSWERS : "",
      code: denied ? 5 : 0,
    });
    if (line.includes(" call ")) {
      expect(output, denied ? "Denied." : "14");
      called ||= performance.now();
    }
    if (line.endsWith("audit query")) for (const word of ["calculate", "/etc/passwd", "denied"]) expect(output, word);
  }
  if (called === 0) throw new Error("README.md has no first success with a call in it");
  const seconds = ((called - began) / 1_000).toFixed(1);
  console.log(`${seconds} s from npm install to the first guarded call, by the ${lines.length} lines of README.md`);
}

/** @returns the tarball that `npm pack` makes */
function packed(place, found, ...options) {
  const target = join(folder, "tarball of ours");
  mkdirSync(target, { recursive: true });
  const args = [found.npm, "pack", "--silent", "--workspace", "packages/secure-local", "--pack-destination", target];
  run(found.node, [...args, ...options], {
    cwd: place,
    env: { ...process.env, PATH: `${found.bin}${delimiter}${process.env.PATH}` },
  });
  const [name] = readdirSync(target);
  return join(target, name);
}

try {
  const found = tools();
  if (process.argv.includes("--fresh")) {
    const clone = freshClone();
    // Nothing is built there yet: packing has to do it.
    const tarball = packed(clone, found);
    rmSync(join(clone, "packages/secure-local/dist"), { recursive: true });
    rmSync(join(clone, "packages/mcp/dist"), { recursive: true });
    follow(clone, found);
    installed(tarball, found);
  } else installed(packed(root, found, "--ignore-scripts"), found);
} catch (error) {
  console.error(error instanceof Error ? error.message : String(error));
  process.exitCode = 1;
} finally {
  rmSync(folder, { recursive: true, force: true });
}
