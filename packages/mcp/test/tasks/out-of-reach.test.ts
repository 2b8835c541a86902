// Where no request may reach into the work of another (Cloudflare Workers), telling a handler to stop throws: the task is cancelled all the
// same, whoever cancels it, and the log says that its handler was not told.
import { afterEach, describe, expect, it, vi } from "vitest";
import type { Server } from "@secure-local/mcp/server";
import { connect } from "../../src/serve/connect.js";
import { reportingServer } from "../support/reporting-server.js";

afterEach(() => vi.restoreAllMocks());

/** Signals that a handler asked for can be aborted by nobody from now on. */
function outOfReach(): void {
  vi.spyOn(AbortController.prototype, "abort").mockImplementation(() => {
    throw new Error("Cannot perform I/O on behalf of a different request");
  });
}

const ENDS: Readonly<
  Record<string, readonly [status: string, end: (server: Server, cancel: () => Promise<unknown>) => Promise<unknown>]>
> = {
  "its client": ["cancelled", (_server, cancel) => cancel()],
  "the end of its server": ["failed", (server) => server.endTasks()],
};

describe.each(["2025-11-25", "2026-07-28"])("%s", (revision) => {
  it.each(Object.entries(ENDS))("a task that is ended by %s", async (_who, [status, end]) => {
    const { server, log } = reportingServer();
    let finish = (): void => undefined;
    server.tool("t", {
      task: "optional",
      run: (_, { signal }) =>
        new Promise<string>((resolve) => {
          finish = () => resolve(signal.aborted ? "told" : "done");
        }),
    });
    await using client = await connect(server, { revision });
    const task = await client.callTask("t");
    outOfReach();
    await end(server, () => task.cancel());
    expect((await task.status()).status).toBe(status);
    expect(log.join("\n")).toContain("Cannot perform I/O");
    vi.restoreAllMocks();
    finish();
    await Promise.resolve();
    expect((await task.status()).status).toBe(status);
  });
});
