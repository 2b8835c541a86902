// Policies by which a sandbox could write where the guard's own files lie, or see the homes of others.
import { mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync } from "node:fs";
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

/** Each link of the way leads to the next, written whole or from where it stands; the last one to the target. */
function wayTo(base, target, { length, whole, above }) {
  let led = above ? target.slice(0, target.lastIndexOf("/")) : target;
  for (let left = length; left > 0; left -= 1) {
    const name = `way${left}-${Math.random().toString(36).slice(2)}`;
    symlinkSync(whole ? led : `../${led.slice(base.length + 1)}`, join(base, "ways", name));
    led = join(base, "ways", name);
  }
  return above ? led + target.slice(target.lastIndexOf("/")) : led;
}

export async function homesLed(report, { parsePolicy, checkPlaces, persistentHome }, ground) {
  report.kind("the homes of sandboxes led into a granted folder by links", { found: "attack" });
  const base = mkdtempSync(join(folderIn(ground), "led-"));
  for (const folder of ["proj/cache", "beside", "ways"]) mkdirSync(join(base, folder), { recursive: true });
  const grants = {
    "the policy's files": `filesystem: { allowed_paths: ["${base}/proj/**"] }`,
    "a plugin": `plugins: { load: [{ name: one, path: /nowhere/one, filesystem: { allowed_paths: ["${base}/proj/**"] } }] }`,
    "a server that reads": `servers: { one: { command: [node, x], filesystem: { readable_paths: ["${base}/proj/**"] } } }`,
  };
  const policyOf = (grant, homes) =>
    parsePolicy(`version: "1.0"\n${grant}\nsandbox: { homes: "${homes}" }\n`, {
      file: "/nowhere/policy.yaml",
      environment: {},
    });
  const made = (policy) =>
    persistentHome(policy, policy.sandbox.homes, ["a"]).then(
      ({ held }) => (held.close(), "it was made"),
      (error) => error.message,
    );
  for (const [by, grant] of Object.entries(grants))
    for (const length of [1, 2, 5])
      for (const whole of [true, false])
        for (const above of [true, false]) {
          const way = { length, whole, above };
          const what = `${length} links${whole ? "" : " from where they stand"}${above ? " above it" : ""}, ${by}`;
          await report.attack(`a policy, by ${what}`, async () => {
            const policy = await policyOf(grant, wayTo(base, `${base}/proj/cache`, way));
            try {
              checkPlaces(policy);
              return "it was taken";
            } catch (error) {
              return /:2:\d+: .*\(line 3: sandbox\.homes\)/.test(error.message) || error.message;
            }
          });
          await report.attack(`exchanged after it was loaded, by ${what}`, async () => {
            const moving = join(base, "ways", `moving${Math.random()}`);
            symlinkSync(join(base, "beside"), moving);
            const policy = await policyOf(grant, wayTo(base, moving, way));
            checkPlaces(policy);
            const first = await made(policy);
            if (first !== "it was made") return first;
            rmSync(moving);
            symlinkSync(join(base, "proj/cache"), moving);
            const said = await made(policy);
            if (readdirSync(join(base, "proj/cache")).length > 0) report.sideEffect("a home was made there");
            return /it leads into what is granted by/.test(said) || said;
          });
        }
  await report.benign("homes behind links beside a granted folder", async () => {
    const policy = await policyOf(
      grants["a plugin"],
      wayTo(base, join(base, "beside"), { length: 3, whole: true, above: false }),
    );
    checkPlaces(policy);
    return (await made(policy)) === "it was made";
  });
}
