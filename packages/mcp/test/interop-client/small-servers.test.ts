// The client with servers on smaller libraries, and with a server written by hand.
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { connect } from "../../src/serve/connect-node.js";
import { HANDSHAKE, type Opened, program, row, someOf, STATELESS, withClient } from "./cells.js";
import { allBut, ANSWERING, type Feature, texts } from "./features.js";
import { listen as listenLite } from "./servers/mcp-lite.mjs";
import { listen as listenTmcp } from "./servers/tmcp.mjs";

function had(features: readonly Feature[]): (revision: string) => readonly Feature[] {
  return (revision) => (revision < "2025-06-18" ? features.filter((feature) => feature !== "elicitation") : features);
}

// tmcp tells the console of each error it answers with.
beforeAll(() => {
  for (const way of ["error", "warn"] as const) vi.spyOn(console, way).mockReturnValue(undefined);
});
afterAll(() => void vi.restoreAllMocks());

const TMCP = { server: "tmcp 1.20.0", newest: STATELESS } as const;
const OLDER = HANDSHAKE.slice(0, 3);
// It asks for folders in sessions only.
const TMCP_FEATURES = allBut("cancelling");
function tmcpHad(revision: string): readonly Feature[] {
  return revision === STATELESS ? allBut("cancelling", "roots") : had(TMCP_FEATURES)(revision);
}

row(
  {
    ...TMCP,
    transport: "stdio",
    kind: "stdio",
    revisions: someOf([STATELESS, ...OLDER]),
    features: tmcpHad,
  },
  () => program("tmcp.mjs"),
);
for (const [kind, revisions, newest] of [
  ["http", someOf([STATELESS, ...OLDER], "2025-03-26"), STATELESS],
  ["sse", someOf(OLDER, "2024-11-05"), "2025-06-18"],
] as const) {
  let opened: Opened;
  beforeAll(async () => {
    opened = await listenTmcp(kind);
  });
  afterAll(() => opened.close());
  row({ ...TMCP, newest, transport: kind, kind, revisions, features: tmcpHad }, () => opened.url);
}

// It offers the older of its two when it is asked for a newer one than both.
const LITE = {
  server: "mcp-lite 0.10.0",
  newest: "2025-03-26",
  kind: "http",
} as const;
const ITS_TWO = ["2025-03-26", "2025-06-18"];
for (const [mode, transport, revisions, features] of [
  ["http", "http", ITS_TWO.slice(1), allBut("cancelling", "logging", "completion", "roots", "updates", "changes")],
  [
    "http-alone",
    "http, no session",
    [],
    allBut("progress", "cancelling", "logging", "completion", "elicitation", "sampling", "roots", "updates", "changes"),
  ],
] as const) {
  let opened: Opened;
  beforeAll(async () => {
    opened = await listenLite(mode);
  });
  afterAll(() => opened.close());
  row({ ...LITE, transport, revisions: someOf(ITS_TWO, ...revisions), features: had(features) }, () => opened.url);
}

const PRINTED = new URL("../../../../../shared/seeds/004_0a0aeeb2220d9a2e.txt", import.meta.url);
const THERE = existsSync(PRINTED);
if (!THERE) console.warn(`The server printed in ${PRINTED.pathname} is not there: it is not connected to`);

describe.skipIf(!THERE && process.env["CI"] === undefined)("raw server as printed over stdio", () => {
  let folder: string;
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), "raw-server-"));
    const lines = readFileSync(PRINTED, "utf8").split("\n");
    writeFileSync(join(folder, "raw.cjs"), lines.slice(781, 1078).join("\n"));
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  const target = () => ({ command: process.execPath, args: [join(folder, "raw.cjs")] });

  it("found out", async () => {
    await withClient(await connect(target(), ANSWERING), async (client) => {
      expect(client.revision).toBe("2025-03-26");
      expect((await client.tools().all()).map(({ name }) => name)).toEqual(["calculate", "get_timestamp"]);
      expect(texts(await client.call("calculate", { expression: "2 + 3 * 4" }))).toBe("14");
      expect(await client.call("calculate", { expression: "process" })).toMatchObject({ isError: true });
      await expect(client.call("nothing")).rejects.toThrow("Tool not found: nothing");
      expect(await client.resources().all()).toMatchObject([{ uri: "server://info" }]);
      const { contents } = await client.read("server://info");
      expect(contents[0]).toMatchObject({ uri: "server://info", mimeType: "application/json" });
      await expect(client.prompts().all()).rejects.toMatchObject({ code: "NOT_SUPPORTED" });
      expect(await client.ping()).toBeGreaterThan(0);
    });
  });

  it.each(someOf(["2025-03-26"]))("%s", async (revision) => {
    await withClient(await connect(target(), { ...ANSWERING, revision }), async (client) => {
      expect(texts(await client.call("calculate", { expression: "1 + 1" }))).toBe("2");
    });
  });

  it.each(["2025-11-25", STATELESS])("%s (refused)", async (revision) => {
    await expect(connect(target(), { ...ANSWERING, revision })).rejects.toMatchObject({ code: "INCOMPATIBLE" });
  });
});
