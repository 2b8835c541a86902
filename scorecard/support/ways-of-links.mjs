// Protected names that are links: whoever may write around them leads them elsewhere, makes what is missing, or hides them among others.
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { EVIL, folderIn, put, tried } from "./granted-folder.mjs";

export const waysDefended = [
  {
    name: "each link and folder on the way to a protected name stays",
    steps: ["waysOfLinks"],
    file: "secure-local/src/capabilities/files/protected-links.ts",
    find: "if (isThere(link.at) && isOne(place, path)) return link.written;",
    replace: "",
  },
  {
    name: "what a protected link leads to is protected before it is made",
    steps: ["waysOfLinks"],
    file: "secure-local/src/capabilities/files/protected-links.ts",
    find: "if (led !== undefined && (kept !== undefined || this.#names.begins(written)))",
    replace:
      "if (led !== undefined && statSync(at, { throwIfNoEntry: false }) && (kept !== undefined || this.#names.begins(written)))",
  },
  {
    name: "no number of names hides a protected link",
    steps: ["waysOfLinks"],
    file: "secure-local/src/capabilities/files/protected-links.ts",
    find: "namesIn(path).filter(",
    replace: "namesIn(path).slice(0, 1).filter(",
  },
];

const NAMES = [".bashrc", ".zshrc", ".npmrc", ".vscode/tasks.json", ".config/Code/User/settings.json"];

/** Links by where they stand, after the name itself; `up` leads from the folder of the name to the top. */
const WAYS = {
  "a folder link": (up) => ({ to: `${up}store/cur/rc`, links: { "store/cur": "v1" } }),
  "a link in the middle": (up) => ({ to: `${up}store/mid`, links: { "store/mid": "v1/rc" } }),
  "two of them": (up) => ({ to: `${up}a/mid`, links: { a: "store", "store/mid": "cur/rc", "store/cur": "v1" } }),
  "what is missing": (up) => ({ to: `${up}store/notyet`, links: {} }),
  "a missing folder": (up) => ({ to: `${up}gone/rc`, links: {} }),
  "a missing folder and back": (up) => ({ to: `${up}gone/../store/notyet`, links: {} }),
};

const EXCHANGES = {
  "each link is exchanged for a link":
    "mkdir -p e/v1; for f in rc mid notyet; do echo EVIL > e/$f; echo EVIL > e/v1/$f; done; for l in store/cur a store gone; do ln -sfn $PWD/e $l; done; ln -sf $PWD/e/rc store/mid",
  "each link is removed and made a file or folder":
    "rm -f store/mid; echo EVIL > store/mid; rm -f store/cur a; mkdir -p store/cur a; echo EVIL > store/cur/rc; echo EVIL > a/mid",
  "each is renamed away, and others come":
    "mkdir e; echo EVIL > e/rc; echo EVIL > e/notyet; echo EVIL > e/mid; for n in store/cur store/v1 store/mid a store gone; do mv -T $n x; mv -T e $n || cp -r e $n; done",
  "what is missing is made":
    "mkdir -p gone store/v1; echo EVIL > gone/rc; echo EVIL > store/notyet; echo EVIL > store/v1/rc; echo EVIL > x; mv x store/notyet; ln x gone/rc",
  "two are exchanged for one another":
    'mkdir -p e; echo EVIL > e/rc; perl -e \'for my $n ("store/cur", "store/v1", "store", "a") { my ($e, $m) = ("e", $n); syscall(316, -100, $e, -100, $m, 2) }\'',
};

export async function waysOfLinks(report, parts, ground) {
  report.kind("the way to what a protected link leads to is exchanged, or made", { found: "attack" });
  for (const name of NAMES)
    for (const [what, way] of Object.entries(WAYS))
      await tried(report, parts, ground, {
        name: `${name} by ${what}`,
        ways: EXCHANGES,
        prepare: (folder) => {
          const { to, links } = way("../".repeat(name.split("/").length - 1));
          put(folder, "store/v1/rc", "good");
          for (const [at, target] of Object.entries({ [name]: to, ...links })) {
            mkdirSync(dirname(join(folder, at)), { recursive: true });
            symlinkSync(target, join(folder, at));
          }
        },
        ask: (folder) => {
          const path = join(folder, name);
          return !existsSync(path) || !readFileSync(path, "utf8").includes(EVIL) || "it says what the attacker wrote";
        },
      });
  await hidden(report, parts, ground);
}

/** However many names stand around the link. */
async function hidden(report, { FileSystem, parsePolicy }, ground) {
  report.kind("a protected link among many names", { found: "attack" });
  for (const beside of [true, false]) {
    const [folder, full] = [folderIn(ground), folderIn(ground)];
    put(folder, "conf/settings.txt", "SECRET");
    // In the order of names as of time it stands in the middle.
    for (let count = 0; count < 6_000; count += 1) {
      if (count === 3_000) symlinkSync("conf/settings.txt", join(folder, ".env"));
      writeFileSync(join(beside ? folder : full, `${count % 2 === 0 ? "!" : "a"}${count}`), "");
    }
    const text = `version: "1.0"\nfilesystem: { allowed_paths: ["${full}/**", "${folder}/**"] }\n`;
    const policy = await parsePolicy(text, { file: "/nowhere/policy.yaml", environment: {} });
    const system = new FileSystem(() => policy, {});
    const path = join(folder, "conf/settings.txt");
    const files = system.files();
    const tries = { read: () => files.read(path), write: () => files.write(path, new TextEncoder().encode(EVIL)) };
    for (const [op, attempt] of Object.entries(tries))
      await report.attack(`${op} what .env leads to, with 6,000 names ${beside ? "beside it" : "elsewhere"}`, () =>
        attempt().then(
          () => `${op} was allowed`,
          ({ code }) => code === "denied" || code,
        ),
      );
    system.close();
  }
}
