// A server that answers with nothing but streams: the session it opens is still named.
import { describe, expect, it } from "vitest";
import { call, messages, session, start, testServer } from "./http-fixture.js";

describe("nothing but streams for answers", () => {
  it.each(["at once", "after a while"])("names the session that initialize opened %s", async (when) => {
    const server = testServer();
    if (when !== "at once") {
      server.use(async (_request, next) => {
        await Promise.resolve();
        return next();
      });
    }
    const { url } = await start(server, { answers: "sse" });
    const opened = await session(url, "2025-11-25");
    expect(opened.id).toMatch(/^[\w-]{43}$/);
    const reply = await opened.post(call("echo", { text: "hi" }, 7));
    expect(reply.headers["content-type"]).toBe("text/event-stream");
    expect(messages(reply.text)).toMatchObject([{ id: 7, result: { content: [{ type: "text", text: "hi" }] } }]);
  });
});
