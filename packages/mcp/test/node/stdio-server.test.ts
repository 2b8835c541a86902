// The stdio transport on streams in this process: framing, one write a turn, and back-pressure both ways.
import { PassThrough, Writable } from "node:stream";
import { describe, expect, it } from "vitest";
import type { Arrival, Carrier, Excerpt, MessageSink } from "../../src/jsonrpc/transport.js";
import type { RpcError } from "../../src/jsonrpc/errors.js";
import { type StdioOptions, stdioTransport } from "../../src/node/stdio-server.js";

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
async function turns(count: number): Promise<void> {
  for (let index = 0; index < count; index++) await turn();
}

// Takes a write only when `read` is called, as a pipe does whose reader sleeps.
class SlowReader extends Writable {
  readonly writes: string[] = [];
  #take: (() => void) | undefined;
  open = true;

  override _write(chunk: Buffer, _encoding: string, callback: () => void): void {
    this.writes.push(chunk.toString());
    if (this.open) callback();
    else this.#take = callback;
  }

  read(): void {
    this.open = true;
    this.#take?.();
  }

  get text(): string {
    return this.writes.join("");
  }
}

class Sink implements MessageSink {
  readonly texts: string[] = [];
  readonly errors: [RpcError, Excerpt | undefined][] = [];
  carrier: Carrier | undefined;
  ends = 0;
  answer: ((text: string, carrier: Carrier) => void) | undefined;

  receive(text: string, arrival?: Arrival): void {
    const carrier = arrival?.reply as Carrier;
    this.carrier = carrier;
    this.texts.push(text);
    this.answer?.(text, carrier);
  }

  unreadable(error: RpcError, arrival?: Arrival, excerpt?: Excerpt): void {
    this.carrier = arrival?.reply;
    this.errors.push([error, excerpt]);
    arrival?.reply?.abandon?.();
  }

  lost(): void {}

  noise(): void {}

  closed(): void {
    this.ends++;
  }
}

interface Setup {
  input: PassThrough;
  output: SlowReader;
  sink: Sink;
  transport: ReturnType<typeof stdioTransport>;
}

function setup(limits: StdioOptions["limits"] = {}): Setup {
  const input = new PassThrough();
  const output = new SlowReader();
  const sink = new Sink();
  const transport = stdioTransport({ input, output, limits });
  void transport.start(sink);
  return { input, output, sink, transport };
}

const echo = (text: string, carrier: Carrier): void => void carrier.write(`<${text}>`, "response");
const lines = (count: number): string => Array.from({ length: count }, (_, index) => `${index}\n`).join("");

it.each([
  ['{"jsonrpc":"2.0","id":1,"meth', [], "Parse error: the input ended in the middle of a message"],
  ['{"jsonrpc":"2.0","id":1,"method":"ping"}', ['{"jsonrpc":"2.0","id":1,"method":"ping"}'], undefined],
  ["  \t", [], undefined],
])("input that ends in %j", async (text, texts, fault) => {
  const [input, sink] = [new PassThrough(), new Sink()];
  void stdioTransport({ input, output: new PassThrough() }).start(sink);
  input.end(text);
  await turns(5);
  expect([sink.texts, sink.errors[0]?.[0].message, sink.ends]).toEqual([texts, fault, 1]);
});

describe("stdioTransport", () => {
  it("delivers lines and sends what one turn wrote in one write", async () => {
    const { input, output, sink } = setup();
    sink.answer = echo;
    input.write("a\nb\r\n\n  \nc");
    await turns(3);
    expect([sink.texts, output.writes]).toEqual([["a", "b"], ["<a>\n<b>\n"]]);
    expect([sink.carrier?.kind, sink.carrier?.principal, sink.carrier?.header("x")]).toEqual([
      "stdio",
      undefined,
      undefined,
    ]);
  });

  it("answers a burst of 64 lines with one write, also when handlers are asynchronous", async () => {
    const { input, output, sink } = setup();
    sink.answer = (text, carrier) => void Promise.resolve().then(() => echo(text, carrier));
    input.write(lines(16));
    await turns(6);
    output.writes.length = 0;
    input.write(lines(60));
    await turns(10);
    expect(output.writes).toHaveLength(1);
    expect(output.text.split("\n")).toHaveLength(61);
  });

  it("reports what is too long or not UTF-8, and goes on", async () => {
    const { input, sink } = setup({ messageBytes: 50 });
    input.write(Buffer.concat([Buffer.from(`${"x".repeat(200)}\n`), Buffer.from([0xff, 10]), Buffer.from("süß\n")]));
    await turns(3);
    expect(sink.errors.map(([{ code }]) => code)).toEqual([-32600, -32700]);
    expect(sink.texts).toEqual(["süß"]);
  });

  it("stops taking lines while the reader is behind, in the middle of a chunk, and goes on exactly there", async () => {
    const { input, output, sink } = setup({ highWaterBytes: 1_000 });
    output.open = false;
    sink.answer = (text, carrier) => void carrier.write(text.padEnd(300, "."), "response");
    input.write(lines(300));
    await turns(50);
    expect(sink.texts.length).toBeLessThan(20);
    expect(input.isPaused()).toBe(true);
    output.read();
    while (sink.texts.length < 300) await turn();
    await turns(3);
    const answers = output.text.trimEnd().split("\n");
    expect(answers.map((line) => line.replaceAll(".", ""))).toEqual(
      Array.from({ length: 300 }, (_, index) => String(index)),
    );
    expect(input.isPaused()).toBe(false);
  });

  it("takes in few lines while their answers are out, more once they are overdue", async () => {
    const { input, sink } = setup();
    const owed: Carrier[] = [];
    sink.answer = (_text, carrier) => void owed.push(carrier);
    input.write(lines(40));
    await turns(20);
    expect(owed).toHaveLength(16);
    for (const carrier of owed.slice(0, 8)) void carrier.write("x", "response");
    await turns(5);
    // Eight places are free again, and each small answer earned one more.
    expect(owed).toHaveLength(32);
    while (owed.length < 40) await turn();
  });

  it("asks writers to wait over the mark, and drops the notifications of those who do not", async () => {
    const { input, output, sink } = setup({ highWaterBytes: 100, outgoingBytes: 200 });
    output.open = false;
    input.write("hello\n");
    await turns(2);
    const { carrier } = sink;
    expect(carrier?.write("a".repeat(50), "notification")).toBeUndefined();
    const waiting = carrier?.write("b".repeat(150), "notification");
    expect(waiting).toBeInstanceOf(Promise);
    expect(carrier?.write("dropped", "notification")).toBeInstanceOf(Promise);
    void carrier?.write("answer", "response");
    await turns(2);
    output.read();
    await waiting;
    await turns(2);
    expect(output.text.split("\n").map((line) => line[0])).toEqual(["a", "b", "a", undefined]);
  });

  it("writes a long message in parts that never split a character", async () => {
    const { input, output, sink } = setup();
    const text = "𝒳".repeat(1_200_000);
    sink.answer = (_line, carrier) => void carrier.write(`x${text}`, "response");
    input.write("go\n");
    await turns(5);
    expect(output.writes).toHaveLength(2);
    expect(output.text).toBe(`x${text}\n`);
  });

  it("writes a response in texts as one line, between what came before and after it", async () => {
    const { input, output, sink } = setup();
    const long = `${"é\u2028".repeat(40_000)}𝒳`;
    sink.answer = (_line, carrier) => {
      void carrier.write("before", "notification");
      carrier.writeTexts?.(["<", long, ">"]);
      void carrier.write("after", "notification");
    };
    input.write("go\n");
    await turns(5);
    expect(output.text).toBe(`before\n<${long.replaceAll("\u2028", "\\u2028")}>\nafter\n`);
  });

  it("delivers the last line without a newline, then the end, and flushes before it is done", async () => {
    const { input, output, sink, transport } = setup();
    input.end("a\nlast");
    await turns(5);
    expect([sink.texts, sink.ends]).toEqual([["a", "last"], 1]);
    void sink.carrier?.write("late answer", "response");
    await transport.close();
    expect([output.text, sink.ends, sink.carrier?.closed]).toEqual(["late answer\n", 1, true]);
    void sink.carrier?.write("too late", "response");
    await turns(2);
    expect(output.text).toBe("late answer\n");
  });

  it("ends when its reader is gone, and lets nobody wait", async () => {
    const { input, output, sink, transport } = setup({ highWaterBytes: 10 });
    output.open = false;
    input.write("a\n");
    await turns(2);
    const waiting = sink.carrier?.write("x".repeat(100), "response");
    await turns(2);
    output.destroy(new Error("EPIPE"));
    await waiting;
    await transport.close();
    expect([sink.ends, sink.carrier?.closed]).toEqual([1, true]);
  });

  it("closes by itself without waiting for more input", async () => {
    const { input, sink, transport } = setup();
    input.write("a\n");
    await turns(2);
    await transport.close();
    await transport.close();
    input.write("b\n");
    await turns(2);
    expect([sink.texts, sink.ends]).toEqual([["a"], 1]);
  });

  it("refuses a limit that is none", () => {
    expect(() => stdioTransport({ input: new PassThrough(), output: new PassThrough(), limits: { depth: 0 } })).toThrow(
      /"depth" must be a positive integer/,
    );
  });
});
