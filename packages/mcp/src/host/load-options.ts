// What loading a configuration file takes, and what it tells.
import type { AddOptions } from "./host-options.js";
import type { ServerStatus } from "./server-status.js";
import type { ConfigInput } from "./config/config-servers.js";

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

export interface LoadProblem {
  /** The server it is about. */
  readonly name: string;
  readonly message: string;
  /** Where in the file the server stands, from 1. */
  readonly line: number;
  readonly column: number;
}

export interface LoadReport {
  readonly servers: readonly ServerStatus[];
  /** Servers that were not added, and why. */
  readonly problems: readonly LoadProblem[];
  /** What is odd without being wrong: variables that are not set. */
  readonly warnings: readonly LoadProblem[];
}
