// What is written to a log is known at once: told by the system and not looked for, and read to its end however looks overlap.
import { appendFileSync, mkdtempSync, realpathSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setImmediate as turn, setTimeout as wait } from "node:timers/promises";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { ApprovalsInbox } from "../../src/control/control-client.js";
import { ConsoleState } from "../../src/console/console-state.js";
import { type ControlledServer, ControlSocket } from "../../src/control/control-socket.js";
import { LogReader, LogWatch } from "../../src/console/log-reader.js";

let folder: string;
let log: string;
beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), "log-watch-")));
  log = join(folder, "audit.log");
  writeFileSync(log, "");
});
afterEach(() => {
  vi.useRealTimers();
  rmSync(folder, { recursive: true, force: true });
});

const denied = (id: number): string =>
  `${JSON.stringify({ kind: "denied", time: new Date().toISOString(), id, connection: 1, method: "tools/call", tool: "t" })}\n`;

it.skipIf(process.platform !== "linux")(
  "tells once that a log was written to, of no other file, and of names that change",
  async () => {
    let told = 0;
    const watch = new LogWatch(() => (told += 1));
    const other = join(folder, "audit.log.journal");
    const logs = [log, join(folder, "nowhere", "audit.log")];
    writeFileSync(other, "");
    watch.follow(logs);
    appendFileSync(other, "x");
    await wait(100);
    expect(told).toBe(0);
    appendFileSync(log, "x");
    await expect.poll(() => told).toBe(1);
    // A server that writes on wakes nobody until somebody has looked.
    for (let write = 0; write < 5; write += 1) {
      appendFileSync(log, "x");
      await wait(20);
    }
    expect(told).toBe(1);
    watch.follow(logs);
    renameSync(log, join(folder, "audit.1.log"));
    await expect.poll(() => told).toBe(2);
    watch.close();
  },
);

it.skipIf(process.platform !== "linux")(
  "wakes whoever waits for a call as soon as it is on record, without looking for it",
  async () => {
    // Nothing that is done at intervals is done.
    vi.useFakeTimers({ toFake: ["setInterval"] });
    const controlFolder = join(folder, "run");
    const state = new ConsoleState({
      auditFile: log,
      controlFolder,
      inbox: new ApprovalsInbox(controlFolder, "console"),
    });
    await state.begin();
    for (let id = 1; id <= 5; id += 1) {
      const changed = state.changed(AbortSignal.timeout(10_000));
      appendFileSync(log, denied(id));
      await changed;
      expect(state.calls.size).toBe(id);
    }
    await state.close();
  },
);

/** Without `expect.poll`, which lets the intervals go on. */
async function expectServer(state: ConsoleState, is: "running" | "gone"): Promise<void> {
  const enough = AbortSignal.timeout(5_000);
  while (!enough.aborted && state.servers[0]?.state !== is) await state.changed(enough);
  expect(state.servers).toMatchObject([{ pid: process.pid, state: is }]);
}

it.skipIf(process.platform === "win32")("knows a server from its first moment on, and that it vanished", async () => {
  vi.useFakeTimers({ toFake: ["setInterval"] });
  const controlFolder = join(folder, "run");
  const inbox = new ApprovalsInbox(controlFolder, "console");
  const state = new ConsoleState({ auditFile: log, controlFolder, inbox });
  await state.begin();
  const none = (): never[] => [];
  const secure = {
    ...{
      policy: { hash: "h" },
      tools: none,
      clients: none,
      pluginHealth: none,
      pluginReviews: none,
      serverTools: none,
    },
    ...{ serverHealth: none, restartServer: async () => false, stopServer: async () => false },
  } as unknown as ControlledServer["secure"];
  const about = { secure, version: "1", auditFile: log, transport: "stdio" } as const;
  const control = await ControlSocket.open(controlFolder, about, () => undefined);
  // The next look for questions, long before the next one at the processes.
  vi.advanceTimersByTime(100);
  await expectServer(state, "running");
  await control?.close();
  // Until it is known that nobody is at the socket any more; then the next look for questions tells.
  await wait(50);
  vi.advanceTimersByTime(100);
  await expectServer(state, "gone");
  await state.close();
});

it("misses no record that is written while it looks", async () => {
  let records = 0;
  const reader = new LogReader(log, 0, () => (records += 1));
  for (let id = 1; id <= 300; id += 1) {
    void reader.look();
    for (let step = 0; step < id % 13; step += 1) await (id % 2 === 0 ? turn() : undefined);
    appendFileSync(log, denied(id));
    await reader.look();
    expect(records).toBe(id);
  }
  await reader.close();
});
