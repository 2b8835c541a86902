// The Streamable HTTP link against this library's own server: both eras, streams, cuts, and the end of sessions.
import { describe, expect, it } from "vitest";
import { call, modern, modernHeaders, start, testServer } from "../http/http-fixture.js";
import { linkTo, type Json } from "./transport-fixture.js";

function content({ message }: { readonly message?: Json }): string {
  const result = message?.["result"] as { content: { text: string }[] };
  return result.content.map(({ text }) => text).join();
}

const echo = (text: string): Json => ({ name: "echo", arguments: { text } });

describe.each(["2025-03-26", "2025-06-18", "2025-11-25"])("a session in %s", (version) => {
  it("calls, hears progress before the answer, answers a question, and ends", async () => {
    const serving = await start();
    const { link, sink, ask, handshake } = await linkTo(serving.url);
    await handshake(version);
    expect(content(await ask("tools/call", echo("hé 🦉")))).toBe("hé 🦉");
    const steps = await ask("tools/call", { name: "steps", _meta: { progressToken: "p" } });
    expect(content(steps)).toBe("done");
    expect(sink.arrivals.filter(({ message }) => message["method"] === "notifications/progress")).toHaveLength(2);
    expect(serving.stats()).toMatchObject({ sessions: 1 });
    await link.close();
    expect(serving.stats()).toMatchObject({ sessions: 0 });
    expect(sink.ends).toEqual([undefined]);
    expect(sink.losses).toEqual([]);
  });
});

describe("the stateless era", () => {
  it("calls without a session and cancels by closing the stream", async () => {
    const server = testServer();
    const cancelled = new Promise<void>((resolve) => {
      server.tool("wait", {
        run: (_, ctx) =>
          new Promise((__, reject) => {
            ctx.signal.addEventListener("abort", () => {
              resolve();
              reject(new Error("gone"));
            });
          }),
      });
    });
    const { url } = await start(server);
    const { link, sink } = await linkTo(url);
    link.established?.({ era: "stateless", version: "2026-07-28" });
    const message = modern("tools/call", echo("hello"), {}, 7);
    void link.send({
      text: JSON.stringify(message),
      kind: "request",
      id: 7,
      method: "tools/call",
      headers: modernHeaders(message),
    });
    expect(content(await sink.outcome(7))).toBe("hello");
    const waiting = modern("tools/call", { name: "wait" }, {}, 8);
    void link.send({ text: JSON.stringify(waiting), kind: "request", id: 8, headers: modernHeaders(waiting) });
    const other = modern("tools/call", echo("again"), {}, 9);
    void link.send({ text: JSON.stringify(other), kind: "request", id: 9, headers: modernHeaders(other) });
    await sink.outcome(9);
    expect(link.forget?.(8)).toBe(true);
    await cancelled;
    expect(sink.losses).toEqual([]);
    expect(call).toBeDefined();
  });
});
