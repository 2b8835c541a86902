// What people make with the usual libraries passes: a doctor that fails all of them is believed by nobody.
import { fileURLToPath } from "node:url";
import { childTransport, nodeRequester, streamableHttpTransport } from "@secure-local/mcp/client/node";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { soaking } from "../../../mcp/test/support/soak.js";
import { CHECKS, type Diagnosis, examine } from "../../src/doctor/examine.js";

const SERVERS = new URL("../../../mcp/test/interop-client/servers/", import.meta.url);
const EVERYTHING = fileURLToPath(
  new URL("../../../../node_modules/@modelcontextprotocol/server-everything/dist/index.js", import.meta.url),
);
/** Two dozen questions of which a server may leave each unanswered until the doctor gives up. */
const WHOLE_MS = 300_000;
/** They start the program anew; the others find as much wrong with the same conversation. */
const RESTARTING = CHECKS.filter(({ id }) =>
  /^(?:version-unknown|version-old|before-initialize|invalid-|deep-|huge-|prototype-)/.test(id),
).map(({ id }) => id);

const closers: (() => Promise<void>)[] = [];
beforeEach(() => {
  // Libraries complain of what they are asked.
  vi.spyOn(console, "error").mockImplementation(() => undefined);
  vi.spyOn(console, "warn").mockImplementation(() => undefined);
});
afterEach(async () => {
  vi.restoreAllMocks();
  for (const close of closers.splice(0)) await close();
});

const gravest = ({ findings }: Diagnosis): string[] =>
  findings.filter(({ verdict }) => verdict === "fail").map(({ id, detail }) => `${id}: ${detail}`);
const verdictOf = ({ findings }: Diagnosis, wanted: string): string | undefined =>
  findings.find(({ id }) => id === wanted)?.verdict;

interface Listener {
  listen(mode: string): Promise<{ readonly url: string; close(): Promise<void> }>;
}

describe("over HTTP a fresh server passes", () => {
  const usual: [string, string][] = [
    ["sdk-v1", "http"],
    ["sdk-v2", "http-alone"],
    ["tmcp", "http"],
    ["mcp-lite", "http"],
  ];
  const others: [string, string][] = [
    ["sdk-v1", "http-json"],
    ["sdk-v1", "http-alone"],
    ["sdk-v2", "http"],
    ["mcp-lite", "http-alone"],
  ];

  it.each(soaking ? [...usual, ...others] : usual)(
    "of %s, %s",
    async (name, mode) => {
      const { listen } = (await import(new URL(`${name}.mjs`, SERVERS).href)) as Listener;
      const { url, close } = await listen(mode);
      closers.push(close);
      const link = () => streamableHttpTransport({ url, requester: nodeRequester(), ownsRequester: true });
      const diagnosis = await examine({ kind: "http", url, link, answerMs: 10_000 });
      expect(gravest(diagnosis)).toEqual([]);
      expect(diagnosis.counts.unchecked).toBe(0);
    },
    WHOLE_MS,
  );
});

describe("over stdio a fresh server passes", () => {
  const programs = { "sdk-v1": "sdk-v1.mjs", "sdk-v2": "sdk-v2.mjs", tmcp: "tmcp.mjs" };
  const files = Object.entries(programs).map(([name, file]) => [name, fileURLToPath(new URL(file, SERVERS))]);
  const all = [...files, ["server-everything", EVERYTHING]] as [string, string][];

  it.each(soaking ? all : all.slice(0, 1))(
    "of %s",
    async (name, file) => {
      const link = () => childTransport({ command: process.execPath, args: [file] });
      const diagnosis = await examine({
        kind: "stdio",
        link,
        answerMs: soaking ? 10_000 : 1_500,
        ignore: soaking ? [] : RESTARTING,
      });
      expect(gravest(diagnosis)).toEqual([]);
      if (name === "sdk-v1") expect(verdictOf(diagnosis, "batch")).toBe("warn");
    },
    WHOLE_MS,
  );
});
