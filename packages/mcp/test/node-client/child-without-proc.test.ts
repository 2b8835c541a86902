// Where there is no /proc a child's tree is its process group: that much is ended there too.
import { readFileSync } from "node:fs";
import { describe, expect, it, vi } from "vitest";
import { openScript } from "./child-fixture.js";

vi.mock("../../src/node/process-table.js", () => ({
  processEntry: () => undefined,
  processTable: () => [][Symbol.iterator](),
  initialEnvironment: () => undefined,
}));

const BLIND = `process.on("SIGTERM", () => {}); setInterval(() => {}, 1e9)`;

function script(then: string): string {
  return `
    const child = require("node:child_process").spawn(process.execPath, ["-e", ${JSON.stringify(BLIND)}], { stdio: "ignore" });
    console.log(JSON.stringify({ pids: [process.pid, child.pid] }));
    ${then}`;
}

function runs(pid: number): boolean {
  try {
    return !/\) [ZX] /.test(readFileSync(`/proc/${pid}/stat`, "latin1"));
  } catch {
    return false;
  }
}

describe.skipIf(process.platform !== "linux")("without /proc", () => {
  it("closing ends a child that ignores SIGTERM, and its group", async () => {
    const child = await openScript(script(BLIND), { closeTimeouts: { inputEndMs: 20, terminateMs: 20 } });
    const pids = (await child.message(0)).pids as number[];
    expect(pids.filter(runs)).toEqual(pids);
    await child.link.close();
    for (const pid of pids) while (runs(pid)) await new Promise((resolve) => setImmediate(resolve));
  });

  it("a child that ends by itself takes its group along", async () => {
    const child = await openScript(script("child.unref()"));
    const pids = (await child.message(0)).pids as number[];
    expect((await child.end())?.message).toContain("exited with status 0");
    for (const pid of pids) while (runs(pid)) await new Promise((resolve) => setImmediate(resolve));
  });
});
