// One connection, the same for both roles: sorts what arrives, keeps what is in service and what we wait for, sends.
import { ErrorCode, LocalError, type RpcError } from "./errors.js";
import type { JsonRpcLimits } from "./limits.js";
import {
  type FailureMessage,
  failureText,
  IncomingTable,
  type InService,
  type JsonObject,
  type NotificationMessage,
  peerWords,
  type RequestId,
  type RequestMessage,
  requestText,
  type SuccessMessage,
  withinGrace,
} from "./message.js";
import { ParseFault, classify, identify, parseJson } from "./parse.js";
import {
  type Arrival,
  type Carrier,
  type Excerpt,
  type IdentifiedCarrier,
  type Identity,
  type MessageSink,
  type Outgoing,
  type OutgoingKind,
  type Transport,
  identityOf,
  lackingFor,
} from "./transport.js";
import { OutgoingTable, type Waiting, closedError } from "./outgoing.js";

/** What the JSON-RPC layer has to know of the dialect being spoken at the moment. */
export interface WireRules {
  readonly batches: boolean;
  /** What stands for the id in the answer to a message whose id could not be read. */
  readonly unreadableId: "null" | "absent";
}

/** The role behind a connection: a server's session, a client's, or requests served one by one. */
export interface ConnectionHandler {
  rules(): WireRules;
  /** Must answer with exactly one "response" on `carrier`, or call `carrier.abandon`; must not throw. */
  request(message: RequestMessage, carrier: Carrier): void;
  /** Must not throw. */
  notification(message: NotificationMessage, carrier: Carrier): void;
  /** Called for the well-formed messages of a batch before anything; a text refuses the batch, with one answer. */
  batch?(messages: readonly (RequestMessage | NotificationMessage)[]): string | undefined;
  /** Called for each element of a batch before any is served; an error refuses that element. */
  batchElement?(message: RequestMessage | NotificationMessage): RpcError | undefined;
  /** Told, for the log, of what was neither served nor answered: stray responses, invalid notifications. */
  ignored?(reason: string): void;
  /** Nobody waits for this answer any more, timed out or cancelled: the other side may be told. */
  abandoned?(id: RequestId, waiting: Waiting, reason: string): void;
  /** The other side will send no more. Told once. */
  closed?(error?: LocalError): void;
}

/** `Served` is what a request in service is to the role. */
export class Connection<Served extends InService = InService> implements MessageSink {
  /** The requests of the other side that are being served. */
  readonly incoming: IncomingTable<Served>;
  readonly #handler: ConnectionHandler;
  readonly #limits: JsonRpcLimits;
  /** Made at the first request of ours: most sessions never ask anything. */
  #outgoing: OutgoingTable | undefined;
  #transport: Transport | undefined;
  /** Where answers go that come with no way of their own. */
  #carrier: Carrier | undefined;
  /** What the ids of our requests begin with, where an answer may come to another process first. */
  idPrefix: string | undefined;
  #draining: Promise<void> | undefined;
  #ended = false;
  #over = false;

  constructor(handler: ConnectionHandler, limits: JsonRpcLimits) {
    this.#handler = handler;
    this.#limits = limits;
    this.incoming = new IncomingTable(limits.inFlight);
  }

  /** Opens the transport; `sink` looks at what arrives first. Resolves when it is ready to send, rejects with its LocalError. */
  async open(transport: Transport, sink: MessageSink = this): Promise<void> {
    this.#transport = transport;
    await transport.start(sink);
  }

  /** Sends by the transport. What nobody waits for any more when a transport that was behind has caught up is not sent. */
  send(message: Outgoing): void | Promise<void> {
    const transport = this.#transport;
    if (transport === undefined) return undefined;
    const { id } = message;
    const sent =
      this.#draining === undefined
        ? transport.send(message)
        : this.#draining.then(() => (id === undefined || this.awaits(id) ? transport.send(message) : undefined));
    if (sent === undefined) return undefined;
    const draining = sent.then(() => {
      if (this.#draining === draining) this.#draining = undefined;
    });
    this.#draining = draining;
    return draining;
  }

  // What arrives.

  receive(text: string, arrival?: Arrival): void {
    this.deliver(parseJson(text, this.#limits), arrival?.reply ?? this.#ownCarrier);
  }

  /** Takes in what `parseJson` made of a text, for transports that have to look at a message themselves. */
  deliver(value: unknown, carrier: Carrier): void {
    if (value instanceof ParseFault) this.#refuse(value, carrier);
    else if (Array.isArray(value)) this.#receiveBatch(value, carrier);
    else this.#receiveOne(value, carrier);
  }

  unreadable(error: RpcError, arrival?: Arrival, excerpt?: Excerpt): void {
    const identity = excerpt === undefined ? undefined : identify(excerpt);
    this.#refuse(new ParseFault(error.code, error.message, identity), arrival?.reply ?? this.#ownCarrier);
  }

  lost(id: RequestId, error: LocalError): void {
    this.giveUp(id, error);
  }

  noise(line: string): void {
    this.#handler.ignored?.(`noise: ${peerWords(line)}`);
  }

  closed(error?: LocalError): void {
    if (this.#over) return;
    this.#over = true;
    this.#handler.closed?.(error);
  }

  // What we ask.

  /** Requests of ours that wait for an answer. */
  get pending(): number {
    return this.#outgoing?.size ?? 0;
  }

  /** The id for the next request. */
  newId(): RequestId {
    return this.#table.newId(this.idPrefix);
  }

  /** Whether a request of ours waits under this id. */
  awaits(id: RequestId): boolean {
    return this.#outgoing?.has(id) === true;
  }

  /**
   * The promise of the answer to a request with a new id. Rejects with an `RpcError` when it is answered with an error,
   * otherwise with a `LocalError`. With CLOSED, CANCELLED or LIMIT it rejects at once: then `awaits` is false, and
   * nothing is to be sent.
   */
  expect(id: RequestId, waiting: Waiting): Promise<JsonObject> {
    return this.#table.add(id, waiting);
  }

  /** Asks over `waiting.carrier`. Resolves and rejects as `expect` does. */
  ask(
    id: RequestId,
    params: object | undefined,
    waiting: Waiting & { readonly carrier: Carrier },
  ): Promise<JsonObject> {
    const { carrier, method, signal } = waiting;
    if (carrier.closed && signal?.aborted !== true) return Promise.reject(closedError(method));
    const answer = this.expect(id, waiting);
    if (this.awaits(id)) void carrier.write(requestText(id, method, params), "request");
    return answer;
  }

  /** Rejects a request without telling the other side. False: nobody waits for it. */
  giveUp(id: RequestId | undefined, error: LocalError): boolean {
    return this.#outgoing?.failLocally(id, error) === true;
  }

  /** The HTTP status of the response that is delivered next, where there is one. */
  set status(status: number | undefined) {
    this.#table.status = status;
  }

  /** Progress for the request with this token. False: nobody waits for it. */
  progress(token: unknown, progress: JsonObject): boolean {
    return this.#outgoing?.progress(token, progress) === true;
  }

  /** What went on behind the answer to a request is over: its last progress is handed on, its token forgotten. */
  endProgress(token: RequestId): void {
    this.#outgoing?.endProgress(token);
  }

  /** The other side waits for us: until `release`, requests wait for as long as they may, whatever their time without progress. */
  hold(): void {
    this.#table.hold();
  }

  release(): void {
    this.#table.release();
  }

  /** Rejects what waits and all that comes later, with CLOSED or as `error` says. */
  end(error?: LocalError): void {
    this.#ended = true;
    this.#outgoing?.close(error);
  }

  /** Waits until nothing is in service, for about `graceMs` at most. */
  drain(graceMs: number): Promise<void> {
    return withinGrace(this.incoming.whenIdle(), graceMs);
  }

  get #table(): OutgoingTable {
    if (this.#outgoing === undefined) {
      this.#outgoing = new OutgoingTable(this.#limits, this.#handler);
      if (this.#ended) this.#outgoing.close();
    }
    return this.#outgoing;
  }

  get #ownCarrier(): Carrier {
    return (this.#carrier ??= this.#transportCarrier());
  }

  #transportCarrier(): Carrier {
    const ended = (): boolean => this.#ended;
    return {
      kind: this.#transport?.kind ?? "",
      principal: undefined,
      get closed() {
        return ended();
      },
      header: () => undefined,
      write: (text, kind) => this.send({ text, kind }),
    };
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
    const table = this.#outgoing;
    const message = value as SuccessMessage | FailureMessage;
    const expected =
      kind === "success" ? table?.succeed(value as SuccessMessage) : table?.fail(value as FailureMessage);
    if (expected === true) return;
    const detail = kind === "failure" ? `: ${peerWords((value as FailureMessage).error.message)}` : "";
    this.#ignore(`stray response, id ${peerWords(message.id ?? null)}${detail}`);
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
    else text = this.#handler.batch?.(elements.filter(isAsked));
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
    const malformed = new LocalError("INVALID_RESPONSE", "The answer is no JSON-RPC response");
    if (id === undefined || !this.giveUp(id, malformed)) this.#ignore(message);
  }

  #ignore(reason: string): void {
    this.#handler.ignored?.(reason);
  }
}

function isAsked(element: unknown): element is RequestMessage | NotificationMessage {
  const kind = classify(element);
  return kind === "request" || kind === "notification";
}

// Batches: the answers to one are collected and sent as one array when the last is there.

/** The answers still owed to one batch; `waiting` counts its requests. */
class BatchAnswers {
  readonly carrier: Carrier;
  #waiting: number;
  /** It held a request, none of which will get an answer. */
  readonly #requests: boolean;
  readonly #texts: string[];

  /** `texts` are the answers known already: refusals of elements that were not valid. */
  constructor(carrier: Carrier, waiting: number, texts: string[]) {
    this.carrier = carrier;
    this.#waiting = waiting;
    this.#requests = waiting > 0;
    this.#texts = texts;
    if (waiting === 0) void this.#send();
  }

  /** Takes the answer to one request, or undefined when it will get none. */
  settle(text: string | undefined): void | Promise<void> {
    if (text !== undefined) this.#texts.push(text);
    if (--this.#waiting === 0) return this.#send();
  }

  // A batch that holds nothing to answer is answered with nothing, not with an empty array.
  #send(): void | Promise<void> {
    if (this.#texts.length > 0) return this.carrier.write(`[${this.#texts.join(",")}]`, "response");
    this.carrier.abandon?.(this.#requests);
  }
}

/** The carrier of one request in a batch: its response joins the others, all else passes through. */
class BatchElementCarrier implements IdentifiedCarrier {
  readonly #answers: BatchAnswers;
  #settled = false;

  constructor(answers: BatchAnswers) {
    this.#answers = answers;
  }

  get kind(): string {
    return this.#answers.carrier.kind;
  }

  get principal(): string | undefined {
    return this.#answers.carrier.principal;
  }

  get identity(): Identity | undefined {
    return identityOf(this.#answers.carrier);
  }

  lacking(method: string, params: object): Error | undefined {
    return lackingFor(this.#answers.carrier, method, params);
  }

  get closed(): boolean {
    return this.#answers.carrier.closed;
  }

  get answersOnly(): boolean {
    return this.#answers.carrier.answersOnly === true;
  }

  get unheard(): boolean {
    return this.#answers.carrier.unheard === true;
  }

  header(name: string): string | undefined {
    return this.#answers.carrier.header(name);
  }

  write(text: string, kind: OutgoingKind, errorCode?: number): void | Promise<void> {
    if (kind !== "response") return this.#answers.carrier.write(text, kind, errorCode);
    return this.#settle(text);
  }

  abandon(): void {
    void this.#settle(undefined);
  }

  #settle(text: string | undefined): void | Promise<void> {
    if (this.#settled) return;
    this.#settled = true;
    return this.#answers.settle(text);
  }
}

// Learns from the answers how many messages may be in service at once, so that answers yet unseen fit into memory.

// Before anything is known: this many answers of a megabyte each is what memory may grow by.
const FIRST_ALLOWANCE = 16;
// What the answers in service may come to, judged by the last large one.
const LENGTH_IN_SERVICE = 4 * 1024 * 1024;
// A smaller answer earns room for one more message; a larger one takes room away.
const SMALL_ANSWER = 64 * 1024;

export class IntakeGate {
  readonly #most: number;
  #allowance = FIRST_ALLOWANCE;
  #inService = 0;

  /** `most` messages are in service at once at most. */
  constructor(most: number) {
    this.#most = most;
  }

  /** How many messages may be delivered now; zero or less for none. */
  get room(): number {
    return this.#allowance - this.#inService;
  }

  delivered(): void {
    this.#inService++;
  }

  /** One message got its answer, of this length; zero when it gets none. */
  settled(length: number): void {
    if (this.#inService > 0) this.#inService--;
    if (length > SMALL_ANSWER) this.#allowance = Math.max(1, Math.min(this.#allowance, LENGTH_IN_SERVICE / length));
    else if (this.#allowance < this.#most) this.#allowance++;
  }

  /** What is in service takes its time, perhaps waiting for a message that has not been delivered yet: makes room. */
  overdue(): void {
    this.#allowance = Math.max(this.#allowance, this.#inService) + FIRST_ALLOWANCE;
  }
}
