// Folders that rules begin with are what they were when the policy was loaded, for every part of the program, whenever it first looks.
import { mkdirSync, readFileSync, renameSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { FileSystem } from "../../src/capabilities/files/file-system.js";
import { ownFiles } from "../../src/capabilities/files/own-files.js";
import { isExchangeable, isMoved, rememberBases } from "../../src/capabilities/files/bases.js";
import { wayTo } from "../../src/capabilities/files/leads-to.js";
import { SandboxView } from "../../src/capabilities/sandbox-reach.js";
import { grantedPolicy } from "../../src/policy/granted-policy.js";
import { parsePolicy } from "../../src/policy/parse-policy.js";
import type { Policy } from "../../src/policy/policy.js";
import { tree, type Tree } from "./tree.js";

const CODE = (error: unknown): string => (error as { readonly code?: string }).code ?? String(error);

/** What each part of the program makes of a path: the file tools, and what commands and plugins are shown. */
async function answers(policy: Policy, path: string): Promise<string[]> {
  const system = new FileSystem(() => policy);
  onTestFinished(() => system.close());
  const shown = async (under: Policy): Promise<string> => {
    const view = await SandboxView.of({ policy: under, own: ownFiles(under, []), wall: "none" });
    const found = await view.reach({ path, access: "read" });
    for (const { held } of found ?? []) held?.close();
    return found === undefined ? "not-found" : "shown";
  };
  const { network, filesystem } = policy;
  return await Promise.all([
    system
      .files()
      .read(path)
      .then(() => "read", CODE),
    shown(policy).catch(CODE),
    shown(grantedPolicy(policy, { network, filesystem })).catch(CODE),
  ]);
}

function docs(t: Tree): string {
  mkdirSync(join(t.inside, "docs"));
  mkdirSync(join(t.outside, "docs"));
  for (const folder of [t.inside, t.outside]) writeFileSync(join(folder, "docs/f"), "text");
  return join(t.inside, "docs");
}

function exchange(t: Tree, folder: string): void {
  renameSync(folder, `${folder}.kept`);
  symlinkSync(join(t.outside, "docs"), folder);
}

const policyOf = (policy: object): Promise<Policy> =>
  parsePolicy(JSON.stringify({ version: "1.0", ...policy }), { file: "/nowhere/policy.yaml", environment: {} });

it.each([
  ["to be written", { allowed_paths: ["/**"] }],
  ["to be read", { readable_paths: ["/**"] }],
  ["with a denial in it", { allowed_paths: ["/**"], denied_paths: ["/*.pem"] }],
])("a folder %s that becomes a link after the policy was loaded leads nowhere", async (_, rules) => {
  const t = tree();
  const folder = docs(t);
  const filesystem = Object.fromEntries(
    Object.entries(rules).map(([key, list]) => [key, list.map((path) => `${folder}${path}`)]),
  );
  const policy = await policyOf({ filesystem });
  rememberBases(policy);
  exchange(t, folder);
  expect(await answers(policy, join(folder, "f"))).toEqual(["denied", "denied", "denied"]);
  // A policy that is loaded anew finds the link, and knows what stood there.
  const anew = await policyOf({ filesystem });
  rememberBases(anew);
  expect(await answers(anew, join(folder, "f"))).toEqual(["denied", "denied", "denied"]);
});

it("a link that was there when the policy was loaded leads on", async () => {
  const t = tree();
  const folder = docs(t);
  exchange(t, folder);
  const policy = await policyOf({ filesystem: { allowed_paths: [`${folder}/**`] } });
  rememberBases(policy);
  expect(await answers(policy, join(folder, "f"))).toEqual(["read", "shown", "shown"]);
});

it.each([
  [
    "plugin",
    (inside: string) => ({
      plugins: { load: [{ name: "p", path: "/opt/p", filesystem: { allowed_paths: [`${inside}/**`] } }] },
    }),
  ],
  [
    "command",
    (inside: string) => ({
      commands: { allowed: [{ name: "make", executable: "/usr/bin/make", working_directory: inside }] },
    }),
  ],
] as const)("a link that a %s may put there leads nowhere, whenever it was put there", async (by, more) => {
  const t = tree();
  const folder = docs(t);
  exchange(t, folder);
  const allowed = [`${folder}/**`, ...(by === "command" ? [`${t.inside}/**`] : [])];
  const policy = await policyOf({ filesystem: { allowed_paths: allowed }, ...more(t.inside) });
  rememberBases(policy);
  expect(await answers(policy, join(folder, "f"))).toEqual(["denied", "denied", "denied"]);
});

/** A folder behind links whose names are more than are looked up, though the system does. */
function endless(t: Tree): string {
  mkdirSync(join(t.inside, "end"));
  const names = Array.from({ length: 4_800 }, (_, index) => index.toString(36).padStart(3, "0"));
  for (const name of names) mkdirSync(join(t.inside, name));
  for (let link = 0; link < 9; link += 1) {
    const round = names.slice(link * 540, (link + 1) * 540).map((name) => `${name}/../`);
    symlinkSync(round.join("") + (link === 0 ? "end" : `l${link - 1}`), join(t.inside, `l${link}`));
  }
  return join(t.inside, "l8");
}

it.skipIf(process.platform === "win32")("are refused where the way to them cannot be seen to its end", async () => {
  const t = tree();
  const folder = endless(t);
  const program = join(folder, "program");
  writeFileSync(program, "#!/bin/sh\n", { mode: 0o755 });
  expect(readFileSync(join(t.inside, "end/program"), "utf8")).toContain("sh");
  expect(wayTo(program)).toMatchObject({ isWhole: false, real: join(t.inside, "end/program") });
  expect(wayTo(program).links[0]).toBe(folder);
  expect(wayTo(join(t.inside, "end/program"))).toMatchObject({ isWhole: true, links: [] });
  const text = `version: "1.0"
filesystem: { readable_paths: ["${folder}/**"] }
commands: { allowed: [{ name: p, executable: "${program}" }, { name: q, executable: "${t.inside}/end/program" }] }`;
  const policy = await parsePolicy(text, { file: join(folder, "policy.yaml") });
  rememberBases(policy);
  expect(isExchangeable(program)).toBe(true);
  expect(isMoved(program)).toBe(true);
  expect(isMoved(join(t.inside, "end/program"))).toBe(false);
  expect(await answers(policy, program)).not.toContain("read");
  expect(await answers(policy, program)).not.toContain("shown");
  const own = ownFiles(policy, []);
  for (const path of [folder, join(t.inside, "end")]) expect(own).toContain(path.toLowerCase());
});
