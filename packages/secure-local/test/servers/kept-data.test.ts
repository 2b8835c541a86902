// A server that keeps its data in one file, as most that remember something do: written beside it and renamed, from the first call on.
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeEach, describe, expect, it } from "vitest";
import { withChangeable } from "../../src/cli/why-not.js";
import { hasWall } from "../sandbox/walls.js";
import { Household, said, tool } from "./household.js";

const house = new Household();
const data = mkdtempSync(join(homedir(), ".kept-data-"));
const file = join(data, "kept/memory.jsonl");
afterAll(async () => {
  await house.close();
  rmSync(data, { recursive: true });
});
afterEach(() => house.closeClients());
beforeEach(() => {
  rmSync(join(data, "kept"), { recursive: true, force: true });
  mkdirSync(join(data, "kept"));
});

/** It may write the folder; `grants` come beside that. */
function writePolicy(grants: readonly string[] = [], denied: readonly string[] = []): void {
  const source = house.program("memory", {
    tools: [tool("save")],
    answers: {
      save: `async () => {
        const { appendFileSync, copyFileSync, existsSync, renameSync } = await import("node:fs");
        const file = process.env.MEMORY_FILE;
        try {
          if (existsSync(file)) copyFileSync(file, file + ".tmp");
          appendFileSync(file + ".tmp", "x");
          renameSync(file + ".tmp", file);
          return readFileSync(file, "utf8");
        } catch (error) { return error.message; }
      }`,
    },
  });
  const readable = JSON.stringify([`${house.folder}/programs/**`, ...grants]);
  house.write(`version: "1.0"
tools: { allowed: ["memory__*"] }
servers:
  memory:
    command: [node, ${source}]
    env: { MEMORY_FILE: ${file} }
    filesystem:
      readable_paths: ${readable}
      allowed_paths: ["${data}/kept/**"]
      denied_write_paths: ${JSON.stringify(denied)}
`);
}

describe.skipIf(!hasWall())("a file of data that a server writes anew", { timeout: 60_000 }, () => {
  it.each([
    ["which its entry names to be read, too", [file]],
    ["whose folder its entry names to be read, too", [`${data}/kept/**`]],
  ])("comes with its first call and changes with each, in each process: %s", async (_what, grants) => {
    writePolicy(grants);
    expect(await house.approve("memory")).toMatchObject({ code: 0 });
    expect(existsSync(file)).toBe(false);
    for (const kept of ["x", "xx"]) {
      const client = await house.client();
      expect(await said(client, "memory__save")).toBe(kept);
      await house.closeClients();
    }
    expect(readFileSync(file, "utf8")).toBe("xx");
    expect((await house.run(["servers", "review", "memory"])).stdout).toContain(`not pinned  the file ${file}, which`);
  });

  it("is not written where the entry denies that", async () => {
    writePolicy([file], [file]);
    await house.approve("memory");
    expect(await said(await house.client(), "memory__save")).toMatch(/EROFS|EACCES|EPERM/);
    expect(existsSync(file)).toBe(false);
  });
});

it.each([
  [["/d/m.jsonl", "/p/**"], ["/d/**"], { readable_paths: ["/p/**"], allowed_paths: ["/d/**"] }],
  [["/d/**"], ["/d/**", "/d/**"], { allowed_paths: ["/d/**"] }],
  [["/d/m.jsonl"], ["/d/m.jsonl"], { allowed_paths: ["/d/m.jsonl"] }],
  [["/data/m"], ["/d/**"], { readable_paths: ["/data/m"], allowed_paths: ["/d/**"] }],
])("names %j no more where %j may be changed", (readable, allowed, entry) => {
  expect(withChangeable(readable, allowed)).toEqual(entry);
});
