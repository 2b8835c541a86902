// What a way by letters keeps to, letter by letter: each rule has a test that nothing but that rule passes.
import type { Duplex } from "node:stream";
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { Detours } from "../../src/cluster/detours.js";
import { NodeRelay } from "../../src/cluster/relay.js";
import type { HttpExchange } from "../../src/http/server/exchange.js";
import { type Bus, type BusListener, memoryStores } from "../../src/cluster/stores.js";
import { fakeRequest, KEY } from "./cluster-fixture.js";

const LETTER_BYTES = 64 * 1024;
const WINDOW_BYTES = 512 * 1024;
const MOST = 200;
const ANSWER_MS = 200;
const READY_MS = 30_000;
const HEARTBEAT_MS = 3_000;
const SILENT_MS = 10_000;
const IDLE_MS = 60_000;
const UNUSED_MS = 10_000;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["performance", "setTimeout", "clearTimeout", "setInterval", "clearInterval"] });
});
afterEach(() => void vi.useRealTimers());

/** Everything that was begun in this turn of the event loop, and what followed from it at once, is done. */
async function settled(): Promise<void> {
  for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve));
}

interface Post {
  readonly mail: Bus;
  /** Letters by the process they are for, as `kind number content`, in the order they were posted. */
  to(node: string): readonly string[];
  readonly listeners: Map<string, BusListener>;
  /** Letters are not posted any more. */
  fail: boolean;
}

/** The letters of a test, of which what is for nobody is kept too. */
function post(): Post {
  const { mail } = memoryStores();
  const sent = new Map<string, string[]>();
  const listeners = new Map<string, BusListener>();
  const office: Post = {
    fail: false,
    listeners,
    to: (node) => sent.get(node) ?? [],
    mail: {
      async publish(from, text, topic = "") {
        if (office.fail) throw new Error("away");
        const [, kind, , number, content = ""] = text.split(" ");
        sent.set(topic, [...office.to(topic), [kind, number, content].join(" ")]);
        await mail.publish(from, text, topic);
      },
      async listen(listener, topic = "") {
        listeners.set(topic, listener);
        const stop = await mail.listen(listener, topic);
        return () => {
          stop();
          listeners.delete(topic);
        };
      },
    },
  };
  return office;
}

interface Reader {
  readonly office: Post;
  readonly ways: Duplex[];
  readonly detours: Detours;
  /** Puts a letter into its post. */
  give(kind: string, number?: number, content?: string, about?: { way?: string; from?: string }): Promise<void>;
}

/** The process `owner`, which reads its letters; the test writes them. */
async function reader(knock: (node: string) => Promise<void> = async () => undefined): Promise<Reader> {
  const office = post();
  const ways: Duplex[] = [];
  const detours = new Detours({ node: "owner", mail: office.mail, knock, accept: (way) => void ways.push(way) });
  onTestFinished(() => detours.close());
  await detours.knocked("front");
  const give: Reader["give"] = async (kind, number = 0, content = "", { way = "w", from = "front" } = {}) => {
    await office.mail.publish(from, [from, kind, way, number, content].join(" "), "owner");
    await settled();
  };
  return { office, ways, detours, give };
}

/** One with a way that `front` has opened, and what came over it. */
async function opened(): Promise<Reader & { readonly way: Duplex; heard(): string }> {
  const made = await reader();
  await made.give("open");
  const [way] = made.ways as [Duplex];
  let text = "";
  way.on("data", (chunk: Buffer) => (text += chunk.toString("latin1")));
  return { ...made, way, heard: () => text };
}

const base64 = (text: string): string => Buffer.from(text).toString("base64");

describe("a letter", () => {
  it("that comes again is not read again, and the way goes on", async () => {
    const { give, way, heard } = await opened();
    await give("data", 1, base64("one"));
    await give("data", 1, base64("one"));
    await give("open");
    await give("data", 2, base64("two"));
    expect([heard(), way.destroyed]).toEqual(["onetwo", false]);
  });

  it.each([
    ["is missing", [1, 3]],
    ["comes before the one that stands before it", [2, 1]],
  ])("that %s ends the way, and nothing after it is read", async (_, numbers) => {
    const { give, way, heard } = await opened();
    for (const number of numbers) await give("data", number, base64(String(number)));
    expect([heard(), way.destroyed]).toEqual([numbers[0] === 1 ? "1" : "", true]);
  });

  it.each(["data", "end", "has"])("with %s is held to its number, whatever it says", async (kind) => {
    const { give, way } = await opened();
    await give(kind, 2);
    expect(way.destroyed).toBe(true);
  });

  it.each([
    ["open", ""],
    ["has", ""],
    ["has", base64("bytes")],
    ["has", "-1"],
    ["has", "6"],
    ["other", base64("bytes")],
  ])("with %s %s in the place of bytes ends the way", async (kind, content) => {
    const { give, way } = await opened();
    way.write("12345");
    await settled();
    await give("has", 1, "5");
    expect(way.destroyed).toBe(false);
    await give(kind, 2, content);
    expect(way.destroyed).toBe(true);
  });

  it.each([
    ["data", 1],
    ["end", 1],
    ["none", 0],
  ])("with %s from a process that the way does not lead to changes nothing", async (kind, number) => {
    const { give, way, heard } = await opened();
    await give(kind, number, base64("forged"), { from: "other" });
    await give("data", 1, base64("one"));
    expect([heard(), way.destroyed]).toEqual(["one", false]);
  });

  it("of a way that nobody knows is answered so, once; what says that a way has ended is not answered", async () => {
    const { office, give, ways } = await reader();
    const before = office.to("front").length;
    await give("data", 5, base64("x"), { way: "unknown" });
    expect(office.to("front").slice(before)).toEqual(["none 0 "]);
    for (const kind of ["none", "end"]) await give(kind, 0, "", { way: "unknown" });
    expect(office.to("front").slice(before)).toHaveLength(1);
    expect(ways).toEqual([]);
  });

  it("that says that the other process does not know the way ends it", async () => {
    const { give, way } = await opened();
    await give("none");
    expect(way.destroyed).toBe(true);
  });

  it("that was dropped, as far as the store knows, ends every way: nobody knows whose it was", async () => {
    const { give, office, ways } = await opened();
    await give("open", 0, "", { way: "w2", from: "other" });
    office.listeners.get("owner")?.missed();
    expect(ways.map(({ destroyed }) => destroyed)).toEqual([true, true]);
  });

  it("that cannot be posted ends the way", async () => {
    const { office, way } = await opened();
    office.fail = true;
    const written = new Promise((resolve) => way.write("x", resolve));
    expect(await written).toMatchObject({ message: "away" });
    expect(way.destroyed).toBe(true);
  });

  it("that only says that we are there ends the way too when it cannot be posted", async () => {
    const { office, way } = await opened();
    office.fail = true;
    await vi.advanceTimersByTimeAsync(HEARTBEAT_MS);
    expect(way.destroyed).toBe(true);
  });
});

describe("what is written to a way", () => {
  it("goes in letters that are not long, so many at a time as the other process has not read, and in order", async () => {
    const { office, give, way } = await opened();
    const bytes = Buffer.alloc(3 * WINDOW_BYTES, "abcdefghij");
    way.write(bytes);
    await settled();
    const contents = (): Buffer[] =>
      office
        .to("front")
        .filter((text) => text.startsWith("data"))
        .map((text) => Buffer.from(text.split(" ")[2] ?? "", "base64"));
    const length = (): number => Buffer.concat(contents()).length;
    expect(Math.max(...contents().map((each) => each.length))).toBe(LETTER_BYTES);
    expect(length()).toBeGreaterThanOrEqual(WINDOW_BYTES);
    expect(length()).toBeLessThanOrEqual(WINDOW_BYTES + LETTER_BYTES);
    await give("has", 1, String(length()));
    expect(length()).toBeGreaterThanOrEqual(2 * WINDOW_BYTES);
    await give("has", 2, String(length()));
    expect(Buffer.concat(contents()).equals(bytes)).toBe(true);
  });

  it("is given up when the way ends while the other process does not read", async () => {
    const { give, way } = await opened();
    let written = false;
    way.write(Buffer.alloc(3 * WINDOW_BYTES), () => (written = true));
    await settled();
    expect(written).toBe(false);
    await give("end", 1);
    expect(written).toBe(true);
  });

  it("is told to have been read long before the other process has to wait", async () => {
    const { office, give } = await opened();
    const content = Buffer.alloc(LETTER_BYTES).toString("base64");
    for (let number = 1; number <= 3; number++) await give("data", number, content);
    expect(office.to("front").filter((text) => text.startsWith("has"))).toEqual([`has 0 ${3 * LETTER_BYTES}`]);
  });
});

describe("ways by letters", () => {
  it("are so many at once and no more, whoever opens them", async () => {
    const { office, give, ways, detours } = await reader();
    for (let n = 0; n <= MOST; n++) await give("open", 0, "", { way: `w${n}` });
    expect(ways).toHaveLength(MOST);
    expect(office.to("front").at(-1)).toBe("none 0 ");
    await expect(detours.connect("front")).rejects.toMatchObject({ code: "FULL" });
    await give("ready");
    ways[0]?.destroy();
    await settled();
    expect(await detours.connect("front")).toMatchObject({ peer: "front" });
  });

  it("are not opened to a process that does not say in time that it reads its letters", async () => {
    const knocks: string[] = [];
    const { office, detours } = await reader(async (node) => void knocks.push(node));
    const opening = detours.connect("silent").catch((error: unknown) => error);
    await settled();
    expect(knocks).toEqual(["silent"]);
    await vi.advanceTimersByTimeAsync(ANSWER_MS);
    expect(await opening).toMatchObject({ code: "UNREACHABLE" });
    expect(office.to("silent")).toEqual([]);
  });

  it("are not opened to one that said so long ago, or whose word is too many others' ago", async () => {
    const knocks: string[] = [];
    const { give, detours } = await reader(async (node) => void knocks.push(node));
    const knocked = async (): Promise<number> => {
      await Promise.race([detours.connect("front").catch(() => undefined), settled()]);
      return knocks.length;
    };
    await give("ready");
    expect(await knocked()).toBe(0);
    vi.advanceTimersByTime(READY_MS + 1);
    expect(await knocked()).toBe(1);
    await give("ready");
    expect(await knocked()).toBe(1);
    for (let n = 0; n < MOST; n++) await give("ready", 0, "", { from: `n${n}` });
    expect(await knocked()).toBe(2);
  });

  it("end when the other process says nothing any more, and not while it does", async () => {
    const { give, way } = await opened();
    for (let number = 1; number <= 3; number++) {
      await vi.advanceTimersByTimeAsync(SILENT_MS - 2_000);
      await give("has", number, "0");
    }
    expect(way.destroyed).toBe(false);
    await vi.advanceTimersByTimeAsync(SILENT_MS + 3_000);
    expect(way.destroyed).toBe(true);
  });

  it("are told of as long as they are there, and cost nothing once none was there for long", async () => {
    const { office, give, way } = await opened();
    const told = (): number => office.to("front").filter((text) => text.startsWith("has")).length;
    await vi.advanceTimersByTimeAsync(9_000);
    expect(told()).toBe(3);
    await give("end", 1);
    expect(way.destroyed).toBe(true);
    expect(office.listeners.has("owner")).toBe(true);
    await vi.advanceTimersByTimeAsync(IDLE_MS + 3_000);
    expect(office.listeners.has("owner")).toBe(false);
    expect(vi.getTimerCount()).toBe(0);
  });
});

describe("a request that went by letters", () => {
  interface Forwarded {
    readonly relay: NodeRelay;
    readonly outcome: Promise<string>;
    /** Answers it. */
    answer(): void;
    /** Letters that ended a way. */
    ends(): number;
  }

  async function forwarded(): Promise<Forwarded> {
    const office = post();
    const { mail } = office;
    const relays = new Map<string, NodeRelay>();
    let served: (exchange: HttpExchange) => void = () => undefined;
    const begun = new Promise<HttpExchange>((resolve) => (served = resolve));
    for (const node of ["owner", "front"]) {
      const knock = async (other: string): Promise<void> => relays.get(other)?.knocked(node);
      const relay = new NodeRelay({
        ...{ node, keys: [KEY], listen: new URL("tcp://127.0.0.1:0"), find: async () => "tcp://127.0.0.1:1" },
        ...{
          holds: () => true,
          serve: (exchange) => served(exchange),
          answer: async () => "",
          onStranger: () => undefined,
        },
        detours: (accept) => new Detours({ node, mail, knock, accept }),
      });
      await relay.open();
      onTestFinished(() => relay.close());
      relays.set(node, relay);
    }
    const relay = relays.get("front") as NodeRelay;
    const outcome = relay.forward("owner", { exchange: fakeRequest(), body: "", session: undefined });
    const exchange = await begun;
    const answer = (): void => exchange.reply(200, [], "done");
    const ends = (): number => office.to("owner").filter((text) => text.startsWith("end")).length;
    return { relay, outcome, answer, ends };
  }

  it("to a process whose lease has ended is given up: no socket says that it is gone", async () => {
    const { relay, outcome } = await forwarded();
    relay.tidy(() => true);
    const first = await Promise.race([outcome, settled()]);
    expect(first).toBeUndefined();
    relay.tidy((node) => node !== "owner");
    expect(await outcome).toBe("broken");
  });

  it("keeps its way, however long it takes", async () => {
    const { relay, outcome } = await forwarded();
    for (let n = 0; n < 3; n++) {
      await vi.advanceTimersByTimeAsync(UNUSED_MS - 1_000);
      relay.tidy(() => true);
    }
    expect(await Promise.race([outcome, settled()])).toBeUndefined();
  });

  it("leaves its way for the next one, which is given up once there was none for long", async () => {
    const { relay, outcome, answer, ends } = await forwarded();
    relay.tidy(() => true);
    answer();
    expect(await outcome).toBe("taken");
    await vi.advanceTimersByTimeAsync(UNUSED_MS);
    relay.tidy(() => true);
    expect(ends()).toBe(0);
    await vi.advanceTimersByTimeAsync(1);
    relay.tidy(() => true);
    await settled();
    expect(ends()).toBe(1);
  });

  it("does not say that the process is there: letters wait for whoever comes", async () => {
    const { relay } = await forwarded();
    expect(await relay.reaches("owner")).toBe(false);
  });
});
