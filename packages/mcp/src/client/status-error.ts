// The error a server answered with, and the HTTP status it came under.
import { RpcError } from "../jsonrpc/errors.js";

export class StatusError extends RpcError {
  /** HTTP status of the response; undefined where the link has none. */
  readonly status: number | undefined;

  constructor(code: number, message: string, about: { data?: unknown; status?: number | undefined }) {
    super(code, message, about.data);
    this.status = about.status;
  }
}

/** The HTTP status an error came with: an error the server wrote, or a LocalError of the link. */
export function statusOf(error: unknown): number | undefined {
  const { status } = error as { status?: unknown };
  return typeof status === "number" ? status : undefined;
}
