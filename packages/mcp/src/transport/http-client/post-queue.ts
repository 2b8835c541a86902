// Posts what expects no answer (notifications, and responses to the server): a few at once, the rest in order.
import type { Outgoing } from "../../jsonrpc/link.js";
import { LocalError } from "../../jsonrpc/local-error.js";
import { isResponse } from "./answer-text.js";
import { Deadline } from "./canceller.js";
import { statusError } from "./http-errors.js";
import type { HttpReply } from "./http-requester.js";
import type { LinkWire } from "./link-wire.js";
import { asLocal } from "./request-exchange.js";

interface Waiting {
  readonly message: Outgoing;
  readonly session: string | undefined;
  readonly done: () => void;
}

export class PostQueue {
  readonly #wire: LinkWire;
  readonly #waiting: Waiting[] = [];
  readonly #deadlines = new Set<Deadline>();
  #running = 0;
  #closed = false;

  constructor(wire: LinkWire) {
    this.#wire = wire;
  }

  /** Resolves when the server has taken it, or will not. Never rejects. */
  send(message: Outgoing, session: string | undefined): Promise<void> {
    const { waitingPosts } = this.#wire.limits;
    if (this.#closed) return Promise.resolve();
    if (this.#waiting.length >= waitingPosts) {
      this.#wire.trouble(
        `more than ${waitingPosts} messages wait to be posted: ${message.method ?? message.kind} was dropped`,
      );
      return Promise.resolve();
    }
    return new Promise((done) => {
      this.#waiting.push({ message, session, done });
      this.#next();
    });
  }

  close(): void {
    this.#closed = true;
    for (const { done } of this.#waiting.splice(0)) done();
    for (const deadline of this.#deadlines) deadline.cancel();
  }

  #next(): void {
    while (this.#running < this.#wire.limits.posts) {
      const waiting = this.#waiting.shift();
      if (waiting === undefined) return;
      this.#running++;
      void this.#post(waiting).then(() => {
        this.#running--;
        waiting.done();
        this.#next();
      });
    }
  }

  async #post({ message, session }: Waiting): Promise<void> {
    const { limits, shown } = this.#wire;
    const deadline = new Deadline(limits.postMs);
    this.#deadlines.add(deadline);
    try {
      const { text, headers } = message;
      const reply = await this.#wire.post({ text, headers, repeatable: false, session, started: deadline.started });
      await this.#judge(reply, session);
    } catch (error) {
      const why = deadline.late ? `${shown} did not accept it within ${limits.postMs} ms` : asLocal(error).message;
      if (!this.#closed) this.#wire.trouble(`${message.method ?? message.kind} was not delivered: ${why}`);
    }
    deadline.stop();
    this.#deadlines.delete(deadline);
  }

  async #judge(reply: HttpReply, session: string | undefined): Promise<void> {
    const { status } = reply;
    const { limits, shown, sink } = this.#wire;
    const accepted = status >= 200 && status <= 299;
    // Read whatever it is, so that the connection can be used again.
    const text = await reply.text(limits.errorBytes).catch(() => "");
    if (accepted) return;
    if (status === 404 && session !== undefined) {
      this.#wire.expired(session);
      throw new LocalError("SESSION_EXPIRED", `${shown} does not know the session any more (HTTP 404)`);
    }
    if (isResponse(text)) await sink.receive(text, { status });
    throw statusError(status, shown, text);
  }
}
