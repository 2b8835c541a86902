// Commands against an exchanger: a program outside swaps a folder in their paths with a link that leads out, all the while.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { folderIn, put } from "./granted-folder.mjs";

/**
 * The folder, then a link to the folder outside, by renames alone: at times as fast as it can, at times with a rest in which a call
 * gets past the first look, so that every later moment of it is raced as well.
 */
const EXCHANGER = `
my ($here, $out) = @ARGV;
chdir($here) or die;
symlink($out, "link");
$| = 1; print "up\\n";
while (1) {
  my $rest = rand() < 0.3 ? 0 : rand(0.03);
  for (1 .. 20) {
    rename("d", "was"); rename("link", "d");
    select(undef, undef, undef, rand($rest)) if $rest;
    rename("d", "link"); rename("was", "d");
    select(undef, undef, undef, rand($rest)) if $rest;
  }
}
`;
const SECRET = "SECRET-OUTSIDE";
const LANES = 4;

/** How many of so many calls read or wrote what lies outside, and how many were served. */
export async function exchanged({ createRun, parsePolicy }, folder, { kind, calls }) {
  for (const name of ["p/d", "out"]) mkdirSync(join(folder, name), { recursive: true });
  writeFileSync(join(folder, "p/d/key"), "inside");
  writeFileSync(join(folder, "p/payload"), "PAYLOAD");
  writeFileSync(join(folder, "out/key"), SECRET);
  const policy = await parsePolicy(policyText(folder, kind), { file: "/nowhere/policy.yaml", environment: {} });
  const run = createRun(() => policy);
  const ask = {
    "arguments read": () => run("cat", [`${folder}/p/d/key`]),
    "arguments written": () => run("cp", [`${folder}/p/payload`, `${folder}/p/d/key`]),
    "working directories": () => run("work", ["key"]),
    grants: () => run("work", ["key"]),
  }[kind];
  // What links in the rules allow is what they led to when they were looked at first.
  if ((await ask()).exitCode !== 0) throw new Error("nothing is served before there is an exchanger");
  const exchanger = spawn("/usr/bin/perl", ["-e", EXCHANGER, join(folder, "p"), join(folder, "out")], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  await once(exchanger.stdout, "data");
  let [begun, escapes, served] = [0, 0, 0];
  const lane = async () => {
    while (begun++ < calls) {
      const said = await ask().catch(() => undefined);
      if (said?.exitCode === 0) served += 1;
      if (said?.stdout.includes(SECRET) || readFileSync(join(folder, "out/key"), "utf8") !== SECRET) escapes += 1;
    }
  };
  await Promise.all(Array.from({ length: LANES }, lane));
  const ended = once(exchanger, "exit");
  exchanger.kill("SIGKILL");
  await ended;
  return { calls, escapes, served };
}

function policyText(folder, kind) {
  const allowed = [`${folder}/p/**`, ...(kind === "grants" ? [`${folder}/p/d/**`] : [])]
    .map((path) => `"${path}"`)
    .join(", ");
  return `version: "1.0"
filesystem: { allowed_paths: [${allowed}] }
commands:
  allowed:
    - { name: cat, executable: /bin/cat, arguments: [{ path: read }] }
    - { name: cp, executable: /bin/cp, arguments: [{ path: read }, { path: write }] }
    - { name: work, executable: /bin/cat, arguments: [{ fixed: key }], working_directory: "${folder}/p/d" }
`;
}

/** What a command is told of a path is what was found, never the text it was called with. */
export async function rawTexts(report, { createRun, parsePolicy }, ground) {
  report.kind("the raw text of a path reaches the command", { found: "reader" });
  const folder = folderIn(ground);
  put(folder, "p/key", "inside");
  put(folder, "outside/key", SECRET);
  put(folder, "outside/vendor/x", "x");
  symlinkSync(join(folder, "outside/vendor"), join(folder, "p/vendor"));
  for (const sandbox of ["", "sandbox: none"])
    for (const [given, wanted] of [
      ["vendor/../key", "p/key"],
      ["./key", "p/key"],
      ["x/../key", "p/key"],
      ["key", "p/key"],
      ["@key", undefined],
      ["file:key", undefined],
      ["http://h/key", undefined],
    ])
      await report.attack(`${given}${sandbox}`, async () => {
        const policy = await parsePolicy(
          `version: "1.0"\nfilesystem: { allowed_paths: ["${folder}/p/**"] }\n${sandbox}\ncommands:\n  allowed:\n    - { name: echo, executable: /bin/echo, arguments: [{ path: read }], working_directory: ${folder}/p }\n`,
          { file: "/nowhere/policy.yaml", environment: {} },
        );
        const said = await createRun(() => policy)("echo", [given]).then(
          ({ stdout }) => stdout,
          () => undefined,
        );
        return said === (wanted === undefined ? undefined : `${join(folder, wanted)}\n`) || String(said);
      });
}
