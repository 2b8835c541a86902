// The server's end of stdio: lines in, lines out, and neither faster than the other side reads.
import type { TextPieces } from "../jsonrpc/message.js";
import type { Readable, Writable } from "node:stream";
import type { OnReadOpts, SocketConstructorOpts } from "node:net";
import type { Arrival, Carrier, MessageSink, Outgoing, OutgoingKind, Transport } from "../jsonrpc/transport.js";
import { ErrorCode, RpcError } from "../jsonrpc/errors.js";
import { type JsonRpcLimits, resolveLimits } from "../jsonrpc/limits.js";
import { LineFraming, UnreadableLine } from "../transport/stdio-framing.js";
import { OutputQueue, decodeUtf8 } from "./standard-streams.js";
import { IntakeGate } from "../jsonrpc/connection.js";

/** Streams and limits of a server on standard input and output. */
export interface StdioOptions {
  /** Where messages come from. Default: the process's standard input. */
  readonly input?: Readable;
  /** Where messages go. Default: the process's standard output. */
  readonly output?: Writable;
  readonly limits?: Partial<JsonRpcLimits>;
}

/**
 * A transport of one message a line. It takes in nothing while the reader of its output is behind, answers what is
 * too long or not UTF-8 and goes on, and ends when the input ends, the reader is gone, or (on the process's own
 * streams) the parent process is. Throws a RangeError for a limit that is not a positive integer.
 */
export function stdioTransport(options: StdioOptions = {}): Transport {
  return new StdioTransport(options);
}

// Lines delivered before a turn of the event loop shows the answers they caused.
const LARGEST_GROUP = 16;
// Lines whose answers may wait for each other, so that a burst is answered with few writes.
const LINES_A_WRITE = 64;
// How long answers may hold up what comes after: it may be what they wait for.
const OVERDUE_MS = 50;

/** Of a client that went away while it wrote, or forgot the end of the line. */
const CUT = "Parse error: the input ended in the middle of a message";

class StdioTransport implements Transport, Carrier {
  readonly kind = "stdio";
  readonly principal = undefined;
  readonly #arrival: Arrival = { reply: this };
  #input: Readable | undefined;
  readonly #ownsInput: boolean;
  readonly #output: OutputQueue;
  readonly #framing: LineFraming;
  readonly #gate: IntakeGate;
  readonly #highWater: number;
  #sink: MessageSink | undefined;
  #backlog = 0;
  #scheduled = false;
  #unwritten = 0;
  // The input is paused.
  #paused = false;
  // Lines wait until the output has drained.
  #stalled = false;
  // Lines wait until answers have been given, or this has run out.
  #overdue: NodeJS.Timeout | undefined;
  #inputEnded = false;
  #sinkClosed = false;
  #closing: Promise<void> | undefined;
  #unwatchParent: (() => void) | undefined;

  constructor({ input, output, limits: overrides }: StdioOptions) {
    const limits = resolveLimits(overrides);
    this.#ownsInput = input === undefined;
    this.#input = input;
    this.#gate = new IntakeGate(limits.inFlight);
    this.#highWater = limits.highWaterBytes;
    this.#framing = new LineFraming(limits, { decode: decodeUtf8 });
    this.#output = new OutputQueue(output ?? process.stdout, limits, {
      drained: () => this.#goOn(),
      broken: () => this.#end(),
    });
  }

  get closed(): boolean {
    return this.#output.closed;
  }

  header(): undefined {
    return undefined;
  }

  write(text: string, kind: OutgoingKind): void | Promise<void> {
    if (kind === "response") this.#settled(text.length);
    return this.#output.write(text, kind);
  }

  send({ text, kind }: Outgoing): void | Promise<void> {
    return this.#output.write(text, kind);
  }

  writeTexts(texts: TextPieces): void {
    let length = 0;
    for (const text of texts) length += text.length;
    this.#settled(length);
    this.#output.writeTexts(texts);
  }

  abandon(): void {
    this.#settled(0);
  }

  start(sink: MessageSink): void {
    this.#sink = sink;
    this.#input = this.#input?.on("data", this.#take) ?? readStdin(this.#take);
    this.#input.on("end", this.#endOfInput).on("close", this.#endOfInput).on("error", this.#endOfInput);
    if (this.#ownsInput) this.#unwatchParent = watchParent(() => this.#end());
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    this.#stopIntake();
    await this.#output.close();
    this.#end();
  }

  readonly #take = (chunk: Uint8Array): void => {
    this.#backlog += chunk.length;
    this.#framing.push(chunk);
    if (this.#scheduled) this.#pauseIf(this.#backlog > this.#highWater);
    else this.#pump();
  };

  readonly #endOfInput = (): void => {
    if (this.#inputEnded) return;
    this.#inputEnded = true;
    this.#framing.end(new RpcError(ErrorCode.ParseError, CUT));
    this.#schedule();
  };

  #schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    setImmediate(this.#pump);
  }

  // Delivers a group of lines. Goes on in the next turn of the event loop, or when the output has drained.
  readonly #pump = (): void => {
    this.#scheduled = false;
    const sink = this.#sink;
    if (sink === undefined || this.#sinkClosed) return;
    const group = Math.min(LARGEST_GROUP, this.#gate.room);
    if (group <= 0) return this.#waitForAnswers();
    for (let lines = 0; lines < group; lines++) {
      if (this.#output.congested) return this.#stall();
      const line = this.#framing.next();
      if (line === undefined) return this.#caughtUp();
      this.#gate.delivered();
      if (line instanceof UnreadableLine) sink.unreadable(line.error, this.#arrival, line.excerpt);
      else void sink.receive(line, this.#arrival);
    }
    this.#unwritten += group;
    if (this.#unwritten < LINES_A_WRITE) this.#output.hold();
    else this.#release();
    this.#schedule();
  };

  #release(): void {
    this.#unwritten = 0;
    this.#output.release();
  }

  #caughtUp(): void {
    this.#backlog = 0;
    this.#release();
    if (this.#inputEnded) return this.#closeSink();
    if (!this.#paused) return;
    this.#paused = false;
    this.#input?.resume();
  }

  #waitForAnswers(): void {
    this.#release();
    this.#pauseIf(true);
    this.#overdue ??= setTimeout(this.#letMoreIn, OVERDUE_MS);
  }

  readonly #letMoreIn = (): void => {
    this.#gate.overdue();
    this.#stopWaiting();
    this.#schedule();
  };

  #stopWaiting(): void {
    clearTimeout(this.#overdue);
    this.#overdue = undefined;
  }

  #settled(length: number): void {
    this.#gate.settled(length);
    if (this.#overdue === undefined || this.#gate.room <= 0) return;
    this.#stopWaiting();
    this.#schedule();
  }

  #stall(): void {
    this.#stalled = true;
    this.#release();
    this.#pauseIf(true);
  }

  #goOn(): void {
    if (!this.#stalled) return;
    this.#stalled = false;
    this.#schedule();
  }

  #pauseIf(needed: boolean): void {
    if (!needed || this.#paused) return;
    this.#paused = true;
    this.#input?.pause();
  }

  #closeSink(): void {
    if (this.#sinkClosed) return;
    this.#sinkClosed = true;
    this.#sink?.closed();
  }

  #stopIntake(): void {
    this.#unwatchParent?.();
    this.#stopWaiting();
    this.#input?.off("data", this.#take).off("end", this.#endOfInput).off("close", this.#endOfInput);
    // Only what is ours is destroyed; a destroyed standard input lets the process end.
    if (this.#ownsInput) this.#input?.destroy();
    else this.#input?.pause();
  }

  // Nothing can come or go any more.
  #end(): void {
    this.#stopIntake();
    this.#output.abandon();
    this.#closeSink();
  }
}

// Notices that the parent process is gone, which the end of input tells only while nobody else holds the pipe.

// An orphan may live for 100 ms, and on a busy machine needs half of them to end. Waking up more often would show in what
// an idle server takes of its core, which is a third of a percent like this.
const INTERVAL_MS = 40;

/** Calls `onGone` once the process that started this one has ended. Returns the function that stops watching. */
function watchParent(onGone: () => void): () => void {
  const parent = process.ppid;
  const timer = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(timer);
    onGone();
  }, INTERVAL_MS);
  timer.unref();
  return () => clearInterval(timer);
}

// Standard input read into one buffer over and over, so that reading leaves nothing behind for the garbage collector.

// Asked for by name: importing them would make Node load all they could lead to, which is 3 ms at every start.
const fs = process.getBuiltinModule("node:fs");
const net = process.getBuiltinModule("node:net");

// What a pipe holds.
const BUFFER_BYTES = 64 * 1024;

/**
 * Begins to read standard input. Chunks go to `take`, which must not keep them; the stream returned ends, pauses,
 * resumes and is destroyed as any other. A terminal or a file is read by Node's own stream.
 */
function readStdin(take: (chunk: Uint8Array) => void): Readable {
  // Bun has no sockets over descriptors: one made of standard input ends at once.
  if (process.versions["bun"] !== undefined || !isPipe()) return process.stdin.on("data", take);
  const buffer = new Uint8Array(BUFFER_BYTES);
  const callback = (length: number): boolean => {
    take(buffer.subarray(0, length));
    return true;
  };
  // The type of the constructor leaves `onread` out; its documentation and its code have it.
  const options: SocketConstructorOpts & { onread: OnReadOpts } = {
    fd: 0,
    readable: true,
    onread: { buffer, callback },
  };
  return new net.Socket(options);
}

function isPipe(): boolean {
  const stat = fs.fstatSync(0);
  return stat.isFIFO() || stat.isSocket();
}
