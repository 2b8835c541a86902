// Asks before a server is started or connected to, once for exactly what would happen.
import type { Launch } from "./launch.js";

/** What `authorize` is shown. */
export interface AuthorizeRequest extends Launch {
  /** Something else was approved under this name before: what would be started or connected to has changed. */
  readonly changed: boolean;
  /** Aborted when the answer comes too late. */
  readonly signal: AbortSignal;
}

/** Only `true` allows it. */
export type Authorize = (server: AuthorizeRequest) => boolean | Promise<boolean>;

/** Where approvals are kept: the digest of a launch by the server's name. May be a file. */
export interface ApprovalStore {
  get(name: string): string | undefined | Promise<string | undefined>;
  set(name: string, digest: string): unknown;
}

interface ConsentOptions {
  readonly authorize: Authorize | undefined;
  readonly approvals: ApprovalStore | undefined;
  readonly timeoutMs: number | undefined;
}

export class Consent {
  readonly #authorize: Authorize | undefined;
  readonly #approvals: ApprovalStore;
  readonly #timeoutMs: number;

  constructor({ authorize, approvals, timeoutMs }: ConsentOptions) {
    this.#authorize = authorize;
    this.#approvals = approvals ?? new Map<string, string>();
    this.#timeoutMs = timeoutMs ?? DECISION_TIMEOUT_MS;
  }

  /** Undefined when it may be launched, else why not in one sentence. Never rejects. */
  async refusal(
    launch: Launch,
    { signal, asking }: { readonly signal: AbortSignal; readonly asking: () => void },
  ): Promise<string | undefined> {
    const { name, digest } = launch;
    const decision = await decided(
      async (late) => {
        const approved = await this.#approvals.get(name);
        if (approved === digest) return true;
        const request = { ...launch, changed: approved !== undefined, signal: late };
        if (!late.aborted) asking();
        // Callers without types may answer anything.
        const allowed: unknown = await this.#authorize?.(request);
        if (allowed !== true || late.aborted) return false;
        await this.#approvals.set(name, digest);
        return true;
      },
      { timeoutMs: this.#timeoutMs, signal },
    );
    if ("missing" in decision) return `${name} was not started: ${decision.missing}`;
    if (decision.value) return undefined;
    if (this.#authorize !== undefined) return `${name} was not started: it was not allowed`;
    return `${name} was not started: nobody can allow it; give the host an \`authorize\` function`;
  }
}

// Waits for somebody's decision: not for ever, and never taking silence or a fault for consent.

interface DecisionOptions {
  readonly timeoutMs: number;
  /** Aborting it ends the wait. */
  readonly signal?: AbortSignal | undefined;
}

/** What was decided, or why nothing was. */
type Decision<T> = { readonly value: T } | { readonly missing: string };

/** A person who went to lunch has not agreed. */
export const DECISION_TIMEOUT_MS = 300_000;
// Longer delays overflow the timer of every runtime and would fire at once.
const LONGEST_MS = 2 ** 31 - 1;

/** Asks, and resolves with the answer. The question's signal is aborted when nobody waits for the answer any more. Never rejects. */
export function decided<T>(
  ask: (signal: AbortSignal) => T | Promise<T>,
  { timeoutMs, signal }: DecisionOptions,
): Promise<Decision<T>> {
  const asking = new AbortController();
  return new Promise((resolve) => {
    const settle = (decision: Decision<T>): void => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", cancelled);
      resolve(decision);
      if ("missing" in decision) asking.abort(decision.missing);
    };
    const cancelled = (): void => settle({ missing: "it was cancelled before anybody decided" });
    const timer = setTimeout(
      () => settle({ missing: `nobody decided within ${timeoutMs} ms` }),
      Math.min(timeoutMs, LONGEST_MS),
    );
    signal?.addEventListener("abort", cancelled);
    if (signal?.aborted === true) return cancelled();
    const failed = (error: unknown): void => settle({ missing: `deciding failed: ${messageOf(error)}` });
    try {
      Promise.resolve(ask(asking.signal)).then((value) => settle({ value }), failed);
    } catch (error) {
      failed(error);
    }
  });
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
