// Which messages do no harm when they reach a server twice.

const METHODS: ReadonlySet<string> = new Set([
  "initialize",
  "ping",
  "server/discover",
  "tools/list",
  "prompts/list",
  "prompts/get",
  "resources/list",
  "resources/templates/list",
  "resources/read",
  "completion/complete",
  "logging/setLevel",
  "tasks/get",
  "tasks/list",
]);

/** Only reads, or says the same again: it may be sent once more when nobody can tell whether it arrived. */
export function isRepeatable(method: string | undefined): boolean {
  return method !== undefined && METHODS.has(method);
}
