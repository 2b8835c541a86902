// The GET stream of a session, on which a server says what belongs to no request: opened once, taken up after each end.
import { ErrorCode } from "../../jsonrpc/error-codes.js";
import { RpcError } from "../../jsonrpc/rpc-error.js";
import { Canceller } from "./canceller.js";
import { EventFeed } from "./event-feed.js";
import type { HttpReply } from "./http-requester.js";
import type { LinkWire } from "./link-wire.js";
import { bodyKind } from "./media-type.js";
import { Reconnection } from "./reconnection.js";
import { asLocal } from "./request-exchange.js";

export class StandingStream {
  readonly #wire: LinkWire;
  readonly #session: string | undefined;
  readonly #reconnection: Reconnection;
  readonly #feed: EventFeed;
  readonly #canceller = new Canceller();
  #served = false;
  #settle!: () => void;
  /** Resolves once the server has answered the first GET, whatever it said. */
  readonly answered: Promise<void>;
  /** Resolves when it will not be taken up again. */
  readonly ended: Promise<void>;
  /** Being read now. */
  open = false;
  /** The server has opened it once, and it was given up later. */
  givenUp = false;

  constructor(wire: LinkWire, session: string | undefined) {
    this.#wire = wire;
    this.#session = session;
    this.#reconnection = new Reconnection(wire.limits);
    const { messageBytes } = wire.limits;
    this.#feed = new EventFeed(messageBytes, {
      event: ({ type, data }) => {
        if (!this.#canceller.cancelled && type === "message" && data !== "")
          return wire.sink.receive(data, { status: 200 });
      },
      oversized: () => {
        const what = `Message refused: an event longer than ${messageBytes} bytes`;
        wire.sink.unreadable(new RpcError(ErrorCode.InvalidRequest, what), { status: 200 });
      },
    });
    this.answered = new Promise((resolve) => {
      this.#settle = resolve;
    });
    this.ended = this.#run();
  }

  cancel(): void {
    this.#canceller.cancel();
    this.#reconnection.cancel();
    this.#settle();
  }

  async #run(): Promise<void> {
    for (;;) {
      const reply = await this.#connect();
      this.#settle();
      if (reply === "never" || this.#canceller.cancelled) return;
      if (reply !== undefined) await this.#read(reply);
      if (this.#canceller.cancelled) return;
      const why = this.#reconnection.giveUp(this.#feed.retryMs);
      if (why !== undefined) {
        this.givenUp = this.#served;
        return this.#wire.trouble(`the stream for what the server says by itself is closed: ${why}`);
      }
      if (!(await this.#reconnection.wait(this.#feed.retryMs))) return;
    }
  }

  /** A stream to read; undefined after a failure that may pass; "never" when the server has no such stream. */
  async #connect(): Promise<HttpReply | undefined | "never"> {
    const { cursor } = this.#feed;
    const { started } = this.#canceller;
    let reply: HttpReply;
    try {
      reply = await this.#wire.get({ cursor, session: this.#session, started });
    } catch (error) {
      const { code, message } = asLocal(error);
      this.#reconnection.failed();
      if (code === "UNREACHABLE" || code === "OUTCOME_UNKNOWN" || code === "TIMEOUT") return undefined;
      if (!this.#canceller.cancelled) this.#wire.trouble(message);
      return "never";
    }
    if (reply.status === 200 && bodyKind(reply.header("content-type")) === "events") {
      this.#served = true;
      return reply;
    }
    const { status } = reply;
    void reply.text(this.#wire.limits.errorBytes).catch(() => undefined);
    if (status >= 500 || status === 429 || status === 409) {
      this.#reconnection.failed();
      return undefined;
    }
    if (status === 404 && this.#served && this.#session !== undefined) this.#wire.expired(this.#session);
    return this.#forgetCursor(status) ? undefined : "never";
  }

  /** What came after the cursor is lost; what is still to come is worth having. */
  #forgetCursor(status: number): boolean {
    if (status !== 400 || this.#feed.cursor === undefined) return false;
    this.#feed.forgetCursor();
    return true;
  }

  async #read(reply: HttpReply): Promise<void> {
    this.open = true;
    try {
      await this.#feed.read(reply);
      this.#reconnection.ended(this.#feed.events);
    } catch (error) {
      // A cut is as good as an end, but an event without end would only come again.
      if (asLocal(error).code === "LIMIT") this.#reconnection.failed();
      else this.#reconnection.ended(this.#feed.events);
    }
    this.open = false;
  }
}
