// What an HTTP endpoint needs of the program behind it: conversations, and answers outside of them.
import type { Carrier } from "../../jsonrpc/carrier.js";
import type { JsonRpcLimits } from "../../jsonrpc/limits.js";
import type { AloneCarrier } from "./alone-carrier.js";

/** One session's messages, served. */
export interface HttpConversation {
  /** The revision lets streams be closed before the answer. */
  readonly polling: boolean;
  /** Requests being served now. */
  readonly active: number;
  /** Serves a parsed message or batch, or the fault it turned out to be. */
  deliver(value: unknown, carrier: Carrier): void;
  /** Asks the client whether it is there; false when no answer came in time. Never rejects. */
  ping(timeoutMs: number): Promise<boolean>;
  close(graceMs: number): Promise<void>;
}

export interface HttpService {
  readonly limits: JsonRpcLimits;
  /** Begins a conversation; what belongs to no request of it goes to `standing`. */
  converse(standing: Carrier): HttpConversation;
  /** Whether a parsed message, batch or fault belongs to the stateless era: the body decides, then the header. */
  isStateless(value: unknown, version: string | undefined): boolean;
  serveStateless(value: unknown, carrier: AloneCarrier): void;
  /** Serves a message of the handshake era without a session. */
  serveAlone(value: unknown, carrier: AloneCarrier): void;
  /** Whether a value of MCP-Protocol-Version names a revision with sessions. */
  hasSessions(version: string): boolean;
  /** Ends what runs outside of conversations: listens at once, the rest after `graceMs` at the latest. */
  close(graceMs: number): Promise<void>;
}
