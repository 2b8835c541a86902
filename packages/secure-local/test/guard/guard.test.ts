// The chain: who is let through, in which order things happen, and what is told and recorded.
import { describe, expect, it } from "vitest";
import { call, guardedServer, POLICY, policyOf, textOf } from "./guarded-server.js";

const A_MINUTE = 61_000;
const OLD = { revision: "2025-11-25" };

describe("the record", () => {
  it("tells calls with the same id apart by their connection, which an intent shares with its result", async () => {
    const { audit, clock, connect } = await guardedServer();
    const sessions = [await connect(OLD), await connect(OLD)];
    for (let round = 0; round < 2; round++) {
      await Promise.all(sessions.map((peer) => call(peer, "echo", { text: "x" })));
      clock.now += A_MINUTE;
    }
    const stateless = await connect({ revision: "2026-07-28" });
    for (let round = 0; round < 2; round++) await call(stateless, "echo", { text: "x" });
    const ties = (wanted: string): string[] =>
      audit
        .records()
        .filter(({ kind }) => kind === wanted)
        .map(({ connection, id }) => `${String(connection)}/${String(id)}`);
    expect(new Set(ties("call.intent")).size).toBe(6);
    expect(ties("call.result").sort()).toEqual(ties("call.intent").sort());
    const connections = audit.records().map(({ connection }) => connection);
    expect(new Set(connections)).toEqual(new Set([1, 2, 3, 4]));
  });
});

describe("the record of a result", () => {
  it("has how long the call took, be it no time at all", async () => {
    const { audit, clock, tools, connect } = await guardedServer();
    const peer = await connect(OLD);
    for (const took of [0, 7.25, 0.0004, 12.3456]) {
      tools["echo"] = () => ((clock.now += took), "done");
      await call(peer, "echo", { text: "x" });
      expect(audit.records().at(-1)?.["duration_ms"]).toBe(Math.round(took * 1_000) / 1_000);
      clock.now += A_MINUTE;
    }
  });

  it.each(["2024-11-05", "2026-07-28"])(
    "has what left, cleaned and cut, where the policy wants it (%s)",
    async (revision) => {
      const policy = `${POLICY.replace("1024", "20000")}audit: { results: true }\n`;
      const { audit, tools, connect } = await guardedServer({ policy });
      tools["echo"] = () => "\u001b[31mred\u001b[0m AKIAIOSFODNN7EXAMPLE";
      const peer = await connect({ revision });
      const told = textOf(await call(peer, "echo", { text: "x" }));
      expect(told).not.toContain("IOSFODNN7EXAMPLE");
      const [, result] = audit.records();
      expect(result).toMatchObject({ kind: "call.result", result: { content: [{ type: "text", text: told }] } });
      tools["rude"] = () => "never";
      await call(peer, "rude", {});
      tools["broken"] = () => {
        throw new Error("a text for the log alone");
      };
      await call(peer, "broken", {});
      const failed = JSON.stringify(audit.records().at(-1)?.["result"]);
      expect(failed).toContain("failed unexpectedly");
      expect(failed).not.toContain("a text for the log alone");
      tools["echo"] = () => "y".repeat(30_000);
      await call(peer, "echo", { text: "x" });
      expect(JSON.stringify(audit.records().at(-1)?.["result"]).length).toBeLessThan(25_000);
    },
  );

  it("has none where the policy does not say so", async () => {
    const { audit, connect } = await guardedServer();
    await call(await connect(OLD), "echo", { text: "x" });
    expect(audit.records().map((record) => "result" in record)).toEqual([false, false]);
  });
});

describe("a middleware that goes on twice", () => {
  it.each(["around", "within"])("%s the guard runs the tool once", async (where) => {
    const twice = async (_call: unknown, next: () => Promise<never>): Promise<never> => {
      await next();
      return next();
    };
    const { audit, begun, connect } = await guardedServer({ [where]: twice });
    const peer = await connect({ revision: "2026-07-28" });
    await call(peer, "echo", { text: "x" }).catch(() => undefined);
    expect(begun).toEqual(["echo"]);
    expect(audit.records().map(({ kind }) => kind)).toEqual(["call.intent", "call.result"]);
  });
});

describe("access", () => {
  it("answers a denied tool with a result that names it and the rule, and records it once", async () => {
    const { audit, begun, connect } = await guardedServer();
    const peer = await connect(OLD);
    const denied = await call(peer, "rude", { text: "x" });
    expect(denied["isError"]).toBe(true);
    expect(textOf(denied)).toContain('denies the tool "rude"');
    expect(textOf(denied)).toContain("tools.denied: rude (line 4 of the policy)");
    const unnamed = await call(peer, "unnamed");
    expect(textOf(unnamed)).toContain("add it to tools.allowed");
    expect(begun).toEqual([]);
    expect(audit.records()).toMatchObject([
      {
        kind: "denied",
        tool: "rude",
        arguments: { text: "x" },
        decision: { allowed: false, rule: "tools.denied: rude", line: 4 },
      },
      { kind: "denied", tool: "unnamed", outcome: "denied" },
    ]);
  });

  it("tells a name that does not exist apart from one that is denied", async () => {
    const { audit, connect } = await guardedServer();
    for (const revision of ["2024-11-05", "2026-07-28"]) {
      const peer = await connect({ revision });
      await expect(call(peer, "nothing")).rejects.toMatchObject({ code: -32602, message: "Unknown tool: nothing" });
      // Allowed by the policy, but there is no such tool.
      await expect(call(peer, "gone")).rejects.toMatchObject({ code: -32602 });
      const prompt = peer.request("prompts/get", { name: "nothing" });
      await expect(prompt).rejects.toMatchObject({ code: -32602, data: { path: "/name" } });
    }
    expect(audit.records().map(({ outcome }) => outcome)).toEqual(Array<string>(6).fill("unknown"));
  });

  it("refuses resources, subscriptions, prompts and completions with an error", async () => {
    const { begun, connect, guard } = await guardedServer();
    const old = await connect(OLD);
    const wrong = { code: -32602, message: expect.stringContaining("resources.allowed") };
    await expect(old.request("resources/read", { uri: "test://shut" })).rejects.toMatchObject(wrong);
    await expect(old.request("resources/subscribe", { uri: "test://shut" })).rejects.toMatchObject(wrong);
    const unknown = { code: -32002, data: { uri: "test://none" } };
    await expect(old.request("resources/read", { uri: "test://none" })).rejects.toMatchObject(unknown);
    const stateless = await connect();
    const listen = stateless.request("subscriptions/listen", {
      notifications: { resourceSubscriptions: ["test://shut"] },
    });
    await expect(listen).rejects.toMatchObject(wrong);
    guard.swap(await policyOf('version: "1.0"'));
    const ref = { type: "ref/prompt", name: "greet" };
    const denied = { code: -32602, message: expect.stringContaining("prompts.allowed") };
    await expect(old.request("prompts/get", { name: "greet" })).rejects.toMatchObject(denied);
    const complete = old.request("completion/complete", { ref, argument: { name: "name", value: "" } });
    await expect(complete).rejects.toMatchObject(denied);
    expect(begun).toEqual([]);
  });

  it("lets through what is allowed", async () => {
    const { audit, connect } = await guardedServer();
    const peer = await connect(OLD);
    expect(textOf(await call(peer, "echo", { text: "hello" }))).toBe("hello");
    await expect(peer.request("resources/subscribe", { uri: "test://open" })).resolves.toEqual({});
    const ref = { type: "ref/prompt", name: "greet" };
    const completion = await peer.request("completion/complete", { ref, argument: { name: "name", value: "a" } });
    expect(completion).toMatchObject({ completion: { values: ["Ada"] } });
    expect(await peer.request("prompts/get", { name: "greet", arguments: { name: "Ada" } })).toMatchObject({
      messages: [{ content: { text: "Hello, Ada" } }],
    });
    expect(audit.records().map(({ kind, method }) => `${String(method)} ${String(kind)}`)).toEqual(
      ["tools/call", "resources/subscribe", "completion/complete", "prompts/get"].flatMap((method) => [
        `${method} call.intent`,
        `${method} call.result`,
      ]),
    );
  });
});

describe("rate limits", () => {
  it("limits a tool in every minute and says when to come back", async () => {
    const { clock, connect, begun, audit } = await guardedServer();
    const peer = await connect(OLD);
    for (let n = 0; n < 3; n++) expect((await call(peer, "echo", { text: "x" }))["isError"]).not.toBe(true);
    const limited = await call(peer, "echo", { text: "x" });
    expect(limited["isError"]).toBe(true);
    expect(textOf(limited)).toMatch(
      /Too many calls of echo: at most 3 a minute are allowed\. Try again in just over a minute\./,
    );
    expect(audit.records().at(-1)?.["decision"]).toEqual({
      allowed: false,
      rule: "rate limit: 3 a minute",
      line: 5,
    });
    clock.now += 60_250;
    expect((await call(peer, "echo", { text: "x" }))["isError"]).not.toBe(true);
    expect(begun).toHaveLength(4);
  });

  it("keeps the count when the policy is replaced", async () => {
    const { connect, guard } = await guardedServer();
    const peer = await connect(OLD);
    for (let n = 0; n < 3; n++) await call(peer, "echo", { text: "x" });
    guard.swap(await policyOf('version: "1.0"\ntools: { rate_limits: { echo: 4 } }'));
    expect((await call(peer, "echo", { text: "x" }))["isError"]).not.toBe(true);
    expect((await call(peer, "echo", { text: "x" }))["isError"]).toBe(true);
  });

  it("limits completions, and requests of any kind, with an error that says how long to wait", async () => {
    const { connect } = await guardedServer();
    const peer = await connect(OLD);
    const params = { ref: { type: "ref/prompt", name: "greet" }, argument: { name: "name", value: "" } };
    for (let n = 0; n < 600; n++) await peer.request("completion/complete", params);
    const error = { code: -32603, data: { retryAfterMs: expect.any(Number) } };
    await expect(peer.request("completion/complete", params)).rejects.toMatchObject(error);
    const ping = async (): Promise<void> => {
      for (let n = 0; n < 10_000; n++) await peer.request("ping");
    };
    await expect(ping()).rejects.toMatchObject(error);
  });
});

describe("cleaning", () => {
  it("cleans results, contents and errors, and cuts what is too long", async () => {
    const { connect, tools } = await guardedServer();
    const peer = await connect(OLD);
    tools["ask"] = () => "\u001b]0;owned\u0007visible\u202e";
    expect(textOf(await call(peer, "ask"))).toBe("visible");
    tools["ask"] = () => "x".repeat(10_000);
    const cut = textOf(await call(peer, "ask"));
    expect(cut.length).toBeLessThanOrEqual(1_024);
    expect(cut).toContain("bytes removed");
    expect(await peer.request("resources/read", { uri: "test://open" })).toMatchObject({ contents: [{ text: "red" }] });
    const unknown = call(peer, "no\u001b[2Jthing");
    await expect(unknown).rejects.toMatchObject({ message: "Unknown tool: nothing" });
  });

  it("tells a model which argument is wrong", async () => {
    const { connect, begun, audit } = await guardedServer();
    const peer = await connect(OLD);
    const wrong = await call(peer, "echo", { text: 7 });
    expect(wrong["isError"]).toBe(true);
    expect(textOf(wrong)).toContain("text");
    expect(begun).toEqual([]);
    expect(audit.records()).toMatchObject([{ kind: "call.intent" }, { kind: "call.result", outcome: "error" }]);
  });
});

describe("reload", () => {
  it("judges every request by exactly one policy", async () => {
    const { guard, audit, connect } = await guardedServer();
    const open = await policyOf('version: "1.0"\ntools: { rate_limits: { ask: 1000000 } }');
    const shut = await policyOf('version: "1.0"\ntools: { denied: ["ask"], rate_limits: { ask: 1000000 } }');
    const peer = await connect(OLD);
    const asked: Promise<Record<string, unknown>>[] = [];
    for (let n = 0; n < 1_000; n++) {
      guard.swap(n % 2 === 0 ? open : shut);
      asked.push(call(peer, "ask"));
      if (n % 50 === 0) await asked.at(-1);
    }
    await Promise.all(asked);
    const labels = { [open.hash.slice(0, 12)]: "open", [shut.hash.slice(0, 12)]: "shut" };
    for (const { kind, policy } of audit.records()) {
      expect(labels[policy as string]).toBe(kind === "denied" ? "shut" : "open");
    }
    expect(audit.records().filter(({ kind }) => kind === "call.intent").length).toBeGreaterThan(0);
  });
});
