// Many requests sent at once on few connections: bounded in what is in service and in what nobody reads, and nobody else waits for them.
import { connect, type Socket } from "node:net";
import { describe, expect, it, onTestFinished } from "vitest";
import { Server } from "../../src/server/server.js";
import { turns } from "../support/stub-transport.js";
import { gate, JSON_TYPES, type Json, modern, modernHeaders, postModern, start } from "./http-fixture.js";

const MEGABYTE = "x".repeat(1_000_000);

/** A connection of its own on which requests go out in one write. */
class Pipeline {
  readonly socket: Socket;
  readonly #host: string;

  constructor(url: string) {
    const { hostname, port, host } = new URL(url);
    this.#host = host;
    this.socket = connect({ host: hostname, port: Number(port) });
    this.socket.on("error", () => undefined);
    onTestFinished(() => void this.socket.destroy());
  }

  send(messages: readonly Json[], extra: Record<string, string> = {}): void {
    this.socket.write(messages.map((message) => this.#request(message, extra)).join(""));
  }

  /** Reads until as many replies have come; returns the ids of their answers in order. */
  async ids(count: number): Promise<unknown[]> {
    const found: number[] = [];
    let rest = "";
    this.socket.setEncoding("utf8").resume();
    await new Promise<void>((resolve) => {
      this.socket.on("close", resolve);
      this.socket.on("data", (text: string) => {
        rest += text;
        for (const [, id] of rest.matchAll(/"id":(\d+),"(?:result|error)"/g)) found.push(Number(id));
        rest = rest.slice(-60).replaceAll(/"id":\d+,"(?:result|error)"/g, "");
        if (found.length >= count) resolve();
      });
    });
    return found;
  }

  #request(message: Json, extra: Record<string, string>): string {
    const body = JSON.stringify(message);
    const headers = { host: this.#host, ...JSON_TYPES, ...modernHeaders(message), ...extra };
    const head = Object.entries({ ...headers, "content-length": String(Buffer.byteLength(body)) });
    return `POST /mcp HTTP/1.1\r\n${head.map(([name, value]) => `${name}: ${value}\r\n`).join("")}\r\n${body}`;
  }
}

function calls(name: string, count: number): Json[] {
  return Array.from({ length: count }, (_, at) => modern("tools/call", { name, arguments: {} }, {}, at + 1));
}

function named(name: string, run: () => unknown): Server {
  const server = new Server({ name: "t", version: "1" });
  server.tool(name, { run: run as () => string });
  server.tool("quick", { run: () => "quick" });
  return server;
}

describe("answers that nobody reads", () => {
  it("are no more of one connection than a few, and its reader is cut", async () => {
    let runs = 0;
    const server = named("long", () => {
      runs++;
      return MEGABYTE;
    });
    const serving = await start(server, { limits: { stallMs: 100, drainMs: 1 } });
    const lines = Array.from({ length: 4 }, () => new Pipeline(serving.url));
    for (const line of lines) {
      line.socket.pause();
      line.send(calls("long", 100));
    }
    await expect.poll(() => runs).toBeGreaterThan(4);
    expect((await postModern(serving.url, modern("tools/call", { name: "quick" }))).text).toContain("quick");
    await expect.poll(() => serving.stats().connections, { timeout: 20_000 }).toBe(0);
    // The buffers of the system hold some megabytes of each.
    expect(runs).toBeLessThan(4 * 30);
  });

  it("are cut too where each of them is short", async () => {
    const serving = await start(
      named("short", () => "y".repeat(50_000)),
      { limits: { stallMs: 100, drainMs: 1 } },
    );
    const line = new Pipeline(serving.url);
    line.socket.pause();
    line.send(calls("short", 400));
    await expect.poll(() => serving.stats().connections).toBe(1);
    await expect.poll(() => serving.stats().connections, { timeout: 20_000 }).toBe(0);
  });

  it("do not keep what they were made from: a reader that comes back in time gets all of them in order", async () => {
    const serving = await start(named("long", () => MEGABYTE));
    const line = new Pipeline(serving.url);
    line.socket.pause();
    line.send(calls("long", 40));
    await turns(50);
    expect(await line.ids(40)).toEqual(Array.from({ length: 40 }, (_, at) => at + 1));
  });
});

describe("requests behind others on one connection", () => {
  it("are all answered in order, more than may wait among them", async () => {
    const serving = await start(named("now", () => "now"));
    const line = new Pipeline(serving.url);
    line.send(calls("now", 700));
    expect(await line.ids(700)).toEqual(Array.from({ length: 700 }, (_, at) => at + 1));
  });

  it("are begun a few at a time", async () => {
    const go = gate();
    let begun = 0;
    const serving = await start(
      named("slow", async () => {
        begun++;
        await go.opened;
        return "";
      }),
    );
    const line = new Pipeline(serving.url);
    line.send(calls("slow", 40));
    await expect.poll(() => begun).toBe(4);
    await postModern(serving.url, modern("tools/call", { name: "quick" }));
    expect(begun).toBe(4);
    go.open();
    expect(await line.ids(40)).toHaveLength(40);
  });

  it("are begun after a while where those before may wait for them", async () => {
    const go = gate();
    let begun = 0;
    const serving = await start(
      named("meeting", async () => {
        if (++begun === 10) go.open();
        await go.opened;
        return "";
      }),
    );
    const line = new Pipeline(serving.url);
    line.send(calls("meeting", 10));
    expect(await line.ids(10)).toHaveLength(10);
  });

  it("are given up with the connection, waiting ones without having begun", async () => {
    const aborted = gate();
    let begun = 0;
    let cancelled = 0;
    const server = new Server({ name: "t", version: "1" });
    server.tool("slow", {
      run: async (_, ctx) => {
        begun++;
        await new Promise<void>((resolve) => ctx.signal.addEventListener("abort", () => resolve()));
        if (++cancelled === 4) aborted.open();
      },
    });
    const serving = await start(server);
    const line = new Pipeline(serving.url);
    line.send(calls("slow", 40));
    await expect.poll(() => begun).toBe(4);
    line.socket.resetAndDestroy();
    await aborted.opened;
    expect(begun).toBe(4);
  });
});

describe("a client with hundreds of calls", () => {
  /** Works in steps, as a tool does that reads files; counts the steps of all. */
  function working(): { readonly server: Server; readonly steps: () => number } {
    let steps = 0;
    const server = named("work", async () => {
      for (let step = 0; step < 10; step++) {
        steps++;
        const end = performance.now() + 0.2;
        while (performance.now() < end);
        await new Promise((resolve) => setImmediate(resolve));
      }
      return "";
    });
    return { server, steps: () => steps };
  }

  it("holds up others by no more than its share (one connection)", async () => {
    const { server, steps } = working();
    const serving = await start(server);
    const line = new Pipeline(serving.url);
    line.send(calls("work", 480));
    await expect.poll(() => steps(), { interval: 1 }).toBeGreaterThan(20);
    const before = steps();
    await postModern(serving.url, modern("tools/call", { name: "work" }));
    // Its own ten, and as many turns of four: far from the thousands of all.
    expect(steps() - before).toBeLessThan(480);
    line.socket.destroy();
  });

  it("nor over many connections, where it is known by name", async () => {
    const { server, steps } = working();
    const serving = await start(server, {
      authenticate: (request) => request.header("authorization"),
      limits: { turns: 4 },
    });
    const lines = Array.from({ length: 30 }, () => new Pipeline(serving.url));
    for (const line of lines) line.send(calls("work", 16), { authorization: "A" });
    await expect.poll(() => steps(), { interval: 1 }).toBeGreaterThan(100);
    for (const who of ["B", "A"]) {
      const before = steps();
      const message = modern("tools/call", { name: who === "B" ? "work" : "quick" });
      await postModern(serving.url, message, { authorization: who });
      // Another waits for a few of them; its own next connection for its turn among thirty.
      expect(steps() - before).toBeLessThan(who === "B" ? 480 : 2_400);
    }
    for (const line of lines) line.socket.destroy();
  });
});
