// The client with servers on the official SDK's first generation, in every mode they are written in.
import { afterAll, beforeAll } from "vitest";
import { HANDSHAKE, type Opened, program, row, someOf } from "./cells.js";
import { ALL, allBut, type Feature } from "./features.js";
import { listen } from "./servers/sdk-v1.mjs";

const server = "official SDK v1 1.32.2";
const newest = "2025-11-25";

function had(features: readonly Feature[]): (revision: string) => readonly Feature[] {
  // The SDK sends elicitations whatever the revision; only those from 2025-06-18 on know them.
  return (revision) => (revision < "2025-06-18" ? features.filter((feature) => feature !== "elicitation") : features);
}

row({ server, transport: "stdio", kind: "stdio", newest, revisions: someOf(HANDSHAKE), features: had(ALL) }, () =>
  program("sdk-v1.mjs"),
);

const MODES = [
  { mode: "http", transport: "http", kind: "http", usual: "2025-03-26", features: ALL },
  // Where answers are single JSON texts, what this server says about a call while it runs is lost.
  {
    mode: "http-json",
    transport: "http, JSON",
    kind: "http",
    usual: "2025-06-18",
    features: allBut("progress", "logging"),
  },
  {
    mode: "http-alone",
    transport: "http, no session",
    kind: "http",
    usual: "2025-11-25",
    features: allBut("elicitation", "sampling", "roots", "updates", "changes", "logging"),
  },
  { mode: "sse", transport: "sse", kind: "sse", usual: "2024-11-05", features: ALL },
] as const;

for (const { mode, transport, kind, usual, features } of MODES) {
  let opened: Opened;
  beforeAll(async () => {
    opened = await listen(mode);
  });
  afterAll(() => opened.close());
  const revisions = someOf(HANDSHAKE, usual);
  row({ server, transport, kind, newest, revisions, features: had(features) }, () => opened.url);
}
