// Spares clients of older revisions what they would get twice: data they have no place for, behind the text that says it.
import type { Answer, Call } from "@secure-local/mcp/server";

/** Without a text of its own, an answer keeps its data: the library then writes them as text. */
export function wordedAnswer({ method, caller }: Call, answer: Answer): Answer {
  if (method !== "tools/call" || caller.codec.revision.rules.structuredContent !== "none") return answer;
  const { structuredContent: data, content } = answer as Readonly<Record<string, unknown>>;
  if (data === undefined || !Array.isArray(content) || content.length === 0) return answer;
  const { structuredContent: _, ...rest } = answer as Readonly<Record<string, unknown>>;
  return rest;
}
