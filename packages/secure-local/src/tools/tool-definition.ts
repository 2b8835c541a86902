// Makes a tool of the library out of a built-in tool and the powers it is given.
import type { JsonSchema, ToolDefinition } from "@secure-local/mcp/server";
import type { BuiltinTool, ToolAnswer, ToolPowers } from "./tool.js";

type Definition = ToolDefinition<JsonSchema, undefined>;
type Context = Parameters<Definition["run"]>[1];

/** Register it with `server.tool(tool.name, toolDefinition(tool, powers))`. */
export function toolDefinition<Args>(tool: BuiltinTool<Args>, powers: Omit<ToolPowers, "signal">): Definition {
  const { title, description, input, annotations } = tool;
  const { fetch, clock } = powers;
  return {
    title,
    description,
    input,
    annotations,
    run(args, ctx) {
      const given: ToolPowers = {
        fetch,
        clock,
        get signal() {
          return ctx.signal; // made only for tools that wait
        },
      };
      const answer = tool.run(args as Args, given);
      return answer instanceof Promise ? answer.then((late) => toReturn(late, ctx)) : toReturn(answer, ctx);
    },
  };
}

function toReturn(answer: ToolAnswer, ctx: Context): ReturnType<Context["fail"]> | string {
  return typeof answer === "string" ? answer : ctx.fail(answer.failed);
}
