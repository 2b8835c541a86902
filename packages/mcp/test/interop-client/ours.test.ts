// The client with this library's own server: every revision over every transport there is.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { connect } from "../../src/serve/connect.js";
import { type HttpServing, serveHttp } from "../../src/serve/http.js";
import { FOUND, HANDSHAKE, program, row, someOf, STATELESS, withClient } from "./cells.js";
import { ALL, allBut, ANSWERING, type Feature, use } from "./features.js";
import { newServer } from "./servers/ours.mjs";

const server = "@secure-local/mcp";
const BOTH = [STATELESS, ...HANDSHAKE];

function had(features: readonly Feature[]): (revision: string) => readonly Feature[] {
  return (revision) => {
    if (revision === STATELESS) return ALL;
    return revision < "2025-06-18" ? features.filter((feature) => feature !== "elicitation") : features;
  };
}

row({ server, transport: "stdio", kind: "stdio", newest: STATELESS, revisions: someOf(BOTH), features: had(ALL) }, () =>
  program("ours.mjs"),
);

const alone = allBut("elicitation", "sampling", "roots", "updates", "changes", "logging", "cancelling");
const MODES = [
  { transport: "http", kind: "http", usual: "2025-06-18", options: {}, features: ALL },
  { transport: "http, streams", kind: "http", usual: "2025-03-26", options: { answers: "sse" }, features: ALL },
  { transport: "http, no session", kind: "http", usual: "2025-11-25", options: { sessions: false }, features: alone },
  { transport: "sse", kind: "sse", usual: "2024-11-05", options: { sse: true }, features: ALL },
] as const;

for (const { transport, kind, usual, options, features } of MODES) {
  let running: HttpServing;
  beforeAll(async () => {
    running = await serveHttp(newServer(), { ...options, port: 0 });
  });
  afterAll(() => running.close());
  const revisions = someOf(kind === "sse" ? HANDSHAKE : BOTH, usual);
  const newest = kind === "sse" ? "2025-11-25" : STATELESS;
  row({ server, transport, kind, newest, revisions, features: had(features) }, () =>
    kind === "sse" ? new URL("/sse", running.url) : running.url,
  );
}

describe(`${server} over memory`, () => {
  it.each([FOUND, ...BOTH])("%s", async (pin) => {
    const options = pin === FOUND ? ANSWERING : { ...ANSWERING, revision: pin };
    await withClient(await connect(newServer(), options), async (client) => {
      expect(client.revision).toBe(pin === FOUND ? STATELESS : pin);
      await use(client, had(ALL)(client.revision));
    });
  });
});
