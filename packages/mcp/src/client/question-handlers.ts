// The types of those who answer a server's questions.
import type {
  ElicitRequestFormParams,
  ElicitRequestURLParams,
  ElicitResult,
} from "../protocol/features/elicitation.js";
import type { CreateMessageRequestParams, CreateMessageResult } from "../protocol/features/sampling.js";
import type { Implementation } from "../protocol/implementation.js";

/** What is known of a question beside its params. */
export interface QuestionContext {
  /** Aborted when the server takes its question back, the call it belongs to ends, or the client closes. */
  readonly signal: AbortSignal;
  /** Who asks, by its own account. */
  readonly server: Implementation;
}

/** A form has `mode: "form"`, whatever the revision. */
export type ElicitRequest = (ElicitRequestFormParams & { mode: "form" }) | ElicitRequestURLParams;

/**
 * Answers a question to the person. The values of an accepted form are checked against its schema, and defaults filled
 * in for those that are missing. A URL must never be opened without consent, nor fetched before.
 */
export type Elicit = (request: ElicitRequest, context: QuestionContext) => ElicitResult | Promise<ElicitResult>;

/** Answers a question to the model; undefined refuses it (the server is told -1). */
export type Sample = (
  request: CreateMessageRequestParams,
  context: QuestionContext,
) => CreateMessageResult | undefined | Promise<CreateMessageResult | undefined>;
