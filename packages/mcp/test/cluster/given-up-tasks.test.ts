// A task whose process did not answer for a while, so that another one has said that it failed: from then on everybody says so.
import { expect, it, onTestFinished } from "vitest";
import type { Client } from "../../src/client/client.js";
import { shareOver } from "../../src/cluster/member.js";
import { memoryStores } from "../../src/cluster/stores.js";
import { connect } from "../../src/serve/connect.js";
import { Server } from "../../src/server/server.js";
import type { TaskRecord } from "../../src/server/tasks/task-store.js";
import { KEY, startCluster } from "./cluster-fixture.js";

const SILENT =
  "The process that ran this task does not answer any more. Whether the task ended is not known: look before you call the tool again";
const REVISIONS = ["2025-11-25", "2026-07-28"];

interface GivenUp {
  readonly own: Client;
  readonly id: string;
  /** Why the handler was told to stop. */
  readonly stopped: unknown[];
  /** Lets the handler end well. */
  end(): void;
  /** Says, as another process, that the task has failed. */
  giveUp(): Promise<void>;
}

/** A task that runs, at the process that `own` asks. */
async function running(revision: string): Promise<GivenUp> {
  const stores = memoryStores();
  const stopped: unknown[] = [];
  let end = (): void => undefined;
  const freed = new Promise<string>((done) => (end = () => done("worked")));
  const server = (): Server => {
    const made = new Server({ name: "silent", version: "1", report: false });
    made.tool("job", {
      task: "required",
      run: (_, { signal }) => (signal.addEventListener("abort", () => stopped.push(signal.reason)), freed),
    });
    return made;
  };
  const { members } = await startCluster({
    ...{ count: 1, server, authenticate: () => "ada" },
    shareOf: () => shareOver(stores, { key: KEY, node: "m0" }),
  });
  const own = await connect(members[0]?.url ?? "", { revision, verdicts: false });
  onTestFinished(() => own.close());
  const id = (await own.callTask("job")).id as string;
  const giveUp = async (): Promise<void> => {
    const [record] = (await stores.tasks.list("ada", { limit: 1 })) as [TaskRecord];
    const task = { ...record.task, status: "failed" as const, statusMessage: SILENT };
    await stores.tasks.put({ ...record, task, error: { code: -32603, message: SILENT } });
  };
  return { own, id, stopped, end, giveUp };
}

it.each(REVISIONS)(
  "is said to have failed by the process that runs it, whatever it gives then, in %s",
  async (revision) => {
    const { own, id, stopped, end, giveUp } = await running(revision);
    expect((await own.task(id).status()).status).toBe("working");
    await giveUp();
    const said = { status: "failed", statusMessage: SILENT };
    expect(await own.task(id).status()).toMatchObject(said);
    await expect.poll(() => stopped).toHaveLength(1);
    end();
    expect(await own.task(id).status()).toMatchObject(said);
    await expect(own.task(id).result()).rejects.toThrow(SILENT);
  },
);

it.each([
  ["result", (own: Client, taskId: string) => own.request("tasks/result", { taskId }), SILENT],
  [
    "cancel",
    (own: Client, taskId: string) => own.request("tasks/cancel", { taskId }),
    "has ended already: it is failed",
  ],
] as const)("is not waited for nor cancelled by %s", async (_, ask, what) => {
  const { own, id, giveUp } = await running("2025-11-25");
  await giveUp();
  await expect(ask(own, id)).rejects.toThrow(what);
});

it("is listed as what it is", async () => {
  const { own, giveUp } = await running("2025-11-25");
  await giveUp();
  expect(await own.request("tasks/list", {})).toMatchObject({ tasks: [{ status: "failed" }] });
});

it.each(REVISIONS)("does not end another way for whoever waited for it before, in %s", async (revision) => {
  const { own, id, end, giveUp } = await running(revision);
  const result = own.task(id).result();
  result.catch(() => undefined);
  await own.request("ping").catch(() => undefined);
  await giveUp();
  end();
  await expect(result).rejects.toThrow(SILENT);
});

it("is given up by others in words that say what is known, and all that listen hear of it", async () => {
  const stores = memoryStores();
  const heard: string[] = [];
  await stores.bus.listen({ hear: (_, text) => void heard.push(text), missed: () => undefined });
  const now = new Date().toISOString();
  const times = { createdAt: now, lastUpdatedAt: now, ttlMs: 60_000 };
  await stores.tasks.put({ task: { taskId: "gone.t", status: "working", ...times } });
  const beat = stores.beat.bind(stores);
  stores.beat = async (node, address) => ({ ...(await beat(node, address)), steadyMs: 60_000 });
  const server = (): Server => {
    const made = new Server({ name: "silent", version: "1", report: false });
    made.tool("job", { task: "optional", run: () => "worked" });
    return made;
  };
  const { url } = await startCluster({ count: 1, server, shareOf: () => shareOver(stores, { key: KEY, node: "m0" }) });
  const other = await connect(url, { revision: "2025-11-25", verdicts: false });
  onTestFinished(() => other.close());
  expect(await other.task("gone.t").status()).toMatchObject({ status: "failed", statusMessage: SILENT });
  const outcome = { code: -32603, data: { outcome: "unknown" } };
  await expect(other.request("tasks/result", { taskId: "gone.t" })).rejects.toMatchObject(outcome);
  const news = heard.map((text) => JSON.parse(text) as { kind: string; record?: TaskRecord });
  expect(news.filter(({ kind }) => kind === "task").map(({ record }) => record?.task.status)).toEqual(["failed"]);
});
