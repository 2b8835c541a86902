// One end of a connection: what it answers by itself, and how answers find their requests.
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { DEFAULT_LIMITS } from "../../src/jsonrpc/limits.js";
import { LocalError, RpcError } from "../../src/jsonrpc/errors.js";
import { Connection } from "../../src/jsonrpc/connection.js";
import type { JsonObject } from "../../src/jsonrpc/message.js";
import type { Waiting } from "../../src/jsonrpc/outgoing.js";
import { RecordingCarrier, RecordingHandler } from "./recording.js";

let handler: RecordingHandler;
let carrier: RecordingCarrier;
let connection: Connection;

beforeEach(() => {
  handler = new RecordingHandler();
  carrier = new RecordingCarrier();
  connection = new Connection(handler, { ...DEFAULT_LIMITS, depth: 5, pendingRequests: 2 });
});

describe("receiving", () => {
  it("hands over requests and notifications as they are", () => {
    connection.receive('{"jsonrpc":"2.0","id":"1","method":"a","params":{"x":1}}', { reply: carrier });
    connection.receive('{"jsonrpc":"2.0","method":"b"}', { reply: carrier });
    expect(handler.seen).toEqual(["a", "b"]);
    expect(handler.requests[0]).toEqual({
      message: { jsonrpc: "2.0", id: "1", method: "a", params: { x: 1 } },
      carrier,
    });
    expect(carrier.written).toEqual([]);
  });

  it.each([
    ["not JSON", "{", -32700, null],
    ["a duplicate key", '{"jsonrpc":"2.0","id":4,"method":"m","method":"n"}', -32600, 4],
    ["too deep", '{"jsonrpc":"2.0","id":4,"method":"m","params":{"a":[[[[[]]]]]}}', -32600, 4],
    ["no method", '{"jsonrpc":"2.0","id":4}', -32600, 4],
    ["params that are no object", '{"jsonrpc":"2.0","id":4,"method":"m","params":[]}', -32602, 4],
    ["an id that is none", '{"jsonrpc":"2.0","id":{},"method":"m"}', -32600, null],
  ])("answers %s", (_name, text, code, id) => {
    connection.receive(text, { reply: carrier });
    expect(carrier.written).toEqual([{ jsonrpc: "2.0", id, error: { code, message: expect.any(String) as string } }]);
    expect([carrier.kinds, carrier.codes, handler.seen]).toEqual([["response"], [code], []]);
  });

  it("leaves the id out where the revision has no null id", () => {
    handler.wire = { batches: false, unreadableId: "absent" };
    connection.receive("nonsense", { reply: carrier });
    connection.receive("[]", { reply: carrier });
    expect(carrier.written).toMatchObject([{ error: { code: -32700 } }, { error: { code: -32600 } }]);
    for (const answer of carrier.written) expect(answer).not.toHaveProperty("id");
  });

  it.each([
    '{"method":"m"}',
    '{"jsonrpc":"2.0","method":"m","params":3}',
    '{"jsonrpc":"2.0","method":"m","method":"m"}',
    '{"jsonrpc":"2.0","method":"m","params":{"__proto__":1}}',
    '{"jsonrpc":"2.0","method":"m","params":{"a":[[[[[]]]]]}}',
    '{"jsonrpc":"2.0","id":1,"result":3}',
    '{"jsonrpc":"2.0","id":1,"result":{}}',
    '{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"m"}}',
  ])("answers nothing to %s, and says so to the log", (text) => {
    connection.receive(text, { reply: carrier });
    expect([carrier.written, handler.seen]).toEqual([[], []]);
    expect(handler.reasons).toHaveLength(1);
  });

  it("answers what never became text, with the id its ends show", () => {
    const error = new RpcError(-32600, "too long");
    connection.unreadable(error, { reply: carrier });
    connection.unreadable(error, { reply: carrier }, { head: '{"id":7,"method":"m","params":"', tail: '"}' });
    connection.unreadable(error, { reply: carrier }, { head: '{"method":"m","params":{"', tail: '"}}' });
    expect(carrier.written).toEqual([
      { jsonrpc: "2.0", id: null, error: { code: -32600, message: "too long" } },
      { jsonrpc: "2.0", id: 7, error: { code: -32600, message: "too long" } },
    ]);
    expect(handler.reasons).toEqual(["too long"]);
  });
});

describe("asking", () => {
  type Asked = Partial<Waiting> & { readonly params?: object | undefined };

  function ask(method: string, { params, ...waiting }: Asked = {}, over: Connection = connection): Promise<JsonObject> {
    return over.ask(over.newId(), params, { method, timeoutMs: 1_000, ...waiting, carrier });
  }

  it("numbers requests from 1 and matches answers whatever their order", async () => {
    const first = ask("a", { params: { x: 1 } });
    const second = ask("b");
    expect(carrier.written).toEqual([
      { jsonrpc: "2.0", id: 1, method: "a", params: { x: 1 } },
      { jsonrpc: "2.0", id: 2, method: "b" },
    ]);
    connection.receive('[{"jsonrpc":"2.0","id":2,"result":{"n":2}},{"jsonrpc":"2.0","id":1,"result":{"n":1}}]', {
      reply: carrier,
    });
    await expect(Promise.all([first, second])).resolves.toEqual([{ n: 1 }, { n: 2 }]);
    expect([connection.pending, carrier.written.length]).toEqual([0, 2]);
  });

  it("never takes the string for the number", async () => {
    const answer = ask("a");
    connection.receive('{"jsonrpc":"2.0","id":"1","result":{}}', { reply: carrier });
    expect([connection.pending, handler.reasons.length]).toEqual([1, 1]);
    connection.receive('{"jsonrpc":"2.0","id":1,"error":{"code":-5,"message":"no","data":[1]}}', { reply: carrier });
    await expect(answer).rejects.toMatchObject({ name: "RpcError", code: -5, message: "no", data: [1] });
  });

  it("fails at once when the answer is malformed", async () => {
    const answer = ask("a");
    connection.receive('{"jsonrpc":"2.0","id":1,"result":3}', { reply: carrier });
    await expect(answer).rejects.toMatchObject({ name: "LocalError", code: "INVALID_RESPONSE" });
    expect([handler.reasons, carrier.written.length]).toEqual([[], 1]);
  });

  it("refuses over the limit, after the end and on a closed carrier", async () => {
    const waiting = [ask("a"), ask("b")];
    await expect(ask("c")).rejects.toMatchObject({ code: "LIMIT" });
    connection.closed();
    connection.end();
    for (const each of waiting) await expect(each).rejects.toMatchObject({ code: "CLOSED" });
    await expect(ask("d")).rejects.toBeInstanceOf(LocalError);
    const other = new Connection(handler, DEFAULT_LIMITS);
    carrier.closed = true;
    await expect(ask("e", {}, other)).rejects.toMatchObject({ code: "CLOSED" });
    expect([handler.ended, carrier.written.length]).toEqual([1, 2]);
  });

  it("cancels by signal, tells why, and ignores the late answer", async () => {
    const controller = new AbortController();
    const answer = ask("a", { signal: controller.signal });
    controller.abort("no longer needed");
    await expect(answer).rejects.toMatchObject({ code: "CANCELLED", cause: "no longer needed" });
    expect(handler.given).toEqual([[1, "no longer needed"]]);
    connection.receive('{"jsonrpc":"2.0","id":1,"result":{}}', { reply: carrier });
    expect(handler.reasons).toEqual(["stray response, id 1"]);
    await expect(ask("b", { signal: controller.signal })).rejects.toMatchObject({ code: "CANCELLED" });
    expect(carrier.written).toHaveLength(1);
  });

  describe("in time", () => {
    beforeEach(() => void vi.useFakeTimers());
    afterEach(() => void vi.useRealTimers());

    it("gives up after timeoutMs and leaves no timer behind", async () => {
      const late = ask("slow", { timeoutMs: 50 });
      const patient = ask("patient", { timeoutMs: Infinity });
      const rejected = expect(late).rejects.toMatchObject({
        code: "TIMEOUT",
        message: "slow was not answered within 50 ms",
      });
      vi.advanceTimersByTime(50);
      await rejected;
      expect(handler.given).toEqual([[1, "timed out"]]);
      expect([connection.pending, vi.getTimerCount()]).toEqual([1, 0]);
      connection.receive('{"jsonrpc":"2.0","id":2,"result":{}}', { reply: carrier });
      await patient;
    });
  });
});
