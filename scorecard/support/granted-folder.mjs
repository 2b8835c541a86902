// Folders that a sandbox was granted, and scripts that are run in them.
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

/** What an attacker writes. */
export const EVIL = "EVIL";

let folders = 0;

export function folderIn(ground) {
  const folder = join(ground, `f${(folders += 1)}`);
  mkdirSync(folder, { recursive: true });
  return folder;
}

export function put(folder, name, text) {
  mkdirSync(dirname(join(folder, name)), { recursive: true });
  writeFileSync(join(folder, name), text);
}

/** Runs one script in a folder it may write. */
export async function inside(
  { createRun, parsePolicy },
  folder,
  script,
  { own = [], network = "", git = false, denied = "" } = {},
) {
  const policy = await parsePolicy(
    `version: "1.0"
filesystem: { allowed_paths: ["${folder}/**"]${denied} }
sandbox: { file_mb: 256, git: ${git} }
commands:
  allowed:
    - name: bash
      executable: /bin/bash
      arguments: [{ fixed: "-c" }, { pattern: "(?s).*" }]
      working_directory: ${folder}
      timeout: 120
      ${network}
`,
    { file: "/nowhere/policy.yaml", environment: {} },
  );
  return await createRun(() => policy, own)("bash", ["-c", script]);
}

/** Tries each way in a folder of its own, all of them in one sandbox; `ask` says what became of a folder. */
export async function tried(report, parts, ground, { name, ways, prepare, ask, own = () => [] }) {
  const all = folderIn(ground);
  const places = Object.entries(ways).map(([way, script]) => ({ way, script, folder: folderIn(all) }));
  for (const { folder } of places) prepare(folder);
  const script = places
    .map(({ folder, script }) => `(cd ${folder}; ${script.replaceAll("/tmp/", `/tmp/${folders}`)})`)
    .join("\n");
  await inside(parts, all, script, { own: places.flatMap(({ folder }) => own(folder)) });
  for (const { way, folder } of places) await report.attack(`${name}: ${way}`, () => ask(folder));
}
