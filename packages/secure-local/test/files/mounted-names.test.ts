// What is mounted in several places has all its names: files that run by themselves, and secrets, are protected under each of them.
import { spawn } from "node:child_process";
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { Mounts } from "../../src/capabilities/files/mounted-names.js";
import { hasWall } from "../sandbox/walls.js";
import { type Tree, tree } from "./tree.js";

/** Lines as the kernel writes them: number, mount around it, device, what is shown, where. */
function mounts(...lines: readonly string[]): Mounts {
  const text = lines.map((line) => `${line} rw,relatime shared:1 - ext4 /dev/x rw\n`).join("");
  return new Mounts(() => text);
}

const ROOT = "20 1 8:1 / /";

describe("the names of what is mounted in several places", () => {
  it.each<[string, readonly string[], string, readonly string[]]>([
    ["none where nothing is mounted twice", [ROOT, "21 20 8:2 / /data"], "/data/x", []],
    [
      "that of a folder that is bound",
      [ROOT, "21 20 8:1 /home/u/.config /srv/c"],
      "/srv/c/a/b",
      ["/home/u/.config/a/b"],
    ],
    ["that of the folder itself", [ROOT, "21 20 8:1 /home/u/.config /srv/c"], "/srv/c", ["/home/u/.config"]],
    ["that of a file that is bound", [ROOT, "21 20 8:1 /home/u/.bashrc /srv/rc"], "/srv/rc", ["/home/u/.bashrc"]],
    ["the new one of the old place", [ROOT, "21 20 8:1 /home/u /srv/h"], "/home/u/x", ["/srv/h/x"]],
    ["none beside it", [ROOT, "21 20 8:1 /home/u /srv/h"], "/srv/hh/x", []],
    ["all of them", [ROOT, "21 20 8:1 /home/u /srv/h", "22 20 8:1 / /all"], "/srv/h/x", ["/all/home/u/x", "/home/u/x"]],
    [
      "those of a disk that has no root here",
      [ROOT, "21 20 8:2 /a /one", "22 20 8:2 /a/b /two"],
      "/two/x",
      ["/one/b/x"],
    ],
    [
      "none by which something else is found",
      [ROOT, "21 20 8:1 /home/u/.config /srv/c", "22 20 8:3 / /home/u"],
      "/srv/c/x",
      [],
    ],
    [
      "that of the upper one of two in one place",
      [ROOT, "21 20 8:2 /a /m", "22 21 8:2 /b /m", "23 20 8:2 / /all"],
      "/m/x",
      ["/all/b/x"],
    ],
    ["none of what lies below a later one", [ROOT, "21 20 8:1 /home /a/b", "22 20 8:2 / /a"], "/a/b/x", []],
    ["blanks and backslashes in names", [ROOT, "21 20 8:1 /h\\040u/\\134x /s\\040c"], "/s c/x", ["/h u/\\x/x"]],
    ["umlauts in names", [ROOT, `21 20 8:1 ${Buffer.from("/hä").toString("latin1")} /s`], "/s/ö", ["/hä/ö"]],
    ["none that is no text", [ROOT, "21 20 8:1 /h\xe4 /s"], "/s/x", []],
    ["none of what was removed", [ROOT, "21 20 8:1 /home/u//deleted /s"], "/s/x", []],
  ])("are %s", (_, lines, path, names) => {
    expect([...mounts(...lines).namesOf(path).names].sort()).toEqual(names);
  });

  it("are told as outside of a container, too, where a part of a disk is shown", () => {
    const { names, outside } = mounts("20 1 0:50 / /", "21 20 8:1 /home/u/.config/autostart /srv/c").namesOf(
      "/srv/c/x",
    );
    expect(names).toEqual([]);
    expect(outside).toEqual({
      name: "/(elsewhere)/home/u/.config/autostart/x",
      root: "/(elsewhere)/home/u/.config/autostart",
      at: "/srv/c",
    });
    expect(mounts(ROOT).namesOf("/srv/c/x").outside).toBeUndefined();
  });

  it("are read again when the kernel tells of others", () => {
    vi.useFakeTimers({ toFake: ["performance"] });
    onTestFinished(() => void vi.useRealTimers());
    let text = `${ROOT} rw - ext4 x rw\n`;
    const told = new Mounts(() => text);
    expect(told.namesOf("/srv/c/x").names).toEqual([]);
    text += "21 20 8:1 /home/u /srv/c rw - ext4 x rw\n";
    vi.advanceTimersByTime(1_001);
    expect(told.namesOf("/srv/c/x").names).toEqual(["/home/u/x"]);
  });
});

const WALL = "bwrap";
const COMMAND = fileURLToPath(new URL("../../dist/mcp-secure-local.cjs", import.meta.url));
type Call = readonly [tool: string, args: Readonly<Record<string, unknown>>];

/** Asks the program, which sees mounts of its own; the answers, in the order of the calls. */
async function asked(
  t: Tree,
  binds: Readonly<Record<string, string>>,
  hidden: readonly string[],
  calls: readonly Call[],
): Promise<string[]> {
  const policy = join(t.base, "policy.yaml");
  const text = `version: "1.0"\nfilesystem: { allowed_paths: ["${t.inside}/**"] }\ntools: { allowed: ["*"] }\n`;
  writeFileSync(policy, text, { mode: 0o600 });
  const mounted = Object.entries(binds).flatMap(([from, to]) => ["--bind", join(t.base, from), join(t.inside, to)]);
  const covered = hidden.flatMap((name) => ["--tmpfs", join(t.base, name)]);
  const session = [
    {
      id: 0,
      method: "initialize",
      params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "t", version: "1" } },
    },
    ...calls.map(([name, args], index) => ({
      id: index + 1,
      method: "tools/call",
      params: { name, arguments: { ...args, path: join(t.inside, String(args["path"])) } },
    })),
  ];
  const child = spawn(
    WALL,
    ["--dev-bind", "/", "/", ...mounted, ...covered, "--", process.execPath, COMMAND, "--policy", policy],
    {
      env: { PATH: process.env["PATH"], HOME: join(t.base, "home"), MCP_SECURE_LOCAL_AUDIT: join(t.base, "audit.log") },
      stdio: ["pipe", "pipe", "ignore"],
    },
  );
  child.stdin.write(session.map((message) => `${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`).join(""));
  const answers = new Map<number, string>();
  // It ends when its input does, whatever is still under way.
  for await (const line of createInterface({ input: child.stdout })) {
    const { id } = JSON.parse(line) as { id?: number };
    if (id !== undefined) answers.set(id, line);
    if (answers.size === session.length) child.stdin.end();
  }
  return calls.map((_, index) => answers.get(index + 1) ?? "no answer");
}

function home(t: Tree): void {
  const files = {
    ".bashrc": "start",
    ".config/autostart/x.desktop": "start",
    ".config/Code/User/settings.json": "start",
    ".ssh/id": "SECRET",
    "bin/tool": "start",
    "dotfiles/cur/rc": "start",
    "notes/plain.txt": "plain",
  };
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(t.base, "home", name)), { recursive: true });
    writeFileSync(join(t.base, "home", name), text);
  }
  symlinkSync("dotfiles/cur/rc", join(t.base, "home/.zshrc"));
  for (const name of ["conf", "auto", "keys", "dots", "prog", "notes", "code"]) mkdirSync(join(t.inside, name));
  t.put("rc", "");
}

const BINDS = {
  "home/.bashrc": "rc",
  "home/.config": "conf",
  "home/.config/autostart": "auto",
  "home/.config/Code": "code",
  "home/.ssh": "keys",
  "home/dotfiles": "dots",
  "home/bin": "prog",
  "home/notes": "notes",
};
const write = (path: string): Call => ["write_file", { path, content: "evil", create_folders: true }];
const PROTECTED = /This name is protected/;

describe.runIf(hasWall())("start files and secrets that are mounted in an allowed folder", () => {
  const attacks = [
    ...["rc", "conf/autostart/x.desktop", "conf/autostart/new.desktop", "auto/x.desktop", "auto/new.desktop"].map(
      write,
    ),
    ...["conf/Code/User/settings.json", "code/User/settings.json"].map(write),
    ["read_file", { path: "keys/id" }] as Call,
  ];
  const honest = [write("notes/plain.txt"), write("notes/new.txt"), write("plain.txt")];

  it("are protected by their names at home", async () => {
    const t = tree();
    home(t);
    const more = [write("prog/tool"), write("dots/cur/rc")];
    const answers = await asked(t, BINDS, [], [...attacks, ...more, ...honest]);
    for (const answer of answers.slice(0, -3)) expect(answer).toMatch(PROTECTED);
    for (const answer of answers.slice(-3)) expect(answer).toMatch(/"result":(?!.*"isError":true)/);
  });

  it("are protected by their names on the disk, where their home is not seen", async () => {
    const t = tree();
    home(t);
    const answers = await asked(t, BINDS, ["home"], [...attacks, ...honest]);
    for (const answer of answers.slice(0, -3)) expect(answer).toMatch(PROTECTED);
    for (const answer of answers.slice(-3)) expect(answer).toMatch(/"result":(?!.*"isError":true)/);
  });
});
