// What a command is handed of this program's own streams, told by what its wall can do.
import { once } from "node:events";
import type { Stats } from "node:fs";
import { expect, test, vi } from "vitest";
import { startWalled } from "../../src/sandbox/start-walled.js";
import { type Wall, type WalledCommand, WallError } from "../../src/sandbox/wall.js";
import { LIMITS } from "./walls.js";

vi.mock("node:fs", async (original) => {
  const real = await original<typeof import("node:fs")>();
  // No socket has this inode.
  const socket = { isSocket: () => true, isCharacterDevice: () => false, ino: 0 } as unknown as Stats;
  return { ...real, fstatSync: (fd: number) => (fd === 2 ? socket : real.fstatSync(fd)) };
});

function wallOf(name: Wall["name"]): { readonly wall: Wall; readonly launched: WalledCommand[] } {
  const launched: WalledCommand[] = [];
  const launch: Wall["launch"] = (command) => {
    launched.push(command);
    return { file: process.execPath, args: ["--version"], env: {}, feeds: [] };
  };
  return { wall: { name, launch }, launched };
}

const COMMAND: WalledCommand = { executable: "/bin/true", args: [], limits: LIMITS };

test("a socket that could be pointed elsewhere is not handed into a sandbox with a file system of its own", () => {
  const { wall, launched } = wallOf("bubblewrap");
  expect(() => startWalled(wall, COMMAND, ["ignore", "ignore", "inherit"])).toThrow(WallError);
  expect(() => startWalled(wall, COMMAND, ["ignore", "ignore", "inherit"])).toThrow(/^stderr is a socket/);
  expect(launched).toEqual([]);
});

// There the streams that a client gives a program are sockets, and nobody can say more of them.
test.each(["sandbox-exec", "none"] as const)("%s takes streams as they are", async (name) => {
  const { wall, launched } = wallOf(name);
  const child = startWalled(wall, COMMAND, ["ignore", "ignore", "inherit"]);
  await once(child, "exit");
  expect(launched).toEqual([COMMAND]);
});
