// Policies by which a sandbox could write where the guard's own files lie, or see the homes of others.
import { join } from "node:path";
import { folderIn } from "./granted-folder.mjs";

export async function policies(report, { parsePolicy }, ground) {
  report.kind("a policy or log in a folder that a sandbox may write", { found: "reader" });
  const folder = folderIn(ground);
  const command = `commands: { allowed: [{ name: sh, executable: /bin/sh, working_directory: ${folder} }] }`;
  const plugin = `plugins: { load: [{ name: one, path: /nowhere/one, filesystem: { allowed_paths: ["${folder}/**"] } }] }`;
  const files = {
    "the policy": ["conf/policy.yaml", ""],
    "the log": [undefined, `audit: { log_file: ${folder}/logs/audit.log }`],
    "the checkpoints": [undefined, `audit: { checkpoints: { file: ${folder}/c.json } }`],
    "its state": [undefined, "", { XDG_STATE_HOME: folder }],
    "its configuration": [undefined, "", { XDG_CONFIG_HOME: join(folder, "deep") }],
    "what it keeps": [undefined, "", { XDG_DATA_HOME: folder }],
    "its kept code": [undefined, "", { XDG_CACHE_HOME: folder }],
  };
  for (const [what, [file, more, environment = {}]] of Object.entries(files))
    for (const [by, grant] of Object.entries({ "a command": command, "a plugin": plugin }))
      await report.attack(`${what} in a folder of ${by}`, async () => {
        const text = `version: "1.0"\nfilesystem: { allowed_paths: ["${folder}/**"] }\n${grant}\n${more}\n`;
        const path = file === undefined ? "/nowhere/policy.yaml" : join(folder, file);
        return await parsePolicy(text, { file: path, environment }).then(
          () => "it was taken",
          (error) => /would let a program write where/.test(error.message) || error.message,
        );
      });
}

export async function homesGranted(report, { parsePolicy }, ground) {
  report.kind("the homes of sandboxes, where nothing is judged, in a granted folder", { found: "attack" });
  const folder = folderIn(ground);
  const grants = {
    "the policy's files": `filesystem: { allowed_paths: ["${folder}/**"] }`,
    "the policy's files to read": `filesystem: { readable_paths: ["${folder}/**"] }`,
    "a plugin": `plugins: { load: [{ name: one, path: /nowhere/one, filesystem: { allowed_paths: ["${folder}/**"] } }] }`,
    "a plugin that reads": `plugins: { load: [{ name: one, path: /nowhere/one, filesystem: { readable_paths: ["${folder}/**"] } }] }`,
  };
  for (const [by, grant] of Object.entries(grants))
    for (const homes of ["homes", "deep/in/homes"])
      await report.attack(`${homes} in a folder of ${by}`, async () => {
        const text = `version: "1.0"\n${grant}\nsandbox: { homes: "${folder}/${homes}" }\n`;
        return await parsePolicy(text, { file: "/nowhere/policy.yaml", environment: {} }).then(
          () => "it was taken",
          (error) => /sandbox\.homes .*\(line 3: sandbox\.homes\)/.test(error.message) || error.message,
        );
      });
  await report.benign("homes beside a granted folder", async () => {
    const text = `version: "1.0"\nfilesystem: { allowed_paths: ["${folder}/**"] }\nsandbox: { homes: "${folder}-homes" }\n`;
    await parsePolicy(text, { file: "/nowhere/policy.yaml", environment: {} });
    return true;
  });
}
