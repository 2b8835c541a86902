// What a program sees of the folders it was granted, and what it can do there, while it and others exchange what lies in them.
import {
  copyFileSync,
  cpSync,
  existsSync,
  linkSync,
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
import { execFileSync } from "node:child_process";
import { createServer } from "node:net";
import { once } from "node:events";
import { homedir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeEach, describe, expect, test } from "vitest";
import { createRun, type RunResult } from "../../src/capabilities/policy-run.js";
import { sandboxEnvironment } from "../../src/capabilities/sandbox-environment.js";
import { ownFiles } from "../../src/capabilities/files/own-files.js";
import { parsePolicy } from "../../src/policy/parse-policy.js";
import { findWall } from "../../src/sandbox/find-wall.js";
import { endWalled, startWalled } from "../../src/sandbox/start-walled.js";
import { hasWall, LIMITS } from "./walls.js";

const home = mkdtempSync(join(homedir(), ".view-test-"));
const data = join(home, "data");
const outside = join(home, "outside");
afterAll(() => rmSync(home, { recursive: true }));

beforeEach(() => {
  for (const folder of [data, outside]) rmSync(folder, { recursive: true, force: true });
  for (const folder of [".vscode", "conf", "deep/er/.vscode"]) mkdirSync(join(data, folder), { recursive: true });
  mkdirSync(outside);
  writeFileSync(join(outside, "key"), "SECRET-OUTSIDE");
  for (const [name, text] of Object.entries(FILES)) writeFileSync(join(data, name), text);
});

const FILES: Readonly<Record<string, string>> = {
  "notes.txt": "notes\n",
  ".env": "TOKEN=first-secret\n",
  ".vscode/tasks.json": "{}",
  "deep/er/.vscode/tasks.json": "{}",
  "conf/policy.yaml": "own: policy\n",
};

async function run(
  script: string,
  { args = [] as readonly string[], more = "", network = "" } = {},
): Promise<RunResult> {
  const policy = await parsePolicy(
    `version: "1.0"
filesystem: { allowed_paths: ["${data}/**"] }
commands:
  allowed:
    - name: bash
      executable: /bin/bash
      arguments: [{ fixed: "-c" }, { pattern: "(?s).*" }]
      working_directory: ${data}
      ${network}
    - name: cat
      executable: /bin/cat
      arguments: [{ path: read }]
      working_directory: ${data}
${more}`,
    { file: join(home, "policy.yaml"), environment: {} },
  );
  // As the state folder is, where it lies in a folder that was granted.
  const running = createRun(() => policy, [join(data, "conf")]);
  return await (args.length > 0 ? running("cat", args) : running("bash", ["-c", script]));
}

/** A shell behind the wall that runs one line for each line it is asked, in a folder it may use. */
async function reader(
  each: string,
): Promise<{ readonly ask: (line: string) => Promise<string>; end: () => Promise<void> }> {
  const policy = await parsePolicy(`version: "1.0"\nfilesystem: { allowed_paths: ["${data}/**"] }`, {
    file: "/nowhere/p.yaml",
    environment: {},
  });
  const wall = await findWall({ mode: "required" });
  const { reach } = await sandboxEnvironment(policy, { own: ownFiles(policy, []), wall });
  const script = `echo ready; while read -r line; do { ${each}; } 2>&1; echo .; done`;
  const child = startWalled(
    wall,
    { executable: "/bin/bash", args: ["-c", script], workingDirectory: data, reach, limits: LIMITS },
    ["pipe", "pipe", "inherit"],
  );
  const ask = async (line: string): Promise<string> => {
    let text = "";
    child.stdin?.write(`${line}\n`);
    while (!text.endsWith(".\n")) text += String((await once(child.stdout!, "data"))[0]);
    return text;
  };
  const end = async (): Promise<void> => {
    const ended = once(child, "exit");
    endWalled(wall, child);
    await ended;
  };
  await once(child.stdout!, "data");
  return { ask, end };
}

function textsOf(folder: string): Record<string, string> {
  const files = namesIn(folder).filter((name) => lstatSync(join(folder, name)).isFile());
  return Object.fromEntries(files.map((name) => [name, readFileSync(join(folder, name), "utf8")]));
}

/** All below a folder; links lead nowhere. */
function namesIn(folder: string, below = ""): string[] {
  return readdirSync(join(folder, below), { withFileTypes: true }).flatMap((entry) => {
    const name = join(below, entry.name);
    return entry.isDirectory() ? [name, ...namesIn(folder, name)] : [name];
  });
}

const READLINKAT = process.arch === "x64" ? 267 : 78;
/** Sets the dates of each file it is given by every call there is for that, and says which of them did. */
const SETTING_DATES = `import ctypes, os, struct, sys
call, at = ctypes.CDLL(None).syscall, -100
numbers = {"utime": 132, "utimes": 235, "futimesat": 261, "utimensat": 280} if os.uname().machine == "x86_64" else {"utimensat": 88}
newest, pair = numbers["utimensat"], struct.pack("4q", 7, 8, 9, 10)
def tried(name, *all): print(name, "refused" if call(*all) != 0 else "set")
for path in sys.argv[1:]:
    text = path.encode()
    file = os.open(path, os.O_RDONLY) if os.access(path, os.R_OK) else -1
    for name, number in numbers.items():
        first = [at] if name in ("futimesat", "utimensat") else []
        tried(name, number, *first, text, struct.pack("2q", 7, 9) if name == "utime" else pair, 0)
        if file >= 0: print(os.stat(path).st_mtime_ns)
    for name, *all in [("now", at, text, None, 0), ("link", at, text, pair, 0x100), ("handle", file, None, pair, 0),
        ("empty", file, b"", pair, 0x1000), ("odd", at, text, pair, 0x80000)]: tried(name, newest, *all)
`;
const PROTECTED = [".vscode/tasks.json", "deep/er/.vscode/tasks.json", "conf/policy.yaml", ".env"];

describe.skipIf(!hasWall())("in a folder that may be written", () => {
  test.each([
    ["the folder above is moved", "mv conf old; mkdir -p conf; echo evil > conf/policy.yaml"],
    [
      "a folder further above is moved",
      "mv deep old; mkdir -p deep/er/.vscode; echo evil > deep/er/.vscode/tasks.json",
    ],
    ["the folder itself is moved", "mv .vscode old; mkdir .vscode; echo evil > .vscode/tasks.json"],
    [
      "folders are exchanged",
      "mkdir -p x/er/.vscode; mv --exchange deep x; mv -T x deep; echo evil > deep/er/.vscode/tasks.json",
    ],
    ["a file is moved over it", "echo evil > new; mv -f new conf/policy.yaml; mv -f new .vscode/tasks.json"],
    [
      "a link is put in its way",
      "mkdir z; ln -s $PWD/.vscode z/v; echo evil > z/v/tasks.json; ln -s conf c; echo evil > c/policy.yaml",
    ],
    ["it gets another name", "ln conf/policy.yaml p; echo evil > p; ln .vscode/tasks.json t; echo evil > t"],
    [
      "it is written, cut, removed",
      "echo evil > conf/policy.yaml; truncate -s 0 .vscode/tasks.json; rm -rf conf deep .vscode",
    ],
    ["its rights are changed", "chmod 000 conf/policy.yaml .vscode/tasks.json"],
    [
      "it is opened anew by its number",
      "exec 5< .vscode/tasks.json; echo evil > /dev/fd/5; echo evil > /proc/self/fd/5",
    ],
  ])("what is protected stays as it is when %s", async (_what, script) => {
    await run(script);
    const texts = textsOf(data);
    for (const name of PROTECTED) expect([name, texts[name]]).toEqual([name, FILES[name]]);
  });

  test("what is protected keeps its dates, and what is not gets those that are set", async () => {
    const dates = (): unknown[] => PROTECTED.map((name) => [name, statSync(join(data, name)).mtimeMs]);
    const before = dates();
    const names = PROTECTED.join(" ");
    writeFileSync(join(data, "own"), "");
    writeFileSync(join(data, "set.py"), SETTING_DATES);
    const script = `touch -d 2001-01-01 ${names}; touch ${names}; touch -h -d 2001-01-01 .env; python3 set.py own ${names}`;
    const { stdout } = await run(script);
    expect(dates()).toEqual(before);
    const all = stdout.split("\n");
    const honest = all.slice(0, all.indexOf("odd refused") + 1);
    const older = ["utime set", "9000000000", "utimes set", "9000010000", "futimesat set", "9000010000"];
    const newer = ["utimensat set", "9000000010", "now set", "link set", "handle set", "empty set", "odd refused"];
    expect(honest).toEqual(process.arch === "x64" ? [...older, ...newer] : newer);
    expect(all.slice(honest.length).filter((each) => each.endsWith(" set"))).toEqual([]);
  });

  test.each([
    ["made", "mkdir -p new/.cursor .ssh; echo evil > .mcp.json; echo evil > .envrc; echo evil > new/.bashrc"],
    [
      "moved there",
      "echo evil > a; mv a .mcp.json; mkdir b; echo evil > b/authorized_keys; mv b .ssh; mkdir c; mv c new.cursor",
    ],
    ["linked there", "echo evil > a; ln a .mcp.json; ln -s a .envrc; ln -s a .bashrc; mkdir new; ln -s /tmp .ssh"],
    ["moved there in a folder", "mkdir -p n/autostart; echo evil > n/autostart/x.desktop; mv n .config"],
    ["copied there", "echo evil > a; cp a .mcp.json; mkdir b; cp a b/.envrc; tar c b | (mkdir d; tar x -C d)"],
    ["made in other letters", "mkdir .SSH .Cursor; echo evil > .MCP.json; echo evil > .mcp.json.; touch .ᴇnv"],
    [
      "made through a link",
      "ln -s $PWD /tmp/l; echo evil > /tmp/l/.mcp.json; ln -s .mcp.json m; echo evil > m; mkdir /tmp/l/.ssh",
    ],
  ])("names that were not there stay absent when they are %s", async (_what, script) => {
    await run(script);
    const found = namesIn(data)
      .filter((name) => !/^(?:\.env|\.vscode|deep\/er\/\.vscode)(?:\/|$)/.test(name))
      .filter((name) => /(?:^|\/)\.(?:mcp\.json|envrc|ssh|cursor|bashrc|env)|autostart/i.test(name));
    expect(found.filter((name) => !name.startsWith("n/"))).toEqual([]);
  });

  test("what is read stays covered when it is saved anew outside, and when it comes later", async () => {
    const { ask, end } = await reader('cat "$line"');
    expect(await ask(".env")).toContain("Permission denied");
    writeFileSync(join(data, "new"), "TOKEN=second-secret\n");
    renameSync(join(data, "new"), join(data, ".env"));
    mkdirSync(join(data, "later/.ssh"), { recursive: true });
    writeFileSync(join(data, "later/.ssh/id"), "second-secret");
    for (const name of [".env", "later/.ssh/id", "/proc/self/cwd/.env"])
      expect(await ask(name)).not.toContain("second-secret");
    expect(await ask("notes.txt")).toBe("notes\n.\n");
    await end();
  });

  test("what was read is not read any more once its folder became a repository of git's", async () => {
    mkdirSync(join(data, "store/objects"), { recursive: true });
    writeFileSync(join(data, "store/config"), "url of a secret");
    const { ask, end } = await reader('eval "$line"');
    for (let time = 0; time < 2; time++) expect(await ask("cat store/config; ls store")).toContain("url of a secret");
    writeFileSync(join(data, "store/HEAD"), "ref: refs/heads/main");
    expect(await ask("cat store/config")).toContain("Permission denied");
    await end();
  });

  test("what moved out of the folder while a program stood in it, or held it, is not used there any more", async () => {
    mkdirSync(join(data, "sub/deeper"), { recursive: true });
    writeFileSync(join(data, "sub/plain"), "plain text");
    const { ask, end } = await reader('eval "$line"');
    await ask("cd sub; exec 7< .");
    expect(await ask("cat plain")).toContain("plain text");
    const use = "cat plain .env ./deeper/../plain /proc/self/fd/7/plain; echo x > made; mkdir m; mv plain p; ls";
    renameSync(join(data, "sub"), join(outside, "sub"));
    writeFileSync(join(outside, "sub/.env"), "second-secret");
    expect(await ask(use)).not.toMatch(/second-secret|plain text/);
    expect(readdirSync(join(outside, "sub")).sort()).toEqual([".env", "deeper", "plain"]);
    renameSync(join(outside, "sub"), join(data, "elsewhere"));
    expect(await ask(use)).toContain("plain text");
    await end();
  });

  test("a handle that stands for a protected file and cannot be read does not become one that can", async () => {
    const script = `for file in .env .vscode/tasks.json; do perl -MFcntl -e '
      my ($file, $PATH) = (shift, 010000000);
      sysopen($handle[$_], $file, $PATH) for 0 .. 7;
      for my $n (3 .. 10) { for my $at ("/proc/self/fd/$n", "/dev/fd/$n", "/proc/$$/task/$$/fd/$n") {
        for my $how (O_RDONLY, O_WRONLY) { for my $link (0, O_NOFOLLOW) {
          next unless sysopen(my $opened, $at, $how | $link); print "opened\\n", <$opened>; syswrite($opened, "evil") } } } }
      print "tried\\n"' $file; done; exec 5< notes.txt; cat /dev/fd/5 - <&5`;
    const { stdout } = await run(script);
    const texts = textsOf(data);
    for (const name of PROTECTED) expect([name, texts[name]]).toEqual([name, FILES[name]]);
    expect(stdout.replace(/(?:opened\n\{\})+/g, "")).toBe("tried\ntried\nnotes\nnotes\n");
  });

  test("there are no sockets and no pipes of others, with a network as without", async () => {
    let heard = 0;
    const agent = createServer((stream) => {
      heard += 1;
      stream.destroy();
    });
    await once(agent.listen(join(data, "agent.sock")), "listening");
    const script = `mkfifo pipe; echo x | timeout 1 python3 -c '
import socket
s = socket.socket(socket.AF_UNIX)
s.connect("agent.sock")'; ls -A | grep -c pipe`;
    for (const network of ["", "network: { allowed_endpoints: [{ host: example.com }] }"]) {
      const { stderr, stdout } = await run(script, { network });
      expect(stderr).toContain("Operation not permitted");
      expect(stdout).toBe("0\n");
    }
    expect(heard).toBe(0);
    agent.close();
  });

  test("the keeper is ended or stopped by nobody inside, and serves programs whose parents are gone", async () => {
    const script = `for n in $(seq 9); do [ $n = $$ ] || kill -9 $n || kill -STOP $n; done
      mkfifo /tmp/done; (setsid sh -c 'while [ "$(cut -d" " -f4 /proc/$$/stat)" != 1 ]; do :; done; cat notes.txt > late; echo > /tmp/done' &)
      cat /tmp/done > /dev/null; cat late notes.txt`;
    expect(await run(script)).toMatchObject({ exitCode: 0, stdout: "notes\nnotes\n" });
  });

  test("where links in a protected folder lead is told by no call, and of others it is", async () => {
    mkdirSync(join(data, ".ssh"));
    symlinkSync("SECRET-PLACE", join(data, ".ssh/link"));
    symlinkSync("plain-place", join(data, "link"));
    const script = `readlink .ssh/link; ls -l .ssh; (cd .ssh && readlink link); realpath .ssh/link
perl -MFcntl -e 'my $text = "\\0" x 99; my ($name, $none) = ("link", ""); sysopen(my $in, ".ssh", 010000000);
  syscall(${READLINKAT}, fileno($in), $name, $text, 99); print $text; print readlink("/proc/self/cwd/.ssh/link");
  sysopen(my $own, ".ssh/link", 010400000); syscall(${READLINKAT}, fileno($own), $none, $text, 99); print $text;
  print readlink("/proc/self/fd/" . fileno($own) . "/link")'
echo; readlink link; perl -e 'print readlink("/proc/self") eq $$, readlink("/proc/self/exe"), "\\n"'; readlink /proc/1/exe /proc/1/fd/3; echo over`;
    const { stdout } = await run(script);
    expect(stdout).not.toContain("SECRET-PLACE");
    expect(stdout).toMatch(/\nplain-place\n1\/usr\/bin\/perl\nover\n$/);
  });

  test("a protected script does not run and is not read; a protected program runs, as the page on sandboxes says", async () => {
    mkdirSync(join(data, ".ssh"));
    writeFileSync(join(data, ".ssh/script"), "#!/bin/sh\necho SECRET\n", { mode: 0o755 });
    writeFileSync(join(data, ".ssh/text"), "echo SECRET\n", { mode: 0o755 });
    copyFileSync("/bin/echo", join(data, ".ssh/program"));
    const ways = ["script", "text"].flatMap((name) => [`./.ssh/${name}`, `sh .ssh/${name}`, `. ./.ssh/${name}`]);
    const { stdout } = await run(
      `${ways.map((way) => `(${way})`).join("; ")}; cat .ssh/program; ./.ssh/program started`,
    );
    expect(stdout).toBe("started\n");
  });

  test("programs that ended and have no parent do not count any more", async () => {
    const script = `for i in $(seq 30); do (sh -c ': &' &); done; while [ $(ls -d /proc/[0-9]* | wc -l) -gt 8 ]; do :; done; echo over`;
    expect(await run(script)).toMatchObject({ exitCode: 0, stdout: "over\n" });
  });

  test("a program that cannot be started says so", async () => {
    expect(await run("exec ./notes.txt")).toMatchObject({ exitCode: 126 });
  });

  test("honest work goes on: files and folders are made, moved, linked, written and removed", async () => {
    const script = `set -e
mkdir -p a/b; echo one > a/b/f; mv a c; ln c/b/f g; ln -s g h; cat h; echo two >> g; cat c/b/f; cp -r c d; rm -r c
exec 5<> g; echo three >&5; exec 5>&-; cat g; (umask 077; : > private; mkdir -p x/y); stat -c %a private x g
cat /dev/stdin < g; cat <(echo sub); mkfifo /tmp/p; (echo through > /tmp/p &); cat /tmp/p; python3 -c '
import os, tempfile
f, name = tempfile.mkstemp(dir="."); os.write(f, b"made"); os.close(f); os.replace(name, "final"); print(open("final").read())
open("final", "w").truncate(0); os.truncate("g", 1); print(os.path.getsize("g"))
os.chmod("g", 0o600); os.chdir("d"); print(os.listdir("."), open("../final").read() == "")'
printf '#!/bin/sh\\necho ran' > s; chmod +x s; ./s; rm -r d x private final`;
    const { stdout, stderr, exitCode } = await run(script);
    expect([stderr, exitCode]).toEqual(["", 0]);
    expect(stdout).toBe("one\none\ntwo\nthree\no\n600\n700\n644\nthree\no\nsub\nthrough\nmade\n1\n['b'] True\nran\n");
  });
});

describe.skipIf(!hasWall())("git in a folder that may be written", () => {
  const more = "sandbox: { git: true }";
  /** As git made it behind the wall the first time. */
  const repository = join(home, "repository");

  test("is not there unless the policy says so", async () => {
    await run("git init -q one; mkdir two; mkdir two/.git; mv two/.git .git; git clone -q . three");
    expect(namesIn(data).filter((name) => /(?:^|\/)\.git(?:\/|$)/.test(name))).toEqual([]);
  });

  test("clones, commits and is configured where it says so", async () => {
    const script = `set -e; git init -q one; cd one; git config user.name A; git config user.email a@b.c; echo x > f; git add f; git commit -qm first
cd ..; git clone -q one two; cd two; git log --format=%s; git config remote.origin.url; git branch -q topic; git remote add other https://example.com/x.git; git remote add near ../one; git remote
git config user.name A; git config user.email a@b.c; echo y >> f; git stash -q; git stash pop -q; git commit -qam second; git bisect start HEAD HEAD~1 >&2; git bisect reset >&2`;
    const { stdout, exitCode } = await run(script, { more });
    expect([exitCode, stdout]).toEqual([0, `first\n${data}/one\nnear\norigin\nother\n`]);
  });

  test("clones what holds protected names, all but these, as the page says", async () => {
    rmSync(data, { recursive: true });
    mkdirSync(join(data, "one/.vscode"), { recursive: true });
    for (const name of [".vscode/settings.json", ".env", ".env.example", "f"])
      writeFileSync(join(data, "one", name), name);
    const git = (...args: string[]): Buffer => execFileSync("git", ["-C", join(data, "one"), ...args]);
    for (const args of [
      ["init", "-q"],
      ["add", "-A"],
      ["-c", "user.name=A", "-c", "user.email=a@b.c", "commit", "-qm", "m"],
    ])
      git(...args);
    const page = readFileSync(new URL("../../../../docs/sandbox.md", import.meta.url), "utf8");
    const remedy = /```sh\n(git reset[^]*?)```/.exec(page)?.[1] ?? "exit 9";
    const { stdout } = await run(`git clone -q one two; cd two; set -e; ${remedy} git status --short; ls -A; cat f`, {
      more,
    });
    expect(stdout).toBe(".env.example\n.git\nf\nf");
  });

  test.each([
    ["a program as the monitor", "git config core.fsmonitor 'touch ran'"],
    ["hooks elsewhere", "git config core.hooksPath /tmp"],
    ["a remote that is a program", "git remote add evil 'ext::sh -c id'"],
    ["a filter", "git config filter.x.smudge id"],
    ["an alias", "git config alias.st '!id'"],
    ["an include", "git config include.path ../evil"],
    ["another work tree", "git config core.worktree /tmp"],
    [
      "a line behind a header",
      "printf '[core] fsmonitor = evil\\n' > .git/config.lock; mv .git/config.lock .git/config",
    ],
    [
      "a line that goes on",
      "printf '[user]\\n\\tname = a\\\\\\n[core]\\n\\tfsmonitor = evil\\n' > .git/config.lock; mv .git/config.lock .git/config",
    ],
    [
      "a configuration that stays open",
      "exec 5> .git/config.lock; printf '[user]\\n\\tname = a\\n' >&5; mv .git/config.lock .git/config; printf '[core]\\n\\tfsmonitor = evil\\n' >&5",
    ],
    [
      "a configuration that is a link",
      "echo '[core]' > evil; ln -s ../evil .git/config.lock; mv .git/config.lock .git/config; printf '[core]\\n\\tfsmonitor = evil\\n' > evil",
    ],
    [
      "written straight",
      "printf '[core]\\n\\tfsmonitor = evil\\n' >> .git/config; rm .git/config; ln -f evil .git/config",
    ],
    [
      "a hook",
      "mkdir .git/hooks; echo evil > .git/hooks/pre-commit; mkdir h; echo evil > h/pre-commit; mv h .git/hooks",
    ],
    ["a folder of git's elsewhere", "echo ../evil > .git/commondir; rm -rf .git; echo 'gitdir: evil' > .git"],
    ["a submodule's", "mkdir -p .git/modules/x .git/worktrees/y; echo evil > .git/modules/x/config"],
    [
      "attributes and alternates",
      "mkdir -p .git/info; echo evil > .git/info/attributes; echo evil > .git/objects/info/alternates",
    ],
  ])("gets nothing that it runs by itself: %s", async (_what, script) => {
    if (!existsSync(repository)) {
      await run("git init -q . && git config user.name before", { more });
      cpSync(join(data, ".git"), repository, { recursive: true });
    } else cpSync(repository, join(data, ".git"), { recursive: true });
    await run(script, { more });
    const texts = textsOf(join(data, ".git"));
    expect(texts["config"]).toMatch(/name = (?:before|a)\n/);
    expect(JSON.stringify(texts["config"])).not.toMatch(/evil|fsmonitor|hooksPath|ext::|filter|alias|include|worktree/);
    const names = Object.keys(texts).filter((name) => !/^(?:HEAD|config|config\.lock|objects|refs)/.test(name));
    expect([names, texts["objects/info/alternates"]]).toEqual([[], undefined]);
  });
});

describe.skipIf(!hasWall())("a path among the arguments", () => {
  test("is handed over as it was found, not as it was written", async () => {
    mkdirSync(join(outside, "vendor"));
    symlinkSync(join(outside, "vendor"), join(data, "vendor"));
    writeFileSync(join(data, "key"), "key inside\n");
    expect(await run("", { args: ["vendor/../key"] })).toMatchObject({ stdout: "key inside\n" });
    expect(await run("", { args: ["vendor/../key"], more: "sandbox: none" })).toMatchObject({ stdout: "key inside\n" });
    await expect(run("", { args: ["vendor/x"], more: "sandbox: none" })).rejects.toMatchObject({ code: "denied" });
  });

  test("with several names is refused, as the file tools refuse it", async () => {
    linkSync(join(outside, "key"), join(data, "other-name"));
    await expect(run("", { args: ["other-name"] })).rejects.toMatchObject({ code: "denied" });
    expect(existsSync(join(data, "other-name"))).toBe(true);
  });
});
