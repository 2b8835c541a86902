// Turns what databases refuse into answers a model can act on.
import { DatabaseError } from "../../capabilities/databases/databases.js";
import type { ToolAnswer } from "../tool.js";

/** Runs the work; a DatabaseError becomes a failed answer with its rule, anything else is thrown on. */
export async function databaseAnswer(work: () => Promise<ToolAnswer>): Promise<ToolAnswer> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof DatabaseError)) throw error;
    const { code, message, rule } = error;
    const failed =
      code === "denied" ? `Denied. ${message}` : code === "statement" ? `Database error: ${message}` : message;
    return rule === undefined ? { failed } : { failed, rule };
  }
}
