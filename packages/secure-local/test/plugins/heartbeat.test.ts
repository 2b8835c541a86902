// How a plugin that hangs is noticed: by what it does not say, without a timer while there is nothing to wait for.
import { type ChildProcess, spawn } from "node:child_process";
import { EventEmitter, once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { PassThrough } from "node:stream";
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { hostFiles } from "../../src/plugins/plugin-command.js";
import { PluginProcess, Heartbeat } from "../../src/plugins/plugin-process.js";
import type { Wall } from "../../src/sandbox/wall.js";

describe("a heartbeat", () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] }));
  afterEach(() => void vi.useRealTimers());

  function heartbeat(pings: boolean) {
    const told: boolean[] = [];
    let asked = 0;
    const ping = pings ? () => void (asked += 1) : undefined;
    const watched: Heartbeat = new Heartbeat({ ping, changed: () => told.push(watched.silent) });
    return { watched, told, asked: () => asked };
  }

  it("is asked for after a second, and missed after another", () => {
    const { watched, told, asked } = heartbeat(true);
    watched.sent();
    vi.advanceTimersByTime(999);
    expect(asked()).toBe(0);
    vi.advanceTimersByTime(1);
    expect([asked(), watched.pinged, told]).toEqual([1, true, []]);
    vi.advanceTimersByTime(1_000);
    expect([asked(), told]).toEqual([1, [true]]);
    watched.sent();
    vi.advanceTimersByTime(60_000);
    expect([asked(), told, vi.getTimerCount()]).toEqual([1, [true], 0]);
    watched.heard(false);
    expect([told, vi.getTimerCount()]).toEqual([[true, false], 0]);
  });

  it("is given by a call that is slow and a host that is not", () => {
    const { watched, told, asked } = heartbeat(true);
    watched.sent();
    for (let second = 0; second < 30; second += 1) {
      vi.advanceTimersByTime(1_000);
      watched.heard(true);
    }
    expect([asked(), told]).toEqual([30, []]);
    watched.heard(false);
    expect(vi.getTimerCount()).toBe(0);
  });

  it("of what answers no pings is missed after ten seconds without a line", () => {
    const { watched, told } = heartbeat(false);
    watched.sent();
    vi.advanceTimersByTime(9_000);
    watched.heard(true);
    vi.advanceTimersByTime(9_999);
    expect(told).toEqual([]);
    vi.advanceTimersByTime(1);
    expect(told).toEqual([true]);
  });

  it("is told of a process once, with every line a sign of life, and pongs nobody asked for are strays", async () => {
    const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()];
    const child = Object.assign(new EventEmitter(), { stdin, stdout, stderr }) as unknown as ChildProcess;
    const states: boolean[] = [];
    const nothing = (): void => undefined;
    const plugin: PluginProcess = new PluginProcess({} as Wall, child, {
      ready: nothing,
      ended: nothing,
      asked: () => Promise.resolve({}),
      heartbeat: () => states.push(plugin.silent),
      pings: true,
    });
    const answer = plugin.call({ tool: "block" });
    vi.advanceTimersByTime(2_000);
    expect(states).toEqual([true]);
    expect(String(stdin.read())).toBe('{"id":1,"tool":"block"}\n{"ping":1}\n');
    stdout.write('{"pong":1}\n{"pong":2}\n{"id":1,"content":"done"}\n');
    expect(await answer).toEqual({ id: 1, content: "done" });
    expect([states, plugin.stray, vi.getTimerCount()]).toEqual([[true, false], 1, 0]);
  });
});

it("a module's host answers pings while a call is under way", async () => {
  const folder = mkdtempSync(join(tmpdir(), "host-test-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const [host, module] = [join(folder, "host.cjs"), join(folder, "plugin.mjs")];
  writeFileSync(host, hostFiles({})[0]!.bytes as Buffer);
  writeFileSync(
    module,
    "export default { name: 'slow', tools: { wait: { run: () => new Promise(() => undefined) } } };",
  );
  const child = spawn(process.execPath, [host, module], { stdio: ["pipe", "pipe", "inherit"] });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  /** Each stands on a line of its own, whatever was written before it. */
  const next = async (): Promise<string> => ((await lines.next()).value as string) || next();
  expect(await next()).toContain('"ready"');
  child.stdin.end('{"id":1,"tool":"wait"}\n{"ping":7}\n');
  expect(await next()).toBe('{"pong":7}');
  await once(child, "exit");
});
