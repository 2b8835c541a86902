// The public surface for servers of other SDKs behind a Node framework.
export type { AuthInfo } from "./compat.js";
export type { AuthorizedRequest } from "../compat/http.js";
export type { NodeRequest, NodeResponse } from "../node/node-exchange.js";
export {
  StreamableHTTPServerTransport as NodeStreamableHTTPServerTransport,
  StreamableHTTPServerTransport,
  type StreamableHttpOptions,
  toNodeHandler,
} from "../compat/http.js";
