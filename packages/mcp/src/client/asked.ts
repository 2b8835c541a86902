// Serves the questions a server sends as requests of its own, in a session.
import { ErrorCode } from "../jsonrpc/error-codes.js";
import type { Carrier } from "../jsonrpc/carrier.js";
import type { JsonObject, RequestId, RequestMessage } from "../jsonrpc/message.js";
import { failureText, successText } from "../jsonrpc/respond.js";
import { RpcError } from "../jsonrpc/rpc-error.js";
import type { ClientCodec } from "../era/client-codec.js";
import type { Implementation } from "../protocol/implementation.js";
import type { Questions } from "./questions.js";

/** Questions answered at once; a server that asks more is told to wait. */
const MOST_AT_ONCE = 32;

export class AskedQuestions {
  readonly #questions: Questions;
  readonly #warn: (text: string) => void;
  readonly #open = new Map<RequestId, AbortController>();

  constructor(questions: Questions, warn: (text: string) => void) {
    this.#questions = questions;
    this.#warn = warn;
  }

  /** Answers one question on its carrier; one that is cancelled is not answered. */
  async serve(
    message: RequestMessage,
    carrier: Carrier,
    about: { codec: ClientCodec; server: Implementation },
  ): Promise<void> {
    const { id, method, params = {} } = message;
    if (method === "ping") return void carrier.write(successText(id, "{}"), "response");
    const controller = new AbortController();
    try {
      if (this.#open.size >= MOST_AT_ONCE || this.#open.has(id)) throw busy();
      this.#open.set(id, controller);
      const text = await this.#answered(method, params, { ...about, signal: controller.signal });
      if (controller.signal.aborted) carrier.abandon?.();
      else void carrier.write(successText(id, text), "response");
    } catch (error) {
      if (controller.signal.aborted) carrier.abandon?.();
      else this.#refuse(message, carrier, error);
    } finally {
      if (this.#open.get(id) === controller) this.#open.delete(id);
    }
  }

  /** The server took its question back. */
  cancel(params: JsonObject): void {
    this.#open.get(params["requestId"] as RequestId)?.abort("cancelled by the server");
  }

  /** Nobody hears the answers any more. */
  cancelAll(): void {
    for (const controller of this.#open.values()) controller.abort("the connection ended");
    this.#open.clear();
  }

  async #answered(
    method: string,
    params: JsonObject,
    { codec, server, signal }: { codec: ClientCodec; server: Implementation; signal: AbortSignal },
  ): Promise<string> {
    const declared = codec.capabilities;
    const answer = await this.#questions.answer(method, params, { signal, server, declared });
    return JSON.stringify(codec.answer(method, answer));
  }

  // What the handler threw stays here: only an RpcError was made to be read by the server.
  #refuse({ id, method }: RequestMessage, carrier: Carrier, error: unknown): void {
    const known = error instanceof RpcError;
    const shown = known ? error : new RpcError(ErrorCode.InternalError, "The client could not answer");
    if (!known) this.#warn(`Answering ${method} failed: ${error instanceof Error ? error.message : String(error)}`);
    void carrier.write(failureText(id, shown.toObject()), "response", shown.code);
  }
}

function busy(): RpcError {
  return new RpcError(ErrorCode.InternalError, `This client answers ${MOST_AT_ONCE} questions at once, not more`);
}
