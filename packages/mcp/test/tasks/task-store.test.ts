// One list of cases for both task stores, and what only the one with files promises: nothing that ended is ever lost.
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { processEntry } from "../../src/node/process-table.js";
import { taskFileStore } from "../../src/node/task-file-store.js";
import { MemoryTaskStore, type TaskStoreLimits } from "../../src/server/tasks/task-manager.js";
import type { TaskRecord, TaskStore } from "../../src/server/tasks/task-store.js";
import { connectTasks, DIRECTED, latch, newServer, refusal, REQUESTED, untilStatus } from "./task-peer.js";

const LIMITS: TaskStoreLimits = { tasks: 5, tasksPerPrincipal: 3, taskBytes: 100_000 };
const folders: string[] = [];

afterEach(async () => {
  for (const folder of folders.splice(0)) await rm(folder, { recursive: true });
});

async function newFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "tasks-"));
  folders.push(folder);
  return folder;
}

function id(number: number): string {
  return `task-number-${String(number).padStart(6, "0")}`;
}

function record(number: number, more: Partial<TaskRecord> = {}, ttlMs: number | null = 60_000): TaskRecord {
  const now = new Date().toISOString();
  const task = { taskId: id(number), status: "completed", createdAt: now, lastUpdatedAt: now, ttlMs } as const;
  return { task, result: { content: [] }, ...more };
}

async function fault(work: () => unknown): Promise<unknown> {
  try {
    await work();
  } catch (error) {
    return (error as { code?: unknown }).code;
  }
  return undefined;
}

const STORES: Readonly<Record<string, () => TaskStore | Promise<TaskStore>>> = {
  memory: () => new MemoryTaskStore(LIMITS),
  files: async () => taskFileStore(await newFolder(), LIMITS),
};

describe.each(Object.entries(STORES))("a store in %s", (_name, open) => {
  it("gives back what was put, to its principal only", async () => {
    const store = await open();
    await store.put(record(1));
    await store.put(record(2, { principal: "ann" }));
    expect(await store.get(id(1), undefined)).toMatchObject({ task: { taskId: id(1) }, result: { content: [] } });
    expect(await store.get(id(2), "ann")).toMatchObject({ principal: "ann" });
    for (const [number, principal] of [
      [1, "ann"],
      [2, undefined],
      [2, "bob"],
      [2, ""],
      [3, "ann"],
    ] as const) {
      expect(await store.get(id(number), principal)).toBeUndefined();
    }
    await store.put(record(1, { result: { content: [], isError: true } }));
    expect(await store.get(id(1), undefined)).toMatchObject({ result: { isError: true } });
  });

  it("lists in the order of ids, page by page", async () => {
    const store = await open();
    for (const number of [2, 3, 1]) await store.put(record(number, { principal: "ann" }));
    await store.put(record(4));
    const ids = async (after: string | undefined, limit: number): Promise<string[]> =>
      (await store.list("ann", { after, limit })).map(({ task }) => task.taskId);
    expect(await ids(undefined, 9)).toEqual([id(1), id(2), id(3)]);
    expect(await ids(undefined, 2)).toEqual([id(1), id(2)]);
    await store.delete(id(2));
    expect(await ids(id(2), 9)).toEqual([id(3)]);
  });

  it("refuses what is too much for one principal, for all, or for the bytes, and keeps what it has", async () => {
    const store = await open();
    for (const number of [1, 2, 3]) await store.put(record(number, { principal: "ann" }));
    expect(await fault(() => store.put(record(4, { principal: "ann" })))).toBe("FULL");
    for (const number of [5, 6]) await store.put(record(number));
    expect(await fault(() => store.put(record(7, { principal: "bob" })))).toBe("FULL");
    expect(await fault(() => store.put(record(5, { result: { text: "x".repeat(90_000) } })))).toBe("FULL");
    expect(await store.get(id(5), undefined)).toMatchObject({ result: { content: [] } });
    await store.delete(id(1));
    expect(await fault(() => store.put(record(4, { principal: "ann" })))).toBeUndefined();
  });

  it("forgets what has expired, and makes room of it", async () => {
    const store = await open();
    const old = { createdAt: new Date(Date.now() - 60_001).toISOString() };
    for (const number of [1, 2, 3]) await store.put(record(number, { task: { ...record(number).task, ...old } }));
    expect(await store.get(id(1), undefined)).toBeUndefined();
    await store.put(record(4));
    expect((await store.list(undefined, { limit: 9 })).map(({ task }) => task.taskId)).toEqual([id(4)]);
    await store.put(record(5, {}, null));
    expect(await store.get(id(5), undefined)).toBeDefined();
  });
});

describe("files", () => {
  it("survive whoever wrote them: what ended is there, what ran has failed and says why", async () => {
    const folder = await newFolder();
    const gate = latch<string>();
    const before = newServer({ tasks: { store: await taskFileStore(folder) } });
    before.tool("job", { task: "optional", run: (_args, ctx) => (ctx.meta["wait"] === true ? gate.promise : "done") });
    const first = await connectTasks(before, REQUESTED, { principal: "ann" });
    const create = async (wait: boolean): Promise<string> => {
      const created = await first.request("tools/call", { name: "job", task: {}, _meta: { wait } });
      return (created["task"] as { taskId: string }).taskId;
    };
    const [done, cut] = [await create(false), await create(true)];
    const result = await first.request("tasks/result", { taskId: done });

    const after = newServer({ tasks: { store: await taskFileStore(folder) } });
    after.tool("job", { task: "optional", run: () => "done" });
    const second = await connectTasks(after, REQUESTED, { principal: "ann" });
    expect(await second.request("tasks/result", { taskId: done })).toEqual(result);
    expect(await second.request("tasks/get", { taskId: cut })).toMatchObject({ status: "failed" });
    expect(await refusal(second.request("tasks/result", { taskId: cut }))).toMatchObject({
      code: -32603,
      message: expect.stringContaining("restarted") as string,
    });
    const other = await connectTasks(after, DIRECTED, { principal: "bob" });
    expect(await refusal(other.request("tasks/get", { taskId: done }))).toMatchObject({ code: -32602 });
    await before.endTasks();
  });

  it("are one a task, for their owner only, and go when they expire", async () => {
    const folder = await newFolder();
    const store = await taskFileStore(folder, LIMITS);
    await store.put(record(1));
    await store.put(record(2, { task: { ...record(2).task, createdAt: new Date(0).toISOString() } }));
    expect((await readdir(folder)).sort()).toEqual([".lock", `${id(1)}.json`, `${id(2)}.json`]);
    expect((await stat(join(folder, `${id(1)}.json`))).mode & 0o077).toBe(0);
    await taskFileStore(folder, LIMITS);
    expect((await readdir(folder)).sort()).toEqual([".lock", `${id(1)}.json`]);
  });

  it("that are half written, broken or foreign stop nothing and are told", async () => {
    const folder = await newFolder();
    await (await taskFileStore(folder)).put(record(1));
    await writeFile(join(folder, `${id(2)}.json`), '{"task":');
    await writeFile(join(folder, `${id(3)}.json.tmp`), "half");
    await writeFile(join(folder, `${id(4)}.json`), JSON.stringify(record(5)));
    const told: string[] = [];
    const store = await taskFileStore(folder, { report: (_message, { file }) => told.push(file) });
    expect(told).toEqual([join(folder, `${id(2)}.json`), join(folder, `${id(4)}.json`)]);
    expect(await store.get(id(1), undefined)).toBeDefined();
    expect(await readdir(folder)).not.toContain(`${id(3)}.json.tmp`);
  });

  it("belong to one process at a time: another is told whose they are, and touches none", async () => {
    const mine = await newFolder();
    await taskFileStore(mine);
    const [, machine] = (await readFile(join(mine, ".lock"), "utf8")).split(" ");
    const { start } = processEntry(process.ppid) as { start: number };
    const taken = async (mark: string): Promise<string> => {
      const folder = await newFolder();
      await writeFile(join(folder, ".lock"), mark);
      await writeFile(join(folder, `${id(3)}.json.tmp`), "being written");
      await writeFile(join(folder, `${id(1)}.json`), JSON.stringify(record(1, {}, null)));
      const refused = await taskFileStore(folder).then(
        () => "",
        (error: unknown) => (error as Error).message,
      );
      expect((await readdir(folder)).includes(`${id(3)}.json.tmp`)).toBe(refused !== "");
      return refused;
    };
    const other = await taken(`${process.ppid} ${machine} x ${start}\n`);
    expect(other).toContain("one process at a time may use it");
    expect(other).toContain(`pid ${process.ppid}`);
    expect(await taken(`1 another-machine x 5\n`)).toContain("another-machine");
    // One that has ended, and one whose number another process has by now.
    expect(await taken(`${2 ** 22 + 1} ${machine} x 5\n`)).toBe("");
    expect(await taken(`${process.ppid} ${machine} x ${start - 1}\n`)).toBe("");
  });

  it("are not written any more by a process from whom the folder was taken", async () => {
    const folder = await newFolder();
    const store = await taskFileStore(folder);
    await store.put(record(1));
    await writeFile(join(folder, ".lock"), "1 another-machine x 5\n");
    await expect(store.put(record(2))).rejects.toThrow("taken over by another process");
    await store.delete(id(1));
    expect((await readdir(folder)).sort()).toEqual([".lock", `${id(1)}.json`]);
  });

  it.runIf(process.platform === "linux")("cannot be where no folder can be made", async () => {
    await expect(taskFileStore("/proc/nowhere/tasks")).rejects.toMatchObject({ code: "ENOENT" });
  });

  it("never have names from outside", async () => {
    const store = await taskFileStore(await newFolder());
    expect(await store.get("../../etc/passwd", undefined)).toBeUndefined();
    const task = { ...record(1).task, taskId: "../../../tmp/evil" };
    expect(await fault(() => store.put({ task }))).toBe("BAD_TASK_ID");
  });
});

describe("limits", () => {
  it("refuse a task there is no room for, and fail one whose result is too large", async () => {
    const server = newServer({ limits: { tasksPerPrincipal: 1, taskBytes: 20_000 } });
    server.tool("large", { task: "required", run: () => "x".repeat(30_000) });
    const peer = await connectTasks(server, DIRECTED);
    const call = (): Promise<Record<string, unknown>> => peer.request("tools/call", { name: "large", arguments: {} });
    const { taskId } = (await call()) as { taskId: string };
    const failed = await untilStatus(peer, taskId, "failed");
    expect(failed).toMatchObject({ error: { code: -32603, message: expect.stringContaining("too large") as string } });
    expect(await refusal(call())).toMatchObject({ code: -32603, message: expect.stringContaining("room") as string });
  });

  it("bound the tasks that run, the time they may take, and end them with their server", async () => {
    const server = newServer({ limits: { runningTasks: 1, taskTtlMs: 40 } });
    const aborted = latch<unknown>();
    server.tool("slow", {
      task: "required",
      run: (_args, ctx) =>
        new Promise<string>((done) =>
          ctx.signal.addEventListener("abort", () => {
            aborted.resolve(ctx.signal.reason);
            done("too late");
          }),
        ),
    });
    const peer = await connectTasks(server, DIRECTED);
    const call = (): Promise<Record<string, unknown>> => peer.request("tools/call", { name: "slow", arguments: {} });
    const { taskId } = (await call()) as { taskId: string };
    expect(await refusal(call())).toMatchObject({ code: -32603, data: { limit: 1 } });
    expect(await aborted.promise).toMatchObject({ message: "The task did not end within its time to live" });
    await peer.request("server/discover");
    expect(await refusal(peer.request("tasks/get", { taskId }))).toMatchObject({ code: -32602 });
    expect(await call()).toMatchObject({ resultType: "task" });
  });
});
