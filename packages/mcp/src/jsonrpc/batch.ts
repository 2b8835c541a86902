// Collects the answers to one batch and sends them as one array when the last is there.
import type { Carrier, OutgoingKind } from "./carrier.js";
import { type IdentifiedCarrier, type Identity, identityOf } from "./identity.js";

/** The answers still owed to one batch; `waiting` counts its requests. */
export class BatchAnswers {
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
export class BatchElementCarrier implements IdentifiedCarrier {
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
