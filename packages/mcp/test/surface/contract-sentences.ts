// The promises that public doc comments make with "once", "never" and "at most", and the test that shows each.

/** [the public name, words of the sentence, the test file, the title of the test] */
export const SHOWN: readonly (readonly [string, string, string, string])[] = [
  ["Call", "Calls the listener once", "endpoint/call.test.ts", "tells each listener once that it was cancelled"],
  [
    "Context",
    "at most a hundred a second",
    "server/logging.test.ts",
    "a call's messages have a bounded rate, and what was left out is counted (%s)",
  ],
  [
    "Handles",
    "others' values are never dropped",
    "server/handles.test.ts",
    "has room for so many of everybody and of each, and what expires makes room",
  ],
  [
    "Identity",
    "two subjects never share a principal",
    "auth/jwt-claims.test.ts",
    "become an identity that names issuer and subject",
  ],
  [
    "Middleware",
    "pass through it once a round",
    "endpoint/dispatch.test.ts",
    "sees every round of a handler that asks (M05)",
  ],
  ["Outcome", "at most 20", "schema/shape.test.ts", "reports at most 20 faults"],
  [
    "ReadyResult",
    "serialised once",
    "server/lists.test.ts",
    "are serialised once for a revision and a version of the set, and sent as they are",
  ],
  ["ReadyResult", "encoded once", "endpoint/call.test.ts", "is encoded once for each codec"],
  [
    "ServerLimits",
    "never silence",
    "endpoint/dispatch.test.ts",
    "are bounded: over the limit the client is told to wait, and others are served",
  ],
  [
    "ToolDefinition",
    "never a task",
    "tasks/requested.test.ts",
    "is a plain call without params.task, and -32601 where the tool and the call do not agree (M56)",
  ],
  [
    "HttpAuthorization",
    "Told once",
    "http/authorization.test.ts",
    "tells the operator once of each refused request, and survives an operator who throws",
  ],
  ["HttpLimits", "never silence", "http/pressure.test.ts", "a busy server says so and works on"],
  [
    "HttpOptions",
    "who never does",
    "http/pings.test.ts",
    "ends a session after as many misses in a row as are allowed, and says so",
  ],
  [
    "MessageSink",
    "Called once",
    "node-client/child-transport.test.ts",
    "is sent messages and brings messages, and is closed once however often it is asked",
  ],
  [
    "Transport",
    "never rejects",
    "node-client/child-transport.test.ts",
    "is sent messages and brings messages, and is closed once however often it is asked",
  ],
  ["ParseFault", "never thrown", "jsonrpc/json-test-suite.test.ts", "refuses every n_"],
  [
    "parseJson",
    "Never throws",
    "jsonrpc/parse.test.ts",
    "refuses exactly the texts that JSON.parse refuses, whatever they are",
  ],
  [
    "AuthRequest",
    "never looked for",
    "auth/static-token.test.ts",
    "are refused in the URL and under another scheme even after they were good",
  ],
  [
    "Completion",
    "At most 100",
    "server/completion.test.ts",
    "offers at most a hundred values and says how many there are",
  ],
  ["HttpRequest", "sent again, once", "http-client/requester.test.ts", "is replaced for what may be repeated, once"],
  ["PingOptions", "once a row", "client/around.test.ts", "only warn where that is asked for"],
  [
    "BreakerOptions",
    "Before a restart at most",
    "host/supervision.test.ts",
    "doubles, opens after five failures in a minute, and stays open longer each time",
  ],
  ["RootsOptions", "asked once", "host/roots.test.ts", "asks once for each server and folder"],
];

/** Sentences with these words that promise nothing: advice to the reader, or words about something else. */
export const NO_PROMISES: readonly (readonly [string, string])[] = [
  ["Call", "most handlers never look at it"],
  ["Caller", "never for decisions"],
  ["Context", "never for decisions"],
  ["Context", "never put secrets into it"],
  ["inputRequired", "what must happen only once"],
  ["RpcError", "never put a stack"],
  ["Server", "Never put secrets"],
  ["ServerLimits", "which may never come"],
  ["Task", "never."],
  ["SessionLimits", "that has never had a GET stream"],
  ["Carrier", "never write its fields"],
  ["MessageSink", "never became a message"],
  ["RequestId", "never null"],
  ["WellKnownOptions", "never set back"],
  ["Client", "never to decide by"],
  ["Elicit", "must never be opened"],
  ["HostQuestion", "never fetch it before"],
];

/** Promises for which no test is listed yet: show one, list it above, and lower this. */
export const MOST_UNSHOWN = 40;
