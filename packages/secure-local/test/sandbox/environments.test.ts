// Python's virtual environments in a granted folder: a sandbox makes its own, and changes none that was there.
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeEach, describe, expect, test } from "vitest";
import { createRun } from "../../src/capabilities/policy-run.js";
import { parsePolicy } from "../../src/policy/parse-policy.js";
import { hasWall } from "./walls.js";

const ground = mkdtempSync(join(homedir(), ".test-venv-"));
const folder = join(ground, "data");
const PYTHON = "/usr/bin/python3";
const ready = hasWall() && existsSync(PYTHON);
beforeEach(() => mkdirSync(folder));
afterEach(() => rmSync(folder, { recursive: true, force: true }));
afterAll(() => rmSync(ground, { recursive: true, force: true }));

async function bash(script: string): Promise<{ exitCode: number | undefined; said: string }> {
  const policy = await parsePolicy(
    `version: "1.0"
filesystem: { allowed_paths: ["${folder}/**"] }
commands:
  allowed:
    - name: bash
      executable: /bin/bash
      arguments: [{ fixed: "-c" }, { pattern: "(?s).*" }]
      working_directory: ${folder}
      timeout: 60
`,
    { file: "/nowhere/policy.yaml", environment: {} },
  );
  const { exitCode, stdout, stderr } = await createRun(() => policy, [])("bash", ["-c", script]);
  return { exitCode, said: stdout + stderr };
}

function make(name: string): void {
  execFileSync(PYTHON, ["-m", "venv", "--without-pip", join(folder, name)]);
}

/** Each way to change a file, in its folder and by the folders above. */
const WAYS: Readonly<Record<string, (path: string) => string>> = {
  written: (path) => `echo evil > ${path}`,
  appended: (path) => `echo evil >> ${path}`,
  removed: (path) => `rm -f ${path}; echo evil > ${path}`,
  "moved over": (path) => `echo evil > n; mv -f n ${path}`,
  linked: (path) => `echo evil > n; ln -f n ${path}; ln -sf "$PWD/n" ${path}`,
  "in a folder moved away": (path) => `mv v w; mkdir -p $(dirname ${path}); cp -r w/. v; echo evil > ${path}`,
  "in a folder brought": (path) =>
    `mkdir -p n; mv $(dirname ${path}) n; mkdir -p $(dirname ${path}); echo evil > ${path}`,
  "with settings made first": (path) => `rm -f v/pyvenv.cfg; echo > v/pyvenv.cfg; echo evil > ${path}`,
  "with settings above": (path) => `echo > pyvenv.cfg; echo > lib/pyvenv.cfg; echo evil > ${path}`,
  "with settings beside its Python": (path) => `echo evil > v/bin/pyvenv.cfg; echo evil > ${path}`,
  "by making it anew": (path) => `${PYTHON} -m venv --clear --without-pip v; echo evil > ${path}`,
};
const SITE = `lib/${ready ? execFileSync(PYTHON, ["-c", "import sys; print('python%d.%d' % sys.version_info[:2])"], { encoding: "utf8" }).trim() : ""}/site-packages`;

describe.skipIf(!ready)("an environment that was there", () => {
  const files = ["pyvenv.cfg", `${SITE}/evil.pth`, "bin/activate", "bin/activate.fish", "bin/Activate.ps1"];
  test.each(files.flatMap((file) => Object.keys(WAYS).map((way) => [file, way] as const)))(
    "keeps its %s when that is %s",
    async (file, way) => {
      make("v");
      const path = join(folder, "v", file);
      const before = existsSync(path) ? readFileSync(path, "utf8") : undefined;
      await bash(WAYS[way]!(`v/${file}`));
      expect(existsSync(path) ? readFileSync(path, "utf8") : undefined).toBe(before);
      expect(existsSync(join(folder, "v/bin/pyvenv.cfg"))).toBe(false);
    },
  );

  test("is not taken for the sandbox's own where somebody makes it in the place of such a one", async () => {
    mkdirSync(join(folder, "v"));
    const running = bash(
      `echo > v/pyvenv.cfg; rm v/pyvenv.cfg; rmdir v; : > ready; while [ ! -e v/bin/activate ]; do sleep 0.1; done; sleep 0.3
       echo evil > v/pyvenv.cfg; echo evil > v/${SITE}/evil.pth; echo evil > v/bin/activate`,
    );
    while (!existsSync(join(folder, "ready"))) await new Promise((resolve) => setTimeout(resolve, 50));
    make("v");
    await running;
    expect(readFileSync(join(folder, "v/pyvenv.cfg"), "utf8")).not.toContain("evil");
    expect(readFileSync(join(folder, "v/bin/activate"), "utf8")).not.toContain("evil");
    expect(existsSync(join(folder, "v", SITE, "evil.pth"))).toBe(false);
  });

  test("of another kind gets no settings", async () => {
    mkdirSync(join(folder, "conda/bin"), { recursive: true });
    mkdirSync(join(folder, "conda", SITE), { recursive: true });
    writeFileSync(join(folder, "conda/bin/python3"), "");
    await bash(
      `echo > conda/pyvenv.cfg; echo > conda/bin/pyvenv.cfg; echo > conda/${SITE}/x.pth; echo > pyvenv.cfg; echo > conda/${SITE}/y.pth`,
    );
    for (const name of ["pyvenv.cfg", "bin/pyvenv.cfg", `${SITE}/x.pth`, `${SITE}/y.pth`])
      expect([name, existsSync(join(folder, "conda", name))]).toEqual([name, false]);
  });
});

test.skipIf(!ready)("an environment is made, used, changed and removed inside", async () => {
  const { exitCode, said } = await bash(
    `set -e; ${PYTHON} -m venv --without-pip v; echo 'import os' > v/${SITE}/own.pth; echo '#' >> v/${SITE}/own.pth; echo '# x' >> v/pyvenv.cfg
     echo '# x' >> v/bin/activate; v/bin/python -c 'import sys; sys.exit(sys.prefix == sys.base_prefix)'; . v/bin/activate; deactivate
     ${PYTHON} -m venv --clear --without-pip v; echo > v/${SITE}/own.pth; rm -r v; [ ! -e v ]`,
  );
  expect([exitCode, said]).toEqual([0, ""]);
});
