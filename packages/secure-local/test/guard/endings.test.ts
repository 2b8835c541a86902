// How calls end: in time or not, cancelled, with an exception, or without a log to record them.
import { describe, expect, it, vi } from "vitest";
import { AuditError, type AuditEvent, type AuditSink } from "../../src/audit/audit-event.js";
import { MemoryAudit } from "../../src/audit/event-text.js";
import { call, guardedServer, textOf } from "./guarded-server.js";

const OLD = { revision: "2025-11-25" };

/** A log that fails at the records `fails` picks, and otherwise remembers their kinds. */
function sink(fails: (event: AuditEvent) => boolean): AuditSink & { readonly kinds: string[] } {
  const kinds: string[] = [];
  return {
    kinds,
    failure: undefined,
    async record(event) {
      await Promise.resolve();
      if (fails(event)) throw new Error("ENOSPC: /secret/place/audit.log");
      kinds.push(event.kind);
    },
    close: () => Promise.resolve(),
  };
}

describe("time", () => {
  it("ends a call at its limit, aborts its signal and drops what it says later", async () => {
    const { connect, tools, audit } = await guardedServer();
    let reason: unknown;
    let finish = (_value: string): void => undefined;
    tools["slow"] = (_args, ctx) => {
      ctx.signal.addEventListener("abort", () => (reason = ctx.signal.reason));
      return new Promise<string>((resolve) => (finish = resolve));
    };
    const peer = await connect(OLD);
    const result = await call(peer, "slow");
    expect(result["isError"]).toBe(true);
    expect(textOf(result)).toBe(
      "The tool slow timed out after 0.02 s. To give it longer, raise tools.timeouts.slow in the policy.",
    );
    expect(String(reason)).toContain("timed out after 0.02 s");
    finish("too late");
    await peer.request("ping");
    expect(peer.messages.filter((message) => JSON.stringify(message).includes("too late"))).toEqual([]);
    expect(audit.records()).toMatchObject([{ kind: "call.intent" }, { kind: "call.result", outcome: "timeout" }]);
  });

  it("gives a call that became a task the time of tasks", async () => {
    const { connect, tools, audit } = await guardedServer();
    tools["slow"] = (_args, ctx) =>
      new Promise((_resolve, reject) => ctx.signal.addEventListener("abort", () => reject(ctx.signal.reason as Error)));
    const peer = await connect(OLD);
    const created = await peer.request("tools/call", { name: "slow", arguments: {}, task: {} });
    const { taskId } = created["task"] as { taskId: string };
    const result = await peer.request("tasks/result", { taskId });
    expect(textOf(result)).toBe(
      "The tool slow timed out after 0.06 s. To give it longer, raise tools.task_timeout in the policy.",
    );
    expect(audit.records()).toMatchObject([{ kind: "call.intent" }, { kind: "call.result", outcome: "timeout" }]);
  });

  it("records a cancelled call with its reason, and answers nothing", async () => {
    const { connect, tools, audit } = await guardedServer();
    const started = new Promise<void>((resolve) => {
      tools["ask"] = async (_args, ctx) => {
        resolve();
        await new Promise((_resolve, reject) =>
          ctx.signal.addEventListener("abort", () => reject(ctx.signal.reason as Error)),
        );
      };
    });
    const peer = await connect(OLD);
    peer.send(JSON.stringify({ jsonrpc: "2.0", id: "c", method: "tools/call", params: { name: "ask" } }));
    await started;
    peer.notify("notifications/cancelled", { requestId: "c", reason: "no longer wanted" });
    await vi.waitFor(() => expect(audit.records()).toHaveLength(2), { timeout: 10_000 });
    expect(audit.records()[1]).toMatchObject({ outcome: "cancelled", detail: { reason: "no longer wanted" } });
    await peer.request("ping");
    expect(peer.messages.some((message) => message.id === "c")).toBe(false);
  });

  it("does not begin a call that was cancelled while its intent was written", async () => {
    let write = (): void => undefined;
    const slow = sink(() => false);
    const record = slow.record.bind(slow);
    slow.record = async (event) => {
      if (event.kind === "call.intent") await new Promise<void>((resolve) => (write = resolve));
      return record(event);
    };
    const { connect, begun } = await guardedServer({ sink: slow });
    const peer = await connect(OLD);
    peer.send(JSON.stringify({ jsonrpc: "2.0", id: "c", method: "tools/call", params: { name: "ask" } }));
    await peer.request("ping");
    peer.notify("notifications/cancelled", { requestId: "c" });
    await peer.request("ping");
    write();
    await vi.waitFor(() => expect(slow.kinds).toEqual(["call.intent", "call.result"]), { timeout: 10_000 });
    expect(begun).toEqual([]);
  });

  it("tells a caller of a slow call", async () => {
    const { connect, tools, clock } = await guardedServer();
    tools["ask"] = () => {
      clock.now += 4_000;
      return "done";
    };
    const peer = await connect(OLD);
    await call(peer, "ask");
    const notes = peer.messages.filter((message) => message["method"] === "notifications/message");
    expect(notes).toMatchObject([
      { params: { level: "notice", logger: "guard", data: { event: "slow", tool: "ask", durationMs: 4_000 } } },
    ]);
  });
});

describe("exceptions", () => {
  it("give the client an id and the log the text", async () => {
    const { connect, tools, audit } = await guardedServer();
    tools["broken"] = () => {
      throw new Error("the flux at /home/ada leaked");
    };
    const peer = await connect(OLD);
    const text = textOf(await call(peer, "broken"));
    expect(text).not.toContain("flux");
    const id = /error id ([0-9a-f]{8})/.exec(text)?.[1];
    expect(audit.records()[1]).toMatchObject({
      error_id: id,
      error: expect.stringContaining("flux"),
      outcome: "error",
    });
  });

  it("are on record under the id that was told, also when what was thrown has no text", async () => {
    const { connect, tools, audit } = await guardedServer();
    tools["broken"] = async () => {
      // oxlint-disable-next-line typescript/only-throw-error -- JavaScript can throw anything
      throw Object.assign(Object.create(null) as object, { secret: "flux" });
    };
    const text = textOf(await call(await connect(OLD), "broken"));
    const id = /error id ([0-9a-f]{8})/.exec(text)?.[1];
    expect(audit.records()[1]).toMatchObject({ error_id: id, outcome: "error" });
    expect(id).toBeDefined();
  });

  it("are never claimed by a tool that writes such a sentence itself", async () => {
    const { connect, tools, audit, guard } = await guardedServer();
    guard.noteFault("0123abcd", new Error("of somebody else's call"));
    tools["broken"] = (_args, ctx) => ctx.fail("Failed (error id 0123abcd; the server's log has the details)");
    await call(await connect(OLD), "broken");
    expect(audit.records()[1]).toMatchObject({ outcome: "error" });
    expect(JSON.stringify(audit.records()[1])).not.toMatch(/somebody|"error_id"/);
  });

  it("of a prompt or resource do the same", async () => {
    const { server, guard, connect, audit } = await guardedServer();
    server.use(() => {
      throw new TypeError("inside out");
    });
    expect(guard.policy.version).toBe("1.0");
    const peer = await connect();
    const read = peer.request("resources/read", { uri: "test://open" });
    await expect(read).rejects.toMatchObject({
      code: -32603,
      data: { errorId: expect.stringMatching(/^[0-9a-f]{8}$/) },
    });
    await expect(read).rejects.not.toMatchObject({ message: expect.stringContaining("inside") });
    expect(audit.records()[1]).toMatchObject({ error: expect.stringContaining("inside out") });
  });

  it("leak none of a hundred secrets", async () => {
    const { connect, tools, audit } = await guardedServer({
      policy: 'version: "1.0"\ntools: { rate_limits: { broken: 1000 } }',
    });
    const peer = await connect(OLD);
    for (let n = 0; n < 100; n++) {
      tools["broken"] = () => Promise.reject(new Error(`hush-${n} password=hunter2-${n}`));
      await call(peer, "broken");
    }
    expect(JSON.stringify(peer.messages)).not.toMatch(/hush|hunter2/);
    expect(audit.lines.join()).toContain("hush-99");
    expect(audit.lines.join()).not.toContain("hunter2");
  });
});

describe("a log that fails", () => {
  it("keeps a call from being run", async () => {
    const failing = sink(() => true);
    const { connect, begun } = await guardedServer({ sink: failing });
    const peer = await connect(OLD);
    const result = await call(peer, "echo", { text: "x" });
    expect(result["isError"]).toBe(true);
    expect(textOf(result)).toContain("Not run: the audit log is unavailable");
    expect(textOf(result)).not.toContain("/secret/place");
    const read = peer.request("resources/read", { uri: "test://open" });
    await expect(read).rejects.toMatchObject({ code: -32603, message: expect.stringContaining("Not run") });
    expect(begun).toEqual([]);
  });

  it.each([
    ["taken_away", "put it back, or restart"],
    ["foreign_writer", "audit verify"],
    ["queue_full", "try again"],
    ["io", "Free space"],
  ] as const)("says what to do about it: %s", async (code, advice) => {
    const audit = new MemoryAudit();
    audit.failure = new AuditError(code, "/secret/place/audit.log", "why");
    const { connect } = await guardedServer({ sink: audit });
    const result = await call(await connect(OLD), "echo", { text: "x" });
    expect(textOf(result)).toContain(advice);
    expect(textOf(result)).not.toContain("/secret/place");
  });

  it("keeps a result that could not be recorded from leaving", async () => {
    const failing = sink(({ kind }) => kind === "call.result");
    const { connect, begun } = await guardedServer({ sink: failing });
    const peer = await connect(OLD);
    const result = await call(peer, "echo", { text: "the result" });
    expect(begun).toEqual(["echo"]);
    expect(result["isError"]).toBe(true);
    expect(JSON.stringify(result)).not.toContain("the result");
  });

  it("changes nothing for what is refused anyway", async () => {
    const { connect } = await guardedServer({ sink: sink(() => true) });
    const peer = await connect(OLD);
    expect(textOf(await call(peer, "rude"))).toContain("Denied.");
  });
});

describe("order", () => {
  it("is intent on record, handler, result on record, answer", async () => {
    const steps: string[] = [];
    const slow: AuditSink = {
      failure: undefined,
      async record({ kind }) {
        steps.push(`${kind} begins`);
        await new Promise((resolve) => setImmediate(resolve));
        steps.push(`${kind} is safe`);
      },
      close: () => Promise.resolve(),
    };
    const { connect, tools } = await guardedServer({ sink: slow });
    tools["ask"] = () => void steps.push("handler");
    const peer = await connect(OLD);
    await call(peer, "ask");
    steps.push("answer");
    const recorded = (kind: string): string[] => [`${kind} begins`, `${kind} is safe`];
    expect(steps).toEqual([...recorded("call.intent"), "handler", ...recorded("call.result"), "answer"]);
  });

  it("holds for every round of a call that asks", async () => {
    const { connect, tools, audit } = await guardedServer();
    tools["ask"] = async (_args, ctx) => {
      const { action } = await ctx.elicit({ message: "Sure?", schema: { sure: { type: "boolean" } } });
      return action;
    };
    const peer = await connect({ capabilities: { elicitation: { form: {} } } });
    const params = { name: "ask", arguments: {} };
    const asked = await peer.request("tools/call", params);
    expect(asked).toMatchObject({ resultType: "input_required", requestState: expect.any(String) });
    const [key] = Object.keys(asked["inputRequests"] as object);
    const inputResponses = { [key as string]: { action: "accept", content: { sure: true } } };
    const done = await peer.request("tools/call", { ...params, requestState: asked["requestState"], inputResponses });
    expect(textOf(done)).toBe("accept");
    expect(audit.records().map(({ kind, outcome }) => outcome ?? kind)).toEqual([
      "call.intent",
      "input_required",
      "call.intent",
      "ok",
    ]);
  });
});
