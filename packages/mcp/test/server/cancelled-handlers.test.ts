// Handlers that stop because they were told to: no failure is reported for them, and every other one still is.
import { describe, expect, it } from "vitest";
import { Server, type Context } from "@secure-local/mcp/server";
import { connectInMemory } from "@secure-local/mcp/testing";

const REVISIONS = ["2025-11-25", "2026-07-28"];
const CAPABILITIES = { sampling: {} };

/** Calls a tool, cancels it once it waits, and gives the errors that were reported when it has ended. */
async function cancelled(revision: string, run: (ctx: Context) => Promise<string>): Promise<string[]> {
  const errors: string[] = [];
  const report = (level: string, message: string): unknown => level === "error" && errors.push(message);
  const server = new Server({ name: "s", version: "1", report });
  let started = (): void => undefined;
  const waiting = new Promise<void>((resolve) => {
    started = resolve;
  });
  let ended: Promise<unknown> = Promise.resolve();
  server.tool("wait", {
    run(_args, ctx) {
      const running = run(ctx);
      ended = running.catch(() => undefined);
      started();
      return running;
    },
  });
  const peer = await connectInMemory(server, { revision, capabilities: CAPABILITIES });
  void peer.request("tools/call", { name: "wait" }).catch(() => undefined);
  await waiting;
  const requestId = revision === "2026-07-28" ? 1 : 2;
  peer.notify("notifications/cancelled", { requestId });
  await ended;
  await peer.request("tools/list");
  await peer.close();
  return errors;
}

function aborted(ctx: Context): Promise<void> {
  return new Promise((resolve) => ctx.signal.addEventListener("abort", () => resolve(), { once: true }));
}

describe.each(REVISIONS)("a cancelled tool in %s", (revision) => {
  it("may reject with its signal's reason", async () => {
    const errors = await cancelled(revision, async (ctx) => {
      await aborted(ctx);
      throw ctx.signal.reason;
    });
    expect(errors).toEqual([]);
  });

  it("may reject with an error of the platform's that says so", async () => {
    const errors = await cancelled(revision, async (ctx) => {
      await aborted(ctx);
      throw Object.assign(new Error("The operation was aborted", { cause: ctx.signal.reason }), { name: "AbortError" });
    });
    expect(errors).toEqual([]);
  });

  it("is reported when it fails on its way out", async () => {
    const errors = await cancelled(revision, async (ctx) => {
      await aborted(ctx);
      throw new Error("the file could not be closed");
    });
    expect(errors).toEqual([expect.stringContaining("wait")]);
  });
});

describe("a tool nobody cancelled", () => {
  it("is reported when it gives up something of its own", async () => {
    const errors: string[] = [];
    const report = (level: string, message: string): unknown => level === "error" && errors.push(message);
    const server = new Server({ name: "s", version: "1", report });
    server.tool("fetch", {
      run: () => {
        throw new DOMException("its own timer ran out", "AbortError");
      },
    });
    const peer = await connectInMemory(server);
    await expect(peer.request("tools/call", { name: "fetch" })).resolves.toMatchObject({ isError: true });
    expect(errors).toEqual([expect.stringContaining("fetch")]);
  });
});
