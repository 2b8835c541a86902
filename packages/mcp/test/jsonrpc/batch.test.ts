// Batches: one array in, at most one array out, when the last answer is there.
import { beforeEach, describe, expect, it } from "vitest";
import { DEFAULT_LIMITS } from "../../src/jsonrpc/limits.js";
import { Connection } from "../../src/jsonrpc/connection.js";
import { RpcError } from "../../src/jsonrpc/errors.js";
import { RecordingCarrier, RecordingHandler } from "./recording.js";

let handler: RecordingHandler;
let carrier: RecordingCarrier;
let connection: Connection;

beforeEach(() => {
  handler = new RecordingHandler();
  carrier = new RecordingCarrier();
  connection = new Connection(handler, { ...DEFAULT_LIMITS, batch: 4 });
});

const request = (id: number, method = "m"): string => `{"jsonrpc":"2.0","id":${id},"method":"${method}"}`;
const notification = '{"jsonrpc":"2.0","method":"n"}';
const success = (id: number): object => ({ jsonrpc: "2.0", id, result: {} });

describe("a batch", () => {
  it("is answered with one array once every request is answered", () => {
    connection.receive(`[${request(1, "a")},${notification},${request(2, "b")}]`, { reply: carrier });
    expect(handler.seen).toEqual(["a", "n", "b"]);
    handler.answer(1);
    expect(carrier.written).toEqual([]);
    handler.answer(0);
    expect([carrier.written, carrier.kinds]).toEqual([[[success(2), success(1)]], ["response"]]);
  });

  it("is served to its end however its answers come: twice, or given up", () => {
    connection.receive(`[${request(1)},${request(2)},${request(3)}]`, { reply: carrier });
    handler.answer(0);
    handler.answer(0);
    handler.requests[1]?.carrier.abandon?.();
    handler.requests[1]?.carrier.abandon?.();
    expect(carrier.written).toEqual([]);
    handler.answer(2);
    expect(carrier.written).toEqual([[success(1), success(3)]]);
  });

  it("is answered with nothing when nothing in it wants an answer", () => {
    connection.receive(`[${notification},{"jsonrpc":"2.0","id":1,"result":{}},{"method":"n"}]`, { reply: carrier });
    connection.receive(`[${request(1)}]`, { reply: carrier });
    handler.requests[0]?.carrier.abandon?.();
    expect(carrier.written).toEqual([]);
  });

  it("answers its invalid elements inside the array", () => {
    connection.receive(`[1,{"jsonrpc":"2.0","id":5},${request(1)}]`, { reply: carrier });
    handler.answer(0);
    expect(carrier.written).toMatchObject([
      [{ id: null, error: { code: -32600 } }, { id: 5, error: { code: -32600 } }, success(1)],
    ]);
    connection.receive("[1,2,3]", { reply: carrier });
    expect(carrier.written[1]).toHaveLength(3);
  });

  it("lets the layer above refuse elements before any is served", () => {
    handler.refuse = ({ method }) => (method === "m" ? undefined : new RpcError(-32600, `${method} stands alone`));
    connection.receive(`[${request(1)},${request(2, "initialize")},${notification}]`, { reply: carrier });
    handler.answer(0);
    const refusal = { jsonrpc: "2.0", id: 2, error: { code: -32600, message: "initialize stands alone" } };
    expect(carrier.written).toEqual([[refusal, success(1)]]);
    expect([handler.seen, handler.reasons]).toEqual([["m"], ["n stands alone"]]);
  });

  it("lets requests and notifications pass at once, and shows the carrier it came with", () => {
    connection.receive(`[${request(1)}]`, { reply: carrier });
    const element = handler.requests[0]?.carrier;
    void element?.write(notification, "notification");
    expect([carrier.written, carrier.kinds]).toEqual([[JSON.parse(notification)], ["notification"]]);
    expect([element?.kind, element?.principal, element?.header("x")]).toEqual(["test", "ada", "value of x"]);
    carrier.closed = true;
    expect(element?.closed).toBe(true);
  });

  it.each([
    ["empty", "[]", "at least one"],
    ["over the limit", `[${[1, 2, 3, 4, 5].map((id) => request(id)).join(",")}]`, "more than 4 messages"],
  ])("is refused as a whole when it is %s", (_name, text, words) => {
    connection.receive(text, { reply: carrier });
    const message = expect.stringContaining(words) as string;
    expect(carrier.written).toEqual([{ jsonrpc: "2.0", id: null, error: { code: -32600, message } }]);
    expect(handler.seen).toEqual([]);
  });

  it("is refused where the revision has no batches", () => {
    handler.wire = { batches: false, unreadableId: "absent" };
    connection.receive(`[${request(1)}]`, { reply: carrier });
    expect(carrier.written).toMatchObject([{ error: { code: -32600 } }]);
  });
});
