// What a connection between processes may cost before anything of it is believed: how long a frame and how long a greeting may be.
import { Duplex } from "node:stream";
import { afterEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { Frame, greet, type Link, RelayedExchange, welcome } from "../../src/cluster/relay-link.js";
import { KEY } from "./cluster-fixture.js";

const MOST_BYTES = 64 * 1024 * 1024;
const GREETING_BYTES = 1_024;
const GREETING_MS = 2_000;
/** The tag of a frame, its type and its stream: what an empty one has. */
const LEAST_BYTES = 16 + 5;

afterEach(() => void vi.useRealTimers());

/** One end of a connection in memory; whatever a test pushes to it seems to come from the other end. */
class Wire extends Duplex {
  other: Wire | undefined;

  override _read(): void {
    // What comes is pushed.
  }

  override _write(chunk: Buffer, _encoding: string, written: () => void): void {
    this.other?.push(chunk);
    written();
  }

  override _destroy(_: Error | null, destroyed: (error: null) => void): void {
    const { other } = this;
    this.other = undefined;
    other?.destroy();
    destroyed(null);
  }
}

function wires(): readonly [Wire, Wire] {
  const [one, two] = [new Wire(), new Wire()];
  [one.other, two.other] = [two, one];
  onTestFinished(() => void one.destroy());
  return [one, two];
}

async function linked(): Promise<{ readonly front: Link; readonly owner: Link; readonly wire: Wire }> {
  const [one, two] = wires();
  const [front, owner] = await Promise.all([
    greet(one, { node: "front", keys: [KEY] }, "owner"),
    welcome(two, { node: "owner", keys: [KEY] }),
  ]);
  owner.listener = { frame: () => undefined, closed: () => undefined };
  owner.start();
  return { front, owner, wire: two };
}

function lengthOf(bytes: number): Buffer {
  const head = Buffer.alloc(4);
  head.writeUInt32BE(bytes);
  return head;
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe("a frame", () => {
  it.each([
    ["as long as one may be is waited for", MOST_BYTES, false],
    ["longer than one may be ends the connection before any of it has come", MOST_BYTES + 1, true],
    ["as long as a length can say does so too", 0xffff_ffff, true],
    ["as short as an empty one is waited for", LEAST_BYTES, false],
    ["shorter than that ends the connection", LEAST_BYTES - 1, true],
  ])("that says it is %s", async (_, bytes, closed) => {
    const { owner, wire } = await linked();
    wire.push(lengthOf(bytes));
    await turn();
    expect([owner.closed, wire.destroyed]).toEqual([closed, closed]);
  });

  it("that comes byte by byte is read once it is whole", async () => {
    const { front, owner, wire } = await linked();
    const heard: string[] = [];
    owner.listener = { frame: (_type, _stream, text) => heard.push(text), closed: () => undefined };
    const bytes: Buffer[] = [];
    const { other } = wire;
    (other as Wire)._write = (chunk: Buffer, _encoding: string, written: () => void) => {
      bytes.push(chunk);
      written();
    };
    front.send(Frame.Ask, 1, "text");
    for (const byte of Buffer.concat(bytes)) wire.push(Buffer.from([byte]));
    await turn();
    expect(heard).toEqual(["text"]);
  });
});

it.each(["an event", "a reply"])("%s that is long goes in frames that are not, and is whole again", (what) => {
  const sent: (readonly [type: number, text: string])[] = [];
  const back = {
    send: (type: number, text = "") => void sent.push([type, text]),
    unsent: () => 0,
    over: () => undefined,
  };
  const exchange = new RelayedExchange({ method: "POST", path: "/mcp", query: "", headers: {} }, "", back);
  const text = `x${"🙂".repeat(3 * 1024 * 1024)}`;
  if (what === "a reply") exchange.reply(200, [], text);
  else exchange.open(200, []).write(text);
  const chunks = sent.filter(([type]) => type === Frame.Chunk).map(([, chunk]) => chunk);
  // A character that would be cut in two goes whole.
  expect(Math.max(...chunks.map(({ length }) => length))).toBe(MOST_BYTES / 16 + 1);
  expect(chunks.map((chunk) => Buffer.from(chunk).toString("utf8")).join("") === text).toBe(true);
});

it("a process that is called for another one answers nothing, whatever the one that calls would make of it", async () => {
  const [one, two] = wires();
  const called = welcome(two, { node: "owner", keys: [KEY] });
  const calling = greet(one, { node: "front", keys: [KEY] }, "other");
  await expect(called).rejects.toThrow("looks for another one");
  await expect(calling).rejects.toThrow("closed the connection");
});

it("a process that is answered by another one than it called does not go on", async () => {
  const [one, two] = wires();
  const names = ["other", "owner"];
  // It takes the call as the one that is meant, and then says who it is.
  const self = { keys: [KEY], node: "" };
  Object.defineProperty(self, "node", { get: () => names.shift() });
  const calling = greet(one, { node: "front", keys: [KEY] }, "other").catch((error: unknown) => error);
  await welcome(two, self);
  expect(await calling).toMatchObject({ message: "Another process answers at this address" });
  expect(one.destroyed).toBe(true);
});

describe("whoever has not shown the key", () => {
  /** What a process that calls sends first, without its key. */
  async function begun(): Promise<{ readonly wire: Wire; readonly refused: Promise<unknown> }> {
    const [one, two] = wires();
    const refused = welcome(two, { node: "owner", keys: [KEY] }).catch((error: unknown) => error);
    const calling = greet(one, { node: "front", keys: [KEY] }, "owner").catch(() => undefined);
    // Its second message does not arrive.
    one._write = (_chunk, _encoding, written) => written();
    void calling;
    await turn();
    return { wire: two, refused };
  }

  it("sends a greeting and nothing longer", async () => {
    const { wire, refused } = await begun();
    wire.push(lengthOf(GREETING_BYTES));
    await turn();
    expect(wire.destroyed).toBe(false);
    const { wire: second, refused: alsoRefused } = await begun();
    second.push(lengthOf(GREETING_BYTES + 1));
    await turn();
    expect(second.destroyed).toBe(true);
    wire.destroy();
    expect([await refused, await alsoRefused]).toEqual([expect.any(Error), expect.any(Error)]);
  });

  it("has little time for it", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const [, silent] = wires();
    const refused = welcome(silent, { node: "owner", keys: [KEY] }).catch((error: unknown) => error);
    const { wire, refused: alsoRefused } = await begun();
    vi.advanceTimersByTime(GREETING_MS - 1);
    await turn();
    expect([silent.destroyed, wire.destroyed]).toEqual([false, false]);
    vi.advanceTimersByTime(1);
    expect([await refused, await alsoRefused]).toEqual([expect.any(Error), expect.any(Error)]);
    expect([silent.destroyed, wire.destroyed]).toEqual([true, true]);
  });
});
