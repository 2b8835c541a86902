// How a mounted server is, for every place that shows it.
import type { MountState } from "@secure-local/mcp/gateway";

/** How a server is: one vocabulary for every place that shows it. */
export interface ServerHealth {
  readonly name: string;
  /** `withheld`: nothing of it is offered until a person approved it. */
  readonly state: MountState["state"] | "withheld" | "needs login" | "disabled";
  readonly tools: number;
  /** Why it is as it is; empty where there is nothing to say. */
  readonly cause: string;
  /** What to do about it; empty where nothing is to be done. */
  readonly remedy: string;
  /** What is worth knowing and no fault of anybody's. */
  readonly note?: string;
  /** Whether a person logs in to it. */
  readonly hasLogin: boolean;
}
