// Finding out the era: every outcome of the question, over processes and over HTTP, and what is remembered of it.
import { afterEach, describe, expect, it, vi } from "vitest";
import { Client } from "../../src/client/client.js";
import { ConnectError } from "../../src/client/conversation.js";
import { MemoryVerdicts } from "../../src/client/versions.js";
import { DISCOVERED, initialized, type Script, ScriptedServer, type Talk } from "./scripted-server.js";

const LEGACY = "2025-11-25";
const options = { verdicts: false, probeTimeoutMs: 20, connectTimeoutMs: 2_000 } as const;

type Answer = (talk: Talk) => void;

afterEach(() => void vi.useRealTimers());

/** A server that answers the question as told, and `initialize` in one revision. */
function server(discover: Answer, initialize: Answer = (talk) => talk.answer(initialized(LEGACY))): ScriptedServer {
  return new ScriptedServer((message, talk) => {
    if (message.method === "server/discover") discover(talk);
    if (message.method === "initialize") initialize(talk);
  });
}

async function failure(scripted: ScriptedServer, kind: string, more = {}): Promise<ConnectError> {
  const error = await Client.connect(scripted.dialer(kind), { ...options, ...more }).then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(ConnectError);
  expect(scripted.open).toBe(0);
  return error as ConnectError;
}

const unsupported = (supported: string[]): Answer => {
  return (talk) => talk.fail({ code: -32022, data: { supported, requested: "2026-07-28" } }, 400);
};

describe.each(["stdio", "http"])("asked over %s", (kind) => {
  it("a server that discovers is modern", async () => {
    const scripted = server((talk) => talk.answer(DISCOVERED));
    await using client = await Client.connect(scripted.dialer(kind), options);
    expect(client).toMatchObject({ era: "stateless", revision: "2026-07-28", server: { name: "scripted" } });
    expect(client.offered).toEqual(["2026-07-28"]);
    expect(scripted.methods).toEqual(["server/discover"]);
    expect(scripted.links[0]?.established_).toEqual({ era: "stateless", version: "2026-07-28" });
  });

  it("a server that lists older revisions only is spoken to in one of them", async () => {
    const scripted = server((talk) => talk.answer({ ...DISCOVERED, supportedVersions: ["2025-06-18", "2024-11-05"] }));
    await using client = await Client.connect(scripted.dialer(kind), options);
    expect(client.era).toBe("handshake");
    expect(scripted.sent[1]?.params?.["protocolVersion"]).toBe("2025-06-18");
  });

  it("a server that lists nothing common is incompatible, with both lists", async () => {
    const error = await failure(
      server((talk) => talk.answer({ ...DISCOVERED, supportedVersions: ["2031-01-01"] })),
      kind,
    );
    expect(error.code).toBe("INCOMPATIBLE");
    expect(error.message).toMatch(/speaks 2031-01-01.*2026-07-28, 2025-11-25, 2025-06-18, 2025-03-26, 2024-11-05/);
  });

  it("a version refused though it is listed is asked for once more", async () => {
    let asked = 0;
    const scripted = server((talk) => (asked++ === 0 ? unsupported(["2026-07-28"])(talk) : talk.answer(DISCOVERED)));
    await using client = await Client.connect(scripted.dialer(kind), options);
    expect(client.era).toBe("stateless");
    expect(asked).toBe(2);
  });

  it("a version that is always refused is not asked for for ever", async () => {
    const scripted = server(unsupported(["2026-07-28"]));
    expect((await failure(scripted, kind)).code).toBe("INCOMPATIBLE");
    expect(scripted.methods).toEqual(["server/discover", "server/discover"]);
  });

  it("a refusal that names older revisions leads to the handshake", async () => {
    const scripted = server(unsupported(["2025-03-26"]), (talk) => talk.answer(initialized("2025-03-26")));
    await using client = await Client.connect(scripted.dialer(kind), options);
    expect(client.revision).toBe("2025-03-26");
    expect(scripted.sent[1]?.params?.["protocolVersion"]).toBe("2025-03-26");
  });

  it.each([-32601, -32602, -32600, -32603, -32000, -32001, -32002, -32020, -32021])(
    "error %i means an older one",
    async (code) => {
      const scripted = server((talk) => talk.fail({ code }, kind === "http" ? 400 : undefined));
      await using client = await Client.connect(scripted.dialer(kind), options);
      expect(client).toMatchObject({ era: "handshake", revision: LEGACY });
      expect(scripted.methods.slice(0, 3)).toEqual(["server/discover", "initialize", "notifications/initialized"]);
      expect(scripted.links).toHaveLength(1);
    },
  );

  it.each([{}, { supportedVersions: "2026-07-28" }, { ...DISCOVERED, capabilities: 7 }])(
    "an answer that is none means an older one",
    async (result) => {
      const scripted = server((talk) => talk.answer(result));
      await using client = await Client.connect(scripted.dialer(kind), options);
      expect(client.era).toBe("handshake");
    },
  );
});

describe("a process", () => {
  it("that is silent is asked whether it is there, then the old way, and told nothing else", async () => {
    const scripted = server(() => undefined);
    await using client = await Client.connect(scripted.dialer(), options);
    expect(client.era).toBe("handshake");
    expect(scripted.methods).toEqual(["server/discover", "ping", "initialize", "notifications/initialized"]);
    expect(scripted.links).toHaveLength(1);
  });

  it("that answers pings and not the question is asked the old way at once", async () => {
    const scripted = new ScriptedServer(({ method }, talk) => {
      if (method === "ping") talk.answer({});
      if (method === "initialize") talk.answer(initialized(LEGACY));
    });
    // Silence alone would take until the test is over.
    const slow = { ...options, probeTimeoutMs: 20, connectTimeoutMs: 1e9 };
    await using client = await Client.connect(scripted.dialer(), slow);
    expect(client.era).toBe("handshake");
    expect(scripted.methods.slice(0, 4)).toEqual(["server/discover", "ping", "ping", "initialize"]);
    // A ping without the envelope would open a session at some servers of both eras.
    expect(scripted.sent[1]?.params?.["_meta"]).toMatchObject({
      "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    });
  });

  /** A server that starts slowly: it answers all it was asked, in order, when a message of this method has come. */
  function slowUntil(method: string, answers: Record<string, Answer>): ScriptedServer {
    const waiting: [Answer | undefined, Talk][] = [];
    let started = false;
    return new ScriptedServer((message, talk) => {
      waiting.push([answers[message.method ?? ""], talk]);
      started ||= message.method === method;
      if (started) for (const [answer, to] of waiting.splice(0)) answer?.(to);
    });
  }

  it("that starts slowly is waited for, and its pipe is not spent", async () => {
    const discover: Answer = (talk) => talk.answer(DISCOVERED);
    const ping: Answer = (talk) => talk.fail({ code: -32601 });
    const scripted = slowUntil("ping", { "server/discover": discover, ping });
    await using client = await Client.connect(scripted.dialer(), options);
    expect(client.era).toBe("stateless");
    expect(new Set(scripted.methods)).toEqual(new Set(["server/discover", "ping"]));
    expect(scripted.links).toHaveLength(1);
  });

  it("that starts so slowly that it was asked both ways is spoken to as it answered first, in a process of its own", async () => {
    const scripted = slowUntil("initialize", {
      "server/discover": (talk) => talk.answer(DISCOVERED),
      ping: (talk) => talk.fail({ code: -32601 }),
      initialize: (talk) => talk.answer(initialized(LEGACY)),
      "tools/list": (talk) => talk.answer({ resultType: "complete", tools: [], ttlMs: 0 }),
    });
    await using client = await Client.connect(scripted.dialer(), options);
    expect(client.era).toBe("stateless");
    expect(scripted.links.map(({ isClosed }) => isClosed)).toEqual([true, false]);
    expect(await client.tools().all()).toEqual([]);
    expect(scripted.methods.filter((method) => !method.startsWith("notifications/"))).toEqual([
      "server/discover",
      "ping",
      "initialize",
      "tools/list",
    ]);
  });

  it("that refuses the old way while it is still thinking is waited for", async () => {
    let late: Talk | undefined;
    const scripted = server(
      (talk) => {
        late = talk;
      },
      (talk) => {
        talk.fail({ code: -32022, data: { supported: ["2026-07-28"], requested: LEGACY } });
        setTimeout(() => late?.answer(DISCOVERED), 0);
      },
    );
    await using client = await Client.connect(scripted.dialer(), options);
    expect(client.era).toBe("stateless");
    expect(scripted.links).toHaveLength(1);
  });

  it.each([
    ["is refused", (talk: Talk) => talk.fail({ code: -32000, message: "Already connected" })],
    ["gets no usable answer", (talk: Talk) => talk.answer({})],
    ["ends the process", (talk: Talk) => talk.end("EXITED")],
  ])("whose pipe was spent on the question, so that initialize %s, is started anew", async (_what, spent) => {
    const scripted = server(
      (talk) => talk.fail({ code: -32601 }),
      (talk) => (talk.link === 1 ? spent(talk) : talk.answer(initialized(LEGACY))),
    );
    await using client = await Client.connect(scripted.dialer(), options);
    expect(client.era).toBe("handshake");
    expect(scripted.methods).toEqual(["server/discover", "initialize", "initialize", "notifications/initialized"]);
    expect(scripted.links.map(({ isClosed }) => isClosed)).toEqual([true, false]);
  });

  it("that was silent, and whose pipe is spent, is started anew once", async () => {
    const scripted = server(
      () => undefined,
      (talk) => talk.fail({ code: -32000 }),
    );
    vi.useFakeTimers();
    const failing = failure(scripted, "stdio", { connectTimeoutMs: 200 });
    await vi.advanceTimersByTimeAsync(400);
    const error = await failing;
    expect(error).toMatchObject({ code: "TIMEOUT" });
    expect(scripted.links).toHaveLength(1);
    const other = server(
      (talk) => talk.fail({ code: -32601 }),
      (talk) => talk.fail({ code: -32000 }),
    );
    expect(await failure(other, "stdio")).toMatchObject({ code: "REFUSED" });
    expect(other.links).toHaveLength(2);
  });

  it("that pings before it is known is answered", async () => {
    const scripted = new ScriptedServer((message, talk) => {
      if (message.method === "server/discover") talk.say({ jsonrpc: "2.0", id: "early", method: "ping" });
      else if (message.method === "initialize") talk.answer(initialized(LEGACY));
      else if (message.id === "early") scripted.say({ jsonrpc: "2.0", id: 1, error: { code: -32601, message: "no" } });
    });
    await using client = await Client.connect(scripted.dialer(), { ...options, probeTimeoutMs: 1_000 });
    expect(scripted.sent[1]).toEqual({ jsonrpc: "2.0", id: "early", result: {} });
    expect(client.era).toBe("handshake");
  });

  it("that ends at the question is started again", async () => {
    const scripted = server((talk) => talk.end("EXITED"));
    await using client = await Client.connect(scripted.dialer(), options);
    expect(client.era).toBe("handshake");
    expect(scripted.links).toHaveLength(2);
    expect(scripted.methods).toContain("initialize");
    await client.close();
    expect(scripted.open).toBe(0);
  });

  it("that answers and ends then is started again too", async () => {
    const scripted = server(
      (talk) => talk.fail({ code: -32601 }),
      (talk) => (talk.link === 1 ? talk.end("EXITED") : talk.answer(initialized(LEGACY))),
    );
    await using client = await Client.connect(scripted.dialer(), options);
    expect(client.era).toBe("handshake");
    expect(scripted.links).toHaveLength(2);
  });

  it("that always ends is reported with what it said, and not started for ever", async () => {
    const scripted = server(
      (talk) => talk.end("EXITED"),
      (talk) => talk.end("EXITED"),
    );
    const error = await failure(scripted, "stdio");
    expect(error).toMatchObject({ code: "EXITED", attempts: [{ what: "server/discover over stdio" }] });
    expect(scripted.links).toHaveLength(2);
  });

  it("that never answers anything is given up with TIMEOUT", async () => {
    const scripted = server(
      () => undefined,
      () => undefined,
    );
    vi.useFakeTimers();
    const failing = failure(scripted, "stdio", { connectTimeoutMs: 60 });
    await vi.advanceTimersByTimeAsync(120);
    const error = await failing;
    expect(error.code).toBe("TIMEOUT");
    expect(error.message).toMatch(
      /initialize was not answered within 60 ms\. Raise connectTimeoutMs.*server\/discover over stdio: it has said nothing/s,
    );
    expect(scripted.methods).not.toContain("notifications/cancelled");
  });
});

describe("over HTTP", () => {
  it.each([401, 403, 407, 408, 429, 500, 502, 503])("status %i says nothing about the era", async (status) => {
    const scripted = server((talk) => talk.lost(status === 401 ? "UNAUTHORIZED" : "HTTP_STATUS", status));
    const error = await failure(scripted, "http");
    expect(error).toMatchObject({ status, code: status === 401 ? "UNAUTHORIZED" : "HTTP_STATUS" });
    expect(scripted.methods).toEqual(["server/discover"]);
  });

  it.each([401, 503])("nor does a JSON-RPC error under status %i", async (status) => {
    const scripted = server((talk) => talk.fail({ code: -32000 }, status));
    expect(await failure(scripted, "http")).toMatchObject({ status });
    expect(scripted.methods).toEqual(["server/discover"]);
  });

  it.each(["UNREACHABLE", "TIMEOUT", "OUTCOME_UNKNOWN"])("nor does %s", async (code) => {
    const scripted = server((talk) => talk.lost(code));
    expect((await failure(scripted, "http")).code).toBe(code);
    expect(scripted.methods).toEqual(["server/discover"]);
  });

  it("nor does silence", async () => {
    const scripted = server(() => undefined);
    expect((await failure(scripted, "http", { connectTimeoutMs: 40 })).code).toBe("TIMEOUT");
    expect(scripted.methods).toEqual(["server/discover"]);
  });

  it.each([400, 404, 405, 406, 415])("status %i without a body means an older one", async (status) => {
    const scripted = server((talk) => talk.lost("HTTP_STATUS", status));
    await using client = await Client.connect(scripted.dialer("http"), options);
    expect(client).toMatchObject({ era: "handshake", transport: "http" });
  });

  it.each([400, 404, 405])("status %i to both leads to HTTP+SSE", async (status) => {
    const scripted = new ScriptedServer((message, talk) => {
      if (talk.link === 1) talk.lost("HTTP_STATUS", status);
      else if (message.method === "initialize") talk.answer(initialized("2024-11-05"));
    });
    const dialer = scripted.dialer("http", { fallback: () => scripted.link("sse") });
    await using client = await Client.connect(dialer, options);
    expect(client).toMatchObject({ transport: "sse", revision: "2024-11-05" });
    expect(scripted.links[0]?.isClosed).toBe(true);
  });

  it("says what was tried when nothing works", async () => {
    const scripted = new ScriptedServer((_message, talk) => talk.lost("HTTP_STATUS", 404));
    const dialer = scripted.dialer("http", { fallback: () => scripted.link("sse") });
    const error = (await Client.connect(dialer, options).catch((reason: unknown) => reason)) as ConnectError;
    expect(error).toBeInstanceOf(ConnectError);
    expect(error.attempts.map(({ what }) => what)).toEqual(["server/discover over http", "initialize over http"]);
    expect(error.message).toContain("the scripted sse server");
    expect(scripted.open).toBe(0);
  });
});

describe("the handshake", () => {
  const old = (initialize: Answer): ScriptedServer => server((talk) => talk.fail({ code: -32601 }), initialize);

  it.each(["2025-06-18", "2025-03-26", "2024-11-05"])("takes the counter-offer %s", async (version) => {
    const scripted = old((talk) => talk.answer(initialized(version)));
    await using client = await Client.connect(scripted.dialer(), options);
    expect(client.revision).toBe(version);
  });

  it.each(["2099-01-01", "2026-07-28"])("refuses the counter-offer %s, naming both lists", async (version) => {
    const error = await failure(
      old((talk) => talk.answer(initialized(version))),
      "stdio",
    );
    expect(error.code).toBe("INCOMPATIBLE");
    expect(error.message).toContain(version);
    expect(error.message).toContain("2025-11-25, 2025-06-18");
  });

  it("understands -32602 with a list", async () => {
    const scripted = new ScriptedServer((message, talk) => {
      if (message.method === "server/discover") talk.fail({ code: -32601 });
      else if (message.params?.["protocolVersion"] === "2025-03-26") talk.answer(initialized("2025-03-26"));
      else talk.fail({ code: -32602, data: { supported: ["2025-03-26"], requested: LEGACY } });
    });
    await using client = await Client.connect(scripted.dialer(), options);
    expect(client.revision).toBe("2025-03-26");
  });

  it("names both lists when -32602 lists nothing common", async () => {
    const error = await failure(
      old((talk) => talk.fail({ code: -32602, data: { supported: ["1999-01-01"], requested: LEGACY } })),
      "stdio",
    );
    expect(error.message).toMatch(/speaks 1999-01-01; this client may speak 2026-07-28/);
  });

  it("hands on what the server refuses it with", async () => {
    const error = await failure(
      old((talk) => talk.fail({ code: -32603, message: "out of order" })),
      "stdio",
    );
    expect(error).toMatchObject({ code: "REFUSED", cause: { code: -32603 } });
    expect(error.message).toContain("out of order");
  });
});

describe("a pin", () => {
  it("of an older revision asks for nothing else", async () => {
    const scripted = server(
      () => undefined,
      (talk) => talk.answer(initialized("2025-06-18")),
    );
    await using client = await Client.connect(scripted.dialer(), { ...options, revision: "2025-06-18" });
    expect(scripted.methods[0]).toBe("initialize");
    expect(client.revision).toBe("2025-06-18");
  });

  it("is not given up for a counter-offer", async () => {
    const scripted = server(() => undefined);
    expect((await failure(scripted, "stdio", { revision: "2025-06-18" })).code).toBe("INCOMPATIBLE");
  });

  it("of the newest one does not fall back", async () => {
    const scripted = server((talk) => talk.fail({ code: -32601 }));
    const error = await failure(scripted, "stdio", { revision: "2026-07-28" });
    expect(error.code).toBe("INCOMPATIBLE");
    expect(scripted.methods).toEqual(["server/discover"]);
  });

  it("nobody knows, or that contradicts the era, is refused before anything is sent", async () => {
    const scripted = server(() => undefined);
    await expect(Client.connect(scripted.dialer(), { revision: "2020-01-01" })).rejects.toMatchObject({
      code: "UNKNOWN_REVISION",
    });
    const both = { revision: "2026-07-28", era: "handshake" } as const;
    await expect(Client.connect(scripted.dialer(), both)).rejects.toMatchObject({ code: "INCOMPATIBLE" });
    expect(scripted.links).toHaveLength(0);
  });
});

describe("a verdict", () => {
  const key = "the server";
  const remembered = (verdict: object): MemoryVerdicts => {
    const verdicts = new MemoryVerdicts();
    verdicts.set(key, {
      era: "handshake",
      version: LEGACY,
      fallback: false,
      expiresAt: Date.now() + 60_000,
      ...verdict,
    });
    return verdicts;
  };
  const methods = async (script: Script, verdicts: MemoryVerdicts): Promise<string[]> => {
    const scripted = new ScriptedServer(script);
    await using client = await Client.connect(scripted.dialer("stdio", { key }), { ...options, verdicts });
    expect(client.revision).not.toBe("");
    return scripted.methods;
  };
  const both: Script = ({ method }, talk) => {
    if (method === "initialize") talk.answer(initialized(LEGACY));
    if (method === "server/discover") talk.fail({ code: -32601 });
  };

  it("of an older server spares the question", async () => {
    const verdicts = new MemoryVerdicts();
    expect((await methods(both, verdicts))[0]).toBe("server/discover");
    expect((await methods(both, verdicts))[0]).toBe("initialize");
  });

  it("is not prolonged by being used", async () => {
    const verdicts = new MemoryVerdicts();
    await methods(both, verdicts);
    const first = verdicts.get(key);
    expect((await methods(both, verdicts))[0]).toBe("initialize");
    expect(verdicts.get(key)).toBe(first);
  });

  it("of an older server that leaves initialize without an answer since is asked about again", async () => {
    const modern: Script = ({ method }, talk) => {
      if (method === "server/discover") talk.answer(DISCOVERED);
    };
    const verdicts = remembered({});
    expect(await methods(modern, verdicts)).toEqual(["initialize", "server/discover"]);
    expect(verdicts.get(key)).toMatchObject({ era: "stateless", version: "2026-07-28" });
  });

  it("expires", async () => {
    expect((await methods(both, remembered({ expiresAt: Date.now() - 1 })))[0]).toBe("server/discover");
  });

  it("that is stale fails over, either way", async () => {
    const modern: Script = ({ method }, talk) => {
      if (method === "server/discover") talk.answer(DISCOVERED);
      if (method === "initialize") talk.fail({ code: -32601 });
    };
    expect(await methods(modern, remembered({}))).toEqual(["initialize", "server/discover"]);
    const older = await methods(both, remembered({ era: "stateless", version: "2026-07-28" }));
    expect(older.slice(0, 2)).toEqual(["server/discover", "initialize"]);
  });

  it("of a server that only HTTP+SSE reached leads there at once", async () => {
    const scripted = new ScriptedServer((message, talk) => {
      if (message.method === "initialize") talk.answer(initialized("2024-11-05"));
    });
    const dialer = scripted.dialer("http", { key, fallback: () => scripted.link("sse") });
    const verdicts = remembered({ fallback: true, version: "2024-11-05" });
    await using client = await Client.connect(dialer, { ...options, verdicts });
    expect(client.transport).toBe("sse");
    expect(scripted.links).toHaveLength(1);
  });
});

it("what is required is asked for before anything is done", async () => {
  const scripted = server((talk) => talk.answer({ ...DISCOVERED, capabilities: { tools: {} } }));
  const error = await failure(scripted, "stdio", { require: ["tools", "prompts", "logging"] });
  expect(error.code).toBe("NOT_SUPPORTED");
  expect(error.message).toBe("scripted lacks what is required: prompts, logging. It declared tools.");
});

it("a signal gives up connecting", async () => {
  const scripted = server(() => undefined);
  const controller = new AbortController();
  const connecting = failure(scripted, "http", { signal: controller.signal });
  queueMicrotask(() => controller.abort());
  expect((await connecting).code).toBe("CANCELLED");
});
