// The public surface of the client on Node: beside what `/client` gives, it starts commands and keeps connections.
export { Client } from "../client/client.js";
export { ConnectError } from "../client/conversation.js";
export { KNOWN_REVISIONS } from "../client/versions.js";
export { LocalError, RpcError } from "../jsonrpc/errors.js";
export type { CloseTimeouts, Environment } from "../node/child-tree.js";
export type { ClientOptions } from "./types.js";
export { type ChildCommand, childTransport } from "../node/child-transport.js";
export { fetchRequester } from "../http/client/fetch-requester.js";
export { nodeRequester } from "../node/http-requester.js";
export type { NodeRequesterOptions } from "../node/http-requester.js";
export {
  connect,
  type NodeConnectOptions,
  type NodeConnectTarget,
  type NodeHttpConnectOptions,
} from "../serve/connect-node.js";
export { sseTransport } from "../http/client/sse-transport.js";
export { type HttpTransportOptions, streamableHttpTransport } from "../http/client/streamable-http-transport.js";
