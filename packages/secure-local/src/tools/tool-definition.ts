// Makes a tool of the library out of a built-in tool and the powers it is given.
import { type Context, type JsonSchema, result, type ToolDefinition, type ToolResult } from "@secure-local/mcp/server";
import type { Clock } from "../capabilities/clock.js";
import type { Databases } from "../capabilities/databases/databases.js";
import type { PolicyFetch } from "../capabilities/fetch.js";
import type { Files } from "../capabilities/files/files.js";
import type { Act, Leave } from "../capabilities/leave.js";
import type { BuiltinTool, ToolAnswer, ToolFailure, ToolPowers } from "./tool.js";

/** Names, in the `_meta` of a failed result, the rule that refused what the tool tried; the guard puts it on record. */
const RULE_META = "mcp-secure-local/rule";

/** Powers that outlive a call; what depends on the call is made for it. */
export interface SharedPowers {
  readonly fetch: PolicyFetch;
  readonly clock: Clock;
  readonly files: (ctx: Context) => Files;
  /** Asked before something is done for a call by a program that serves it. */
  readonly acts: (act: Act & { readonly ctx: Context }) => Promise<Leave>;
  readonly databases: Databases;
}

type Definition = ToolDefinition<JsonSchema, JsonSchema | undefined>;

/** Register it with `server.tool(tool.name, toolDefinition(tool, powers))`. */
export function toolDefinition<Args>(tool: BuiltinTool<Args>, powers: SharedPowers): Definition {
  const { title, description, input, output, annotations } = tool;
  return {
    title,
    description,
    input,
    ...(output === undefined ? {} : { output }),
    annotations,
    run(args, ctx) {
      const answer = tool.run(args as Args, new CallPowers(ctx, powers));
      return answer instanceof Promise ? answer.then(toReturn) : toReturn(answer);
    },
  };
}

/**
 * What one call is handed. Some powers cost something to make, and most tools use few of them; on a prototype not even the
 * way to make them costs anything.
 */
class CallPowers implements ToolPowers {
  readonly fetch: PolicyFetch;
  readonly clock: Clock;
  readonly databases: Databases;
  readonly #ctx: Context;
  readonly #files: SharedPowers["files"];
  readonly #acts: SharedPowers["acts"];

  constructor(ctx: Context, { fetch, clock, files, databases, acts }: SharedPowers) {
    this.fetch = fetch;
    this.clock = clock;
    this.databases = databases;
    this.#ctx = ctx;
    this.#files = files;
    this.#acts = acts;
  }

  get files(): Files {
    return this.#files(this.#ctx);
  }

  get signal(): AbortSignal {
    return this.#ctx.signal;
  }

  get acts(): ToolPowers["acts"] {
    const ctx = this.#ctx;
    return (act) => this.#acts({ ...act, ctx });
  }

  get progress(): ToolPowers["progress"] {
    const ctx = this.#ctx;
    return (done, total, message) => ctx.progress(done, total, message);
  }
}

function toReturn(answer: ToolAnswer): ToolResult | string {
  if (typeof answer === "string") return answer;
  if ("failed" in answer) return failure(answer);
  const { structured, text, blocks = [] } = answer;
  const words = text ?? (blocks.length === 0 ? JSON.stringify(structured) : undefined);
  return result({ content: words === undefined ? blocks : [words, ...blocks], structuredContent: structured });
}

function failure({ failed, rule }: ToolFailure): ToolResult {
  return result({ content: [failed], isError: true, ...(rule === undefined ? {} : { _meta: { [RULE_META]: rule } }) });
}
