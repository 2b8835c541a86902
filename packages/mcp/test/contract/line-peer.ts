// A client of the contract: it writes lines, matches answers to requests, and judges all it reads.
import { WireJudge } from "../support/wire-judge.js";
import { envelope, type Message } from "../support/stub-transport.js";

/** How lines travel, whatever the transport. */
export interface Wire {
  write(text: string): void;
  /** Says that no more will be written; undefined where the transport cannot say so without closing. */
  readonly end: (() => void) | undefined;
  close(): void;
  /** Resolves when the server has let go, with what the transport knows of how. */
  readonly closed: Promise<unknown>;
}

export type Revision = "2024-11-05" | "2025-03-26" | "2025-06-18" | "2025-11-25" | "2026-07-28";

export class LinePeer {
  readonly messages: Message[] = [];
  readonly wire: Wire;
  readonly revision: Revision;
  readonly judge = new WireJudge();
  readonly #waiting = new Map<unknown, (message: Message) => void>();
  #ids = 0;

  constructor(revision: Revision, connect: (received: (text: string) => void) => Wire) {
    this.revision = revision;
    this.wire = connect((text) => this.#received(text));
  }

  async open(): Promise<this> {
    if (this.revision === "2026-07-28") return this;
    await this.call("initialize", {
      protocolVersion: this.revision,
      capabilities: {},
      clientInfo: { name: "contract", version: "1" },
    });
    this.send({ jsonrpc: "2.0", method: "notifications/initialized" });
    return this;
  }

  send(message: Message | string): void {
    const text = typeof message === "string" ? message : JSON.stringify(message);
    this.judge.sent(text);
    this.wire.write(text);
  }

  /** Sends a request and gives its whole answer. */
  call(method: string, params: Message = {}, id: string | number = ++this.#ids): Promise<Message> {
    const { _meta, ...rest } = params;
    const meta = this.revision === "2026-07-28" ? envelope({}, _meta as object) : _meta;
    const answer = new Promise<Message>((resolve) => this.#waiting.set(id, resolve));
    this.send({ jsonrpc: "2.0", id, method, params: { ...rest, ...(meta === undefined ? {} : { _meta: meta }) } });
    return answer;
  }

  tool(name: string, args?: Message, id?: string | number): Promise<Message> {
    return this.call("tools/call", { name, ...(args === undefined ? {} : { arguments: args }) }, id);
  }

  #received(text: string): void {
    this.judge.received(text);
    const message = JSON.parse(text) as Message;
    this.messages.push(message);
    if ("method" in message) return;
    this.#waiting.get(message["id"])?.(message);
    this.#waiting.delete(message["id"]);
  }
}

/** Text of a tool's answer. */
export function textOf(answer: Message): string | undefined {
  const { content } = (answer["result"] ?? {}) as { content?: { text?: string }[] };
  return content?.[0]?.text;
}
