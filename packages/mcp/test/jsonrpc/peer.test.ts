// One side of a conversation: what it answers by itself, and how answers find their requests.
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { DEFAULT_LIMITS } from "../../src/jsonrpc/limits.js";
import { LocalError, RpcError } from "../../src/jsonrpc/errors.js";
import { Peer } from "../../src/jsonrpc/peer.js";
import { RecordingCarrier, RecordingHandler } from "./recording.js";

let handler: RecordingHandler;
let carrier: RecordingCarrier;
let peer: Peer;

beforeEach(() => {
  handler = new RecordingHandler();
  carrier = new RecordingCarrier();
  peer = new Peer(handler, { ...DEFAULT_LIMITS, depth: 5, pendingRequests: 2 });
});

describe("receiving", () => {
  it("hands over requests and notifications as they are", () => {
    peer.receive('{"jsonrpc":"2.0","id":"1","method":"a","params":{"x":1}}', carrier);
    peer.receive('{"jsonrpc":"2.0","method":"b"}', carrier);
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
    peer.receive(text, carrier);
    expect(carrier.written).toEqual([{ jsonrpc: "2.0", id, error: { code, message: expect.any(String) as string } }]);
    expect([carrier.kinds, carrier.codes, handler.seen]).toEqual([["response"], [code], []]);
  });

  it("leaves the id out where the revision has no null id", () => {
    handler.wire = { batches: false, unreadableId: "absent" };
    peer.receive("nonsense", carrier);
    peer.receive("[]", carrier);
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
    peer.receive(text, carrier);
    expect([carrier.written, handler.seen]).toEqual([[], []]);
    expect(handler.reasons).toHaveLength(1);
  });

  it("answers what never became text, with the id its ends show", () => {
    const error = new RpcError(-32600, "too long");
    peer.unreadable(error, carrier);
    peer.unreadable(error, carrier, { head: '{"id":7,"method":"m","params":"', tail: '"}' });
    peer.unreadable(error, carrier, { head: '{"method":"m","params":{"', tail: '"}}' });
    expect(carrier.written).toEqual([
      { jsonrpc: "2.0", id: null, error: { code: -32600, message: "too long" } },
      { jsonrpc: "2.0", id: 7, error: { code: -32600, message: "too long" } },
    ]);
    expect(handler.reasons).toEqual(["too long"]);
  });
});

describe("asking", () => {
  const options = { timeoutMs: 1_000 };

  it("numbers requests from 1 and matches answers whatever their order", async () => {
    const first = peer.request(carrier, { method: "a", params: { x: 1 } }, options);
    const second = peer.request(carrier, { method: "b" }, options);
    expect(carrier.written).toEqual([
      { jsonrpc: "2.0", id: 1, method: "a", params: { x: 1 } },
      { jsonrpc: "2.0", id: 2, method: "b" },
    ]);
    peer.receive('[{"jsonrpc":"2.0","id":2,"result":{"n":2}},{"jsonrpc":"2.0","id":1,"result":{"n":1}}]', carrier);
    await expect(Promise.all([first, second])).resolves.toEqual([{ n: 1 }, { n: 2 }]);
    expect([peer.pending, carrier.written.length]).toEqual([0, 2]);
  });

  it("never takes the string for the number", async () => {
    const answer = peer.request(carrier, { method: "a" }, options);
    peer.receive('{"jsonrpc":"2.0","id":"1","result":{}}', carrier);
    expect([peer.pending, handler.reasons.length]).toEqual([1, 1]);
    peer.receive('{"jsonrpc":"2.0","id":1,"error":{"code":-5,"message":"no","data":[1]}}', carrier);
    await expect(answer).rejects.toMatchObject({ name: "RpcError", code: -5, message: "no", data: [1] });
  });

  it("fails at once when the answer is malformed", async () => {
    const answer = peer.request(carrier, { method: "a" }, options);
    peer.receive('{"jsonrpc":"2.0","id":1,"result":3}', carrier);
    await expect(answer).rejects.toMatchObject({ name: "LocalError", code: "INVALID_RESPONSE" });
    expect([handler.reasons, carrier.written.length]).toEqual([[], 1]);
  });

  it("refuses over the limit, after the end and on a closed carrier", async () => {
    const waiting = [peer.request(carrier, { method: "a" }, options), peer.request(carrier, { method: "b" }, options)];
    await expect(peer.request(carrier, { method: "c" }, options)).rejects.toMatchObject({ code: "LIMIT" });
    peer.closed();
    for (const each of waiting) await expect(each).rejects.toMatchObject({ code: "CLOSED" });
    await expect(peer.request(carrier, { method: "d" }, options)).rejects.toBeInstanceOf(LocalError);
    const other = new Peer(handler, DEFAULT_LIMITS);
    carrier.closed = true;
    await expect(other.request(carrier, { method: "e" }, options)).rejects.toMatchObject({ code: "CLOSED" });
    expect([handler.ended, carrier.written.length]).toEqual([1, 2]);
  });

  it("cancels by signal, tells why, and ignores the late answer", async () => {
    const onAbandon = vi.fn<(id: unknown, reason: string) => void>();
    const onSent = vi.fn<(id: unknown) => void>();
    const controller = new AbortController();
    const answer = peer.request(carrier, { method: "a" }, { ...options, signal: controller.signal, onSent, onAbandon });
    expect(onSent).toHaveBeenCalledWith(1);
    controller.abort("no longer needed");
    await expect(answer).rejects.toMatchObject({ code: "CANCELLED", cause: "no longer needed" });
    expect(onAbandon.mock.calls).toEqual([[1, "no longer needed"]]);
    peer.receive('{"jsonrpc":"2.0","id":1,"result":{}}', carrier);
    expect(handler.reasons).toEqual(["response to no pending request, id 1"]);
    await expect(
      peer.request(carrier, { method: "b" }, { ...options, signal: controller.signal }),
    ).rejects.toMatchObject({
      code: "CANCELLED",
    });
    expect(carrier.written).toHaveLength(1);
  });

  describe("in time", () => {
    beforeEach(() => void vi.useFakeTimers());
    afterEach(() => void vi.useRealTimers());

    it("gives up after timeoutMs and leaves no timer behind", async () => {
      const onAbandon = vi.fn<(id: unknown, reason: string) => void>();
      const late = peer.request(carrier, { method: "slow" }, { timeoutMs: 50, onAbandon });
      const patient = peer.request(carrier, { method: "patient" }, { timeoutMs: Infinity });
      const rejected = expect(late).rejects.toMatchObject({
        code: "TIMEOUT",
        message: "slow was not answered within 50 ms",
      });
      vi.advanceTimersByTime(50);
      await rejected;
      expect(onAbandon).toHaveBeenCalledOnce();
      expect([peer.pending, vi.getTimerCount()]).toEqual([1, 0]);
      peer.receive('{"jsonrpc":"2.0","id":2,"result":{}}', carrier);
      await patient;
    });
  });
});
