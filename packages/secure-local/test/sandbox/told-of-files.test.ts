// Calls that tell of a file, or change it, without opening it: each is judged as what it tells.
import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createRun } from "../../src/capabilities/policy-run.js";
import { parsePolicy } from "../../src/policy/parse-policy.js";
import { hasWall } from "./walls.js";

const ground = mkdtempSync(join(homedir(), ".test-told-"));
const folder = join(ground, "data");
const PYTHON = "/usr/bin/python3";
const ready = hasWall() && existsSync(PYTHON);
afterAll(() => rmSync(ground, { recursive: true, force: true }));

const REFUSED = ["denied", "denied/x", ".ssh", ".ssh/id_rsa", ".env", "sub/.env"];
const ALLOWED = ["notes", "sub", "sub/plain", "."];

beforeAll(() => {
  for (const name of ["denied", ".ssh", "sub"]) mkdirSync(join(folder, name), { recursive: true });
  for (const name of ["denied/x", ".ssh/id_rsa", ".env", "sub/.env", "notes", "sub/plain"]) {
    writeFileSync(join(folder, name), "text");
    chmodSync(join(folder, name), 0o4755);
  }
});

/** Runs Python in the folder, with `call(name, …)` as the C library has it, and the error's number below zero. */
async function python(script: string): Promise<string> {
  const policy = await parsePolicy(
    `version: "1.0"
filesystem: { allowed_paths: ["${folder}/**"], denied_paths: ["${folder}/denied", "${folder}/denied/**"] }
commands:
  allowed:
    - name: python
      executable: ${PYTHON}
      arguments: [{ fixed: "-c" }, { pattern: "(?s).*" }]
      working_directory: ${folder}
`,
    { file: "/nowhere/policy.yaml", environment: {} },
  );
  const begin = `import ctypes, os, select
l = ctypes.CDLL(None, use_errno=True)
def call(name, *args):
  done = getattr(l, name)(*[a.encode() if isinstance(a, str) else a for a in args])
  return done if done >= 0 else -ctypes.get_errno()
fd = l.inotify_init1(0o4000)
`;
  const { stdout, stderr } = await createRun(() => policy, [])("python", ["-c", begin + script]);
  return stdout + stderr;
}

/** The same file by other words. */
const SPELLED = ["%s", "./%s", "sub/../%s", "/proc/self/cwd/%s", `${folder}/%s`];

describe.skipIf(!ready)("a program in a sandbox", () => {
  test.each(REFUSED)("does not watch %s", async (name) => {
    const said = await python(
      `for s in ${JSON.stringify(SPELLED)}:\n  for m in (0xfff, 0x2000fff, 0x1000fff, 0x10000fff): print(call("inotify_add_watch", fd, s % "${name}", m) > 0)`,
    );
    expect(said.trim().split("\n")).toEqual(SPELLED.flatMap(() => Array.from({ length: 4 }, () => "False")));
  });

  test.each(ALLOWED)("watches %s, and hears of changes there", async (name) => {
    const said = await python(
      `print(call("inotify_add_watch", fd, "${name}", 0xfff) > 0); open("${name}/new" if os.path.isdir("${name}") else "${name}", "a").close()
print(bool(select.select([fd], [], [], 5)[0]), len(os.read(fd, 4096)) >= 16)
print(call("inotify_add_watch", 999, "${name}", 0xfff), call("inotify_add_watch", 0, "${name}", 0xfff), call("inotify_add_watch", fd, "absent", 0xfff))`,
    );
    expect(said).toBe("True\nTrue True\n-9 -22 -2\n");
  });

  test("watches what others do outside, from a thread, and a link itself", async () => {
    const said = await python(
      `import threading
os.symlink("/nowhere", "link")
t = threading.Thread(target=lambda: print(call("inotify_add_watch", fd, "/tmp", 0xfff) > 0, call("inotify_add_watch", fd, "link", 0x2000fff) > 0))
t.start(); t.join(); os.remove("link"); open("/tmp/x", "w").close(); print(bool(os.read(fd, 4096)))
print(call("inotify_add_watch", fd, "/proc/1", 0xfff), call("inotify_add_watch", fd, "/usr", 0xfff) > 0)`,
    );
    expect(said).toBe("True True\nTrue\n-13 True\n");
  });

  test.each([...REFUSED, ...ALLOWED])("reads no attributes of %s by its path", async (name) => {
    const said = await python(
      `b = ctypes.create_string_buffer(99)
for s in ${JSON.stringify(SPELLED)}:
  print(call("getxattr", s % "${name}", "user.note", b, 99), call("lgetxattr", s % "${name}", "user.note", b, 99), call("listxattr", s % "${name}", b, 99), call("llistxattr", s % "${name}", b, 99))`,
    );
    expect(said.trim().split("\n")).toEqual(SPELLED.map(() => "-95 -95 -95 -95"));
  });

  test.each(REFUSED)("takes no mode from %s by asking for its owner", async (name) => {
    const before = statSync(join(folder, name)).mode;
    const said = await python(
      `for s in ${JSON.stringify(SPELLED)}:
  print(call("chown", s % "${name}", -1, -1) < 0, call("lchown", s % "${name}", os.getuid(), -1) < 0, call("fchownat", -100, s % "${name}", -1, os.getgid(), 0) < 0)
f = os.open("${name}", 0o10000000)
print(call("fchown", f, -1, -1) < 0, call("fchownat", f, "", -1, -1, 0x1000) < 0, call("chown", "/proc/self/fd/%d" % f, -1, -1) < 0)`,
    );
    expect(new Set(said.trim().split(/\s/))).toEqual(new Set(["True"]));
    expect(statSync(join(folder, name)).mode).toBe(before);
  });

  test.each(ALLOWED.slice(0, 3))("names itself the owner of %s, as programs that unpack do", async (name) => {
    const said = await python(
      `u = (os.getuid(), os.getgid()); f = os.open("${name}", 0)
print(call("chown", "${name}", *u), call("lchown", "${name}", *u), call("fchown", f, *u), call("fchownat", -100, "${name}", -1, -1, 0x100), call("chown", "${name}", 1, 1) < 0)`,
    );
    expect(said).toBe("0 0 0 0 True\n");
  });
});
