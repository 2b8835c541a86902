// The public surface for servers of other SDKs behind a Node framework.
export {
  StreamableHTTPServerTransport as NodeStreamableHTTPServerTransport,
  StreamableHTTPServerTransport,
  type StreamableHttpOptions,
} from "../compat/http.js";
