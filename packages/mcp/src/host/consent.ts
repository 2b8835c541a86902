// Asks before a server is started or connected to, once for exactly what would happen.
import { DECISION_TIMEOUT_MS, decided } from "./decision.js";
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

export interface ConsentOptions {
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
