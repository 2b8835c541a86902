// Tells what a body is from its Content-Type.

/** "unknown" where there is no Content-Type. */
export type BodyKind = "json" | "events" | "unknown" | "other";

export function bodyKind(contentType: string | undefined): BodyKind {
  if (contentType === "application/json") return "json";
  if (contentType === undefined || contentType.trim() === "") return "unknown";
  const semicolon = contentType.indexOf(";");
  const type = (semicolon < 0 ? contentType : contentType.slice(0, semicolon)).trim().toLowerCase();
  if (type === "text/event-stream") return "events";
  if (type === "application/json" || /^application\/[\w.-]+\+json$/.test(type)) return "json";
  return "other";
}
