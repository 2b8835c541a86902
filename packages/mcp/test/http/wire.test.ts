// The wire corpus against a running server: every message alone, and followed by a call somebody tries to smuggle in.
import { beforeAll, describe, expect, it } from "vitest";
import { serveHttp, type HttpServing } from "../../src/serve/http.js";
import { Server } from "../../src/server/server.js";
import { modern, raw, statuses } from "./http-fixture.js";
import { type Verdict, WIRE_CASES } from "./wire-corpus.js";

const REFUSALS = [400, 403, 404, 405, 408, 413, 417, 431, 501, 505];

let serving: HttpServing;
let calls = 0;

beforeAll(async () => {
  const server = new Server({ name: "wire", version: "1" });
  server.tool("count", { run: () => ++calls });
  serving = await serveHttp(server, { signals: false });
  return () => serving.close();
});

function filled(bytes: string): string {
  const body = JSON.stringify(modern("tools/call", { name: "count" }));
  return bytes
    .replaceAll("HOST", new URL(serving.url).host)
    .replaceAll("BODY", body)
    .replaceAll("SIZE", String(body.length))
    .replaceAll("HEX", body.length.toString(16));
}

interface Outcome {
  readonly replies: readonly number[];
  readonly ended: boolean;
  readonly called: number;
}

/** The number of replies after which nothing more is expected; undefined: the server ends the connection. */
async function exchanged(bytes: string, replies?: number): Promise<Outcome> {
  const before = calls;
  const enough = (text: string): boolean => text.endsWith("}") && finals(text).length === replies;
  const { text, ended } = await raw(serving.url, Buffer.from(bytes, "latin1"), replies === undefined ? {} : { enough });
  return { replies: finals(text), ended, called: calls - before };
}

function finals(text: string): number[] {
  return statuses(text).filter((status) => status >= 200);
}

/** What is to be seen of a message alone and of one with a good call behind it. */
const EXPECTED: Readonly<Record<Verdict, (bytes: string, probe: string) => Promise<void>>> = {
  async refused(bytes, probe) {
    for (const sent of [bytes, bytes + probe]) {
      const { replies, called } = await exchanged(sent);
      expect(replies.length).toBeLessThanOrEqual(1);
      for (const status of replies) expect(REFUSALS).toContain(status);
      expect(called).toBe(0);
    }
  },
  async elsewhere(bytes, probe) {
    const { replies, called } = await exchanged(bytes + probe, 2);
    expect([called, replies[1]]).toEqual([1, 200]);
    expect([400, 405]).toContain(replies[0]);
  },
  async served(bytes, probe) {
    expect(await exchanged(bytes, 1)).toEqual({ replies: [200], ended: false, called: 1 });
    expect(await exchanged(bytes + probe, 2)).toEqual({ replies: [200, 200], ended: false, called: 2 });
  },
  async last(bytes, probe) {
    expect(await exchanged(bytes)).toEqual({ replies: [200], ended: true, called: 1 });
    const { replies, called, ended } = await exchanged(bytes + probe);
    expect([replies.length, called, ended]).toEqual([1, 1, true]);
  },
  async spoiled(bytes, probe) {
    for (const sent of [bytes, bytes + probe]) {
      expect(await exchanged(sent)).toEqual({ replies: [400], ended: true, called: 1 });
    }
  },
  async waits(bytes, probe) {
    const before = calls;
    for (const sent of [bytes, bytes + probe]) {
      const { text } = await raw(serving.url, Buffer.from(sent, "latin1"), { end: true });
      for (const status of statuses(text)) expect(REFUSALS).toContain(status);
    }
    expect(calls).toBe(before);
  },
  async split(bytes, probe) {
    for (const sent of [bytes, bytes + probe]) {
      const { replies, called, ended } = await exchanged(sent);
      expect([called, ended]).toEqual([0, true]);
      expect(replies.every((status) => status >= 400)).toBe(true);
    }
  },
};

const PROBE = WIRE_CASES.find(([name]) => name === "a call")?.[2] ?? "";

describe("the wire corpus", () => {
  it.each(WIRE_CASES)("%s: %s", (_name, verdict, bytes) => EXPECTED[verdict](filled(bytes), filled(PROBE)));

  it("has every class", () => {
    console.log(`${WIRE_CASES.length} messages on the wire`);
    expect(new Set(WIRE_CASES.map(([name]) => name)).size).toBe(WIRE_CASES.length);
    expect(new Set(WIRE_CASES.map(([, verdict]) => verdict))).toEqual(new Set(Object.keys(EXPECTED)));
  });
});
