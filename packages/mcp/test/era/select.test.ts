// Which era a request belongs to, by itself and by the session it comes in, and what a client of the stateless era takes.
import { describe, expect, it } from "vitest";
import { clientCodec } from "../../src/client/versions.js";
import { assumedRevision, select, type SessionState } from "../../src/era/select.js";
import type { JsonObject } from "../../src/jsonrpc/message.js";
import { META } from "../../src/protocol/meta.js";
import { revision } from "../../src/protocol/revisions/all.js";
import type { Revision } from "../../src/protocol/revisions/revision.js";

const ENVELOPE = {
  [META.protocolVersion]: "2026-07-28",
  [META.clientInfo]: { name: "c", version: "1" },
  [META.clientCapabilities]: {},
};

describe("a request", () => {
  it.each<readonly [string, SessionState, string]>([
    ["initialize", "none", "opening"],
    ["initialize", "replaceable", "opening"],
    ["initialize", "fixed", "refused: This session is already initialized"],
    ["ping", "none", "opening"],
    ["ping", "replaceable", "session"],
    ["ping", "fixed", "session"],
    ["tools/list", "none", 'refused: Server not initialized: call "initialize" before "tools/list"'],
    ["tools/list", "replaceable", "session"],
    ["tools/list", "fixed", "session"],
    ["server/discover", "none", "refused: params._meta"],
    ["server/discover", "fixed", "session"],
  ])("of the method %s is, with the session %s: %s", (method, session, wanted) => {
    const found = select({ jsonrpc: "2.0", id: 1, method, params: {} }, session);
    const told = found.kind === "refused" ? `refused: ${found.error.message}` : found.kind;
    expect(told.startsWith(wanted), told).toBe(true);
  });

  it.each<SessionState>(["none", "replaceable", "fixed"])(
    "with an envelope needs no session, which is %s",
    (session) => {
      for (const method of ["initialize", "ping", "tools/list", "server/discover"]) {
        const found = select({ jsonrpc: "2.0", id: 1, method, params: { _meta: ENVELOPE } }, session);
        expect(found).toMatchObject({ kind: "stateless", codec: { revision: { date: "2026-07-28" } } });
      }
    },
  );

  it.each<readonly [string, unknown, number, string]>([
    [META.protocolVersion, 20260728, -32602, "must be a string"],
    [META.protocolVersion, "2025-11-25", -32022, ""],
    [META.clientCapabilities, undefined, -32602, "must be an object ({} when there are none)"],
    [META.clientCapabilities, "none", -32602, "must be an object ({} when there are none)"],
    [META.clientInfo, "c", -32602, "must be an object"],
    [META.logLevel, "loud", -32602, "must be a log level"],
  ])("whose envelope has as %s %j is refused with %i: %s", (key, value, code, words) => {
    const params = { _meta: { ...ENVELOPE, [key]: value } } as JsonObject;
    const found = select({ jsonrpc: "2.0", id: 1, method: "ping", params }, "fixed");
    expect(found).toMatchObject({ kind: "refused", error: { code } });
    expect(found.kind === "refused" ? found.error.message : "").toContain(words);
  });

  it.each([
    [undefined, "2025-03-26"],
    ["2024-11-05", "2024-11-05"],
    ["2026-07-28", undefined],
    ["1999-01-01", undefined],
  ])("without a session and with the header %s is of %s", (header, date) =>
    expect(assumedRevision(header)?.date).toBe(date),
  );
});

describe("a result of the newest revision", () => {
  const codec = clientCodec(revision("2026-07-28") as Revision, {
    clientInfo: { name: "c", version: "1" },
    capabilities: {},
  });
  const read = (method: string, result: JsonObject): JsonObject => codec.readResult(method, result);

  it.each([
    ["tasks/own", true],
    ["tools/own", false],
    ["prompts/get", false],
    ["mytasks/own", false],
  ])("of the method %s may be called a task: %s", (method, may) => {
    const result = { resultType: "task", taskId: "T" };
    if (may) expect(read(method, result)).toEqual(result);
    else expect(() => read(method, result)).toThrow('resultType "task" means nothing to this client');
  });

  it("of a tool is a task only with what belongs to one, and of any method complete, said or not", () => {
    const task = { taskId: "T", status: "working", ttlMs: null, createdAt: "a", lastUpdatedAt: "a" };
    expect(read("tools/call", { resultType: "task", ...task })).toMatchObject({ taskId: "T" });
    for (const result of [{ a: 1 }, { resultType: "complete", a: 1 }])
      expect(read("own/method", result)).toEqual(result);
    for (const resultType of ["other", 5, null, "Complete"])
      expect(() => read("own/method", { resultType })).toThrow("means nothing to this client");
  });

  it.each<readonly [JsonObject, string | undefined]>([
    [{ requestState: "s" }, undefined],
    [{ inputRequests: {} }, undefined],
    [{}, "neither inputRequests nor requestState"],
    [{ inputRequests: [] }, "inputRequests is no object"],
    [{ inputRequests: {}, requestState: 5 }, "requestState is no string"],
  ])("that asks back has what it needs: %j", (members, fault) => {
    const result = { resultType: "input_required", ...members };
    if (fault === undefined) expect(read("tools/call", result)).toEqual(result);
    else expect(() => read("tools/call", result)).toThrow(fault);
    for (const method of ["tools/list", "own/method"])
      expect(() => read(method, result)).toThrow("this method may not ask for input");
  });
});
