// Tasks while what the processes share is away: whoever asks is told so, and nothing of it counts as a fault of the server.
import { expect, it, onTestFinished } from "vitest";
import { shareOver } from "../../src/cluster/member.js";
import { memoryStores } from "../../src/cluster/stores.js";
import { connect } from "../../src/serve/connect.js";
import type { Reporter } from "../../src/server/reporter.js";
import { Server } from "../../src/server/server.js";
import { KEY, startCluster } from "./cluster-fixture.js";
import { FAILING, faultyStores } from "./faulty-stores.js";

const AWAY = "What the processes of this server share cannot be reached now: try again";

const CASES = FAILING.flatMap((failing) =>
  (["2025-11-25", "2026-07-28"] as const).map((revision) => [failing, revision] as const),
);

it.each(CASES)("are refused with what is the matter by a store that %s, in %s", async (failing, revision) => {
  const faulty = faultyStores(memoryStores());
  const reports: unknown[] = [];
  let ended = 0;
  const server = (): Server => {
    const made = new Server({
      ...{ name: "away", version: "1", limits: { taskGraceMs: 1 } },
      report: besideStore(reports),
    });
    made.tool("job", {
      task: "required",
      run: (_, { signal }) =>
        new Promise((done) => signal.addEventListener("abort", () => ((ended += 1), done("over")))),
    });
    return made;
  };
  const cluster = await startCluster({
    ...{ count: 2, server, authenticate: () => "ada" },
    shareOf: (n) => shareOver(faulty.stores, { key: KEY, node: `m${n}` }),
  });
  const clients = [];
  for (const { url } of cluster.members) {
    const made = await connect(url, { revision, verdicts: false });
    onTestFinished(() => made.close());
    clients.push(made);
  }
  const [there, here] = clients as [(typeof clients)[0], (typeof clients)[0]];
  const of2025 = (await there.callTask("job")).id as string;
  // In 2026-07-28 what runs in another process is asked of that, and needs no store.
  const taskId = revision === "2025-11-25" ? of2025 : "m1.before";
  reports.length = 0;
  faulty.failing = failing;
  await expect(here.callTask("job")).rejects.toMatchObject({
    code: -32603,
    message: expect.stringMatching(/cannot be reached now\. The call had begun: .* is not known/) as string,
    data: { outcome: "unknown" },
  });
  const task = here.task(taskId);
  const asked: Record<string, () => Promise<unknown>> = {
    ...{ get: () => task.status(), cancel: () => task.cancel() },
    ...(revision === "2025-11-25" && {
      result: () => here.request("tasks/result", { taskId }),
      list: () => here.request("tasks/list", {}),
    }),
  };
  for (const [what, ask] of Object.entries(asked))
    await expect(ask(), what).rejects.toMatchObject({ code: -32603, message: AWAY });
  // The handler whose task could not be kept is told.
  await expect.poll(() => ended).toBe(1);
  expect(reports).toEqual([]);
  faulty.failing = undefined;
});

/** Takes reports, but for those that the store is away, and is back. */
function besideStore(reports: unknown[]): Reporter {
  return (...report) => void (report[1].startsWith("memory ") || reports.push(report));
}

it.each(FAILING)("are kept as they ended once a store that %s is back", async (failing) => {
  const faulty = faultyStores(memoryStores());
  const reports: unknown[] = [];
  let end = (): void => undefined;
  const freed = new Promise<string>((done) => (end = () => done("worked")));
  const server = (): Server => {
    const made = new Server({ name: "away", version: "1", report: besideStore(reports) });
    made.tool("job", { task: "required", run: () => freed });
    return made;
  };
  const cluster = await startCluster({
    ...{ count: 2, server, authenticate: () => "ada" },
    shareOf: (n) => shareOver(faulty.stores, { key: KEY, node: `m${n}` }),
  });
  const [there, here] = await Promise.all(
    cluster.members.map(({ url }) => connect(url, { revision: "2025-11-25", verdicts: false })),
  );
  for (const made of [there, here]) onTestFinished(() => made?.close());
  const id = (await there?.callTask("job"))?.id as string;
  faulty.failing = failing;
  end();
  // Until the others can know, it is not said to have ended.
  await new Promise((resolve) => setTimeout(resolve, 300));
  expect((await there?.task(id).status())?.status).toBe("working");
  faulty.failing = undefined;
  const result = { content: [{ type: "text", text: "worked" }] };
  expect(await there?.task(id).result()).toMatchObject(result);
  expect(await here?.task(id).status()).toMatchObject({ status: "completed" });
  expect(await here?.task(id).result()).toMatchObject(result);
  expect(reports).toEqual([]);
});
