// The prompt `code_review`: asks for a review of a piece of code.
import type { CompletionReturn, PromptDefinition } from "@secure-local/mcp/server";
import { LANGUAGES } from "./languages.js";

/** As many as a menu shows without scrolling; `total` and `hasMore` say that typing on helps. */
const SUGGESTIONS = 3;

/** Characters of the code in which a language may show itself: a screenful or two. */
const LOOKED_AT = 4_096;

type Arguments = {
  readonly code: { readonly description: string; readonly required: true };
  readonly language: { readonly description: string; readonly complete: typeof completeLanguage };
};

export const codeReview: PromptDefinition<Arguments> = {
  title: "Code review",
  description: "Asks the LLM to analyze code quality and suggest improvements",
  arguments: {
    code: { description: "The code to review", required: true },
    language: {
      description: "Programming language or framework of the code (e.g., 'python', 'typescript')",
      complete: completeLanguage,
    },
  },
  run({ code, language }) {
    const known = LANGUAGES.find(({ name }) => name === language?.trim().toLowerCase())?.title ?? language?.trim();
    const beginning = code.slice(0, LOOKED_AT);
    const named = known || LANGUAGES.find(({ sign }) => sign?.test(beginning))?.title;
    const text = `Please review this ${named ? `${named} ` : ""}code:\n${code}`;
    return { description: "Code review prompt", messages: [{ role: "user", content: text }] };
  },
};

/** Offers names that begin with `typed`, most used first; where none does, names that contain it. */
export function completeLanguage(typed: string): CompletionReturn {
  const wanted = typed.trim().toLowerCase();
  const names = LANGUAGES.map(({ name }) => name);
  const beginning = names.filter((name) => name.startsWith(wanted));
  const fitting = beginning.length > 0 ? beginning : names.filter((name) => name.includes(wanted));
  const values = fitting.slice(0, SUGGESTIONS);
  return { values, total: fitting.length, hasMore: fitting.length > values.length };
}
