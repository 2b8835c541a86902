// What the two wire shapes of tasks have in common: the part of each that differs and has the same name.
import type { Answer } from "../../endpoint/answer.js";
import type { Call } from "../../endpoint/call.js";
import type { ToolEntry } from "../tool.js";

export interface TaskFace {
  /** Whether this call is to become a task. Throws where the tool and the call do not agree on it. */
  wants(call: Call, entry: ToolEntry): boolean;
  /** How long the client wants the task to be kept, in milliseconds. */
  requestedTtl(call: Call): number | undefined;
  get(call: Call): Promise<Answer>;
  cancel(call: Call): Promise<Answer>;
}
