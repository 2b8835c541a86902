// What the maker of a host decides.
import { CLIENT_MEMBERS, type ClientOptions, type Dialer } from "../client/options.js";
import type { MembersOf } from "../schema/schema.js";
import { type Implementation, IMPLEMENTATION_MEMBERS } from "../protocol/capabilities.js";
import type { BreakerOptions, ServerStatus } from "./managed-server.js";
import type { CallDecision, CallRequest, ResultCheck } from "./call-gate.js";
import type { CallToolResult } from "../protocol/features/tools.js";
import type { ApprovalStore, Authorize, CommandTarget, UrlTarget } from "./launch.js";
import type { HostEvent } from "./catalogue.js";
import type { HostElicit, RootsOptions, SamplingOptions } from "./questions.js";
import type { ConfigInput } from "./config/config-servers.js";

/** What connections have that the host does not decide itself. */
export type HostClientOptions = Pick<
  ClientOptions,
  | "timeoutMs"
  | "maxTimeoutMs"
  | "probeTimeoutMs"
  | "ping"
  | "validateOutput"
  | "verdicts"
  | "limits"
  | "revision"
  | "era"
>;

/** What the maker of a host decides. Without an answer, nothing is allowed. */
export interface HostOptions {
  /** Who the host is, for all servers alike. */
  readonly clientInfo?: Implementation;
  /**
   * Shown exactly what would be started or connected to, before it is for the first time and whenever it has changed.
   * Only `true` allows it. Default: nothing is allowed.
   */
  readonly authorize?: Authorize;
  /** Remembers what was approved. Default: in memory, for this host. */
  readonly approvals?: ApprovalStore;
  /**
   * Shown each call before it is made: approves it, denies it or changes its arguments. Default: only tools are called that a
   * trusted server says are read-only.
   */
  readonly onCall?: (call: CallRequest) => CallDecision | Promise<CallDecision>;
  /** Looks at each result before anybody has it; undefined withholds it. Default: all pass. */
  readonly onResult?: (check: ResultCheck) => CallToolResult | undefined | Promise<CallToolResult | undefined>;
  /** Told of whatever happens. What it throws is ignored. */
  readonly onEvent?: (event: HostEvent) => void;
  /** Answers the servers' questions to the person. Without it none are taken. */
  readonly elicit?: HostElicit;
  /** Whether servers may ask to have a page opened, too. Default false. */
  readonly urlQuestions?: boolean;
  /** Lets servers ask the model. Without it none may. */
  readonly sampling?: SamplingOptions;
  /** Tells servers of folders. Without it none are told. */
  readonly roots?: RootsOptions;
  /** Milliseconds after which silence counts as no. Default 300,000. */
  readonly decisionTimeoutMs?: number;
  /** Milliseconds a server may take to start. Default 60,000: some are installed first. */
  readonly startTimeoutMs?: number;
  /** Servers that start at the same time; the others wait for their turn. Default 8. */
  readonly startsAtOnce?: number;
  /** How soon what failed is tried again. */
  readonly restart?: BreakerOptions;
  /** For all connections. */
  readonly client?: HostClientOptions;
}

const SAMPLING_MEMBERS: MembersOf<SamplingOptions> = {
  model: "generate()",
  review: "request() answer()",
  perMinute: "whole",
  maxTokens: "whole",
  timeoutMs: "ms",
};

/** The members of `HostOptions`. */
export const HOST_MEMBERS: MembersOf<HostOptions> = {
  clientInfo: IMPLEMENTATION_MEMBERS,
  authorize: "function",
  approvals: "get() set()",
  onCall: "function",
  onResult: "function",
  onEvent: "function",
  elicit: "function",
  urlQuestions: "flag",
  sampling: SAMPLING_MEMBERS,
  roots: { source: "list()", consent: "function" },
  decisionTimeoutMs: "ms",
  startTimeoutMs: "ms",
  startsAtOnce: "whole",
  restart: { firstMs: "ms", mostMs: "ms", failures: "whole", coolDownMs: "ms", random: "function" },
  client: CLIENT_MEMBERS,
};

/** How one server of a host is treated. */
export interface AddOptions {
  /** Believe what the server says of its tools (annotations). Default false. */
  readonly trusted?: boolean;
  /** Start it now. Default true. */
  readonly enabled?: boolean;
  readonly startTimeoutMs?: number;
  /** For this connection, over those of the host. */
  readonly client?: HostClientOptions;
}

/** The members of `AddOptions`. */
export const ADD_MEMBERS: MembersOf<AddOptions> = {
  trusted: "flag",
  enabled: "flag",
  startTimeoutMs: "ms",
  client: CLIENT_MEMBERS,
};

/** Makes the links to what is not a link already. Throws a LocalError INVALID_TARGET for what it cannot reach. */
export type Dial = (target: CommandTarget | UrlTarget, server: string) => Dialer;

// What loading a configuration file takes, and what it tells.

/** Where a configuration comes from, and what its variables stand for. */
export interface LoadOptions {
  /** What the text is called in errors: the file's path. */
  readonly source?: string;
  /** What `${VAR}` and `${env:VAR}` stand for. Default: nothing is set. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly userHome?: string;
  readonly workspaceFolder?: string;
  /** Asks for the value of `${input:id}`; once for each id. Undefined: the servers that need it are not added. */
  readonly input?: (input: ConfigInput) => string | undefined | Promise<string | undefined>;
  /** Reads a server's `envFile`. Without it servers that have one are not added. */
  readonly readEnvFile?: (path: string) => Promise<Readonly<Record<string, string>>>;
  /**
   * Milliseconds to wait for the servers to come up; those that take longer are in the report as they are then (`starting`), and
   * go on. 0: none is waited for. Default: until each has been tried once, `startTimeoutMs` at most.
   */
  readonly waitMs?: number;
  /** For single servers, or all: whether they are trusted, for instance. */
  readonly options?: (name: string) => AddOptions;
}

/** The members of `LoadOptions`. */
export const LOAD_MEMBERS: MembersOf<LoadOptions> = {
  source: "text",
  env: "texts by name",
  userHome: "text",
  workspaceFolder: "text",
  input: "function",
  readEnvFile: "function",
  waitMs: "ms",
  options: "function",
};

/** What is wrong with an entry of a configuration, with line and column from 1. */
export interface LoadProblem {
  /** The server it is about. */
  readonly name: string;
  readonly message: string;
  /** Where in the file the server stands, from 1. */
  readonly line: number;
  readonly column: number;
}

/** What became of a configuration: its servers, what could not be used, and what was odd. */
export interface LoadReport {
  readonly servers: readonly ServerStatus[];
  /** Servers that were not added, and why. */
  readonly problems: readonly LoadProblem[];
  /** What is odd without being wrong: variables that are not set. */
  readonly warnings: readonly LoadProblem[];
}
