// Turns what file operations refuse into answers a model can act on.
import { FileError } from "../../capabilities/files/file-error.js";
import type { ToolAnswer, ToolFailure } from "../tool.js";

/** Runs the work; a FileError becomes a failed answer with its rule, anything else is thrown on. */
export async function fileAnswer(work: () => Promise<ToolAnswer>): Promise<ToolAnswer> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof FileError) return failureOf(error);
    throw error;
  }
}

function failureOf({ code, message, rule }: FileError): ToolFailure {
  const failed = code === "denied" ? `Denied. ${message}` : message;
  return rule === undefined ? { failed } : { failed, rule };
}
