// That nothing in a sandbox is outside of its wall, and that no way around its keeper is left, by generated tries.
import { spawnSync } from "node:child_process";
import {
  chmodSync,
  closeSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:net";
import { once } from "node:events";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, describe, expect, test } from "vitest";
import { soaking } from "../../../mcp/test/support/soak.js";
import { hasWall } from "./walls.js";

const PROBES = readFileSync(fileURLToPath(new URL("inside-probes.py", import.meta.url)), "utf8");
const PRODUCT = fileURLToPath(new URL("../../dist/mcp-secure-local.cjs", import.meta.url));
const PYTHON = "/usr/bin/python3";
const NETWORK = "network: { allowed_endpoints: [{ host: example.com }] }";
const folders: string[] = [];
afterAll(() => folders.forEach((folder) => rmSync(folder, { recursive: true, force: true })));

function ready(): boolean {
  if (!hasWall()) return false;
  if (existsSync(PYTHON)) return true;
  if (process.env["CI"]) throw new Error(`${PYTHON} is required in CI`);
  console.warn(`skipped: ${PYTHON} is not installed`);
  return false;
}

function folderIn(above: string): string {
  const folder = mkdtempSync(join(above, ".behind-"));
  folders.push(folder);
  return folder;
}

/** A folder to grant, with something protected in it. */
function granted(above = homedir()): string {
  const folder = join(folderIn(above), "one/two");
  for (const name of [".ssh", "private"]) mkdirSync(join(folder, name), { recursive: true });
  for (const name of [".env", ".ssh/id_rsa", "private/secret.txt", "keep.txt"])
    writeFileSync(join(folder, name), "SECRET");
  return folder;
}

interface Options {
  readonly policy?: string;
  readonly cwd?: string;
  readonly stdio?: readonly (number | "ignore" | "pipe")[];
  /** A program, in Python, that runs outside and starts the sandbox: `command` is a list. */
  readonly outside?: string;
}

/** What went through of the tries of one kind, by the built product. */
function probed(
  kind: string,
  args: readonly string[],
  { policy = "", cwd = "/", stdio = ["ignore", "pipe", "pipe"], outside }: Options = {},
): Record<string, unknown> {
  const file = join(folderIn(homedir()), "policy.yaml");
  writeFileSync(file, `version: "1.0"\n${policy}\n`);
  chmodSync(file, 0o600);
  const command = [PRODUCT, "sandbox", "--policy", file, "--", PYTHON, "-c", PROBES, kind, ...args];
  const env = { ...process.env, NODE_EXTRA_CA_CERTS: undefined };
  const options = { cwd, env, stdio: stdio as ("ignore" | number)[], encoding: "utf8" as const };
  const ended =
    outside === undefined
      ? spawnSync(process.execPath, command, options)
      : spawnSync(PYTHON, ["-c", outside, process.execPath, ...command], options);
  expect(ended.stderr).toBe("");
  return JSON.parse(ended.stdout) as Record<string, unknown>;
}

const grant = (...paths: readonly string[]): string =>
  `filesystem: { allowed_paths: [${paths.map((path) => `"${path}/**"`).join(", ")}], denied_paths: [${paths.map((path) => `"${path}/private/**", "${path}/in/ner/private/**"`).join(", ")}], denied_write_paths: [${paths.map((path) => `"${path}/keep.txt"`).join(", ")}] }`;

describe.skipIf(!ready())("behind the wall", () => {
  test.each(
    [
      ["with nothing", ""],
      ["with a network", NETWORK],
      ["with a folder", "folder"],
      ["with both", `folder\n${NETWORK}`],
    ].filter(([what = ""]) => soaking || ["with nothing", "with both"].includes(what)),
  )("no process has more than the command, or can be read, written, stopped or slowed: %s", (_what, what) => {
    const folder = granted();
    const policy = what.replace("folder", grant(folder));
    const kept = what.startsWith("folder");
    expect(probed("processes", kept ? ["kept"] : [], { policy, ...(kept ? { cwd: folder } : {}) })).toEqual({});
  });

  test.each([
    ["in the folder for temporary files", tmpdir()],
    ["in a home", homedir()],
  ])("a folder keeps its rules wherever those above it are moved: %s", (_where, above) => {
    const folder = granted(above);
    const inner = join(folder, "in/ner");
    mkdirSync(join(inner, "private"), { recursive: true });
    writeFileSync(join(inner, "private/secret.txt"), "SECRET");
    for (const [policy, ...mounts] of [
      [grant(folder), folder],
      [grant(folder, inner), folder, inner],
      [grant(inner, granted(above)), inner],
    ] as const)
      for (const mount of mounts)
        expect(probed("ancestors", [mount, "secret.txt", "keep.txt"], { policy })).toEqual({});
    expect(readFileSync(join(folder, "keep.txt"), "utf8")).toBe("SECRET");
  });

  test.each([
    ["alone", ""],
    ["beside a network", NETWORK],
  ])("no Unix socket gets an address, and none is reached: %s", async (_what, network) => {
    const folder = granted();
    let heard = 0;
    const server = createServer(() => void (heard += 1));
    await once(server.listen(join(folder, "outside.sock")), "listening");
    const before = readdirSync(folder);
    const policy = `${grant(folder)}\n${network}`;
    // Node hands over pairs of sockets for pipes; datagrams are listened for outside, too.
    const outside = `
import os, socket, subprocess, sys
listening = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK)
listening.bind("${folder}/datagrams.sock")
code = subprocess.run(sys.argv[1:]).returncode
os.unlink("${folder}/datagrams.sock")
try: print("heard", listening.recv(10), file=sys.stderr)
except BlockingIOError: pass
sys.exit(code)`;
    for (const name of ["outside.sock", "datagrams.sock"])
      expect(probed("sockets", [name], { policy, cwd: folder, stdio: ["pipe", "pipe", "pipe"], outside })).toEqual({});
    expect([readdirSync(folder), heard]).toEqual([before, 0]);
    server.close();
  });

  test("a handle of a folder that comes from elsewhere leads to nothing", () => {
    const [folder, elsewhere] = [granted(), granted()];
    const outside = `
import os, socket, subprocess, sys
one, other = socket.socketpair()
socket.send_fds(one, [b"x"], [os.open("${elsewhere}", os.O_RDONLY)])
sys.exit(subprocess.run(sys.argv[1:], stdin=other).returncode)`;
    const names = JSON.stringify(["keep.txt", ".env", ".ssh/id_rsa", ".bashrc", "new"]);
    expect(probed("handles", [names], { policy: grant(folder), cwd: folder, outside })).toEqual({});
    expect(readdirSync(elsewhere).sort()).toEqual([".env", ".ssh", "keep.txt", "private"]);
  });

  test.each([
    ["with nothing", false],
    ["with a folder", true],
  ])("what is handed over open is opened anew for no more: %s", (_what, kept) => {
    const folder = granted();
    const file = join(folderIn(homedir()), "handed.txt");
    writeFileSync(file, "handed", { mode: 0o600 });
    const stdin = openSync(file, "r");
    const options = kept ? { policy: grant(folder), cwd: folder } : {};
    expect(probed("reopened", [], { ...options, stdio: [stdin, "pipe", "pipe"] })).toEqual({});
    closeSync(stdin);
    expect([readFileSync(file, "utf8"), statSync(file).mode & 0o777]).toEqual(["handed", 0o600]);
  });

  test("nobody is let use a protected file by any other call", () => {
    const folder = granted();
    for (const path of [".ssh/id_rsa", join(folder, ".env")])
      expect(probed("modes", [path], { policy: grant(folder), cwd: folder })).toEqual({});
  });

  test("honest programs find what they need", () => {
    const folder = granted();
    expect(probed("honest", [], { policy: `${grant(folder)}\nsandbox: { processes: 256 }`, cwd: folder })).toEqual({});
  });
});
