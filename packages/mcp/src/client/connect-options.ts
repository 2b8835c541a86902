// What a caller may say about a connection.
import type { JsonRpcLimits } from "../jsonrpc/limits.js";
import type { Link } from "../jsonrpc/link.js";
import type { ClientCapabilities, ServerCapabilities } from "../protocol/capabilities.js";
import type { Root } from "../protocol/features/roots.js";
import type { Implementation } from "../protocol/implementation.js";
import type { LogMessage } from "./log-ring.js";
import type { PingOptions } from "./pinger.js";
import type { Elicit, Sample } from "./question-handlers.js";
import type { CacheOptions } from "./response-cache.js";
import type { Change } from "./change.js";
import type { VerdictStore } from "./verdicts.js";

/** How links to one server are made. */
export interface Dialer {
  /** A new link, which need not bring longer messages than these limits allow; called again when the first did not survive being asked who it is, and after a crash. */
  link(limits: JsonRpcLimits): Link;
  /** A link of the older kind (HTTP+SSE), tried when the first kind turns out not to be served. */
  fallback?(limits: JsonRpcLimits): Link;
  /** Names the target in the cache of verdicts; undefined: nothing is remembered. */
  readonly key?: string | undefined;
}

/** How a lost connection is made again. */
export interface ReconnectOptions {
  /** Attempts in a row until the client gives up and closes. Default 3. */
  readonly attempts?: number;
  /** Milliseconds before the first attempt at most, doubled before each further one; chance takes up to half away. Default 250. */
  readonly delayMs?: number;
}

export interface ClientOptions {
  /** Who the client is; shown to servers. Default: `mcp-client`. */
  readonly clientInfo?: Implementation;
  /** Capabilities beside those that follow from `elicit`, `sample` and `roots`. What is named here replaces those. */
  readonly capabilities?: ClientCapabilities;
  /** Date of the only revision to speak; INCOMPATIBLE if the server does not. Default: the newest both speak. */
  readonly revision?: string;
  /** The only era to speak. Default `auto`. */
  readonly era?: "auto" | "handshake" | "stateless";
  /** Server capabilities without which there is no connection: NOT_SUPPORTED names those that are missing. */
  readonly require?: readonly (keyof ServerCapabilities)[];
  /** Milliseconds a call waits without answer or progress. Default 60,000. */
  readonly timeoutMs?: number;
  /** Milliseconds a call may take whatever its progress. Default 600,000. */
  readonly maxTimeoutMs?: number;
  /**
   * Milliseconds until a process that has not said which era it speaks is asked whether it is there; four times as long until one
   * that has said nothing at all is asked the older way too. No slow start changes what is spoken in the end. Default 1,500.
   */
  readonly probeTimeoutMs?: number;
  /** Milliseconds the handshake may take, a process that first has to be installed included. Default 60,000. */
  readonly connectTimeoutMs?: number;
  /** Answers questions to the person. Without it none are declared, and none are answered. */
  readonly elicit?: Elicit;
  /** Answers questions to the model. Without it none are declared, and none are answered. */
  readonly sample?: Sample;
  /** Folders to work in (`file://` URIs), or how to find them. Without it none are declared. */
  readonly roots?: readonly Root[] | (() => readonly Root[] | Promise<readonly Root[]>);
  /** Told of each log message of the server. `client.logs` keeps the latest. */
  readonly onLog?: (message: LogMessage) => void;
  /** Told of lines the server wrote where messages belong. */
  readonly onNoise?: (line: string) => void;
  /** Told of each change of a list. Declares interest where the era wants that. */
  readonly onListChanged?: (change: Change) => void;
  /** Told what is wrong without being fatal: invalid tools, stale state, answers that do not fit. */
  readonly onWarning?: (text: string) => void;
  /** Pings an idle session. Default: no pings. */
  readonly ping?: PingOptions;
  /** What happens to structured content that does not fit its tool's output schema. Default `strict`: INVALID_OUTPUT. */
  readonly validateOutput?: "strict" | "warn" | "off";
  /** Keeps results as long as the server allows. Default: kept for this client alone; false: never. */
  readonly cache?: CacheOptions | false;
  /** Where it is remembered how servers spoke. Default: in memory, for the whole program; false: nowhere. */
  readonly verdicts?: VerdictStore | false;
  /** What happens when a process ends or a connection breaks. Default for processes: 3 attempts; false: the client closes. */
  readonly reconnect?: ReconnectOptions | false;
  /**
   * Limits of what is taken in. Defaults: messages of 16 MiB (`messageBytes`) with 200,000 object members (`members`) and a million
   * values (`values`), nested 64 deep (`depth`). What breaks one fails the call it answers, and the connection goes on.
   */
  readonly limits?: Partial<JsonRpcLimits>;
  /** Aborting it gives up connecting: CANCELLED. */
  readonly signal?: AbortSignal;
}
