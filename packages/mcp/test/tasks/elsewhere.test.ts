// A task that runs in another process of the same server, behind one store: it cannot be cancelled here, and is not said to have ended.
import { expect, it } from "vitest";
import { MemoryTaskStore, Server } from "@secure-local/mcp/server";
import { connectTasks, REQUESTED } from "./task-peer.js";

it("is said to run elsewhere", async () => {
  const store = new MemoryTaskStore();
  const running = (): Server => {
    const server = new Server({ name: "s", version: "1", tasks: { store } });
    server.tool("slow", {
      task: "optional",
      run: (_args, { signal }) => new Promise((done) => signal.addEventListener("abort", () => done("over"))),
    });
    return server;
  };
  const [here, there] = [await connectTasks(running(), REQUESTED), await connectTasks(running(), REQUESTED)];
  const { task } = (await there.request("tools/call", { name: "slow", task: {} })) as { task: { taskId: string } };
  await expect(here.request("tasks/cancel", { taskId: task.taskId })).rejects.toThrow(
    "The task is working in another process of this server, which alone can cancel it",
  );
  await there.request("tasks/cancel", { taskId: task.taskId });
  await expect(here.request("tasks/cancel", { taskId: task.taskId })).rejects.toThrow(
    "has ended already: it is cancelled",
  );
});
