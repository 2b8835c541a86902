// What a host tells while it works, for a screen or a log.
import type { Progress } from "../client/options.js";
import type { ServerStatus } from "./managed-server.js";
import type { EntryList } from "./catalogue.js";

/** Something happened: to a server, the catalogue, or a call. */
export type HostEvent =
  | { readonly type: "server"; readonly status: ServerStatus }
  | { readonly type: "catalogue"; readonly server: string; readonly kinds: readonly EntryList[] }
  | {
      readonly type: "call-asked" | "call-started";
      readonly id: number;
      readonly tool: string;
      readonly server: string;
    }
  | { readonly type: "call-progress"; readonly id: number; readonly tool: string; readonly progress: Progress }
  | { readonly type: "call-ended"; readonly id: number; readonly tool: string; readonly outcome: string }
  | { readonly type: "sampling"; readonly server: string; readonly step: "asked" | "refused" | "delivered" }
  | { readonly type: "log"; readonly server: string; readonly level: string; readonly data: unknown }
  | { readonly type: "warning"; readonly server: string | undefined; readonly text: string };
