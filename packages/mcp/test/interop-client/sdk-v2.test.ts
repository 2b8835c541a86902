// The client with servers on the official SDK's second generation, in every mode they are written in.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { connect } from "../../src/serve/connect-node.js";
import { FOUND, HANDSHAKE, type Opened, program, row, someOf, STATELESS, WHOLE, withClient } from "./cells.js";
import { ALL, allBut, ANSWERING, type Feature, use } from "./features.js";
import { listen } from "./servers/sdk-v2.mjs";

const server = "official SDK v2 2.4.0";
const BOTH = [STATELESS, ...HANDSHAKE];

function had(features: readonly Feature[]): (revision: string) => readonly Feature[] {
  return (revision) => (revision < "2025-06-18" ? features.filter((feature) => feature !== "elicitation") : features);
}

row({ server, transport: "stdio", kind: "stdio", newest: STATELESS, revisions: someOf(BOTH), features: had(ALL) }, () =>
  program("sdk-v2.mjs"),
);

// Where answers are single JSON texts, what this server says and asks while a call runs is lost.
const SILENT = allBut("progress", "logging", "elicitation", "sampling", "roots");
const MODES = [
  { mode: "http", transport: "http", usual: ["2024-11-05", "2025-06-18"], features: ALL },
  { mode: "http-json", transport: "http, JSON", usual: ["2025-03-26"], features: SILENT },
] as const;

for (const { mode, transport, usual, features } of MODES) {
  let opened: Opened;
  beforeAll(async () => {
    opened = await listen(mode);
  });
  afterAll(() => opened.close());
  const revisions = someOf(HANDSHAKE, ...usual);
  const about = { server, transport, kind: "http", newest: "2025-11-25", revisions } as const;
  row({ ...about, features: had(features) }, () => opened.url);
}

let alone: Opened;
beforeAll(async () => {
  alone = await listen("http-alone");
});
afterAll(() => alone.close());
// Without sessions the older revisions have no way to ask back or to tell news.
const quiet = allBut("elicitation", "sampling", "roots", "updates", "changes", "logging");
const features = (revision: string): readonly Feature[] => (revision === STATELESS ? ALL : quiet);
const ALONE = { server, transport: "http, no session", kind: "http", newest: STATELESS } as const;
row({ ...ALONE, revisions: someOf(BOTH, "2025-11-25"), features }, () => alone.url);

// Every pin of the client against servers that admit to one revision only: they agree, or the client says why not.
describe.each(BOTH)("a server of %s only over http", (offered) => {
  let opened: Opened;
  beforeAll(async () => {
    opened = await listen(offered === STATELESS ? "http-alone" : "http", [offered]);
  });
  afterAll(() => opened.close());

  it.each([FOUND, ...someOf([offered])])("%s", async (pin) => {
    const options = pin === FOUND ? ANSWERING : { ...ANSWERING, revision: pin };
    await withClient(await connect(opened.url, options), async (client) => {
      expect(client.revision).toBe(offered);
      await use(client, ["tools", "failure", "progress", "resources", "prompts", "completion"]);
    });
  });

  const others = BOTH.filter((revision) => revision !== offered);
  // In a usual run one of each era, where there are two.
  it.each(WHOLE ? others : others.filter((_, at) => at % 3 === 0))("%s (refused)", async (revision) => {
    const error = await connect(opened.url, { ...ANSWERING, revision }).catch((reason: unknown) => reason);
    expect(error).toMatchObject({ code: "INCOMPATIBLE" });
    expect((error as Error).message).toContain(revision);
  });
});
