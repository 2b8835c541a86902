// Names that lead on to what runs by itself, answers that were given once, and what arrives where it may not be: by exchanges and by hands
// that work together.
import { execFileSync } from "node:child_process";
import { existsSync, lstatSync, readlinkSync } from "node:fs";
import { dirname, join } from "node:path";
import { EVIL, folderIn, inside } from "./granted-folder.mjs";

export const heldDefended = [
  {
    name: "the folders of an environment that was there stay where they are",
    steps: ["environmentFolders"],
    file: "secure-local/src/capabilities/sandbox-reach.ts",
    find: "if (environment === undefined) return false;\n    const leads",
    replace: "if (environment !== undefined) return false;\n    const leads",
  },
  {
    name: "the Python of an environment that was there stays",
    steps: ["environmentFolders"],
    file: "secure-local/src/capabilities/sandbox-reach.ts",
    find: "if (started !== undefined && this.#isAnothers(started)) return true;",
    replace: "",
  },
];

const PYTHON = "/usr/bin/python3";

/** Ways to put what the sandbox made itself, in `n`, in the place of a part of the environment `v`. */
const EXCHANGES = {
  "moved away for a link": (part) => `mv v/${part} v/was; ln -s "$PWD/n/${part}" v/${part}`,
  "moved out for a link": (part) => `mv v/${part} was; ln -s "$PWD/n/${part}" v/${part}`,
  "removed for a link": (part) => `rm -rf v/${part}; ln -s "$PWD/n/${part}" v/${part}`,
  "replaced by a link": (part) => `ln -sfn "$PWD/n/${part}" v/${part}; ln -s "$PWD/n/${part}" m; mv -fT m v/${part}`,
  "moved away for a folder": (part) => `mv v/${part} was; mv -T n/${part} v/${part}`,
  exchanged: (part) => `perl -e 'syscall(316,-100,"n/${part}",-100,"v/${part}",2)'`,
  "copied anew": (part) => `cp -r v/${part} c; rm -rf v/${part}; cp -r n/${part} v/${part}`,
};

export async function environmentFolders(report, parts, ground) {
  report.kind("folders by whose names a Python that was there finds what it runs", { found: "attack" });
  if (!existsSync(PYTHON)) return report.demand("Python is there to be tried", false);
  const version = execFileSync(PYTHON, ["-c", "import sys; print('python%d.%d' % sys.version_info[:2])"]);
  const site = `lib/${String(version).trim()}/site-packages`;
  const names = ["lib", dirname(site), site, "lib64", "bin", "include", "bin/python", "bin/python3"];
  for (const part of names)
    for (const [way, script] of Object.entries(EXCHANGES)) {
      const folder = folderIn(ground);
      execFileSync(PYTHON, ["-m", "venv", "--without-pip", join(folder, "v")]);
      const before = whatIs(folder, names);
      await report.attack(`${part}: ${way}`, async () => {
        const made = `${PYTHON} -m venv --without-pip n; echo ${EVIL} > n/${site}/x.pth`;
        await inside(parts, folder, `${made}; ${script(part)}`);
        const after = whatIs(folder, names);
        return (after === before && !existsSync(join(folder, "v", site, "x.pth"))) || after;
      });
    }
  await report.benign("packages and programs come and go in an environment that was there", async () => {
    const folder = folderIn(ground);
    execFileSync(PYTHON, ["-m", "venv", "--without-pip", join(folder, "v")]);
    const script = `set -e; mkdir -p v/${site}/p v/share; echo x > v/${site}/p/__init__.py; echo x > v/bin/tool; echo x > v/lib/libx.so
      mv v/${site}/p v/${site}/~p; rm -r v/${site}/~p v/lib/libx.so; ln -s tool v/bin/t; rm v/bin/t v/bin/tool`;
    const { exitCode, stderr } = await inside(parts, folder, script);
    return exitCode === 0 || stderr;
  });
}

/** Each part of the environment, by its number and by where it leads. */
function whatIs(folder, names) {
  const told = names.map((name) => {
    const stats = lstatSync(join(folder, "v", name), { throwIfNoEntry: false });
    return `${name} ${stats?.ino} ${stats?.isSymbolicLink() ? readlinkSync(join(folder, "v", name)) : ""}`;
  });
  return told.join("\n");
}
