// Carries the client's answers to the server's questions; what has no id of its own is not answered.
import type { Carrier, Outgoing, OutgoingKind } from "../jsonrpc/transport.js";

/** A refusal that names no request: answering a log line in JSON with it would only confuse the server. */
const NO_ID = '{"jsonrpc":"2.0","error"';

export class AnswerCarrier implements Carrier {
  readonly kind: string;
  readonly principal = undefined;
  closed = false;
  readonly #send: (message: Outgoing) => void;
  readonly #onNoise: () => void;

  constructor(kind: string, send: (message: Outgoing) => void, onNoise: () => void) {
    this.kind = kind;
    this.#send = send;
    this.#onNoise = onNoise;
  }

  header(): undefined {
    return undefined;
  }

  write(text: string, kind: OutgoingKind): void {
    if (this.closed) return;
    if (kind === "response" && text.startsWith(NO_ID)) this.#onNoise();
    else this.#send({ text, kind });
  }
}
