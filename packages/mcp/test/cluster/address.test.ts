// Addresses that nobody can listen on or be reached at: one sentence that names `address`, and nothing left open.
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { createServer, type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { shareOver } from "../../src/cluster/member.js";
import { memoryStores } from "../../src/cluster/stores.js";
import { KEY, refusalOf } from "./cluster-fixture.js";

function folder(): string {
  const made = mkdtempSync(join(tmpdir(), "address-"));
  onTestFinished(() => rmSync(made, { recursive: true, force: true }));
  return made;
}

function refusal(options: object, ended?: () => void): Promise<string> {
  const stores = memoryStores();
  const { beat, close } = stores;
  stores.beat = beat.bind(stores);
  stores.close = async () => {
    ended?.();
    await close.call(stores);
  };
  return refusalOf(() => shareOver(stores, { key: KEY, ...options }));
}

describe("an address that cannot be listened on", () => {
  it("because this machine has none such", async () => {
    let ended = 0;
    const said = await refusal({ address: "tcp://192.0.2.1:3101" }, () => ended++);
    expect(said).toBe('share: address "tcp://192.0.2.1:3101" is no address of this machine: choose one that it has');
    expect(ended).toBe(1);
  });

  it("because it is taken", async () => {
    const other = createServer();
    await new Promise<void>((resolve) => other.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => void other.close());
    const { port } = other.address() as AddressInfo;
    expect(await refusal({ address: `tcp://127.0.0.1:${port}` })).toBe(
      `share: address "tcp://127.0.0.1:${port}" is taken: end the process that listens there, or choose another port (0: one that is free)`,
    );
  });

  it.each([
    "tcp://user@127.0.0.1:0",
    "tcp://a:b@127.0.0.1:0",
    "tcp://127.0.0.1:0/path",
    "tcp://127.0.0.1:0?a",
    "tcp://127.0.0.1:0#a",
  ])("because it says more than that: %s", async (address) => {
    expect(await refusal({ address })).toBe(
      `share: address "${address}" has more than a host and a port, or a file: leave the rest out`,
    );
  });

  it("because its folder is not there", async () => {
    expect(await refusal({ address: "unix:///none/such/one.sock" })).toMatch(
      /^share: address "unix:\/\/\/none\/such\/one.sock" is in a folder that is not there: make it, or choose another$/,
    );
  });

  it("because a process listens at that socket, whose file stays", async () => {
    const path = join(folder(), "one.sock");
    const other = createServer();
    await new Promise<void>((resolve) => other.listen(path, resolve));
    onTestFinished(() => void other.close());
    expect(await refusal({ address: `unix://${path}` })).toMatch(
      /is taken: end the process that listens there, or remove/,
    );
    expect(existsSync(path)).toBe(true);
  });
});

describe("an address that nobody can be reached at", () => {
  it.each([
    ["tcp://0.0.0.0:3101", /is every address of this machine: name the one at which the other processes reach it$/],
    ["tcp://[::]:3101", /is every address of this machine: name the one/],
    ["unix://x.sock", /must begin with three slashes and name a file by its whole path, as in unix:\/\/\/run/],
    ["unix:///", /must begin with three slashes and name a file/],
    [`unix:///${"long/".repeat(30)}one.sock`, /is too long for a socket: choose a path of at most \d+ bytes$/],
    ["10.0.0.5:3001", /must be tcp:\/\/host:port or unix:\/\/\/path, where the other processes reach this one$/],
  ])("%s", async (address, said) => {
    expect(await refusal({ address })).toMatch(said);
  });

  it("because it is no text", () => {
    const share = (): unknown => shareOver(memoryStores(), { key: KEY, address: 5 as never });
    expect(share).toThrow(
      expect.objectContaining({ code: "BAD_OPTIONS", message: expect.stringMatching(/"address" is a text/) }),
    );
  });
});
