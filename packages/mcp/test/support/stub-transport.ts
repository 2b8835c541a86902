// A transport held by the test: who asks is said, the reader may fall behind, and every message is judged.
import { expect, onTestFinished } from "vitest";
import type { Carrier, MessageSink, Transport } from "../../src/jsonrpc/transport.js";
import { serve } from "../../src/serve/serve.js";
import type { ServeOptions, Serving } from "../../src/server/conversation.js";
import type { Server } from "../../src/server/server.js";
import { WireJudge } from "./wire-judge.js";

export type Message = Record<string, unknown>;

/** The client's end of a stub transport, and the server behind it. */
export interface Stub {
  readonly written: Message[];
  readonly serving: Serving;
  send(message: Message | Message[] | string): void;
  /** From now on nothing written is read, until `catchUp`. */
  fallBehind(): void;
  catchUp(): Promise<void>;
  /** The other side will send no more. */
  end(): void;
  /** The answer to a request, once it is there. */
  answer(id: unknown): Promise<Message>;
}

export function serveStub(server: Server, principal?: string, options?: ServeOptions): Stub {
  const judge = new WireJudge();
  const written: Message[] = [];
  const waiting = new Map<unknown, (message: Message) => void>();
  let behind: Promise<void> | undefined;
  let release = (): void => undefined;
  let sink: MessageSink | undefined;
  const carrier: Carrier = {
    kind: "stub",
    principal,
    closed: false,
    header: () => undefined,
    write(text) {
      judge.received(text);
      const message = JSON.parse(text) as Message;
      written.push(message);
      if (!("method" in message)) waiting.get(message["id"])?.(message);
      return behind;
    },
  };
  const transport: Transport = {
    kind: "stub",
    start: (started) => {
      sink = started;
    },
    send: ({ text, kind }) => carrier.write(text, kind),
    close: () => Promise.resolve(),
  };
  const serving = serve(server, transport, options);
  onTestFinished(async () => {
    release();
    await serving.close();
    expect(judge.faults).toEqual([]);
  });
  return {
    written,
    serving,
    send(message) {
      const text = typeof message === "string" ? message : JSON.stringify(message);
      judge.sent(text);
      void sink?.receive(text, { reply: carrier });
    },
    fallBehind() {
      behind ??= new Promise((resolve) => {
        release = resolve;
      });
    },
    async catchUp() {
      behind = undefined;
      release();
      await turns(3);
    },
    end: () => sink?.closed(),
    answer(id) {
      const there = written.find((message) => message["id"] === id && !("method" in message));
      return there === undefined ? new Promise((resolve) => waiting.set(id, resolve)) : Promise.resolve(there);
    },
  };
}

/** Lets everything that is ready run. */
export async function turns(count = 5): Promise<void> {
  for (let turn = 0; turn < count; turn++) await new Promise((resolve) => setImmediate(resolve));
}

/** `params._meta` of a stateless request. */
export function envelope(capabilities: object = {}, more: object = {}): Message {
  return {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": capabilities,
    ...more,
  };
}

/** A stateless request. */
export function stateless(
  id: string | number,
  method: string,
  params: Message = {},
  capabilities: object = {},
): Message {
  return { jsonrpc: "2.0", id, method, params: { _meta: envelope(capabilities), ...params } };
}

/** The handshake of a revision. */
export function handshake(id: number, date = "2025-11-25", capabilities: object = {}): Message {
  const params = { protocolVersion: date, capabilities, clientInfo: { name: "stub", version: "1" } };
  return { jsonrpc: "2.0", id, method: "initialize", params };
}
