// Python's virtual environments in a granted folder: a sandbox makes its own, and changes none that was there.
import { execFileSync } from "node:child_process";
import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { homedir } from "node:os";
import { basename, dirname, join } from "node:path";
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

/** Names by which Python and shells find what they run. */
const PARTS = ["lib", `lib/${basename(dirname(SITE))}`, SITE, "lib64", "bin", "include", "bin/python", "bin/python3"];
/** Each way to put what the sandbox made itself, in `n`, in the place of a part. */
const EXCHANGES: Readonly<Record<string, (part: string) => string>> = {
  "moved away for a link": (part) => `mv v/${part} v/was; ln -s "$PWD/n/${part}" v/${part}`,
  "moved out for a link": (part) => `mv v/${part} was; ln -s "$PWD/n/${part}" v/${part}`,
  "removed for a link": (part) => `rm -rf v/${part}; ln -s "$PWD/n/${part}" v/${part}`,
  "replaced by a link": (part) => `ln -sfn "$PWD/n/${part}" v/${part}; ln -s "$PWD/n/${part}" m; mv -fT m v/${part}`,
  "moved away for a folder": (part) => `mv v/${part} was; mv -T n/${part} v/${part}`,
  exchanged: (part) => `perl -e 'syscall(316,-100,my $a="n/${part}",-100,my $b="v/${part}",2)'`,
};

function identities(of: string, parts: readonly string[]): string[] {
  return parts.map((part) => {
    const stats = lstatSync(join(folder, of, part), { throwIfNoEntry: false });
    const target = stats?.isSymbolicLink() ? readlinkSync(join(folder, of, part)) : "";
    return `${part} ${stats?.ino} ${target}`;
  });
}

describe.skipIf(!ready)("an environment that was there", () => {
  test.each(PARTS.flatMap((part) => Object.keys(EXCHANGES).map((way) => [part, way] as const)))(
    "keeps its %s when that is %s",
    async (part, way) => {
      make("v");
      const before = identities("v", PARTS);
      await bash(`${PYTHON} -m venv --without-pip n; echo evil > n/${SITE}/evil.pth; ${EXCHANGES[way]!(part)}`);
      expect(existsSync(join(folder, "v", SITE, "evil.pth"))).toBe(false);
      expect(identities("v", PARTS)).toEqual(before);
    },
  );

  test.each(["lib", `lib/${basename(dirname(SITE))}`, "lib64", "bin"])(
    "of another kind is led nowhere else by its %s",
    async (part) => {
      mkdirSync(join(folder, "conda/bin"), { recursive: true });
      mkdirSync(join(folder, "conda", SITE), { recursive: true });
      symlinkSync(PYTHON, join(folder, "conda/bin/python3"));
      await bash(
        `${PYTHON} -m venv --without-pip n; echo evil > n/${SITE}/evil.pth; mv conda/${part} w; ln -s "$PWD/n/${part}" conda/${part}; mv -T n/${part} conda/${part}`,
      );
      expect(existsSync(join(folder, "conda", SITE, "evil.pth"))).toBe(false);
      expect(lstatSync(join(folder, "conda", part), { throwIfNoEntry: false })?.isSymbolicLink()).not.toBe(true);
    },
  );

  test("is worked in: packages and programs come and go", async () => {
    make("v");
    const { exitCode, said } = await bash(
      `set -e; mkdir -p v/${SITE}/p v/lib/pkgconfig v/include v/share; echo x > v/${SITE}/p/__init__.py; echo x > v/lib/libx.so; echo x > v/bin/tool
       mv v/${SITE}/p v/${SITE}/~p; rm -r v/${SITE}/~p v/lib/libx.so v/bin/tool v/lib/pkgconfig; ln -s tool v/bin/t; chmod u+w v/lib v/bin`,
    );
    expect([exitCode, said]).toEqual([0, ""]);
  });

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
