// What a process is called: by the client that started it, which is what a person knows.
import type { RunningServer } from "./api.js";

/** As much as stands in a heading. */
export function processName({ transport, url, clients = [] }: RunningServer): string {
  const names = [...new Set(clients.map(({ name, principal }) => (name === "" ? principal : name)))].filter(
    (name) => name !== "",
  );
  const who = names.join(", ");
  if (transport === "http") return `Over HTTP at ${url ?? "a socket"}${who === "" ? "" : `, used by ${who}`}`;
  return who === "" ? "Started by its client (stdio)" : `Started by ${who} (stdio)`;
}
