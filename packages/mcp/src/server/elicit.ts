// Questions to the person behind the client: typed by their form, checked when they come back.
import type {
  ElicitRequestParams,
  ElicitResult,
  ElicitValue,
  RequestedSchema,
} from "../protocol/features/elicitation.js";
import { readAnswer } from "../protocol/elicitation-answer.js";
import { type FormFields, requestedSchema } from "../protocol/elicitation-form.js";
import { answerFault } from "./answers.js";
import { AskError } from "./ask-error.js";

/** A form, in short (`{ sure: { type: "boolean" } }`: flat, required unless `optional`) or in full, or a page to open. */
export type ElicitInput<F extends FormFields> =
  | { readonly message: string; readonly schema: F | RequestedSchema }
  | { readonly message: string; readonly url: string };

/** The type of one field of an accepted form. */
export type FieldValue<S> = S extends { readonly type: "boolean" }
  ? boolean
  : S extends { readonly type: "number" | "integer" }
    ? number
    : S extends { readonly type: "array" }
      ? string[]
      : S extends { readonly enum: readonly (infer E)[] }
        ? E
        : S extends { readonly oneOf: readonly { readonly const: infer C }[] }
          ? C
          : string;

/** The content of an accepted form, field by field. */
export type FormContent<F> = {
  -readonly [K in keyof F]: F[K] extends { readonly optional: true } ? FieldValue<F[K]> | undefined : FieldValue<F[K]>;
};

/** What the person did. `content` is there for accepted forms; accepting a page means consent, not completion. */
export type FormAnswer<F> =
  | {
      readonly action: "accept";
      readonly content: string extends keyof F ? Record<string, ElicitValue> : FormContent<F>;
    }
  | { readonly action: "decline" | "cancel"; readonly content?: undefined };

/** The wire form of a question. Throws INVALID_FORM naming the field no client could show. */
export function elicitParams<F extends FormFields>(input: ElicitInput<F>): ElicitRequestParams {
  if ("url" in input) return { mode: "url", message: input.message, url: input.url };
  return { mode: "form", message: input.message, requestedSchema: requestedSchema(input.schema) };
}

/** Reads an answer, defaults filled in. Throws BAD_ANSWER when it does not fit what was asked. */
export function readElicitAnswer(params: ElicitRequestParams, answer: ElicitResult): FormAnswer<Record<string, never>> {
  const fault = answerFault("elicitation/create", answer as unknown as Record<string, unknown>);
  if (fault !== undefined) throw new AskError("BAD_ANSWER", `The client's answer ${fault}`);
  if (answer.action !== "accept") return { action: answer.action };
  if (params.mode === "url") return { action: "accept", content: {} };
  const { content, faults } = readAnswer(params.requestedSchema, answer.content);
  if (faults.length === 0) return { action: "accept", content };
  const what = faults.map(({ message }) => message).join("; ");
  throw new AskError("BAD_ANSWER", `The answer does not fit the form: ${what}`);
}
