// The family of errors that crosses the wire: a number, a sentence and optional data.
import type { ErrorObject } from "./message.js";

/** Everything in it is shown to the other side: never put a stack, a path or a secret into `message` or `data`. */
export class RpcError extends Error {
  override readonly name: string = "RpcError";
  readonly code: number;
  readonly data: unknown;

  constructor(code: number, message: string, data?: unknown) {
    super(message);
    this.code = code;
    this.data = data;
  }

  toObject(): ErrorObject {
    const { code, message, data } = this;
    return data === undefined ? { code, message } : { code, message, data };
  }
}
