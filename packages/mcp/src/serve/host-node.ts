// A host on Node: beside what `/host` reaches it starts programs, and reads configuration files.
import { checkOptions } from "../protocol/capabilities.js";
import { DEFAULT_HTTP_CLIENT_LIMITS } from "../http/client/http-caller.js";
import type { MembersOf } from "../schema/schema.js";
import { homedir } from "node:os";
import { dirname, resolve } from "node:path";
import { HostCore } from "../host/host.js";
import { type AddOptions, HOST_MEMBERS, type HostOptions, type LoadOptions, type LoadReport } from "../host/options.js";
import { type HostTarget, isCommand } from "../host/launch.js";
import type { ServerStatus } from "../host/managed-server.js";
import type { ChildCommand } from "../node/child-transport.js";
import { readConfigFile, readEnvFile } from "../node/host-files.js";
import { NODE_REQUESTER_MEMBERS, nodeRequester, type NodeRequesterOptions } from "../node/http-requester.js";
import type { LeanServer } from "../server/lean-server.js";
import { commandDialer } from "./connect-node.js";
import { reachable, webDialer, type WebHostOptions } from "./host.js";

/** Options of a host on Node: HTTP connections, and where programs write their errors. */
export interface NodeHostOptions extends HostOptions {
  /** How requests over HTTP are made. */
  readonly http?: NodeRequesterOptions & WebHostOptions["http"];
  /**
   * What becomes of the programs' standard error beside its last lines, which errors show: it goes to our own ("forward"), or the
   * function is given each line with the server's name; secrets are left out as in `ChildCommand.stderr`. Default: nothing.
   */
  readonly stderr?: "forward" | ((line: string, server: string) => void);
  readonly closeTimeouts?: ChildCommand["closeTimeouts"];
}

const NODE_HOST_MEMBERS: MembersOf<NodeHostOptions> = {
  ...HOST_MEMBERS,
  http: { ...NODE_REQUESTER_MEMBERS, fetch: "function", limits: DEFAULT_HTTP_CLIENT_LIMITS },
  stderr: ["=forward", "function"],
  closeTimeouts: "object",
};

/**
 * Holds many servers. Nothing is started or connected to that `authorize` does not allow, no tool is called that
 * `onCall` does not approve, and no server sees another or the conversation. Close it, or declare it `await using`.
 */
export class Host extends HostCore {
  constructor(options: NodeHostOptions = {}) {
    checkOptions("new Host(options)", options, NODE_HOST_MEMBERS);
    const { http = {}, stderr, closeTimeouts } = options;
    super(options, (target, name) => {
      if (isCommand(target)) {
        const told = typeof stderr === "function" ? (line: string): void => stderr(line, name) : stderr;
        return commandDialer({ ...target, stderr: told, closeTimeouts });
      }
      return webDialer(target, http.fetch === undefined ? { ...http, requester: nodeRequester(http) } : http);
    });
  }

  /** Adds a server; one of this program too. See `HostCore.add`. */
  override add(name: string, target: HostTarget | LeanServer, options?: AddOptions): Promise<ServerStatus> {
    return super.add(name, reachable(target), options);
  }

  /**
   * Adds the servers of a configuration file. Variables come from our environment unless `env` is given; the workspace folder is
   * the file's (beside `.vscode` or `.cursor`) unless given. Rejects as `load` does, and with CONFIG_FILE.
   */
  async loadFile(path: string, options: LoadOptions = {}): Promise<LoadReport> {
    const text = await readConfigFile(path);
    const workspaceFolder = options.workspaceFolder ?? folderOf(resolve(path));
    const defaults = {
      source: path,
      env: process.env,
      userHome: homedir(),
      readEnvFile: readEnvFileIn(workspaceFolder),
    };
    return this.load(text, { ...defaults, ...options, workspaceFolder });
  }
}

function folderOf(path: string): string {
  const folder = dirname(path);
  return /[/\\]\.(?:vscode|cursor|copilot|codex)$/.test(folder) ? dirname(folder) : folder;
}

function readEnvFileIn(folder: string): (path: string) => Promise<Record<string, string>> {
  return (path) => readEnvFile(resolve(folder, path));
}
