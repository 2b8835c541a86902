// Keeps the text of exceptions until the audit record of their call is written: the client only ever gets an id.
import { ErrorCode } from "@secure-local/mcp/jsonrpc";
import { RpcError } from "@secure-local/mcp/server";

/** Exceptions whose call has not ended yet; those of calls that were given up are never asked for. */
const MAX_KEPT = 1_000;
const ERROR_ID = /\(error id ([0-9a-f]{8});/;

/** An exception and the id a client was given in its place. */
export interface Fault {
  readonly id: string;
  readonly text: string;
}

export class FaultBook {
  readonly #texts = new Map<string, string>();

  note(id: string, error: unknown): void {
    if (this.#texts.size >= MAX_KEPT) this.#texts.delete(this.#texts.keys().next().value as string);
    this.#texts.set(id, textOf(error));
  }

  /** The exception a failed tool result stands for. */
  claim(result: Readonly<Record<string, unknown>>): Fault | undefined {
    if (this.#texts.size === 0) return undefined;
    const [block] = result["content"] as { readonly text?: unknown }[];
    const id = typeof block?.text === "string" ? ERROR_ID.exec(block.text)?.[1] : undefined;
    const text = id === undefined ? undefined : this.#texts.get(id);
    if (id === undefined || text === undefined) return undefined;
    this.#texts.delete(id);
    return { id, text };
  }
}

/** Gives an exception an id. The error is what the client gets of it. */
export function hidden(error: unknown): { readonly fault: Fault; readonly error: RpcError } {
  const id = crypto.randomUUID().slice(0, 8);
  const text = `Internal error (error id ${id}; the server's log has the details)`;
  return { fault: { id, text: textOf(error) }, error: new RpcError(ErrorCode.InternalError, text, { errorId: id }) };
}

function textOf(error: unknown): string {
  return error instanceof Error ? (error.stack ?? `${error.name}: ${error.message}`) : String(error);
}
