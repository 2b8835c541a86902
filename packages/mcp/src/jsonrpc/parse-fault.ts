// A refusal of one message: returned, not thrown, because refusing is part of normal work.
import type { BrokenLimit } from "./limits.js";
import type { RequestId } from "./message.js";

export class ParseFault {
  readonly code: number;
  /** Names the rule that was broken and, where there is one, the limit. */
  readonly message: string;
  /** The request's own id, when it could be read beyond doubt. */
  readonly id: RequestId | undefined;
  /** True when the message expects no answer, however wrong it is: a notification or a response. */
  readonly silent: boolean;
  /** The limit that was broken, where it was one. */
  readonly limit: BrokenLimit | undefined;

  constructor(
    code: number,
    message: string,
    about: { id?: RequestId | undefined; silent?: boolean; limit?: BrokenLimit } = {},
  ) {
    this.code = code;
    this.message = message;
    this.id = about.id;
    this.silent = about.silent ?? false;
    this.limit = about.limit;
  }
}
