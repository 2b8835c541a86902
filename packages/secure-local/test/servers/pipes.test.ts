// Pipes under the names of files that are kept for servers of the policy: nothing waits for their other end, and each is named.
import { existsSync, mkdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { StorageFolder } from "../../src/capabilities/storage-folder.js";
import { refusedAt } from "../../src/cli/refused-definitions.js";
import { secretFault } from "../../src/server/open-server.js";
import { packageFolder, pinnedPackage, treeDigest, wantedPackage } from "../../src/server/pinned-package.js";
import { ServerLog, serverLogFile } from "../../src/server/server-log.js";
import { pipeAt } from "../audit/rescued-pipe.js";
import { temporaryFolder } from "../audit/temporary-folder.js";
import { Household, tool } from "./household.js";

afterEach(() => vi.unstubAllEnvs());

describe.skipIf(process.platform === "win32")("a pipe in the place of", () => {
  describe("what is kept for a server", () => {
    let house: Household;
    let state: string;
    beforeEach(async () => {
      house = new Household();
      state = join(house.folder, "state/mcp-secure-local");
      house.program("notes", { tools: [tool("read_note")] });
      house.write(
        `version: "1.0"\ntools: { allowed: ["notes__*"] }\nservers:\n  notes: { command: [node, "${house.folder}/programs/notes.mjs"], ${house.readable} }\n`,
      );
      await house.approve();
      return () => house.close();
    });

    it("its log: its tools are called, `call` ends, and both it and `servers logs` name the file", async () => {
      const log = serverLogFile(join(state, "servers"), house.policy, "notes");
      mkdirSync(dirname(log), { recursive: true });
      pipeAt(log);
      const { stdout, stderr, code } = await house.run(["call", "notes__read_note"]);
      expect([code, stdout]).toEqual([0, "did read_note\n"]);
      expect(stderr).toContain(`what a server says is not kept: ${log} is no file but a pipe; move it away`);
      expect((await house.run(["servers", "logs", "notes"])).stderr).toContain(
        `${log} is no file but a pipe; move it away`,
      );
    });

    it("the folder of programs: what could not be made is named", async () => {
      rmSync(join(state, "programs"), { recursive: true, force: true });
      mkdirSync(state, { recursive: true });
      pipeAt(join(state, "programs"));
      const { stderr } = await house.run(["call", "notes__read_note"]);
      expect(stderr).toContain(`${join(state, "programs")} is no folder but a pipe; move it away`);
    });
  });

  it("a log, which is told once, and again when it was written in between", async () => {
    const folder = temporaryFolder();
    const file = join(folder, "notes.log");
    const said: string[] = [];
    const log = new ServerLog(folder, file, (line) => said.push(line));
    const add = async (): Promise<void> => {
      log.add("line");
      await log.settled();
    };
    pipeAt(file);
    await add();
    await add();
    expect(said).toHaveLength(1);
    rmSync(file);
    await add();
    expect(statSync(file).size).toBeGreaterThan(0);
    rmSync(file);
    pipeAt(file);
    await add();
    expect(said).toHaveLength(2);
  });

  it("a secret, a value that a plugin keeps, and what was refused", async () => {
    const folder = temporaryFolder();
    const secret = join(folder, "secret");
    pipeAt(secret);
    const given = { name: "s", from: { kind: "file", path: secret } } as never;
    expect(secretFault(given)).toContain("is no file but a pipe; move it away");
    const storage = new StorageFolder(folder, 1_000);
    await storage.set("key", 1);
    const kept = (await import("node:fs")).readdirSync(folder).find((name) => name !== "secret") as string;
    rmSync(join(folder, kept));
    pipeAt(join(folder, kept));
    await expect(storage.get("key")).rejects.toThrow("was damaged");
    vi.stubEnv("XDG_STATE_HOME", folder);
    mkdirSync(join(folder, "mcp-secure-local"));
    pipeAt(join(folder, "mcp-secure-local/refused.json"));
    expect(() => refusedAt("0".repeat(64))).toThrow("is no file but a pipe");
  });

  it("what is written of a package, and a file in it", () => {
    vi.stubEnv("XDG_STATE_HOME", temporaryFolder());
    const wanted = wantedPackage(["npx", "-y", "some-server@1.0.0"]);
    if (wanted === undefined) throw new Error("it is none that is fetched");
    const folder = packageFolder(wanted);
    const own = join(folder, "node_modules/some-server");
    mkdirSync(own, { recursive: true });
    writeFileSync(join(own, "package.json"), "{}");
    pipeAt(`${folder}.json`);
    expect(pinnedPackage(wanted)).toBeUndefined();
    pipeAt(join(own, "index.js"));
    expect(() => treeDigest(folder)).toThrow("is no file but a pipe");
    expect(existsSync(folder)).toBe(true);
  });
});
