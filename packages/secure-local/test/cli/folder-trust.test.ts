// Servers of a folder's configuration: shown whole, asked for once, started and given what they ask for only then.
import { chmodSync, existsSync, mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, describe, expect, it, vi } from "vitest";
import { allow, askForTrust, untrustedServer } from "../../src/cli/remote/folder-trust.js";
import type { ClientEnvironment } from "@secure-local/mcp-tools/config-locations";
import { configuredTarget, findServer } from "@secure-local/mcp-tools/configured-servers";
import { temporaryFolder } from "../audit/temporary-folder.js";
import { type Ran, run } from "./command.js";
import { runQuickly } from "./command-in-thread.js";

const PROGRAM = fileURLToPath(new URL("small-program.mjs", import.meta.url));

interface Place {
  readonly root: string;
  readonly around: ClientEnvironment;
  runs(...args: string[]): Promise<Ran>;
  write(file: string, value: unknown): string;
}

function place(): Place {
  const root = temporaryFolder();
  const folder = join(root, "work");
  const home = join(root, "home");
  for (const each of [folder, home]) mkdirSync(each);
  const env = { GITHUB_TOKEN: "ghp_of_the_user" };
  const write = (file: string, value: unknown): string => {
    const path = join(root, file);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, typeof value === "string" ? value : JSON.stringify(value));
    return path;
  };
  return {
    root,
    around: { folder, home, platform: "linux", environment: env },
    runs: (...args) => runQuickly(args, { home, cwd: folder, env }),
    write,
  };
}

function leavingMark(root: string): { command: string; args: string[]; env: object; mark: string } {
  const mark = join(root, "mark");
  return { command: "sh", args: ["-c", `echo $GH > ${mark}`], env: { GH: "${GITHUB_TOKEN}" }, mark };
}

function digestIn({ stderr }: Ran): string {
  return /trust \S+ ([0-9a-f]{64}) --config/.exec(stderr)?.[1] ?? "none";
}

afterEach(() => vi.unstubAllEnvs());

describe("a server of a folder's file", () => {
  it("is not started, and all it would do is shown, with what allows it", async () => {
    const { root, runs, write } = place();
    const { mark, ...server } = leavingMark(root);
    const path = write("work/.mcp.json", { mcpServers: { github: server } });
    const refused = await runs("tools", "github");
    expect(refused).toMatchObject({ code: 2, stdout: "" });
    for (const shown of [
      path,
      `sh -c 'echo $GH > ${mark}'`,
      "GH=${GITHUB_TOKEN}",
      "gets of your variables  GITHUB_TOKEN",
    ])
      expect(refused.stderr).toContain(shown);
    expect(refused.stderr).not.toContain("ghp_of_the_user");
    expect(existsSync(mark)).toBe(false);
    expect(await runs("trust", "github", digestIn(refused), "--config", path)).toMatchObject({ code: 0 });
    await runs("tools", "github", "--timeout", "5");
    expect(readFileSync(mark, "utf8")).toBe("ghp_of_the_user\n");
  });

  it("is started by the built program once it is allowed, until its file says something else", async () => {
    const { root, write } = place();
    const options = { home: join(root, "home"), cwd: join(root, "work") };
    const server = { command: process.execPath, args: [PROGRAM] };
    write("work/.mcp.json", { mcpServers: { small: server } });
    const refused = await run(["call", "small", "echo", "text=hi"], options);
    expect(refused).toMatchObject({ code: 2, stdout: "" });
    const answer = await run(["trust", "small", digestIn(refused)], options);
    expect(answer).toMatchObject({ code: 0, stdout: expect.stringContaining("Allowed") as string });
    expect(await run(["call", "small", "echo", "text=hi"], options)).toMatchObject({ code: 0, stdout: "hi\n" });
    write("work/.mcp.json", { mcpServers: { small: { ...server, env: { NODE_OPTIONS: "--require ./x" } } } });
    expect(await run(["call", "small", "echo", "text=hi"], options)).toMatchObject({ code: 2, stdout: "" });
    expect(await run(["trust", "small", digestIn(refused)], options)).toMatchObject({ code: 2 });
  });

  it("gives way to one of the person's own of that name", async () => {
    const { around, write } = place();
    write("work/.mcp.json", { mcpServers: { one: { command: "theirs" } } });
    write("home/.cursor/mcp.json", { mcpServers: { one: { command: "mine" } } });
    expect(await configuredTarget("one", { around })).toMatchObject({ command: "mine" });
    await expect(configuredTarget("one", { around, file: ".mcp.json" })).rejects.toThrow("nobody can allow");
  });

  it("is asked for once in a terminal", async () => {
    const { root, around, write } = place();
    vi.stubEnv("XDG_STATE_HOME", join(root, "state"));
    vi.spyOn(process.stderr, "write").mockReturnValue(true);
    write("work/.mcp.json", { mcpServers: { one: { command: "x" } } });
    const found = await findServer("one", { around });
    let questions = 0;
    const person = (answer: boolean) => ({ isThere: () => true, agrees: () => Promise.resolve((questions++, answer)) });
    await expect(askForTrust(found, person(false))).rejects.toThrow("you did not allow it");
    await askForTrust(found, person(true));
    await askForTrust(found, person(false));
    expect(questions).toBe(2);
    const file = join(root, "state", "mcp-secure-local", "trusted-servers.json");
    expect(statSync(file).mode & 0o777).toBe(0o600);
    chmodSync(file, 0o622);
    await expect(askForTrust(found, person(false))).rejects.toThrow("you did not allow it");
    expect(await allow(found, {}, person(false))).toBe(false);
    await expect(allow(found, {}, { ...person(true), isThere: () => false })).rejects.toThrow("nobody can be asked");
    vi.restoreAllMocks();
  });

  it("takes variables from a file below its folder only, wherever links lead", async () => {
    const { root, around, write } = place();
    write("other.env", "A=other");
    write("work/.env", "A=own");
    symlinkSync(join(root, "other.env"), join(root, "work", "link.env"));
    const asking = (envFile: string) => {
      write("work/.vscode/mcp.json", { servers: { one: { command: "x", envFile } } });
      return configuredTarget("one", { around, consent: () => Promise.resolve() });
    };
    expect(await asking("${workspaceFolder}/.env")).toMatchObject({ env: { A: "own" } });
    for (const written of ["../other.env", "link.env", "${userHome}/.env", join(root, "other.env")])
      await expect(asking(written)).rejects.toThrow("is not below");
  });

  it("has the sandbox it asks for shown, and what that may write outside of its folder is asked for in any file", async () => {
    const { root, around, write, runs } = place();
    symlinkSync(join(root, "home"), join(root, "work", "out"));
    const sandbox = {
      filesystem: { allowWrite: ["${userHome}", "./out", "./in"] },
      network: { allowedDomains: ["a.example"] },
    };
    const server = { command: "x", sandboxEnabled: true, sandbox };
    for (const file of ["work/.vscode/mcp.json", "work/servers.json"]) {
      const path = write(file, { servers: { one: server } });
      const { wide, text } = await untrustedServer(await findServer("one", { around, file: path }));
      expect(wide).toEqual(["~/**", `${around.folder}/out/**`]);
      expect(text).toContain(`WRITES ${around.folder}/out/**, which is ${around.home} (NOT in its folder)`);
      expect(text).toContain("reaches a.example");
      expect(await runs("sandbox", "one", "--config", path)).toMatchObject({ code: 2, stdout: "" });
    }
  });
});

describe("a file named by hand that no client reads by itself", () => {
  it("is taken at the person's word, and what it does is shown", async () => {
    const { write, runs } = place();
    write("work/servers.json", { mcpServers: { small: { command: process.execPath, args: [PROGRAM] } } });
    const { code, stdout, stderr } = await runs("call", "small", "echo", "text=hi", "--config", "servers.json");
    expect({ code, stdout }).toEqual({ code: 0, stdout: "hi\n" });
    expect(stderr).toContain(`starts                  ${process.execPath}`);
  });
});
