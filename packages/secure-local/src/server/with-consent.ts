// Puts the question for a person's consent right before the handler of a tool.
import { type Context, type JsonSchema, result, type ToolDefinition } from "@secure-local/mcp/server";
import type { AskedCall, NotApproved } from "../guard/approvals/approvals.js";
import { RULE_META } from "../guard/conclusion.js";
import type { AnyTool } from "./catalogue.js";

type Definition = ToolDefinition<JsonSchema, JsonSchema | undefined>;

/** Undefined when the call may run. */
export type Consent = (call: AskedCall) => Promise<NotApproved | undefined> | undefined;

/**
 * The definition with a handler that asks first. Here the arguments are checked and complete, and the question works in
 * every era: the handler is what is parked.
 */
export function withConsent({ name, annotations }: AnyTool, definition: Definition, consent: Consent): Definition {
  const destructive = annotations.destructiveHint && !annotations.readOnlyHint;
  const run = definition.run;
  return {
    ...definition,
    run(args: unknown, ctx: Context) {
      const asked = consent({ ctx, tool: name, destructive, arguments: args });
      if (asked === undefined) return run(args, ctx);
      return asked.then((refused) => (refused === undefined ? run(args, ctx) : refusal(refused)));
    },
  };
}

function refusal({ text, rule }: NotApproved): ReturnType<typeof result> {
  return result({ content: [text], isError: true, _meta: { [RULE_META]: rule } });
}
