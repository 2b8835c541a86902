// The four kinds of message, and what is said about everything else.
import { describe, expect, it } from "vitest";
import { classify, ParseFault } from "../../src/jsonrpc/parse.js";

const rpc = { jsonrpc: "2.0" };
const error = { code: -1, message: "no" };

describe("classify", () => {
  it.each([
    ["request", { ...rpc, id: 1, method: "m" }],
    ["request", { ...rpc, id: "", method: "", params: {} }],
    ["request", { ...rpc, id: -(2 ** 53 - 1), method: "m", extra: true }],
    ["notification", { ...rpc, method: "m" }],
    ["success", { ...rpc, id: 0, result: {} }],
    ["failure", { ...rpc, id: 0, error }],
    ["failure", { ...rpc, id: null, error }],
    ["failure", { ...rpc, error: { ...error, data: 1 } }],
  ])("%s", (kind, value) => expect(classify(value)).toBe(kind));

  it.each([
    [null, -32600, undefined, false, "object"],
    [7, -32600, undefined, false, "object"],
    ["text", -32600, undefined, false, "object"],
    [{}, -32600, undefined, false, '"method"'],
    [{ ...rpc, id: 3 }, -32600, 3, false, '"method"'],
    [{ ...rpc, method: 1, params: "bar" }, -32600, undefined, false, '"method"'],
    [{ ...rpc, id: null, method: "m" }, -32600, undefined, false, '"id"'],
    [{ ...rpc, id: 1.5, method: "m" }, -32600, undefined, false, '"id"'],
    [{ ...rpc, id: 2 ** 53, method: "m" }, -32600, undefined, false, '"id"'],
    [{ ...rpc, id: [1], method: "m" }, -32600, undefined, false, '"id"'],
    [{ id: 3, method: "m" }, -32600, 3, false, '"jsonrpc"'],
    [{ jsonrpc: 2, id: 3, method: "m" }, -32600, 3, false, '"jsonrpc"'],
    [{ ...rpc, id: 3, method: "m", params: [1] }, -32602, 3, false, '"params"'],
    [{ ...rpc, id: 3, method: "m", params: null }, -32602, 3, false, '"params"'],
    [{ ...rpc, id: 3, method: "m", result: {} }, -32600, 3, false, '"result"'],
    [{ method: "m" }, -32600, undefined, true, '"jsonrpc"'],
    [{ ...rpc, method: "m", params: 1 }, -32602, undefined, true, '"params"'],
    [{ ...rpc, id: 3, result: 1 }, -32600, 3, true, "response"],
    [{ ...rpc, id: 3, result: {}, error }, -32600, 3, true, "response"],
    [{ ...rpc, id: 3, error: { code: 1.5, message: "" } }, -32600, 3, true, "response"],
    [{ ...rpc, id: 3, error: { code: 1 } }, -32600, 3, true, "response"],
    [{ ...rpc, id: {}, error }, -32600, undefined, true, "response"],
    [{ ...rpc, id: null, result: {} }, -32600, undefined, true, "response"],
  ])("refuses %j", (value, code, id, silent, word) => {
    const fault = classify(value) as ParseFault;
    expect(fault).toBeInstanceOf(ParseFault);
    expect([fault.code, fault.id, fault.silent]).toEqual([code, id, silent]);
    expect(fault.message).toContain(word);
  });
});
