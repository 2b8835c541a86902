// What keeps one subscription alive, in whichever era.
import type { JsonObject, RequestId } from "../jsonrpc/message.js";

export interface Keeper {
  start(): void;
  /** A new session or process has replaced the old one. */
  reopened(): void;
  /** Whether a change that came under this subscription id is for it. */
  accepts(id: unknown): boolean;
  acknowledged(id: unknown, honoured: JsonObject): void;
  /** The server ended it. */
  cancelled(id: RequestId): void;
  stop(): Promise<void>;
}
