// Names what changed on a server.

/** A list changed, or what can be read under a URI. After a reconnection everything watched is said to have changed. */
export type Change =
  | { readonly kind: "tools" | "prompts" | "resources" }
  | { readonly kind: "resource"; readonly uri: string };

/** Changes wait until somebody reads them: a longer URI is not worth it, and no resource has one. */
const LONGEST_URI = 8_192;

const LISTS: Readonly<Record<string, Change>> = {
  "notifications/tools/list_changed": { kind: "tools" },
  "notifications/prompts/list_changed": { kind: "prompts" },
  "notifications/resources/list_changed": { kind: "resources" },
};

/** The change a notification tells of; undefined for all others. */
export function changeOf(method: string, params: { readonly [name: string]: unknown }): Change | undefined {
  if (method !== "notifications/resources/updated") return LISTS[method];
  const { uri } = params;
  return typeof uri === "string" && uri.length <= LONGEST_URI ? { kind: "resource", uri } : undefined;
}
