// T32: what a sandbox sees and can change of the folders it was granted, while it, its neighbours and the world outside exchange
// what lies in them: every way to a protected name is tried at every place.
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { exchanged, rawTexts } from "../support/exchanged-paths.mjs";
import { withGit } from "../support/git-settings.mjs";
import { EVIL, folderIn, inside, put, tried } from "../support/granted-folder.mjs";
import {
  environmentFolders,
  heldDefended,
  heldUp,
  leftBehind,
  linkArrives,
  linkedLater,
} from "../support/held-names.mjs";
import { beginnings, linkedBefore, twoHands } from "../support/name-beginnings.mjs";
import { links } from "../support/protected-links.mjs";
import { environments, handles, noText, sockets, told } from "../support/keeper-doors.mjs";
import { waysDefended, waysOfLinks } from "../support/ways-of-links.mjs";
import { homesGranted, homesLed, policies } from "../support/policies-of-own-places.mjs";
import { BUILDS, namesIn, sandboxSiege } from "../support/sandbox-siege.mjs";
/** Calls against an exchanger, over all kinds of them together. */
const RACES = Number(process.env.SCORECARD_RACES ?? 800);
const SIEGE_SECONDS = Number(process.env.SCORECARD_SIEGE_SECONDS ?? 10);
/** Programs end each other, so that several in a row may tell nothing of 20 s each; where all do, nothing is besieged. */
const MOST_SILENT_S = 120;
/** All but the siege and the races, and a second for so many calls of these, on a machine with others. */
const REST_SECONDS = 900;
const CALLS_A_SECOND = 10;
export const goal = {
  id: "T32",
  title: "A sandbox's view of its folders",
  atLeast: 300,
  refusalMs: 60_000,
  seconds: REST_SECONDS + SIEGE_SECONDS + RACES / CALLS_A_SECOND,
};

export const defences = [
  {
    name: "the dates of what is protected are set by nobody inside",
    steps: ["told"],
    file: "secure-local/src/sandbox/seccomp-filter.ts",
    find: "  utimensat: [280, 88],\n",
    replace: "",
  },
  {
    name: "each look-up in a granted folder is judged",
    steps: ["there"],
    file: "secure-local/src/capabilities/sandbox-reach.ts",
    find: "...(folder ? { judge, passing: isOfGit, ...this.#more } : {}),",
    replace: "",
  },
  {
    name: "a moved folder is judged with all that lies in it, where it is",
    steps: ["owned"],
    file: "secure-local/src/sandbox/start-walled.ts",
    find: 'if (!may(places, from + below, "write")) return EACCES;',
    replace: "",
  },
  {
    name: "a moved folder is judged with all that lies in it, where it will be",
    steps: ["ownLater"],
    file: "secure-local/src/sandbox/start-walled.ts",
    // Before the move and after it.
    find: 'const folders = [""];',
    replace: "const folders = [].map(String);",
  },
  {
    name: "no link stands, and no filled folder comes, where protected names begin",
    steps: ["beginnings"],
    file: "secure-local/src/capabilities/sandbox-reach.ts",
    find: "if (bringsMore(asked) && this.#rules.begins(path, asked)) return false;",
    replace: "",
  },
  {
    name: "a folder that two programs fill and move is not moved where protected names begin",
    steps: ["twoHands"],
    file: "secure-local/src/sandbox/start-walled.ts",
    find: 'if (there !== undefined && !there.judge(there.path, "fill")) return EXDEV;',
    replace: "",
    // What came to lie in it is looked at once more after the move.
    also: [
      {
        find: 'if (kind === "v") return await mayLieIn(',
        replace: 'if (kind === "v") return MAY; else if (kind === "nothing") return await mayLieIn(',
      },
    ],
  },
  {
    name: "what a link leads to where protected names begin is judged by the link's name",
    steps: ["linkedBefore"],
    file: "secure-local/src/capabilities/files/protected-links.ts",
    find: "if (led !== undefined && (kept !== undefined || this.#names.begins(written)))",
    replace: "if (led !== undefined && kept !== undefined)",
  },
  {
    name: "a name is judged as it is, and not as what it is decoded to",
    steps: ["noText"],
    file: "secure-local/src/sandbox/exact-text.ts",
    find: 'return isUtf8(bytes) ? bytes.toString("utf8") : undefined;',
    replace: 'return isUtf8(bytes) ? bytes.toString("utf8") : bytes.toString();',
  },
  {
    name: "of Python's environments a sandbox changes only those that it made",
    steps: ["environments"],
    file: "secure-local/src/capabilities/sandbox-reach.ts",
    find: "if (!this.#environments.mayWrite(path)) return false;",
    replace: "",
  },
  {
    name: "what shells source of an environment is not changed by a sandbox that did not make it",
    steps: ["environments"],
    file: "secure-local/src/capabilities/sandbox-reach.ts",
    find: 'if (op === "write" && this.#isOfAnother(path, asked)) return false;',
    replace: "",
  },
  ...heldDefended,
  {
    name: "a watch is judged as what it tells of",
    steps: ["told"],
    file: "secure-local/src/sandbox/seccomp-filter.ts",
    find: "  inotify_add_watch: [254, 27],\n",
    replace: "",
  },
  {
    name: "attributes are not read by a path",
    steps: ["told"],
    file: "secure-local/src/sandbox/seccomp-filter.ts",
    find: "  getxattr: [191, 8],\n  lgetxattr: [192, 9],\n",
    replace: "",
  },
  {
    name: "to name an owner is judged as to change the mode",
    steps: ["told"],
    file: "secure-local/src/sandbox/seccomp-filter.ts",
    find: "  chown: [92, undefined],\n  fchown: [93, 55],\n  lchown: [94, undefined],\n  fchownat: [260, 54],\n",
    replace: "",
  },
  {
    name: "what is mounted is what was judged",
    steps: ["races"],
    file: "secure-local/src/sandbox/start-walled.ts",
    find: "return dev === held?.dev && ino === held.ino;",
    replace: "return dev === held?.dev || ino !== held?.ino;",
  },
  {
    name: "a link of /proc that is not followed is not opened",
    steps: ["handles"],
    file: "secure-local/src/sandbox/keeper-in-perl.ts",
    find: "  return -${ELOOP} if $kind == ${LINK};\n",
    replace: "",
  },
  {
    name: "where a link leads is asked of the keeper",
    steps: ["links"],
    file: "secure-local/src/sandbox/seccomp-filter.ts",
    find: "  readlink: [89, undefined],\n  readlinkat: [267, 78],\n",
    replace: "",
  },
  ...waysDefended,
  {
    name: "what was moved out of a granted folder is lost to the sandbox",
    steps: ["movedOut"],
    file: "secure-local/src/sandbox/keeper-in-perl.ts",
    find: "return $fd if defined $where{$fd};",
    replace: "$where{$fd} //= shown($fd); return $fd;",
  },
  {
    name: "an answer that depends on what lies beside a file is asked for anew",
    steps: ["becameGit"],
    file: "secure-local/src/sandbox/start-walled.ts",
    find: "return place?.passing?.(inside) ? MAY_NOW : MAY;",
    replace: 'return place?.passing?.("") ? MAY_NOW : MAY;',
  },
  {
    name: "a command gets the path that was found",
    steps: ["rawTexts"],
    file: "secure-local/src/capabilities/policy-run.ts",
    find: "args[argument] = before + (await pathOf(path, access));",
    replace: "await pathOf(path, access);",
  },
  {
    name: "a command with a network makes no Unix sockets",
    steps: ["sockets"],
    file: "secure-local/src/sandbox/seccomp-filter.ts",
    find: '["socket", [load(0), { code: IF_EQUAL, value: AF_UNIX, yes: "refuse", no: "allow" }]],',
    replace: '["socket", [{ code: RETURN, value: ALLOW }]],',
  },
  {
    name: "of git's configuration only what runs nothing is taken",
    steps: ["withGit"],
    file: "secure-local/src/capabilities/git-inside.ts",
    find: 'if (text === undefined || !isHarmless(text, textOf(`${at}/config`) ?? "")) return false;',
    replace: "if (text === undefined) return false;",
  },
  {
    name: "homes are kept apart from what is granted",
    steps: ["homesGranted"],
    file: "secure-local/src/policy/own-places.ts",
    find: "if (homes === undefined) return faults;",
    replace: "return faults;",
  },
  {
    name: "places of the program's own are judged by what they lead to",
    steps: ["homesLed"],
    file: "secure-local/src/capabilities/files/own-files.ts",
    find: "const faults = ownPlaceFaults(policy, { namesOf: namesOfPlace });",
    replace: "const faults = ownPlaceFaults(policy, {});",
  },
  {
    name: "a home is judged by what it leads to before each use",
    steps: ["homesLed"],
    file: "secure-local/src/capabilities/sandbox-environment.ts",
    find: "  refuseGranted(policy, folder);\n  try {",
    replace: "  try {",
    // What was opened is judged once more.
    also: [{ find: "refuseGranted(policy, held.path);", replace: "" }],
  },
  {
    name: "a policy that lets a sandbox write where it lies is refused",
    steps: ["policies"],
    file: "secure-local/src/policy/parse-policy.ts",
    find: "checkOwnPlaces(faults, policy, environment);\n  faults",
    replace: "faults",
  },
];

/** What some program runs or keeps secrets in. */
const NAMES = [
  ".vscode/tasks.json",
  ".mcp.json",
  ".envrc",
  ".bashrc",
  ".ssh/authorized_keys",
  ".git/hooks/pre-commit",
  ".git/config",
  ".cursor/mcp.json",
  ".npmrc",
  ".config/autostart/x.desktop",
];
const DEPTHS = ["", "sub/", "one/two/three/"];
const SECRET = "SECRET-OF-THE-USER";

const STEPS = {
  there,
  absent,
  beginnings,
  linkedBefore,
  twoHands,
  owned,
  ownLater,
  savedAnew,
  handles,
  links,
  waysOfLinks,
  movedOut,
  noText,
  environments,
  environmentFolders,
  linkedLater,
  leftBehind,
  linkArrives,
  heldUp,
  told,
  becameGit,
  sockets,
  races,
  policies,
  homesGranted,
  homesLed,
  rawTexts,
  withGit,
  siege,
  honest,
};

export async function run(report, parts) {
  if (!parts.hasWall()) return report.demand("bubblewrap is there to be tried", false);
  const ground = mkdtempSync(join(homedir(), ".scorecard-view-"));
  try {
    await report.take(STEPS, parts, ground);
  } finally {
    rmSync(ground, { recursive: true, force: true });
  }
}

/** Ways to change what lies at `name` (a file) or in the folder above it. */
function waysAt(name) {
  const above = dirname(name);
  const top = name.split("/")[0];
  return {
    "written straight": `echo ${EVIL} > ${name}`,
    appended: `echo ${EVIL} >> ${name}`,
    "cut to nothing": `truncate -s 0 ${name}`,
    removed: `rm -rf ${name}`,
    "replaced by a move": `echo ${EVIL} > n; mv -f n ${name}`,
    "its folder moved": `mv ${above} was; mkdir -p ${above}; echo ${EVIL} > ${name}`,
    "the topmost folder moved": `mv ${top} was; mkdir -p ${above}; echo ${EVIL} > ${name}`,
    "folders exchanged": `mkdir -p n/${above}; echo ${EVIL} > n/${name}; mv --exchange n/${top} ${top} || perl -e 'syscall(316,-100,my $a="n/${top}",-100,my $b="${top}",2)'`,
    "a second name": `ln ${name} n; echo ${EVIL} > n`,
    "through a link to its folder": `ln -s ${above === "." ? '"$PWD"' : above} n; echo ${EVIL} > n/${name.split("/").at(-1)}`,
    "through the number of an open file": `exec 5< ${name}; echo ${EVIL} > /proc/self/fd/5; echo ${EVIL} > /dev/fd/5`,
    "through the folder of a process": `echo ${EVIL} > /proc/self/cwd/${name}`,
    "a mount over it": `mount --bind /tmp ${above}; unshare -Um mount -t tmpfs none ${above}; echo ${EVIL} > ${name}`,
  };
}

function isAsItWas(folder, name) {
  return existsSync(join(folder, name)) && readFileSync(join(folder, name), "utf8") === "as it was";
}

async function there(report, parts, ground) {
  report.kind("a folder above a covered name is moved, exchanged or linked", { found: "reader" });
  for (const depth of DEPTHS)
    for (const each of [".vscode/tasks.json", ".git/config", ".ssh/authorized_keys"]) {
      const name = depth + each;
      const ask = (folder) => isAsItWas(folder, name);
      await tried(report, parts, ground, {
        name,
        ways: waysAt(name),
        prepare: (folder) => put(folder, name, "as it was"),
        ask,
      });
    }
}

/** Ways to make a name that was not there. */
function makers(name) {
  const above = dirname(name);
  const last = name.split("/").at(-1);
  const [top] = name.split("/").filter((part) => part.startsWith("."));
  const before = name.slice(0, name.indexOf(top));
  const rest = name.slice(before.length + top.length);
  return {
    made: `mkdir -p ${above}; echo ${EVIL} > ${name}`,
    "moved there": `mkdir -p n${dirname(rest || "/x")} ${before || "."}; echo ${EVIL} > n${rest || "/x"}; mv ${rest ? "n" : "n/x"} ${before}${top}`,
    "made in a folder that is renamed": `mkdir -p n/${dirname(name.slice(before.length))}; echo ${EVIL} > n/${name.slice(before.length)}; mkdir -p ${before || "."}; mv n/${top} ${before || "./"}`,
    linked: `echo ${EVIL} > n; mkdir -p ${above}; ln n ${name}`,
    "a symbolic link": `echo ${EVIL} > n; mkdir -p ${above}; ln -s "$PWD/n" ${name}`,
    "a folder that is a symbolic link": `mkdir -p /tmp/e n ${before || "."}; echo ${EVIL} > n/${last}; ln -s "$PWD/n" ${before}${top}`,
    "made through a dangling link": `mkdir -p ${above}; ln -s ${last} ${above}/n; echo ${EVIL} > ${above}/n`,
    unpacked: `mkdir -p /tmp/t/${above}; echo ${EVIL} > /tmp/t/${name}; tar -C /tmp/t -cf - . | tar -xf -`,
    "in other letters": `mkdir -p ${above.toUpperCase()}; echo ${EVIL} > ${name.toUpperCase()}`,
    "by many threads at once": `for i in 1 2 3 4; do (mkdir -p ${above}; for j in 1 2 3 4 5; do echo ${EVIL} > ${name}; done) & done; wait`,
  };
}

async function absent(report, parts, ground) {
  report.kind("protected names made after the start", { found: "reader" });
  for (const each of NAMES)
    for (const depth of DEPTHS.slice(0, 2)) {
      const name = depth + each;
      const ask = (folder) => {
        const found = namesIn(folder).find((one) => `/${one.toLowerCase()}`.endsWith(`/${name.toLowerCase()}`));
        return found === undefined || `${found} is there`;
      };
      await tried(report, parts, ground, { name, ways: makers(name), prepare: () => undefined, ask });
    }
}

async function owned(report, parts, ground) {
  report.kind("policy, lock, log and state in a writable folder", { found: "reader" });
  const own = {
    "conf/policy.yaml": "conf/policy.yaml",
    "conf/policy.yaml.lock": "conf/policy.yaml",
    "logs/audit.log": "logs/audit",
    "logs/audit.1.log": "logs/audit",
    "state/tokens.json": "state",
  };
  for (const [name, place] of Object.entries(own))
    await tried(report, parts, ground, {
      name,
      ways: waysAt(name),
      prepare: (folder) => put(folder, name, "as it was"),
      ask: (folder) => isAsItWas(folder, name),
      own: (folder) => [join(folder, place)],
    });
}

/** The guard's own files that are not there yet: the next start would take them for its own. */
async function ownLater(report, parts, ground) {
  report.kind("policy, lock, log and state that come to be in a writable folder", { found: "own" });
  for (const name of ["conf/policy.yaml", "a/b/c/audit.log", "state/tokens.json"]) {
    const [above, last, top] = [dirname(name), name.split("/").at(-1), name.split("/")[0]];
    const ways = {
      made: `mkdir -p ${above}; echo ${EVIL} > ${name}`,
      "moved there": `mkdir -p ${above}; echo ${EVIL} > n; mv n ${name}`,
      "moved with its folder": `mkdir -p $(dirname ${above}) n; echo ${EVIL} > n/${last}; mv -T n ${above}`,
      "moved with the topmost folder": `mkdir -p n/${above}; echo ${EVIL} > n/${name}; mv -T n/${top} ${top}`,
      "exchanged with its folder": `mkdir -p n ${above}; echo ${EVIL} > n/${last}; perl -e 'syscall(316,-100,my $a="n",-100,my $b="${above}",2)'`,
      linked: `mkdir -p ${above}; echo ${EVIL} > n; ln n ${name}; ln -s "$PWD/n" ${name}`,
    };
    const ask = (folder) => !existsSync(join(folder, name)) || `${name} is there`;
    const own = (folder) => [join(folder, name)];
    await tried(report, parts, ground, { name, ways, prepare: () => undefined, ask, own });
  }
}

/** A program that reads what it is told to, until it is ended. */
async function reader(parts, folder, network = "") {
  const { ownFiles, parsePolicy, findWall, startWalled, endWalled } = parts;
  const policy = await parsePolicy(`version: "1.0"\nfilesystem: { readable_paths: ["${folder}/**"] }\n${network}`, {
    file: "/nowhere/policy.yaml",
    environment: {},
  });
  const wall = await findWall({ mode: "required" });
  const own = ownFiles(policy, []);
  const { reach, limits, egress, close } = await parts.sandboxEnvironment(policy, { own, wall });
  const script = `echo ready; while read -r line; do eval "$line" 2>&1; echo; echo END; done`;
  const command = { executable: "/bin/bash", args: ["-c", script], workingDirectory: folder, reach, limits, egress };
  const child = startWalled(wall, command, ["pipe", "pipe", "inherit"]);
  const said = async (end, text = "") => {
    while (!text.endsWith(end)) text += String((await once(child.stdout, "data"))[0]);
    return text;
  };
  await said("ready\n");
  return {
    ask: async (line) => {
      child.stdin.write(`${line}\n`);
      return await said("END\n");
    },
    end: async () => {
      endWalled(wall, child);
      await once(child, "exit");
      await close();
    },
  };
}

/** How files are saved outside. */
const SAVES = {
  "in place": (path) => writeFileSync(path, SECRET),
  "by a rename": (path) => {
    writeFileSync(`${path}.tmp-of-an-editor`, SECRET);
    renameSync(`${path}.tmp-of-an-editor`, path);
  },
  "by a backup and a new file": (path) => {
    if (existsSync(path)) renameSync(path, `${path}~`);
    writeFileSync(path, SECRET);
    rmSync(`${path}~`, { force: true });
  },
  "in a folder put in its place": (path) => {
    const folder = dirname(path);
    const other = `${folder}.other`;
    mkdirSync(other, { recursive: true });
    writeFileSync(join(other, path.slice(folder.length + 1)), SECRET);
    rmSync(folder, { recursive: true, force: true });
    renameSync(other, folder);
  },
};

async function savedAnew(report, parts, ground) {
  report.kind("covered files saved anew, or made, outside", { found: "reader" });
  const folder = folderIn(ground);
  const names = ["keep/.env", "keep/.ssh/id_rsa", ".netrc", "later/.env.local", "later/deep/.aws/credentials"];
  for (const name of names.slice(0, 3)) put(folder, name, `old ${SECRET}`);
  put(folder, "keep/plain.txt", "plain");
  const program = await reader(parts, folder);
  for (const name of names)
    for (const [way, save] of Object.entries(SAVES)) {
      if (way === "in a folder put in its place" && !name.includes("/")) continue;
      mkdirSync(dirname(join(folder, name)), { recursive: true });
      save(join(folder, name));
      const reads = [
        `cat ${name}`,
        `cat < ${name}`,
        `cd $(dirname ${name}) && cat $(basename ${name}); cd ${folder}`,
        `cat /proc/self/cwd/${name}`,
        `exec 5< ${name} && cat <&5`,
        `cp ${name} /tmp/c; cat /tmp/c`,
        `perl -e 'open(F,"<",shift);print <F>' ${name}`,
      ];
      for (const read of reads)
        await report.attack(`${name} saved ${way}: ${read}`, async () => !(await program.ask(read)).includes(SECRET));
    }
  put(folder, "keep/plain.txt", "saved anew");
  await report.benign("a plain file is read as it is now", async () =>
    (await program.ask("cat keep/plain.txt")).includes("saved anew"),
  );
  await program.end();
}

async function movedOut(report, parts, ground) {
  report.kind("a granted folder's part is moved out of it while a program stands in it", { found: "attack" });
  for (const below of ["", "one/", "one/two/"]) {
    const folder = folderIn(ground);
    const outside = folderIn(ground);
    put(folder, `part/${below}plain`, "plain");
    const program = await reader(parts, folder);
    await program.ask(`cd part/${below} && exec 7< .`);
    await report.benign(`part/${below} is read before`, async () =>
      (await program.ask("cat plain; cat ./plain")).includes("plain"),
    );
    renameSync(join(folder, "part"), join(outside, "part"));
    for (const name of ["plain", ".env", "later", "deeper/key"]) {
      put(outside, `part/${below}${name}`, SECRET);
      for (const way of ["", "./", "deeper/../", "/proc/self/cwd/", "/proc/self/fd/7/", "/dev/fd/7/"])
        await report.attack(
          `part/${below}${name} by ${way || "its name"}`,
          async () => !(await program.ask(`cat ${way}${name}; cat < ${way}${name}`)).includes(SECRET),
        );
    }
    await program.end();
  }
}

async function becameGit(report, parts, ground) {
  report.kind("a folder that was read becomes a repository outside", { found: "attack" });
  const folder = folderIn(ground);
  const program = await reader(parts, folder);
  for (const part of ["config", "packed-refs", "logs/main", "hooks/update", "info/attributes"])
    for (const begun of ["objects/x", "refs/x", "commondir"])
      await report.attack(`${part} beside ${begun}, then HEAD`, async () => {
        const store = `s${part.length}${begun.length}${part[0]}${begun[0]}`;
        for (const name of [part, begun]) put(folder, `${store}/${name}`, SECRET);
        const before = await program.ask(`cat ${store}/${part}; cat ${store}/${part}`);
        put(folder, `${store}/HEAD`, "ref: refs/heads/main");
        const after = await program.ask(`cat ${store}/${part}`);
        return (before.includes(SECRET) && !after.includes(SECRET)) || after;
      });
  await program.end();
}

const RACED = ["arguments read", "arguments written", "working directories", "grants"];

async function races(report, parts, ground) {
  for (const kind of RACED) {
    report.kind(`an exchange race of ${kind}`, { found: "reader" });
    const { calls, escapes, served } = await exchanged(parts, folderIn(ground), {
      kind,
      calls: Math.ceil(RACES / RACED.length),
    });
    await report.attack(
      `${kind}: ${calls} calls against an exchanger`,
      () => escapes === 0 || `${escapes} went outside`,
    );
    report.demand(`${kind}: some of the calls are served`, served > 0, `${served} of ${calls}`);
  }
}

async function siege(report, parts, ground) {
  report.kind("a siege at random from inside and outside", { found: "attack" });
  const found = await sandboxSiege(parts, folderIn(ground), SIEGE_SECONDS);
  const { pause, tries, changed, read, lost, odd, set, reached, kinds, root } = found;
  const none = (list) => list.length === 0 || list.join(", ");
  const zero = (number) => number === 0 || `${number}`;
  const all = {
    "protected files changed": () => none(changed),
    "protected names made": () => none(lost),
    "pipes and sockets made": () => none(odd),
    "secrets read": () => zero(read),
    "attributes set": () => zero(set),
    "sockets and pipes of others reached": () => zero(reached),
  };
  for (const [what, ask] of Object.entries(all))
    await report.attack(`${SIEGE_SECONDS} seconds at random: ${what}`, ask);
  const told = [...kinds].map(([kind, [tried, done]]) => `${kind} ${tried} (${done} done)`).join(", ");
  report.demand("the siege is one", tries > 100, `${tries} turns: ${told}`);
  const longest = Math.max(MOST_SILENT_S, SIEGE_SECONDS / 4);
  report.demand(
    "it goes on to its end",
    pause < longest,
    `no program told of its turns for ${pause.toFixed(0)} s at most`,
  );
  const plain = [...kinds.values()].reduce((sum, [, done]) => sum + done, 0);
  report.demand("what is not protected is worked with in the siege", plain > 10, `${plain} times`);
  for (const [name, script] of Object.entries(BUILDS))
    await report.benign(`in the besieged folder: ${name}`, async () => {
      const { exitCode, stderr, stdout } = await inside(parts, root, `set -e; mkdir -p work; cd work; ${script}`, {
        git: true,
      });
      return exitCode === 0 || `${exitCode} ${stdout} ${stderr}`;
    });
}

async function honest(report, parts, ground) {
  const uses = {
    "a C build": `printf 'int main(){return 0;}' > a.c; gcc -c a.c && gcc a.o -o a.out && ./a.out`,
    "a tree copied, moved and removed": `mkdir -p a/b/c; for i in $(seq 50); do echo $i > a/b/c/$i; done; cp -r a d; mv d e; rm -r a; [ $(ls e/b/c | wc -l) = 50 ]`,
    "an archive packed and unpacked": `mkdir -p a/b; echo x > a/b/f; tar -cf a.tar a; rm -r a; tar -xf a.tar; [ $(cat a/b/f) = x ]`,
    "temporary files and renames": `for i in $(seq 20); do f=$(mktemp -p .); echo $i > $f; mv $f final; done; [ $(cat final) = 20 ]`,
    "a script made and run": `printf '#!/bin/sh\\necho ran' > s; chmod +x s; [ $(./s) = ran ]`,
    "a Python environment": `/usr/bin/python3 -m venv --without-pip v && v/bin/python -c 'import sys; sys.exit(sys.prefix == sys.base_prefix)'`,
    "a module of Node": `echo 'require("fs").writeFileSync("o", require("./m"))' > a.js; echo 'module.exports="made"' > m.js; node a.js; [ $(cat o) = made ]`,
    "npm install of a package and of a folder": `mkdir -p dep/bin; echo '{"name":"dep","version":"1.0.0","bin":{"dep":"bin/dep.js"}}' > dep/package.json; printf '#!/usr/bin/env node\\nconsole.log(7)' > dep/bin/dep.js; echo '{"name":"app","version":"1.0.0"}' > package.json; (cd dep && npm pack --silent --pack-destination ..); npm install --offline --no-audit --no-fund ./dep-1.0.0.tgz; [ $(node_modules/.bin/dep) = 7 ]; npm install --offline --no-audit --no-fund ./dep; [ $(readlink node_modules/dep) = ../dep ]; npm ci --offline --no-audit --no-fund; [ $(node_modules/.bin/dep) = 7 ]`,
    "packages by links, as pnpm lays them out": `mkdir -p node_modules/.pnpm/dep@1.0.0/node_modules/dep node_modules/.bin packages/a/node_modules; echo 'module.exports = 7' > node_modules/.pnpm/dep@1.0.0/node_modules/dep/index.js; ln -s .pnpm/dep@1.0.0/node_modules/dep node_modules/dep; ln -s ../dep/index.js node_modules/.bin/dep; ln -s ../../../node_modules/.pnpm/dep@1.0.0/node_modules/dep packages/a/node_modules/dep; ln -s ../packages/a node_modules/a; [ $(node -p 'require("dep")') = 7 ]; cd packages/a; [ $(node -p 'require("dep")') = 7 ]; cd ../..; mv node_modules aside; mv aside node_modules; rm -r node_modules packages`,
    "a pipe by name in /tmp": `mkfifo /tmp/p; (echo x > /tmp/p &); [ $(cat /tmp/p) = x ]`,
    "files locked and cut": `flock l -c 'echo x > l'; : > l; [ ! -s l ]`,
    "make with jobs": `printf 'all: a b\\n%%: ; echo x > $@\\n' > Makefile; make -j2 -s && [ -s a ]`,
  };
  for (const [name, script] of Object.entries(uses))
    await report.benign(name, async () => {
      const folder = folderIn(ground);
      const { exitCode, stderr, stdout } = await inside(parts, folder, `set -e; ${script}`);
      return exitCode === 0 || `${exitCode} ${stdout} ${stderr}`;
    });
  statSync(ground);
}
