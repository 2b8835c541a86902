// How a mounted server is, for every place that shows it.
import type { Mounted } from "@secure-local/mcp/gateway";
import { cleanLine } from "../guard/cleaning/clean-text.js";
import type { ServerGrant } from "../policy/policy.js";
import type { MountState } from "@secure-local/mcp/gateway";

/** How a server is: one vocabulary for every place that shows it. */
export interface ServerHealth {
  readonly name: string;
  /**
   * `withheld`: nothing of it is offered until a person approved it. `idle`: nothing of it runs, since nobody calls it; the next call
   * starts it. `stopped`: a person stopped it.
   */
  readonly state: MountState["state"] | "idle" | "withheld" | "needs login" | "disabled";
  readonly tools: number;
  /** Why it is as it is; empty where there is nothing to say. */
  readonly cause: string;
  /** How it failed, as the end of a sentence; absent where it did not. */
  readonly brief?: string | undefined;
  /** What to do about it; empty where nothing is to be done. */
  readonly remedy: string;
  /** What is worth knowing and no fault of anybody's. */
  readonly note?: string;
  /** Milliseconds since 1970 since when it is idle or stopped; absent where it has not run yet. */
  readonly since?: number | undefined;
  /** Whether a person logs in to it. */
  readonly hasLogin: boolean;
}

/** How the reason begins of what is another thing than a person has approved. */
export const CHANGED = "it is not as it was approved";
export const STOPPED = "a person stopped its server";
const LOGIN = "give its entry login: oauth, or a header with a secret that the server takes";

/** Of one that is not mounted; `note`: why. */
export function unmountedHealth(
  { name, enabled }: Pick<ServerGrant, "name" | "enabled">,
  note = "it is not mounted",
): Omit<ServerHealth, "hasLogin"> {
  if (!enabled) return { name, state: "disabled", tools: 0, cause: "the policy says enabled: false", remedy: "" };
  return { name, state: "withheld", tools: 0, cause: note, remedy: `mcp-secure-local servers review ${name}` };
}

interface MountedNow {
  readonly mounted: Pick<Mounted, "offer" | "state">;
  readonly locked: { readonly approved: ReadonlyMap<string, unknown> };
  /** By kind and its own name, and why. */
  readonly withheld: ReadonlyMap<string, string>;
  readonly launchChanged: boolean;
  readonly isStopped: boolean;
  /** Whether something is withheld from some clients alone. */
  readonly dependsOnClient: (reason: string) => boolean;
  /** Whether something is in no list of the server: nobody has changed it. */
  readonly isMissing: (reason: string) => boolean;
}

export function mountedHealth(
  { mounted, locked, launchChanged, isStopped, dependsOnClient, isMissing, withheld: held }: MountedNow,
  { name, login }: Pick<ServerGrant, "name" | "login">,
): Omit<ServerHealth, "hasLogin"> {
  const withheld = launchChanged ? locked.approved : held;
  const tools = mounted.offer?.tools.length ?? 0;
  const { state, cause, brief, code } = mounted.state;
  if (isStopped)
    return { name, state: "stopped", tools, cause: STOPPED, remedy: `mcp-secure-local servers restart ${name}` };
  if (code === "UNAUTHORIZED" || code?.startsWith("AUTH_") === true) {
    const remedy = login === undefined ? LOGIN : `mcp-secure-local servers login ${name}`;
    return { name, state: "needs login", tools, cause: cause ?? "", brief, remedy };
  }
  if (cause !== undefined) {
    return {
      name,
      state,
      tools,
      cause: withoutAttempts(cause),
      brief,
      remedy: `mcp-secure-local servers logs ${name}`,
    };
  }
  const heldFor = (fits: (reason: string) => boolean): string[] =>
    launchChanged ? [] : [...held].filter(([, reason]) => fits(reason)).map(([item]) => item);
  const others = heldFor(dependsOnClient);
  const missing = heldFor((reason) => isMissing(reason) && !dependsOnClient(reason));
  const count = withheld.size - others.length - missing.length;
  const notes = [
    ...(others.length === 0
      ? []
      : [`${others.join(", ")}: not offered any more, or only for clients that declare more`]),
    ...(missing.length === 0 ? [] : [`${missing.join(", ")}: not offered to this client, or not any more`]),
  ];
  const note = notes.length === 0 ? {} : { note: notes.join("; ") };
  if (count === 0) return { name, state, tools, cause: "", remedy: "", ...note };
  const away = new Set([...others, ...missing]);
  const reasons = [...held].flatMap(([item, reason]) => (away.has(item) ? [] : [reason]));
  const why = launchChanged ? changedText(count) : withheldText(reasons);
  const remedy = `mcp-secure-local servers review ${name}`;
  return { name, state: tools === 0 ? "withheld" : state, tools, cause: why, remedy, ...note };
}

/** What of a server is not as it was approved, and what is withheld though it is. */
export function withheldText(reasons: readonly string[]): string {
  const changed = reasons.filter((reason) => reason.startsWith(CHANGED));
  const others = new Map<string, number>();
  for (const reason of reasons) if (!reason.startsWith(CHANGED)) others.set(reason, (others.get(reason) ?? 0) + 1);
  const parts = [...others].map(([reason, count]) => `${count} withheld: ${reason}`);
  return [...(changed.length === 0 ? [] : [changedText(changed.length)]), ...parts].join("; ");
}

function changedText(count: number): string {
  const words = count === 1 ? "it is not as it was" : "they are not as they were";
  return `${count} withheld, since ${words} approved`;
}

/** A failure for the operator: what the server said stands on lines of its own. */
export function failureLines(server: string, message: string): readonly string[] {
  const [first = "", ...said] = withoutAttempts(message).split("\n");
  return [`server ${server}: ${first}`, ...said.map((line) => `  | ${line.trim()}`)].map(cleanLine);
}

/** What begins the words about earlier attempts. */
const ATTEMPTS = "Before that: ";

/** How it was tried in other revisions says nothing of why it failed. */
function withoutAttempts(text: string): string {
  const at = text.indexOf(ATTEMPTS);
  if (at === -1) return text;
  const rest = text.indexOf("\n", at);
  return text.slice(0, at).trimEnd() + (rest === -1 ? "" : text.slice(rest));
}

/** Since when servers do not run: those that a person stopped, and those that nobody called any more. */
export class ServerRests {
  readonly #stopped = new Map<string, number>();
  readonly #ended = new Map<string, number>();

  /** Its last program has ended, or its connection was closed. */
  ended(name: string): void {
    this.#ended.set(name, Date.now());
  }

  stopped(name: string): void {
    this.#stopped.set(name, Date.now());
  }

  started(name: string): void {
    this.#stopped.delete(name);
    this.#ended.delete(name);
  }

  of(health: ServerHealth): ServerHealth {
    if (health.state !== "stopped") return health;
    const stopped = this.#stopped.get(health.name);
    if (stopped !== undefined) return { ...health, since: stopped };
    return { ...health, state: "idle", since: this.#ended.get(health.name) };
  }
}
