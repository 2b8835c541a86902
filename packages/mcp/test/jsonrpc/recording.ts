// A carrier and a handler that remember what reached them.
import type { Carrier, OutgoingKind } from "../../src/jsonrpc/transport.js";
import {
  type NotificationMessage,
  type RequestId,
  type RequestMessage,
  successText,
} from "../../src/jsonrpc/message.js";
import type { ConnectionHandler, WireRules } from "../../src/jsonrpc/connection.js";
import type { Waiting } from "../../src/jsonrpc/outgoing.js";
import type { RpcError } from "../../src/jsonrpc/errors.js";

export class RecordingCarrier implements Carrier {
  readonly kind = "test";
  readonly principal = "ada";
  closed = false;
  readonly written: unknown[] = [];
  readonly kinds: OutgoingKind[] = [];
  readonly codes: (number | undefined)[] = [];

  header(name: string): string {
    return `value of ${name}`;
  }

  write(text: string, kind: OutgoingKind, errorCode?: number): void {
    this.written.push(JSON.parse(text));
    this.kinds.push(kind);
    this.codes.push(errorCode);
  }
}

export class RecordingHandler implements ConnectionHandler {
  wire: WireRules = { batches: true, unreadableId: "null" };
  readonly requests: { message: RequestMessage; carrier: Carrier }[] = [];
  readonly seen: string[] = [];
  readonly reasons: string[] = [];
  /** Requests of ours that were given up, and why. */
  readonly given: [RequestId, string][] = [];
  ended = 0;
  refuse: ((message: RequestMessage | NotificationMessage) => RpcError | undefined) | undefined;

  rules(): WireRules {
    return this.wire;
  }

  request(message: RequestMessage, carrier: Carrier): void {
    this.seen.push(message.method);
    this.requests.push({ message, carrier });
  }

  notification(message: NotificationMessage): void {
    this.seen.push(message.method);
  }

  batchElement(message: RequestMessage | NotificationMessage): RpcError | undefined {
    return this.refuse?.(message);
  }

  ignored(reason: string): void {
    this.reasons.push(reason);
  }

  abandoned(id: RequestId, _waiting: Waiting, reason: string): void {
    this.given.push([id, reason]);
  }

  closed(): void {
    this.ended++;
  }

  /** Answers the request that came as number `index`. */
  answer(index: number): void {
    const { message, carrier } = this.requests[index] as (typeof this.requests)[number];
    void carrier.write(successText(message.id, "{}"), "response");
  }
}
