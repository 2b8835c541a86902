// Pages a person is asked to open are web addresses, whoever asks; answers of the wrong shape are refused.
import { describe, expect, it } from "vitest";
import { inputRequired, Server } from "@secure-local/mcp/server";
import { readAnswer } from "../../src/protocol/elicitation-form.js";
import { isWebAddress } from "../../src/protocol/method.js";
import { Questions } from "../../src/client/questions.js";
import { handshake, type Message, serveStub, stateless } from "../support/stub-transport.js";

const NO_PAGES = [
  "not a url",
  "",
  "/relative",
  "javascript:alert(1)",
  "JavaScript:alert(1)",
  " javascript:alert(1)",
  "java\tscript:alert(1)",
  "file:///etc/passwd",
  "data:text/html,x",
  "vbscript:x",
  "ms-settings:x",
  "ftp://host/x",
  "https://",
  "https://host/\n",
  "https:\\\\host",
  7,
  undefined,
];
const PAGES = ["https://example.com/consent?id=1#x", "http://127.0.0.1:8080/", "HTTPS://EXAMPLE.COM"];

const URLS = { elicitation: { url: {}, form: {} } };

describe("a page to open", () => {
  it.each([...NO_PAGES.map((url) => [url, false] as const), ...PAGES.map((url) => [url, true] as const)])(
    "%j: %s",
    async (url, taken) => {
      expect(isWebAddress(url)).toBe(taken);
      const server = new Server({ name: "s", version: "1" });
      server.tool("page", {
        run: async (_args, ctx) => (await ctx.elicit({ message: "m", url: url as string })).action,
      });
      server.tool("by-hand", {
        run: () =>
          inputRequired({
            requests: { a: { method: "elicitation/create", params: { mode: "url", message: "m", url } as never } },
          }),
      });
      for (const [at, name] of ["page", "by-hand"].entries()) {
        for (const session of [true, false]) {
          const peer = serveStub(server);
          if (session) {
            peer.send(handshake(0, "2025-11-25", URLS));
            await peer.answer(0);
          }
          const params = { name };
          peer.send(
            session
              ? { jsonrpc: "2.0", id: 1, method: "tools/call", params }
              : stateless(1, "tools/call", params, URLS),
          );
          const asked = (): boolean => JSON.stringify(peer.written).includes('"mode":"url"');
          const settled = (): boolean =>
            asked() || peer.written.some(({ id, method }) => id === 1 && method === undefined);
          await expect.poll(settled, { interval: 1 }).toBe(true);
          expect([at, session, asked()]).toEqual([at, session, taken]);
        }
      }
      const shown: unknown[] = [];
      const questions = new Questions({
        elicit: (request: unknown) => (shown.push(request), { action: "accept" }),
      } as never);
      const about = { signal: new AbortController().signal, server: undefined };
      const answer = questions.answer("elicitation/create", { mode: "url", message: "m", url }, about as never, URLS);
      if (taken) expect(await answer).toMatchObject({ action: "accept" });
      else
        await expect(answer).rejects.toMatchObject({ code: -32602, message: expect.stringContaining("web address") });
      expect(shown).toHaveLength(taken ? 1 : 0);
    },
  );
});

describe("the content of an accepted form", () => {
  const form = { type: "object" as const, properties: { name: { type: "string" as const, default: "Ada" } } };

  it.each([[[]], ["x"], [7], [null], [true]])("is no %j", async (content) => {
    expect(readAnswer(form, content).faults).toHaveLength(1);
    const server = new Server({ name: "s", version: "1" });
    server.tool("ask", {
      run: async (_args, ctx) => JSON.stringify(await ctx.elicit({ message: "?", schema: form })),
    });
    const peer = serveStub(server);
    peer.send(stateless(1, "tools/call", { name: "ask" }, { elicitation: {} }));
    const { requestState } = (await peer.answer(1))["result"] as { requestState: string };
    const inputResponses = { "ask-1": { action: "accept", content } };
    peer.send(
      JSON.stringify(stateless(2, "tools/call", { name: "ask", requestState, inputResponses }, { elicitation: {} })),
    );
    expect((await peer.answer(2))["error"]).toMatchObject({ code: -32602 });
    peer.send(handshake(3, "2025-11-25", { elicitation: {} }));
    await peer.answer(3);
    peer.send({ jsonrpc: "2.0", id: 4, method: "tools/call", params: { name: "ask" } });
    const question = (): Message | undefined => peer.written.find(({ method }) => method === "elicitation/create");
    await expect.poll(question, { interval: 1 }).toBeDefined();
    peer.send(JSON.stringify({ jsonrpc: "2.0", id: question()?.["id"], result: { action: "accept", content } }));
    expect((await peer.answer(4))["result"] ?? (await peer.answer(4))["error"]).not.toMatchObject({ isError: false });
  });

  it("may be left out", () => {
    expect(readAnswer(form, undefined)).toEqual({ content: { name: "Ada" }, faults: [] });
  });
});
