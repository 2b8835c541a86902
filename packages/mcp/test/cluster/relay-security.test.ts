// What is forged, replayed, reordered or meant for another process gets nothing done, and nothing is told in clear on the way.
import { randomBytes } from "node:crypto";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { describe, expect, it, onTestFinished } from "vitest";
import { Detours } from "../../src/cluster/detours.js";
import { NodeRelay } from "../../src/cluster/relay.js";
import { type Bus, memoryStores } from "../../src/cluster/stores.js";
import { fakeRequest as request, KEY } from "./cluster-fixture.js";

interface Started {
  readonly relay: NodeRelay;
  readonly address: string;
  readonly served: string[];
  readonly strangers: unknown[];
}

async function start(
  node: string,
  options: { key?: Buffer; addresses?: Record<string, string>; letters?: Letters } = {},
): Promise<Started> {
  const { letters } = options;
  const served: string[] = [];
  const strangers: unknown[] = [];
  const relay = new NodeRelay({
    node,
    keys: [options.key ?? KEY],
    listen: new URL("tcp://127.0.0.1:0"),
    find: async (other) => options.addresses?.[other],
    holds: () => true,
    serve: (exchange) => {
      exchange.readBody(1_000, {
        body: (_, text) => {
          served.push(text);
          exchange.reply(200, ["content-type", "text/plain"], "done");
        },
        bodyFault: () => undefined,
      });
    },
    answer: async (text) => text,
    onStranger: (error) => strangers.push(error),
    ...(letters === undefined
      ? {}
      : {
          detours: (accept) =>
            new Detours({ node, accept, mail: letters.mail, knock: (other) => letters.knock(other, node) }),
        }),
  });
  letters?.relays.set(node, relay);
  const address = await relay.open();
  onTestFinished(() => relay.close());
  return { relay, address, served, strangers };
}

/** Stands between two processes: `change` makes other bytes of what the caller sends; all of it is kept. */
async function between(
  address: string,
  change: (chunk: Buffer, n: number) => Buffer = (chunk) => chunk,
): Promise<{ address: string; sent: Buffer[]; received: Buffer[] }> {
  const sent: Buffer[] = [];
  const received: Buffer[] = [];
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    const onward = connect(Number(new URL(address).port), "127.0.0.1");
    for (const each of [socket, onward]) sockets.add(each.on("error", () => undefined));
    socket.on("data", (chunk: Buffer) => onward.write(change(chunk, sent.push(chunk))));
    onward.on("data", (chunk: Buffer) => {
      received.push(chunk);
      socket.write(chunk);
    });
    onward.on("close", () => socket.destroy());
    socket.on("close", () => onward.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  });
  return { address: `tcp://127.0.0.1:${(server.address() as AddressInfo).port}`, sent, received };
}

/** Sends bytes as a stranger does, and waits until it is hung up on. */
function say(address: string, bytes: Buffer): Promise<void> {
  return new Promise((resolve) => {
    const socket = connect(Number(new URL(address).port), "127.0.0.1", () => socket.write(bytes));
    socket.on("error", () => undefined);
    socket.on("data", () => undefined);
    socket.on("close", () => resolve());
  });
}

const BODY = "SECRET body";

describe("the relay", () => {
  it("serves a request of a process that holds the key, once, and shows nothing of it on the way", async () => {
    const owner = await start("owner");
    const wire = await between(owner.address);
    const { relay } = await start("front", { addresses: { owner: wire.address } });
    const exchange = request();
    expect(await relay.forward("owner", { exchange, body: BODY, session: "s" })).toBe("taken");
    expect(exchange.replies).toEqual([[200, "done"]]);
    expect(owner.served).toEqual([BODY]);
    const seen = Buffer.concat([...wire.sent, ...wire.received]).toString("latin1");
    expect(seen).not.toContain("SECRET");
    expect(seen).not.toContain("ada");
  });

  it("does nothing for who holds another key, or none", async () => {
    const owner = await start("owner");
    const { relay } = await start("front", { key: randomBytes(32), addresses: { owner: owner.address } });
    expect(await relay.forward("owner", { exchange: request(), body: BODY, session: "s" })).toBe("unreachable");
    await say(owner.address, Buffer.from("GET / HTTP/1.1\r\nhost: a\r\n\r\n".padEnd(200, "x")));
    await say(owner.address, Buffer.concat([Buffer.from("mcp-relay-1\n"), randomBytes(200)]));
    expect(owner.served).toEqual([]);
    await expect.poll(() => owner.strangers.length, { timeout: 30_000 }).toBe(3);
  });

  it("does nothing for bytes that were recorded", async () => {
    const owner = await start("owner");
    const wire = await between(owner.address);
    const { relay } = await start("front", { addresses: { owner: wire.address } });
    await relay.forward("owner", { exchange: request(), body: BODY, session: "s" });
    expect(owner.served).toEqual([BODY]);
    await say(owner.address, Buffer.concat(wire.sent));
    expect(owner.served).toEqual([BODY]);
  });

  it.each([
    ["changed", (frame: Buffer) => Buffer.from(frame.map((byte, at) => (at === 10 ? byte ^ 1 : byte)))],
    ["sent twice", (frame: Buffer) => Buffer.concat([frame, frame])],
    ["put behind another", (frame: Buffer) => Buffer.concat([frame.subarray(frame.length / 2), frame])],
  ])("ends a connection on which a frame was %s", async (what, change) => {
    const owner = await start("owner");
    // The first two pieces are the greeting.
    const wire = await between(owner.address, (chunk, n) => (n < 3 ? chunk : change(chunk)));
    const { relay } = await start("front", { addresses: { owner: wire.address } });
    const outcome = await relay.forward("owner", { exchange: request(), body: BODY, session: "s" });
    const twice = what === "sent twice";
    expect(["broken", "taken"]).toContain(outcome);
    expect(owner.served.length).toBeLessThanOrEqual(twice ? 1 : 0);
    await expect.poll(() => relay.reaches("owner"), { timeout: 30_000 }).toBe(false);
  });

  it("does nothing for a process that looks for another one", async () => {
    const owner = await start("owner");
    const { relay } = await start("front", { addresses: { other: owner.address } });
    expect(await relay.forward("other", { exchange: request(), body: BODY, session: undefined })).toBe("unreachable");
    expect(owner.served).toEqual([]);
  });

  it("accepts both keys while they are changed", async () => {
    const owner = await start("owner");
    const both = new NodeRelay({
      ...{ node: "front", keys: [KEY, randomBytes(32)], listen: new URL("tcp://127.0.0.1:0") },
      ...{ find: async () => owner.address, holds: () => false, serve: () => undefined, answer: async () => "" },
      onStranger: () => undefined,
    });
    await both.open();
    onTestFinished(() => both.close());
    expect(await both.forward("owner", { exchange: request(), body: BODY, session: undefined })).toBe("taken");
  });

  it.each(Array.from({ length: 12 }, (_, turns) => turns))(
    "knows what became of what was sent, and asked, as its connection ended %i turns later",
    async (turns) => {
      const owner = await start("owner");
      const { relay } = await start("front", { addresses: { owner: owner.address } });
      expect(await relay.ask("owner", "first")).toBe("first");
      const outcomes = Promise.allSettled([
        relay.forward("owner", { exchange: request(), body: BODY, session: undefined }),
        relay.ask("owner", "second"),
      ]);
      for (let turn = 0; turn < turns; turn++) await Promise.resolve();
      const closed = relay.close();
      const [sent, asked] = await outcomes;
      const refused = asked as { readonly reason?: { readonly code?: string } };
      expect([undefined, "GONE", "UNREACHABLE"]).toContain(refused.reason && String(refused.reason.code));
      expect(["taken", "parted", "unreachable"]).toContain((sent as { value: unknown }).value);
      await closed;
    },
  );

  it("tells a request that was cut off from one that was not sent", async () => {
    const { relay } = await start("front", { addresses: { closed: "tcp://127.0.0.1:1" } });
    expect(await relay.forward("nobody", { exchange: request(), body: "", session: undefined })).toBe("gone");
    expect(await relay.forward("closed", { exchange: request(), body: "", session: undefined })).toBe("unreachable");
  });
});

/** The letters between processes of a test. */
interface Letters {
  readonly mail: { publish: Bus["publish"]; listen: Bus["listen"] };
  readonly relays: Map<string, NodeRelay>;
  readonly sent: { readonly to: string; readonly text: string }[];
  knock(node: string, by: string): Promise<void>;
}

/** `change` makes of a letter with data to `owner`, the first being number 1, those that arrive instead. */
function lettersWith(change: (text: string, n: number) => readonly string[] = (text) => [text]): Letters {
  const { mail } = memoryStores();
  const relays = new Map<string, NodeRelay>();
  const sent: { to: string; text: string }[] = [];
  let n = 0;
  const publish: Bus["publish"] = async (from, text, to = "") => {
    sent.push({ to, text });
    const all = to === "owner" && text.split(" ")[1] === "data" ? change(text, ++n) : [text];
    for (const each of all) await mail.publish(from, each, to);
  };
  return {
    mail: { publish, listen: (listener, topic) => mail.listen(listener, topic) },
    relays,
    sent,
    knock: async (node, by) => relays.get(node)?.knocked(by),
  };
}

/** Nobody listens there. */
const CLOSED = { owner: "tcp://127.0.0.1:1", other: "tcp://127.0.0.1:1" };

describe("the relay, by letters", () => {
  it("serves a request of a process that holds the key, once, and shows nothing of it in the letters", async () => {
    const letters = lettersWith();
    const owner = await start("owner", { letters });
    const { relay } = await start("front", { letters, addresses: CLOSED });
    const exchange = request();
    expect(await relay.forward("owner", { exchange, body: BODY, session: "s" })).toBe("taken");
    expect(exchange.replies).toEqual([[200, "done"]]);
    expect(owner.served).toEqual([BODY]);
    const contents = letters.sent.map(({ text }) => Buffer.from(text.split(" ")[4] ?? "", "base64").toString("latin1"));
    expect(contents.join()).not.toMatch(/SECRET|ada|done/);
  });

  it("does nothing for who holds another key", async () => {
    const letters = lettersWith();
    const owner = await start("owner", { letters });
    const { relay } = await start("front", { letters, key: randomBytes(32), addresses: CLOSED });
    expect(await relay.forward("owner", { exchange: request(), body: BODY, session: "s" })).toBe("unreachable");
    expect(owner.served).toEqual([]);
    expect(owner.strangers).toHaveLength(1);
  });

  it("does nothing for letters that are put back, one by one or all of them", async () => {
    const letters = lettersWith();
    const owner = await start("owner", { letters });
    const { relay } = await start("front", { letters, addresses: CLOSED });
    await relay.forward("owner", { exchange: request(), body: BODY, session: "s" });
    const recorded = letters.sent.filter(({ to }) => to === "owner").map(({ text }) => text);
    for (const text of recorded) await letters.mail.publish("front", text, "owner");
    const way = recorded[0]?.split(" ")[2] as string;
    for (const text of recorded)
      await letters.mail.publish("front", text.replace(way, "f".repeat(way.length)), "owner");
    const again = request();
    expect(await relay.forward("owner", { exchange: again, body: "after", session: "s" })).toBe("taken");
    expect(owner.served).toEqual([BODY, "after"]);
  });

  const parts = (text: string): string[] => text.split(" ");
  const numbered = (text: string, more: number): string => {
    const [from, kind, way, number, content] = parts(text);
    return [from, kind, way, Number(number) + more, content].join(" ");
  };
  const changed = (text: string): string => {
    const [from, kind, way, number, content = ""] = parts(text);
    const bytes = Buffer.from(content, "base64");
    bytes[10] = (bytes[10] as number) ^ 1;
    return [from, kind, way, number, bytes.toString("base64")].join(" ");
  };

  // The first two letters are the greeting.
  it.each<readonly [string, (text: string) => readonly string[], number]>([
    ["changed", (text) => [changed(text)], 0],
    ["left out, and the next one seen", (text) => [numbered(text, 1)], 0],
    ["said to be of another process", (text) => [text.replace(/^front/, "other")], 0],
    ["put behind a copy of itself under the next number", (text) => [text, numbered(text, 1)], 1],
    ["sent twice", (text) => [text, text], 1],
  ])("does a thing at most once where a letter was %s", async (_, change, served) => {
    const letters = lettersWith((text, n) => (n < 3 ? [text] : change(text)));
    const owner = await start("owner", { letters });
    const { relay } = await start("front", { letters, addresses: CLOSED });
    const forwarded = relay.forward("owner", { exchange: request(), body: BODY, session: "s" });
    expect(["broken", "taken"]).toContain(await forwarded);
    expect(owner.served).toHaveLength(served);
  });

  it("does nothing for letters to another process that were put into its own", async () => {
    const letters = lettersWith();
    const owner = await start("owner", { letters });
    const other = await start("other", { letters });
    const { relay } = await start("front", { letters, addresses: CLOSED });
    const { publish } = letters.mail;
    // All that is for `other` reaches `owner` instead, and what that says comes back.
    letters.mail.publish = (from: string, text: string, to = "") => publish(from, text, to === "other" ? "owner" : to);
    await owner.relay.knocked("front");
    const outcome = await relay.forward("other", { exchange: request(), body: BODY, session: "s" });
    expect(outcome).toBe("unreachable");
    expect([owner.served, other.served]).toEqual([[], []]);
  });
});
