// One list of behaviour, held by every transport in both eras.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { repeated } from "../support/soak.js";
import type { Message } from "../support/stub-transport.js";
import { BALANCED } from "../cluster/http-lines.js";
import { type LinePeer, type Revision, textOf } from "./line-peer.js";
import { type Open, TRANSPORTS } from "./transports.js";

const REVISIONS: readonly Revision[] = ["2025-11-25", "2026-07-28"];

/** Requests whose answers are the same everywhere. */
const QUESTIONS: readonly (readonly [string, Message])[] = [
  ["tools/list", {}],
  ["tools/call", { name: "every_content" }],
  ["tools/call", { name: "get_weather_data", arguments: { location: "Paris" } }],
  ["tools/call", { name: "list_numbers" }],
  ["tools/call", { name: "fails" }],
  ["tools/call", { name: "calculate_sum", arguments: { a: "1" } }],
  ["tools/call", { name: "no_such_tool" }],
  ["tools/call", {}],
  ["tools/list", { cursor: "nonsense" }],
  ["resources/list", {}],
  ["resources/templates/list", {}],
  ["resources/read", { uri: "everything://notes/2" }],
  ["resources/read", { uri: "everything://blob" }],
  ["resources/read", { uri: "everything://missing" }],
  ["prompts/list", {}],
  ["prompts/get", { name: "code_review", arguments: { code: "1" } }],
  ["prompts/get", { name: "code_review" }],
  [
    "completion/complete",
    { ref: { type: "ref/prompt", name: "code_review" }, argument: { name: "language", value: "py" } },
  ],
  ["example.org/reverse", { text: "abc" }],
  ["no/such/method", {}],
];

const cases = [
  ...Object.entries(TRANSPORTS).flatMap(([name, open]) => REVISIONS.map((revision) => ({ name, revision, open }))),
  ...BALANCED,
];

describe.each(cases)("$name in $revision", ({ name, revision, open }) => {
  /** Behind a balancer each line goes its own way. */
  const inOrder = name in TRANSPORTS;
  let peer: LinePeer;
  beforeAll(async () => {
    peer = await open(revision);
  });
  afterAll(async () => {
    peer.wire.close();
    await peer.wire.closed;
    expect(peer.judge.faults).toEqual([]);
  });

  it("gives the answers every transport gives", async () => {
    const reference = await (TRANSPORTS["memory"] as Open)(revision);
    for (const [method, params] of QUESTIONS) {
      const [answer, expected] = await Promise.all([
        peer.call(method, params, "same"),
        reference.call(method, params, "same"),
      ]);
      expect(answer, method).toEqual(expected);
    }
  });

  it("never crosses the ids of many interleaved calls, numbers and strings alike (M10)", async () => {
    const calls = Array.from({ length: repeated(150, 500) }, (_, n) => {
      const id = n % 2 === 0 ? 10_000 + n : String(10_000 + n - 1);
      const text = `call ${n}`;
      return peer.tool("later", { turns: (n * 7) % 11, text }, id).then((answer) => {
        expect([answer["id"], textOf(answer)]).toEqual([id, text]);
      });
    });
    await Promise.all(calls);
  });

  it("aborts what is cancelled, answers nothing for it, and goes on (M15)", async () => {
    const before = await hung(peer);
    void peer.tool("hang", undefined, "silent");
    const told = peer.tool("hang", undefined, "told");
    while ((await hung(peer)).started < before.started + 2) continue;
    peer.send({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: "silent", reason: "test" } });
    peer.send({ jsonrpc: "2.0", method: "$/cancelRequest", params: { id: "told" } });
    expect((await told)["error"]).toMatchObject({ code: -32800 });
    if (inOrder) expect((await hung(peer)).aborted).toBe(before.aborted + 2);
    else await expect.poll(async () => (await hung(peer)).aborted).toBe(before.aborted + 2);
    expect(peer.messages.filter(({ id }) => id === "silent")).toEqual([]);
  });

  it("lets progress grow, and end before the answer (M40)", async () => {
    await peer.call("tools/call", { name: "count", arguments: { to: 40 }, _meta: { progressToken: "p" } }, "counted");
    await peer.tool("echo", { text: "afterwards" });
    const end = peer.messages.findIndex(({ id }) => id === "counted");
    const values = peer.messages.flatMap((message, at) => {
      if (message["method"] !== "notifications/progress") return [];
      expect(at).toBeLessThan(end);
      return [(message["params"] as { progress: number }).progress];
    });
    expect(values).toEqual(Array.from({ length: 40 }, (_, n) => n + 1));
  });

  it("answers a line that is no message, and serves the next (M16)", async () => {
    const count = peer.messages.length;
    peer.send("{ not json");
    const answer = await peer.tool("echo", { text: "next" });
    expect(textOf(answer)).toBe("next");
    const refusal = expect.objectContaining({ error: expect.objectContaining({ code: -32700 }) });
    if (inOrder) expect(peer.messages[count]).toEqual(refusal);
    else await expect.poll(() => peer.messages.slice(count)).toContainEqual(refusal);
  });

  it("carries any text, a megabyte too, on one line (M16)", async () => {
    for (const text of ["", "a\nb\r\nc\u2028d\u2029e", "\u0000\u001f\u007f", "ünï 🙂 \ud83d", "x".repeat(1_000_000)]) {
      expect(textOf(await peer.tool("echo", { text }))).toBe(text);
    }
  });
});

describe.each(cases)("the end of $name in $revision", ({ name, revision, open }) => {
  it("comes soon, whatever still runs", async () => {
    let best = Infinity;
    // The best of some: a busy machine takes its time.
    for (let run = 0; run < 5 && best >= 2_000; run++) {
      const peer = await open(revision);
      void peer.tool("hang");
      await peer.tool("echo", { text: "x" });
      const before = performance.now();
      peer.wire.close();
      await peer.wire.closed;
      best = Math.min(best, performance.now() - before);
    }
    expect(best).toBeLessThan(2_000);
  });

  it.skipIf(name === "memory")("of input lets what was asked be answered", async () => {
    const peer = await open(revision);
    const answers = [peer.tool("echo", { text: "last words" }), peer.tool("later", { turns: 3, text: "later words" })];
    peer.wire.end?.();
    expect((await Promise.all(answers)).map(textOf)).toEqual(["last words", "later words"]);
    expect(await peer.wire.closed).toEqual(name === "stdio" ? { code: 0, signal: null } : undefined);
    expect(peer.judge.faults).toEqual([]);
  });
});

async function hung(peer: LinePeer): Promise<{ started: number; aborted: number }> {
  return JSON.parse(textOf(await peer.tool("hung")) ?? "") as { started: number; aborted: number };
}
