// The carrier of `initialize`: a successful answer makes the session real and tells the client its id in a header, so that
// the reply cannot begin before the answer is there.
import type { OutgoingKind } from "../../jsonrpc/carrier.js";
import type { HeaderList, HttpExchange } from "./exchange.js";
import { SessionCarrier } from "./session-carrier.js";
import type { SessionTable } from "./session-table.js";
import type { StandingCarrier } from "./standing-carrier.js";

export class OpeningCarrier extends SessionCarrier {
  readonly #table: SessionTable;
  #settled = false;
  #succeeded = false;

  constructor(exchange: HttpExchange, standing: StandingCarrier, table: SessionTable) {
    super(exchange, standing);
    this.#table = table;
  }

  override write(text: string, kind: OutgoingKind, errorCode?: number): void | Promise<void> {
    if (kind === "response") this.#settle(errorCode === undefined);
    return super.write(text, kind, errorCode);
  }

  /** The handshake is written as text: its answer is what settles the session. */
  override writePieces(): boolean {
    return false;
  }

  override abandon(cancelled?: boolean): void {
    this.#settle(false);
    super.abandon(cancelled);
  }

  protected override get headers(): HeaderList {
    return this.#succeeded ? this.session.headers : super.headers;
  }

  #settle(succeeded: boolean): void {
    if (this.#settled) return;
    this.#settled = true;
    if (succeeded && !this.exchange.over) {
      this.#succeeded = true;
      this.#table.add(this.standing);
    } else {
      this.#table.release();
      queueMicrotask(() => void this.session.close(0));
    }
  }
}
