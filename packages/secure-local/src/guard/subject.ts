// Says what a request reaches for: the one thing of it that the policy is asked about.
import type { Call } from "@secure-local/mcp/server";

export type SubjectKind = "tool" | "prompt" | "resource";

/** The tool, prompt or resource behind a request. */
export interface Subject {
  readonly kind: SubjectKind;
  /** Name of the tool or prompt, URI (or template) of the resource. */
  readonly name: string;
  /** Where in the request it is named. */
  readonly path: string;
}

type Params = Call["params"];

const READERS: ReadonlyMap<string, (params: Params) => Subject> = new Map([
  ["tools/call", (params) => ({ kind: "tool", name: params["name"] as string, path: "/name" })],
  ["prompts/get", (params) => ({ kind: "prompt", name: params["name"] as string, path: "/name" })],
  ["resources/read", resource],
  ["resources/subscribe", resource],
  ["completion/complete", completed],
]);

/** The subject of a request whose params are known to be sound; undefined when it reaches for nothing. */
export function subjectOf(call: Call): Subject | undefined {
  return READERS.get(call.method)?.(call.params);
}

/** The resources a `subscriptions/listen` request wants to hear of. */
export function listenedSubjects(call: Call): Subject[] {
  const wanted = call.params["notifications"] as { readonly resourceSubscriptions?: readonly string[] };
  const path = "/notifications/resourceSubscriptions";
  return (wanted.resourceSubscriptions ?? []).map((name) => ({ kind: "resource", name, path }));
}

function resource(params: Params): Subject {
  return { kind: "resource", name: params["uri"] as string, path: "/uri" };
}

function completed(params: Params): Subject {
  const ref = params["ref"] as { readonly type: string; readonly name: string; readonly uri: string };
  return ref.type === "ref/prompt"
    ? { kind: "prompt", name: ref.name, path: "/ref/name" }
    : { kind: "resource", name: ref.uri, path: "/ref/uri" };
}
