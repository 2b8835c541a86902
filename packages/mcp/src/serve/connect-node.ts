// Connects a client on Node: what `connect` does, and commands, whose process is the server.
import { checkOptions } from "../protocol/capabilities.js";
import { Client } from "../client/client.js";
import { checkCall, type Dialer } from "../client/options.js";
import { type ChildCommand, childTransport, COMMAND_MEMBERS, commandKey } from "../node/child-transport.js";
import { NODE_REQUESTER_MEMBERS, nodeRequester, type NodeRequesterOptions } from "../node/http-requester.js";
import {
  connectMembers,
  type ConnectOptions,
  type ConnectTarget,
  connectTo,
  type HttpConnectOptions,
} from "./connect.js";

/** How requests over HTTP are made on Node: over kept connections, through a proxy where one is given. Options of
 * connections have no effect beside `fetch` and `requester`. */
export interface NodeHttpConnectOptions extends HttpConnectOptions, NodeRequesterOptions {}

/** Options of `connect` on Node: those of a client, its HTTP connections, and of programs it starts. */
export interface NodeConnectOptions extends ConnectOptions {
  readonly http?: NodeHttpConnectOptions;
}

/** A command to start, or what `connect` of `/client` takes. */
export type NodeConnectTarget = ConnectTarget | ChildCommand;

/**
 * Connects to whatever server there is, in the newest revision both sides speak. A command is started in a process
 * group of its own, with little of our environment, and ended with the client. Rejects with a `ConnectError`.
 */
export async function connect(target: NodeConnectTarget, options: NodeConnectOptions = {}): Promise<Client> {
  checkOptions("connect(target, options)", options, connectMembers(NODE_REQUESTER_MEMBERS));
  if (isMeantAsCommand(target)) checkOptions("connect(command, options)", target, COMMAND_MEMBERS);
  if (isCommand(target)) return Client.connect(commandDialer(target), options, checkCall);
  const { http = {} } = options;
  if (!isUrl(target) || http.fetch !== undefined || http.requester !== undefined)
    return connectTo(target, options, checkCall);
  return connectTo(target, { ...options, http: { ...http, requester: nodeRequester(http) } }, checkCall);
}

/** The links of a command. */
export function commandDialer(command: ChildCommand): Dialer {
  return {
    link: (limits) => childTransport({ ...command, limits: { ...limits, ...command.limits } }),
    key: commandKey(command),
  };
}

function isCommand(target: NodeConnectTarget): target is ChildCommand {
  return typeof target === "object" && target !== null && "command" in target;
}

/** A plain object that is neither a link nor a server; a URL in one is told of by whoever looks for links. */
function isMeantAsCommand(target: unknown): boolean {
  if (typeof target !== "object" || target === null || Object.getPrototypeOf(target) !== Object.prototype) return false;
  return !("link" in target || "url" in target);
}

function isUrl(target: ConnectTarget): boolean {
  return typeof target === "string" || target instanceof URL;
}
