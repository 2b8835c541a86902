// Where a message came from and where its answers go, as upper layers see it.

export type OutgoingKind = "response" | "request" | "notification";

/** One serialised message in pieces, the long ones encoded already. */
export type MessagePieces = readonly (string | Uint8Array)[];

/** Upper layers read a carrier and never write its fields. */
export interface Carrier {
  /** How the bytes travel: "stdio", "memory", "http", "sse". */
  readonly kind: string;
  /** Who is asking, when the transport knows. */
  readonly principal: string | undefined;
  /** True once nothing written here can reach the other side. */
  readonly closed: boolean;
  /** A header of the message by its lower-case name; undefined where there are no headers. */
  header(name: string): string | undefined;
  /**
   * Sends one serialised message without a line break in it. Undefined when it was taken at once; otherwise a promise
   * that resolves when the reader has caught up. Never throws or rejects: a closed carrier drops the message.
   * `errorCode` is the code of an error response, from which HTTP chooses its status.
   */
  write(text: string, kind: OutgoingKind, errorCode?: number): void | Promise<void>;
  /**
   * Sends a successful response in pieces. False where the transport has no use for bytes, and nothing happened: then
   * `write` it.
   */
  writePieces?(pieces: MessagePieces): boolean;
  /** Sends a long successful response in texts it would cost to join. Absent where they have to be joined. */
  writeTexts?(texts: readonly string[]): void;
  /** Says that the message this carrier came with will get no response: it wants none, or it was `cancelled`. */
  abandon?(cancelled?: boolean): void;
  /** True where nothing but the answer can be sent with it: no notification, no question. */
  readonly answersOnly?: boolean;
  /** True where a question written now could reach nobody. */
  readonly unheard?: boolean;
  /**
   * Hangs up on the reader while its request goes on: it comes back for the rest after `retryMs`. False where the
   * transport or the revision has no such thing, and nothing happened.
   */
  hangUp?(retryMs: number): boolean;
}
