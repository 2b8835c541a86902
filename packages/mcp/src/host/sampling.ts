// Lets a server ask the model, past the person at both ends: review, edit, model, review, deliver.
import type { Sample } from "../client/question-handlers.js";
import { RpcError } from "../jsonrpc/rpc-error.js";
import { McpErrorCode } from "../protocol/error-codes.js";
import type { CreateMessageRequestParams, CreateMessageResult } from "../protocol/features/sampling.js";
import { decided, DECISION_TIMEOUT_MS } from "./decision.js";
import type { HostEvent } from "./host-event.js";
import { RateLimit } from "./rate-limit.js";
import { type AvailableModel, type ModelMapping, selectModel } from "./select-model.js";

/** Who asks, and until when. */
export interface SamplingContext {
  readonly server: string;
  /** Aborted when the server no longer wants the answer. */
  readonly signal: AbortSignal;
}

/** Makes the answers. */
export interface HostModel<M extends AvailableModel = AvailableModel> {
  /** What can be chosen from; the first where a server has no wishes. */
  readonly available: readonly M[];
  readonly mapping?: ModelMapping;
  /** Whether requests with tools are taken. Default false. */
  readonly tools?: boolean;
  generate(
    request: CreateMessageRequestParams,
    context: SamplingContext & { readonly model: M },
  ): CreateMessageResult | Promise<CreateMessageResult>;
}

/** Each is asked of one request; only true or a changed one goes on. */
export interface SamplingReview {
  /** Before the model sees it. */
  request(
    request: CreateMessageRequestParams,
    context: SamplingContext,
  ): boolean | CreateMessageRequestParams | Promise<boolean | CreateMessageRequestParams>;
  /** Before the server sees it. */
  answer(
    answer: CreateMessageResult,
    context: SamplingContext & { readonly request: CreateMessageRequestParams },
  ): boolean | CreateMessageResult | Promise<boolean | CreateMessageResult>;
}

export interface SamplingOptions {
  readonly model: HostModel;
  readonly review: SamplingReview;
  /** Requests of one server within a minute; further ones are refused. Default 10. */
  readonly perMinute?: number;
  /** More tokens are never asked for. Default 8,192. */
  readonly maxTokens?: number;
  /** Milliseconds for each review, and for the model. Default 300,000. */
  readonly timeoutMs?: number;
}

const PER_MINUTE = 10;
const MAX_TOKENS = 8_192;

export class SamplingDesk {
  readonly #options: SamplingOptions;
  readonly #rate: RateLimit;
  readonly #onEvent: (event: HostEvent) => void;

  constructor(options: SamplingOptions, onEvent: (event: HostEvent) => void) {
    this.#options = options;
    this.#rate = new RateLimit(options.perMinute ?? PER_MINUTE);
    this.#onEvent = onEvent;
  }

  /** What answers one server. */
  for(server: string): Sample {
    return async (request, { signal }) => {
      this.#onEvent({ type: "sampling", server, step: "asked" });
      try {
        const answer = await this.#answer(request, { server, signal });
        this.#onEvent({ type: "sampling", server, step: "delivered" });
        return answer;
      } catch (error) {
        this.#onEvent({ type: "sampling", server, step: "refused" });
        throw error;
      }
    };
  }

  forget(server: string): void {
    this.#rate.forget(server);
  }

  async #answer(asked: CreateMessageRequestParams, context: SamplingContext): Promise<CreateMessageResult> {
    const { model, review } = this.#options;
    if (!this.#rate.take(context.server)) throw refused("Too many sampling requests, try again in a minute");
    const shown = this.#bounded(asked);
    const verdict = await this.#step(() => review.request(structuredClone(shown), context), context);
    const request = verdict === true ? shown : verdict;
    if (typeof request !== "object") throw refused();
    const chosen = selectModel(request.modelPreferences, model.available, model.mapping);
    if (chosen === undefined) throw refused("No model is available");
    const made = await this.#step((signal) => model.generate(request, { ...context, signal, model: chosen }), context);
    if (made === undefined) throw refused("The model gave no answer");
    const last = await this.#step(() => review.answer(structuredClone(made), { ...context, request }), context);
    const answer = last === true ? made : last;
    if (typeof answer !== "object") throw refused();
    return answer;
  }

  // What a server may have at most; no server is told of the conversation or of others, whatever it asks to include.
  #bounded({ includeContext: _, maxTokens, ...rest }: CreateMessageRequestParams): CreateMessageRequestParams {
    return { ...rest, maxTokens: Math.min(maxTokens, this.#options.maxTokens ?? MAX_TOKENS) };
  }

  async #step<T>(ask: (signal: AbortSignal) => T | Promise<T>, { signal }: SamplingContext): Promise<T | undefined> {
    const { timeoutMs = DECISION_TIMEOUT_MS } = this.#options;
    const decision = await decided(ask, { timeoutMs, signal });
    return "value" in decision ? decision.value : undefined;
  }
}

function refused(text = "User rejected sampling request"): RpcError {
  return new RpcError(McpErrorCode.SamplingRejected, text);
}
