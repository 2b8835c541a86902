// One side of a conversation: sorts what arrives, answers what is not a valid message, and matches answers to requests.
import { BatchAnswers, BatchElementCarrier } from "./batch.js";
import type { Carrier } from "./carrier.js";
import { classify } from "./classify.js";
import { ErrorCode } from "./error-codes.js";
import { identify } from "./identify.js";
import type { JsonRpcLimits } from "./limits.js";
import type { FailureMessage, JsonObject, NotificationMessage, RequestMessage, SuccessMessage } from "./message.js";
import { ParseFault } from "./parse-fault.js";
import { parseJson } from "./parse.js";
import { type AnswerTable, type OutgoingRequest, PendingRequests, type RequestOptions } from "./pending.js";
import { failureText } from "./respond.js";
import type { RpcError } from "./rpc-error.js";
import type { Excerpt, MessageSink } from "./transport.js";
import { peerWords } from "./visible-text.js";

/** What the JSON-RPC layer has to know of the dialect being spoken at the moment. */
export interface WireRules {
  readonly batches: boolean;
  /** What stands for the id in the answer to a message whose id could not be read. */
  readonly unreadableId: "null" | "absent";
}

export interface PeerHandler {
  rules(): WireRules;
  /** Must answer with exactly one "response" on `carrier`, or call `carrier.abandon`; must not throw. */
  request(message: RequestMessage, carrier: Carrier): void;
  /** Must not throw. */
  notification(message: NotificationMessage, carrier: Carrier): void;
  /** Called for each element of a batch before any is served; an error refuses that element. */
  batchElement?(message: RequestMessage | NotificationMessage): RpcError | undefined;
  /** Told, for the log, of what was neither served nor answered: stray responses, invalid notifications. */
  ignored?(reason: string): void;
  /** The other side will send no more; requests of ours have been rejected already. */
  closed?(): void;
}

export class Peer implements MessageSink {
  readonly #handler: PeerHandler;
  readonly #limits: JsonRpcLimits;
  /** Made at the first request of ours: most sessions never ask anything. */
  #pending: PendingRequests | undefined;
  readonly #answers: AnswerTable | undefined;
  #closed = false;

  /** `answers`: who takes the responses, when requests are not sent by `request`. */
  constructor(handler: PeerHandler, limits: JsonRpcLimits, answers?: AnswerTable) {
    this.#handler = handler;
    this.#limits = limits;
    this.#answers = answers;
  }

  /** The number of requests of ours that wait for an answer. */
  get pending(): number {
    return this.#pending?.size ?? 0;
  }

  receive(text: string, carrier: Carrier): void {
    this.deliver(parseJson(text, this.#limits), carrier);
  }

  /** Takes in what `parseJson` made of a text, for transports that have to look at a message themselves. */
  deliver(value: unknown, carrier: Carrier): void {
    if (value instanceof ParseFault) this.#refuse(value, carrier);
    else if (Array.isArray(value)) this.#receiveBatch(value, carrier);
    else this.#receiveOne(value, carrier);
  }

  unreadable(error: RpcError, carrier: Carrier, excerpt?: Excerpt): void {
    const identity = excerpt === undefined ? undefined : identify(excerpt);
    this.#refuse(new ParseFault(error.code, error.message, identity), carrier);
  }

  closed(): void {
    this.#closed = true;
    this.#pending?.close();
    this.#answers?.close();
    this.#handler.closed?.();
  }

  /**
   * Sends a request to the other side over `carrier` and resolves with its result. Rejects with an `RpcError` when it
   * is answered with an error, otherwise with a `LocalError` (CLOSED, TIMEOUT, CANCELLED, LIMIT, INVALID_RESPONSE).
   */
  request(carrier: Carrier, message: OutgoingRequest, options: RequestOptions): Promise<JsonObject> {
    if (this.#pending === undefined) {
      this.#pending = new PendingRequests(this.#limits);
      if (this.#closed) this.#pending.close();
    }
    return this.#pending.send(carrier, message, options);
  }

  #receiveOne(value: unknown, carrier: Carrier): void {
    const kind = classify(value);
    if (kind === "request") this.#handler.request(value as RequestMessage, carrier);
    else if (kind instanceof ParseFault) this.#refuse(kind, carrier);
    else {
      if (kind === "notification") this.#handler.notification(value as NotificationMessage, carrier);
      else this.#receiveResponse(kind, value);
      carrier.abandon?.();
    }
  }

  // What kind it is says `classify` alone: a member may be there and be null.
  #receiveResponse(kind: "success" | "failure", value: unknown): void {
    const table = this.#answers ?? this.#pending;
    const message = value as SuccessMessage | FailureMessage;
    const expected =
      kind === "success" ? table?.succeed(value as SuccessMessage) : table?.fail(value as FailureMessage);
    if (expected === true) return;
    const detail = kind === "failure" ? `: ${peerWords((value as FailureMessage).error.message)}` : "";
    this.#ignore(`response to no pending request, id ${peerWords(JSON.stringify(message.id ?? null))}${detail}`);
  }

  #receiveBatch(elements: readonly unknown[], carrier: Carrier): void {
    const fault = this.#faultOfBatch(elements);
    if (fault !== undefined) return this.#refuse(fault, carrier);
    const accepted: (RequestMessage | NotificationMessage)[] = [];
    const refusals: string[] = [];
    let requests = 0;
    for (const element of elements) {
      const kind = this.#classifyElement(element);
      if (kind instanceof ParseFault) {
        const text = this.#refusal(kind);
        if (text !== undefined) refusals.push(text);
      } else if (kind === "success" || kind === "failure") {
        this.#receiveResponse(kind, element);
      } else {
        accepted.push(element as RequestMessage | NotificationMessage);
        if (kind === "request") requests++;
      }
    }
    const answers = new BatchAnswers(carrier, requests, refusals);
    for (const message of accepted) {
      if ("id" in message) this.#handler.request(message, new BatchElementCarrier(answers));
      else this.#handler.notification(message, carrier);
    }
  }

  #faultOfBatch(elements: readonly unknown[]): ParseFault | undefined {
    const limit = this.#limits.batch;
    let text: string | undefined;
    if (!this.#handler.rules().batches) text = "This protocol revision has no batches: send one message at a time";
    else if (elements.length === 0) text = "A batch must hold at least one message";
    else if (elements.length > limit) text = `Batch refused: it holds more than ${limit} messages`;
    return text === undefined ? undefined : new ParseFault(ErrorCode.InvalidRequest, text);
  }

  #classifyElement(element: unknown): ReturnType<typeof classify> {
    const kind = classify(element);
    if (kind !== "request" && kind !== "notification") return kind;
    const error = this.#handler.batchElement?.(element as RequestMessage | NotificationMessage);
    if (error === undefined) return kind;
    const { id } = element as Partial<RequestMessage>;
    return new ParseFault(error.code, error.message, { id, silent: kind === "notification" });
  }

  #refuse(fault: ParseFault, carrier: Carrier): void {
    const text = this.#refusal(fault);
    if (text === undefined) carrier.abandon?.();
    else void carrier.write(text, "response", fault.code);
  }

  // The text that answers a fault; undefined when it is not answered.
  #refusal(fault: ParseFault): string | undefined {
    const { code, message, id, silent } = fault;
    if (!silent) {
      const unreadable = this.#handler.rules().unreadableId === "null" ? null : undefined;
      return failureText(id ?? unreadable, { code, message });
    }
    if (id === undefined || (this.#answers ?? this.#pending)?.failMalformed(id) !== true) this.#ignore(message);
  }

  #ignore(reason: string): void {
    this.#handler.ignored?.(reason);
  }
}
