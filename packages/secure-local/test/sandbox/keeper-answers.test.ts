// What the keeper makes of the answers it gets, while others change names at the very moments between: the guard is this test.
import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Judge, Reach } from "../../src/sandbox/wall.js";
import { hasWall, runWalled } from "./walls.js";

const ground = mkdtempSync(join(homedir(), ".test-answers-"));
const folder = join(ground, "data");
const ready = hasWall();
beforeEach(() => mkdirSync(folder));
afterEach(() => rmSync(folder, { recursive: true, force: true }));
afterAll(() => rmSync(ground, { recursive: true, force: true }));

async function perl(
  script: string,
  judge: Judge,
  { access = "write", ...more }: Partial<Pick<Reach, "access" | "refused">> = {},
): Promise<string> {
  const { dev, ino } = statSync(folder, { bigint: true });
  const held = { dev, ino, close: () => undefined };
  const { stdout, stderr } = await runWalled({
    executable: "/usr/bin/perl",
    args: ["-e", script],
    workingDirectory: folder,
    reach: [{ path: folder, access, held, judge, ...more }],
  });
  return stdout + stderr;
}

/** What is done to the names meanwhile, outside. */
const at = (name: string): string => join(folder, name);

describe.skipIf(!ready)("an answer counts for a moment", () => {
  const USES = {
    read: `open(my $f, "<", "f") ? "yes" : "no"`,
    list: `opendir(my $d, "d") ? "yes" : "no"`,
  };
  test.each(Object.entries(USES))("to %s", async (op, use) => {
    writeFileSync(at("f"), "");
    mkdirSync(at("d"));
    let asked = 0;
    const judge: Judge = (path, as) => as !== op || path === folder || (asked += 1) === 1;
    const said = await perl(`$| = 1; print((${use}) . " "); sleep 3; print((${use}) . " ")`, judge);
    expect(said).toBe("yes no ");
  });
});

test.skipIf(!ready)(
  "in what is granted to be read nothing is judged for writing: it is refused, and that is told",
  async () => {
    writeFileSync(at("f"), "");
    const told: string[] = [];
    const judge: Judge = (_, asked) => (told.push(`judged to ${asked}`), true);
    const refused: Reach["refused"] = (path, asked) => void told.push(`refused to ${asked} ${path}`);
    const said = await perl(`print open(my $f, ">>", "f") ? "yes" : "no"`, judge, { access: "read", refused });
    expect([said, told.filter((each) => each.includes("write"))]).toEqual(["no", [`refused to write ${at("f")}`]]);
  },
);

test.skipIf(!ready)("while many names of a folder are judged, others have their turn", async () => {
  mkdirSync(join(at("s"), "x"), { recursive: true });
  const names = Array.from({ length: 20 }, (_, index) => at(`s/x/${index}`));
  for (const name of names) writeFileSync(name, "");
  const [judged, turns] = [new Set<string>(), new Set<number>()];
  const judge: Judge = (path, asked) => {
    if (asked !== "write" || !names.includes(path)) return true;
    judged.add(path);
    // Longer than a turn is.
    for (const began = performance.now(); performance.now() - began < 10;);
    setImmediate(() => turns.add(judged.size));
    return true;
  };
  expect(await perl(`print rename("s/x", "y") ? "yes" : "no"`, judge)).toBe("yes");
  expect([judged.size, turns.size > 1]).toEqual([names.length, true]);
});

/** `renameat2` with RENAME_EXCHANGE. */
function exchanged(one: string, two: string): string {
  return `syscall(${process.arch === "x64" ? 316 : 276}, -100, my $one = "${one}", -100, my $two = "${two}", 2) == 0`;
}

/** What comes to be in `d`, with how it is made of what lies in `s`. */
const ARRIVALS: Readonly<Record<string, string>> = {
  "a file moved": `rename("s/file", "d/x")`,
  "a folder moved": `rename("s/folder", "d/x")`,
  "a file moved over another": `rename("s/file", "d/y")`,
  "exchanged files": exchanged("s/file", "d/y"),
  "exchanged folders": exchanged("s/folder", "d/z"),
  "a file made": `open(my $f, ">", "d/x")`,
  "a folder made": `mkdir("d/x")`,
  "a second name": `link("s/file", "d/x")`,
  "a link": `symlink("s/file", "d/x")`,
};
/** What others do before it is taken back, so that it cannot go where it came from. */
const HINDRANCES: Readonly<Record<string, () => void>> = {
  nothing: () => undefined,
  "its folder is gone": () => rmSync(at("s"), { recursive: true, force: true }),
  "its folder is another": () => {
    rmSync(at("s"), { recursive: true, force: true });
    mkdirSync(at("s"));
  },
  "its name is taken by a folder": () => {
    for (const name of ["file", "folder"])
      if (!existsSync(at(`s/${name}`))) mkdirSync(at(`s/${name}/full`), { recursive: true });
  },
  "its name is taken by a file": () => {
    for (const name of ["file", "folder"]) if (!existsSync(at(`s/${name}`))) writeFileSync(at(`s/${name}`), "another");
  },
  "it is filled": () => {
    if (lstatSync(at("denied/x"), { throwIfNoEntry: false })?.isDirectory() !== true) return;
    mkdirSync(at("denied/x/a/b"), { recursive: true });
    writeFileSync(at("denied/x/a/b/c"), "filled");
  },
  "the folder it came from is denied, too": () => {
    if (existsSync(at("s"))) renameSync(at("s"), at("denied/s"));
  },
};

/** Names below a folder, with what is in them. */
function contents(of: string, below = ""): string[] {
  return readdirSync(join(of, below), { withFileTypes: true }).flatMap((entry) => {
    const name = `${below}/${entry.name}`;
    if (entry.isDirectory()) return [`${name}/`, ...contents(of, name)];
    return [`${name} ${entry.isFile() ? readFileSync(join(of, name), "utf8") : "link"}`];
  });
}

describe.skipIf(!ready)("what arrives under a name that came to be denied is not left there", () => {
  test.each(Object.keys(ARRIVALS).flatMap((what) => Object.keys(HINDRANCES).map((how) => [what, how] as const)))(
    "%s, and meanwhile: %s",
    async (what, how) => {
      mkdirSync(at("s/folder/in"), { recursive: true });
      writeFileSync(at("s/folder/in/evil"), "evil");
      writeFileSync(at("s/file"), "evil");
      mkdirSync(at("d/z"), { recursive: true });
      writeFileSync(at("d/y"), "mine");
      let hindered = false;
      const judge: Judge = (path, as) => {
        const isChange = as !== "read" && as !== "list";
        // Between the look at the place and what is done there, it gets another name.
        if (isChange && /\/d\/[xyz](?:\/|$)/.test(path) && existsSync(at("d"))) renameSync(at("d"), at("denied"));
        if (!path.includes("/denied/")) return true;
        if (!hindered) HINDRANCES[how]!();
        hindered = true;
        return !isChange;
      };
      const said = await perl(`print((${ARRIVALS[what]}) ? "done" : "no: " . (0 + $!))`, judge);
      expect(existsSync(at("d"))).toBe(false);
      expect(said).toMatch(/^(?:no: 13|done)$/);
      // Of what was there before, and what others moved there, all may stay.
      const still = what.includes("folder")
        ? /^\/(?:s\/(?:file .*)?|y mine|z\/)$/
        : /^\/(?:s\/(?:folder\/.*)?|y mine|z\/)$/;
      const isMade = /made|name|link/.test(what);
      const left = contents(at("denied")).filter((name) => !still.test(name) && !(isMade && name.startsWith("/s/")));
      expect(left).toEqual([]);
      const isTaken = what === "a file moved" && how === "its name is taken by a file";
      if (isTaken) expect(readFileSync(at("s/file"), "utf8")).toBe("another");
    },
  );

  test.each([`rename("s/link", "d/x")`, exchanged("s/link", "d/y")])(
    "and a link is judged as one where it arrives: %s",
    async (arrival) => {
      mkdirSync(at("s"));
      symlinkSync("nowhere", at("s/link"));
      mkdirSync(at("d"));
      writeFileSync(at("d/y"), "mine");
      const judge: Judge = (path, as) => {
        if (/\/d\/[xy]$/.test(path) && as === "bring" && existsSync(at("d"))) renameSync(at("d"), at("denied"));
        return as !== "bring" || !path.includes("/denied/");
      };
      await perl(arrival, judge);
      expect(contents(at("denied"))).toEqual(["/y mine"]);
      expect(contents(at("s"))).toEqual(["/link link"]);
    },
  );
});
