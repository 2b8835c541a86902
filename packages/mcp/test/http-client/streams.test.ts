// Event streams that end early: taken up again in time and place, without loss or duplicate, and not for ever.
import { describe, expect, it } from "vitest";
import { gate, start, testServer } from "../http/http-fixture.js";
import { soaking } from "../support/soak.js";
import { answer, byHand, type ByHand, linkTo, notification, replyJson, type Seen } from "./transport-fixture.js";
import { within } from "../support/within.js";

const EVENTS = { "content-type": "text/event-stream" };

/** A hand-written server with a session; `serve` gets what comes after the handshake. */
function sessionServer(serve: (seen: Seen) => void): Promise<ByHand> {
  return byHand((seen) => {
    const { method, message, response } = seen;
    if (message["method"] === "initialize") replyJson(seen, {}, { "mcp-session-id": "s1" });
    else if (message["method"] === "notifications/initialized") response.writeHead(202).end();
    else if (method === "DELETE") response.writeHead(405).end();
    else serve(seen);
  });
}

/** Answers GETs without Last-Event-ID with 405. */
function withoutStanding(serve: (seen: Seen) => void): Promise<ByHand> {
  return sessionServer((seen) => {
    if (seen.method === "GET" && seen.headers["last-event-id"] === undefined) seen.response.writeHead(405).end();
    else serve(seen);
  });
}

describe("a request's stream", () => {
  it("is taken up again after the time the server asked for, where it left off", async () => {
    let ended = 0;
    let back = 0;
    let question: Seen | undefined;
    const { url, seen } = await withoutStanding((one) => {
      if (one.method === "POST") {
        question = one;
        one.response.writeHead(200, EVENTS).write("id: event-1\nretry: 300\ndata: \n\n");
        one.response.end(() => (ended = performance.now()));
      } else {
        back = performance.now();
        one.response.writeHead(200, EVENTS).end(`id: event-2\ndata: ${answer(question as Seen)}\n\n`);
      }
    });
    const { ask, handshake, sink } = await linkTo(url);
    await handshake();
    expect((await ask("tools/call")).message).toMatchObject({ result: {} });
    expect(back - ended).toBeGreaterThanOrEqual(299);
    expect(seen.at(-1)?.headers).toMatchObject({
      "last-event-id": "event-1",
      "mcp-session-id": "s1",
      "mcp-protocol-version": "2025-11-25",
      accept: "text/event-stream",
    });
    expect(sink.losses).toEqual([]);
  });

  it("is not taken up without ids, and says that the request may have been served", async () => {
    const { url, seen } = await withoutStanding(({ response }) =>
      response.writeHead(200, EVENTS).end(": hi\n\ndata: \n\n"),
    );
    const { ask, handshake } = await linkTo(url);
    await handshake();
    const { error } = await ask("tools/call");
    expect(error).toMatchObject({ code: "OUTCOME_UNKNOWN" });
    expect(error?.message).toContain("may have been served");
    expect(seen.filter(({ method }) => method === "GET")).toHaveLength(1);
  });

  it("is not taken up when the server wants an absurd wait", async () => {
    const { url } = await withoutStanding(({ response }) =>
      response.writeHead(200, EVENTS).end("id: 1\nretry: 99999999999999\ndata: \n\n"),
    );
    const { ask, handshake } = await linkTo(url);
    await handshake();
    expect((await ask("tools/call")).error?.message).toContain("99999999999999 ms");
  });

  it("is given up when it brings nothing, round after round", async () => {
    const { url, seen } = await withoutStanding(({ response }) =>
      response.writeHead(200, EVENTS).end("id: 1\nretry: 1\n\n"),
    );
    const { ask, handshake } = await linkTo(url, { limits: { emptyRounds: 3 } });
    await handshake();
    expect((await ask("tools/call")).error).toMatchObject({ code: "OUTCOME_UNKNOWN" });
    expect(seen.filter(({ headers }) => headers["last-event-id"] === "1")).toHaveLength(3);
  });

  it.each([400, 405])("is given up when the server refuses to go on with %i", async (status) => {
    const { url } = await withoutStanding(({ method, response }) => {
      if (method === "GET") response.writeHead(status).end("gone");
      else response.writeHead(200, EVENTS).end("id: 1\nretry: 1\ndata: \n\n");
    });
    const { ask, handshake } = await linkTo(url);
    await handshake();
    const { error } = await ask("tools/call");
    expect(error).toMatchObject({ code: "OUTCOME_UNKNOWN" });
    expect(error?.message).toContain(`HTTP ${status}`);
  });

  it("leaves open whether the session ended meanwhile, which the next message shows", async () => {
    let posts = 0;
    const { url, seen } = await withoutStanding(({ method, response }) => {
      if (method === "GET" || ++posts > 1) response.writeHead(404).end();
      else response.writeHead(200, EVENTS).end("id: 1\nretry: 1\ndata: \n\n");
    });
    const { ask, handshake } = await linkTo(url);
    await handshake();
    expect((await ask("tools/call")).error).toMatchObject({ code: "OUTCOME_UNKNOWN" });
    expect((await ask("tools/call")).error).toMatchObject({ code: "SESSION_EXPIRED" });
    const before = seen.length;
    expect((await ask("tools/call")).error).toMatchObject({ code: "SESSION_EXPIRED" });
    expect(seen).toHaveLength(before);
    await handshake();
    expect(seen.length).toBeGreaterThan(before);
  });

  it.each(["", "\n", "\r", "\u0001", "x".repeat(2_000)])("has no use for the id %j", async (id) => {
    const { url } = await withoutStanding(({ response }) =>
      response.writeHead(200, EVENTS).end(`id: ${id}\nretry: 1\ndata: \n\n`),
    );
    const { ask, handshake } = await linkTo(url);
    await handshake();
    expect((await ask("tools/call")).error).toMatchObject({ code: "OUTCOME_UNKNOWN" });
  });

  it("sends an id beyond ASCII back as its bytes", async () => {
    let question: Seen | undefined;
    const { url, seen } = await withoutStanding((one) => {
      if (one.method === "POST") (question = one).response.writeHead(200, EVENTS).end("id: é🦉\nretry: 1\ndata: \n\n");
      else one.response.writeHead(200, EVENTS).end(`data: ${answer(question as Seen)}\n\n`);
    });
    const { ask, handshake } = await linkTo(url);
    await handshake();
    await ask("tools/call");
    expect(Buffer.from(String(seen.at(-1)?.headers["last-event-id"]), "latin1").toString()).toBe("é🦉");
  });

  it("reads nothing more while the receiver is busy", async () => {
    const busy = gate();
    const { url } = await withoutStanding((one) => {
      const note = `data: {"jsonrpc":"2.0","method":"notifications/message"}\n\n`;
      one.response.writeHead(200, EVENTS).end(`${note.repeat(3)}data: ${answer(one)}\n\n`);
    });
    const { ask, handshake, sink } = await linkTo(url);
    await handshake();
    const before = sink.arrivals.length;
    sink.hold = () => busy.opened;
    const asked = ask("tools/call");
    await sink.until(({ arrivals }) => arrivals.length > before);
    for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
    expect(sink.arrivals).toHaveLength(before + 1);
    busy.open();
    await asked;
    expect(sink.arrivals).toHaveLength(before + 4);
  });

  it.each(["a stream that is open", "nothing yet"])(
    "of a request that was left is read for a moment, and ends even when the server leaves it open (%s)",
    async (state) => {
      const [posted, closed, left] = [gate(), gate(), gate()];
      const note = `data: {"jsonrpc":"2.0","method":"note"}\n\n`;
      const { url } = await withoutStanding((one) => {
        one.response.on("close", () => closed.open());
        if (state !== "nothing yet") one.response.writeHead(200, EVENTS).write(": open\n\n");
        void left.opened.then(() => {
          if (!one.response.headersSent) one.response.writeHead(200, EVENTS);
          one.response.write(note);
        });
        posted.open();
      });
      const { ask, handshake, sink, link } = await linkTo(url, { limits: { lingerMs: 1_000 } });
      await handshake();
      const before = sink.arrivals.length;
      void ask("tools/call");
      await posted.opened;
      // The second after the handshake's. In a session the transport has no way of its own to tell the server.
      expect(link.forget?.(2)).toBe(false);
      left.open();
      await sink.until(({ arrivals }) => arrivals.length > before);
      await expect(within(closed.opened, "the stream is closed")).resolves.toBeUndefined();
    },
  );

  it("ends soon after the answer even when the server leaves it open", async () => {
    const closed = gate();
    const { url } = await withoutStanding((one) => {
      one.response.on("close", () => closed.open());
      one.response.writeHead(200, EVENTS).write(`data: ${answer(one)}\n\n`);
    });
    const { ask, handshake } = await linkTo(url, { limits: { lingerMs: 20 } });
    await handshake();
    await ask("tools/call");
    await expect(within(closed.opened, "the stream is closed")).resolves.toBeUndefined();
  });
});

describe("requests that nobody waits for any more", () => {
  const ways = ["left before any reply", "left with an open stream", "answered on a stream that stays open"] as const;

  it.each(ways)(
    "keep none from being made, are themselves no more than may wait, and end with the link: %s",
    async (way) => {
      const most = 3;
      const open = new Set<number>();
      let posted = gate();
      let told = gate();
      const { url } = await withoutStanding((one) => {
        const { response, message } = one;
        if (message["method"] === "ping") return replyJson(one);
        const id = Number(message["id"]);
        open.add(id);
        response.on("close", () => (open.delete(id), told.open()));
        if (way !== ways[0]) response.writeHead(200, EVENTS).write(": open\n\n");
        if (way === ways[2]) response.write(`data: ${answer(one)}\n\n`);
        posted.open();
      });
      const { ask, handshake, link, sink } = await linkTo(url, { limits: { requests: most, lingerMs: 600_000 } });
      await handshake();
      const closed = async (left: number): Promise<void> => {
        for (; open.size > left; told = gate()) await within(told.opened, `no more than ${left} streams are open`);
      };
      // The first was the handshake's.
      for (let id = 2; id < 2 + 3 * most; id++) {
        posted = gate();
        const asked = ask("tools/call");
        await within(Promise.race([posted.opened, asked]), "the request is sent");
        if (way === ways[2]) await asked;
        else link.forget?.(id);
      }
      expect(sink.losses).toEqual([]);
      await closed(most);
      expect([...open]).toEqual(Array.from({ length: most }, (_, n) => 2 + 2 * most + n));
      expect(await ask("ping")).toMatchObject({ message: { result: {} } });
      await link.close();
      await closed(0);
      expect(sink.losses).toEqual([]);
    },
  );
});

describe("a stream cut at any byte", () => {
  it("brings each message once", async () => {
    const whole = (id: unknown): string => {
      const note = (n: number): string => `id: ${String(id)}-${n}\ndata: {"jsonrpc":"2.0","method":"note"}\n\n`;
      const last = `id: ${String(id)}-3\ndata: ${JSON.stringify({ jsonrpc: "2.0", id, result: {} })}\n\n`;
      return `id: ${String(id)}-0\nretry: 1\ndata: \n\n${note(1)}${note(2)}${last}`;
    };
    const { url } = await withoutStanding(({ method, headers, message, response }) => {
      response.writeHead(200, EVENTS);
      if (method === "POST") {
        const { cut } = message["params"] as { cut: number };
        response.write(whole(message["id"]).slice(0, cut), () => response.destroy());
      } else {
        const last = String(headers["last-event-id"]);
        const text = whole(Number(last.split("-")[0]));
        response.end(text.slice(text.indexOf("\n\n", text.indexOf(`id: ${last}\n`)) + 2));
      }
    });
    const { ask, handshake, sink } = await linkTo(url);
    await handshake();
    const first = whole(10).indexOf("\n\n") + 2;
    const text = whole(100);
    const all = Array.from({ length: text.length - first + 1 }, (_, index) => first + index);
    // Around the ends of lines every byte counts; within a line a few stand for all of it.
    const cuts = all.filter((cut) => soaking || cut % 9 === 0 || text.slice(cut - 2, cut + 2).includes("\n"));
    expect(cuts.length).toBeGreaterThan(40);
    await Promise.all(cuts.map((cut) => ask("tools/call", { cut })));
    expect(sink.losses).toEqual([]);
    const heard = new Map<unknown, unknown[]>();
    for (const { message, info } of sink.arrivals) {
      heard.set(info?.forRequest, [...(heard.get(info?.forRequest) ?? []), message["method"] ?? "answer"]);
    }
    heard.delete(1);
    expect(heard.size).toBe(cuts.length);
    for (const got of heard.values()) expect(got).toEqual(["note", "note", "answer"]);
  });
});

describe("the standing stream", () => {
  it("is open before the first call, and is taken up again with its own cursor", async () => {
    const opened: string[] = [];
    const second = gate();
    const { url, seen } = await sessionServer((one) => {
      if (one.method === "POST") return replyJson(one);
      opened.push(String(one.headers["last-event-id"]));
      one.response.writeHead(200, EVENTS).write('id: g1\nretry: 1\ndata: {"jsonrpc":"2.0","method":"note"}\n\n');
      if (opened.length === 1) one.response.end();
      else second.open();
    });
    const { ask, handshake, sink } = await linkTo(url);
    await handshake();
    await ask("tools/list");
    expect(seen.findIndex(({ method }) => method === "GET")).toBeLessThan(
      seen.findIndex(({ message }) => message["method"] === "tools/list"),
    );
    await second.opened;
    await sink.until(({ arrivals }) => arrivals.filter(({ message }) => message["method"] === "note").length === 2);
    expect(opened).toEqual(["undefined", "g1"]);
  });

  it("is asked for when the server has taken the end of the handshake, and not before", async () => {
    const order: string[] = [];
    const { url } = await byHand((one) => {
      const { method, message, response } = one;
      order.push((message["method"] as string | undefined) ?? method);
      if (method === "GET") return void response.writeHead(405).end();
      if (message["id"] !== undefined) return replyJson(one);
      setImmediate(() => {
        order.push("taken");
        response.writeHead(202).end();
      });
    });
    const { ask, link } = await linkTo(url);
    await ask("initialize");
    void link.send(notification("notifications/initialized"));
    link.established?.({ era: "handshake", version: "2025-11-25" });
    await ask("tools/list");
    expect(order).toEqual(["initialize", "notifications/initialized", "taken", "GET", "tools/list"]);
  });

  it("may stay silent without holding up the calls", async () => {
    const { url } = await sessionServer((one) => {
      if (one.method === "POST") replyJson(one);
    });
    const { ask, handshake } = await linkTo(url, { limits: { standingWaitMs: 20 } });
    await handshake();
    expect((await ask("tools/list")).message).toBeDefined();
  });

  it.each([400, 404, 405, 501])("need not exist: %i", async (status) => {
    const { url, seen } = await sessionServer((one) => {
      if (one.method === "POST") replyJson(one);
      else one.response.writeHead(status).end();
    });
    const { ask, handshake, sink } = await linkTo(url, { limits: { failures: 1 } });
    await handshake();
    expect((await ask("tools/list")).message).toBeDefined();
    expect((await ask("tools/list")).message).toBeDefined();
    expect(seen.filter(({ method }) => method === "GET")).toHaveLength(1);
    expect(sink.losses).toEqual([]);
  });

  it("goes on without what the server no longer keeps", async () => {
    const gets: (string | undefined)[] = [];
    const third = gate();
    const { url } = await sessionServer((one) => {
      if (one.method === "POST") return replyJson(one);
      gets.push(one.headers["last-event-id"] as string | undefined);
      if (gets.length === 1) one.response.writeHead(200, EVENTS).end("id: old\nretry: 1\ndata: \n\n");
      else if (gets.length === 2) one.response.writeHead(400).end();
      else {
        one.response.writeHead(200, EVENTS).flushHeaders();
        third.open();
      }
    });
    const { handshake } = await linkTo(url);
    await handshake();
    await third.opened;
    expect(gets).toEqual([undefined, "old", undefined]);
  });
});

describe("our own server's streams", () => {
  it("lose nothing when the tool hangs up and the client comes back", async () => {
    const { url } = await start();
    const { ask, handshake, sink } = await linkTo(url);
    await handshake();
    const { message } = await ask("tools/call", { name: "hang-up" });
    expect(JSON.stringify(message)).toContain("hung up: true");
    expect(sink.losses).toEqual([]);
  });

  it("carry a question to the client and its answer back", async () => {
    const { url } = await start();
    const { ask, handshake, sink, link } = await linkTo(url);
    await handshake();
    const asked = ask("tools/call", { name: "ask" });
    const question = (): Record<string, unknown> | undefined =>
      sink.arrivals.find(({ message }) => message["method"] === "elicitation/create")?.message;
    await sink.until(() => question() !== undefined);
    const result = { action: "accept", content: { sure: true } };
    const text = JSON.stringify({ jsonrpc: "2.0", id: question()?.["id"], result });
    await link.send({ text, kind: "response" });
    expect(JSON.stringify((await asked).message)).toContain("accept");
  });

  it("bring what belongs to no request", async () => {
    const server = testServer();
    const { url } = await start(server);
    const { ask, handshake, sink } = await linkTo(url);
    await handshake();
    await ask("tools/list");
    server.tool("late", { run: () => "x" });
    await sink.until(({ arrivals }) =>
      arrivals.some(
        ({ message, info }) =>
          message["method"] === "notifications/tools/list_changed" && info?.forRequest === undefined,
      ),
    );
    expect(notification("x").kind).toBe("notification");
  });
});
