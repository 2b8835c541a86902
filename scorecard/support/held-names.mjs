// Names that lead on to what runs by itself, answers that were given once, and what arrives where it may not be: by exchanges and by hands
// that work together.
import { execFileSync } from "node:child_process";
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { once } from "node:events";
import { dirname, join } from "node:path";
import { setTimeout as later } from "node:timers/promises";
import { EVIL, folderIn, inside, put } from "./granted-folder.mjs";

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
  {
    name: "an answer of the guard counts for a moment",
    steps: ["linkedLater"],
    file: "secure-local/src/sandbox/keeper-rest-in-perl.ts",
    find: "(%known, $known_at) = () if ($known_at // 0) != $now;",
    replace: "",
  },
  {
    name: "what was moved where it may not be, and cannot be moved back, is taken away",
    steps: ["leftBehind"],
    file: "secure-local/src/sandbox/keeper-rest-in-perl.ts",
    find: "taken_away($folder, $name, @$thing) unless $in eq '' ? $lost : kept($folder, $name, $in);",
    replace: "",
  },
  {
    name: "what was made where it may not be, and cannot be removed at once, is taken away",
    steps: ["leftBehind"],
    file: "secure-local/src/sandbox/keeper-rest-in-perl.ts",
    find: "taken_away($folder, $name, @made) if $gone;",
    replace: "",
  },
  {
    name: "a link that was moved is judged as one where it arrives",
    steps: ["linkArrives"],
    file: "secure-local/src/sandbox/keeper-rest-in-perl.ts",
    find: "return 0 if ask('w', $path) || ($stat[2] & $KIND) == $LINK && ask('s', $path);",
    replace: "return 0 if ask('w', $path);",
  },
  {
    name: "what is moved is judged in turns with everything else",
    steps: ["heldUp"],
    file: "secure-local/src/sandbox/start-walled.ts",
    find: "if (now - this.#turn >= TURN_MS) {",
    replace: "if (now < TURN_MS) {",
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
  exchanged: (part) => `perl -e 'syscall(316,-100,my $a="n/${part}",-100,my $b="v/${part}",2)'`,
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

const SECRET = "SECRET-OF-THE-USER";
/** What is made a secret by a link, while a program uses it: where the link stands, and what it says. */
const LATER = [
  ["web/.env", "../shared/x"],
  ["web/deep/.npmrc", "../../shared/x"],
  [".ssh", "shared"],
  ["web/.aws", "../shared"],
];
/** How long a link is not known of at most, and more. */
const KNOWN_MS = 8_000;
const USES = { read: "cat shared/x", "read by a handle of its folder": "cd shared; cat x; cd ..", listed: "ls shared" };

export async function linkedLater(report, parts, ground) {
  report.kind("what was read becomes a secret by a link that is made outside", { found: "attack" });
  await Promise.all(
    LATER.map(async ([name, target]) => {
      const folder = folderIn(ground);
      for (const used of ["shared/x", "web/own", "web/deep/own"]) put(folder, used, "plain");
      const isFolder = target.endsWith("shared");
      // A link counts once its folder is used.
      const uses = ["cat web/own web/deep/own", ...Object.values(USES)].slice(0, isFolder ? 4 : 3).join("; ");
      const script = `for i in 1 2; do ${uses}; done; : > ready; while [ ! -e go ]; do sleep 0.2; done; echo AFTER; ${uses}`;
      const done = inside(parts, folder, script);
      while (!existsSync(join(folder, "ready"))) await later(50);
      mkdirSync(dirname(join(folder, name)), { recursive: true });
      symlinkSync(target, join(folder, name));
      writeFileSync(join(folder, "shared/x"), SECRET);
      if (isFolder) writeFileSync(join(folder, `shared/${SECRET}`), "");
      await later(KNOWN_MS);
      writeFileSync(join(folder, "go"), "");
      const { stdout } = await done;
      await report.attack(`${name} -> ${target}`, () => {
        const [before, after = SECRET] = stdout.split("AFTER");
        return (before.includes("plain") && !after.includes(SECRET)) || stdout;
      });
    }),
  );
}

/** What comes to be in `d`. */
const ARRIVALS = {
  "a file moved": `rename("s/file", "d/x")`,
  "a folder moved": `rename("s/folder", "d/x")`,
  "files exchanged": `syscall(316, -100, my $a = "s/file", -100, my $b = "d/y", 2)`,
  "a folder made": `mkdir("d/x")`,
  "a second name": `link("s/file", "d/x")`,
};
/** What others do at the moment in which it is taken back. */
const HINDRANCES = {
  nothing: () => undefined,
  "the folder it came from is gone": (at) => rmSync(at("s"), { recursive: true, force: true }),
  "its name is taken": (at) => {
    for (const name of ["file", "folder"])
      if (!existsSync(at(`s/${name}`))) mkdirSync(at(`s/${name}/full`), { recursive: true });
  },
  "it is filled": (at) => {
    if (lstatSync(at("denied/x"), { throwIfNoEntry: false })?.isDirectory()) mkdirSync(at("denied/x/more"));
  },
  "the folder it came from is denied, too": (at) => existsSync(at("s")) && renameSync(at("s"), at("denied/s")),
};

/** The guard of these sandboxes does what other sandboxes do, at the moments that a race only meets by chance. */
export async function leftBehind(report, parts, ground) {
  report.kind("a folder is renamed while something comes to it, and taking that back is made to fail", {
    found: "attack",
  });
  for (const [what, arrival] of Object.entries(ARRIVALS))
    for (const [how, hinder] of Object.entries(HINDRANCES)) {
      const folder = folderIn(ground);
      const at = (name) => join(folder, name);
      for (const name of ["s/file", "s/folder/in"]) put(folder, name, EVIL);
      put(folder, "d/y", "mine");
      const left = [hinder];
      const judge = (path, op) => {
        const changes = op !== "read" && op !== "list";
        if (changes && /\/d\/[xy](?:\/|$)/.test(path) && existsSync(at("d"))) renameSync(at("d"), at("denied"));
        if (!path.includes("/denied/")) return true;
        for (const hindrance of left.splice(0)) hindrance(at);
        return !changes;
      };
      await report.attack(`${what}, ${how}`, async () => {
        await judgedBy(parts, folder, judge, arrival);
        const exchanged = existsSync(at("denied/y")) && readFileSync(at("denied/y"), "utf8") === EVIL;
        const moved =
          /moved|exchanged/.test(what) && existsSync(at(`denied/s/${what.includes("folder") ? "folder" : "file"}`));
        return (
          (!existsSync(at("denied/x")) && !moved && !exchanged) || readdirSync(folder, { recursive: true }).join(" ")
        );
      });
    }
}

export async function linkArrives(report, parts, ground) {
  report.kind("a folder gets a name in which no link may stand while one is moved there", { found: "own" });
  const arrivals = {
    moved: `rename("s/link", "d/x")`,
    exchanged: `syscall(316, -100, my $a = "s/link", -100, my $b = "d/y", 2)`,
    made: `symlink("nowhere", "d/x")`,
    "given a second name": `link("s/link", "d/x")`,
  };
  for (const [how, arrival] of Object.entries(arrivals)) {
    const folder = folderIn(ground);
    const at = (name) => join(folder, name);
    put(folder, "d/y", "mine");
    put(folder, "s/other", "mine");
    symlinkSync("nowhere", at("s/link"));
    const judge = (path, op) => {
      if (/\/d\/[xy]$/.test(path) && op === "bring" && existsSync(at("d"))) renameSync(at("d"), at("denied"));
      return op !== "bring" || !path.includes("/denied/");
    };
    await report.attack(how, async () => {
      await judgedBy(parts, folder, judge, arrival);
      const names = readdirSync(at("denied"), { withFileTypes: true });
      return !names.some((entry) => entry.isSymbolicLink()) || `${names.map(({ name }) => name)}`;
    });
  }
}

async function judgedBy({ findWall, startWalled }, folder, judge, script) {
  const wall = await findWall({ mode: "required" });
  const { dev, ino } = statSync(folder, { bigint: true });
  const held = { dev, ino, close: () => undefined };
  const limits = { processes: 64, memoryMb: 1_024, cpuSeconds: 60, fileMb: 4 };
  const reach = [{ path: folder, access: "write", held, judge }];
  const command = { executable: "/usr/bin/perl", args: ["-e", script], workingDirectory: folder, reach, limits };
  const child = startWalled(wall, command, ["ignore", "inherit", "inherit"]);
  await once(child, "exit");
}

/** Trees that a program moves to and fro. */
const TREES = {
  "6,000 folders in one": (at) => {
    for (let n = 0; n < 6_000; n += 1) mkdirSync(at(`t/${n}`));
  },
  "6,000 files in one": (at) => {
    for (let n = 0; n < 6_000; n += 1) writeFileSync(at(`t/${n}`), "");
  },
  "12,000 files in one": (at) => {
    for (let n = 0; n < 12_000; n += 1) writeFileSync(at(`t/${n}`), "");
  },
  "300 folders in each other": (at) => mkdirSync(at(`t${"/d".repeat(300)}`), { recursive: true }),
};
/** Judging 6,000 names in one piece takes about twice as long on a quiet machine. */
const HELD_UP_MS = 500;

export async function heldUp(report, parts, ground) {
  report.kind("a program moves large trees, and whoever judges them is to answer others meanwhile", {
    found: "attack",
  });
  for (const [tree, make] of Object.entries(TREES)) {
    const folder = folderIn(ground);
    mkdirSync(join(folder, "t"));
    make((name) => join(folder, name));
    let [longest, before] = [0, performance.now()];
    const timer = setInterval(() => {
      longest = Math.max(longest, performance.now() - before);
      before = performance.now();
    }, 1);
    const script = `rename("t", "u"); rename("u", "t"); rename("t", "u")`;
    await inside(parts, folder, `perl -e '${script}'`);
    clearInterval(timer);
    await report.attack(tree, () => longest < HELD_UP_MS || `${longest.toFixed(0)} ms`);
  }
}
