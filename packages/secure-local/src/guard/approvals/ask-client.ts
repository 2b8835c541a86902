// Asks the person behind the client, by the client's own form.
import { AskError, type Context, McpErrorCode, RpcError } from "@secure-local/mcp/server";
import type { Question, Reply } from "./desk.js";

const DENY = "deny";
const APPROVE = "approve this one call";

/** Whether the client says that it can show a form. */
export function canAskClient({ clientCapabilities: { elicitation } }: Context): boolean {
  // `{}` means forms only; naming url alone means no forms.
  return elicitation !== undefined && (elicitation.form !== undefined || elicitation.url === undefined);
}

/** Resolves with the answer; undefined when the client cannot be asked after all. Never rejects. */
export async function askClient(ctx: Context, question: Question, signal: AbortSignal): Promise<Reply | undefined> {
  const keep = question.remember === undefined ? undefined : `approve this very call ${question.remember}`;
  const choices = [DENY, APPROVE, ...(keep === undefined ? [] : [keep])];
  const decision = { type: "string" as const, title: "Decision", enum: choices };
  try {
    const { timeoutMs } = question;
    const answer = await ctx.elicit({ message: question.text, schema: { decision } }, { timeoutMs, signal });
    if (answer.action !== "accept") return { answer: DENY };
    const chosen: unknown = answer.content.decision;
    if (chosen === APPROVE) return { answer: "approve" };
    return { answer: chosen !== undefined && chosen === keep ? "remember" : DENY };
  } catch (error) {
    if (error instanceof RpcError && error.code === McpErrorCode.MissingRequiredClientCapability) return undefined;
    const why = error instanceof AskError ? REASONS[error.code] : undefined;
    return { answer: undefined, reason: why ?? "the client went away or could not show the question" };
  }
}

const REASONS: Readonly<Record<string, string>> = {
  TIMEOUT: "nobody answered in time",
  EXPIRED: "nobody answered in time",
  REFUSED: "the client refused to show the question",
  BAD_ANSWER: "the client's answer is none of the choices",
};
