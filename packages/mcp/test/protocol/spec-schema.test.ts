// The judge itself must be strict: it accepts the specification's own shapes and names what is wrong with others.
import { describe, expect, it } from "vitest";
import { specValidator } from "../support/spec-schema.js";

const DATES = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"];
const available = specValidator("2026-07-28").available;

function answer(result: unknown): object {
  return { jsonrpc: "2.0", id: 1, result };
}

describe.skipIf(!available)("the judge of messages", () => {
  it.each(DATES.slice(0, 4))("accepts and refuses handshake messages of %s", (date) => {
    const { validateServerMessage, validateClientMessage } = bound(date);
    expect(validateServerMessage(answer({}), { requestMethod: "ping" })).toEqual([]);
    expect(validateServerMessage(answer({ resultType: "complete" }), { requestMethod: "ping" })).not.toEqual([]);
    expect(validateServerMessage(answer({ tools: [] }), { requestMethod: "tools/list" })).toEqual([]);
    expect(validateServerMessage(answer({ tools: [{}] }), { requestMethod: "tools/list" }).join()).toMatch(/name/);
    expect(validateServerMessage(answer({}), { requestMethod: "server/discover" })).not.toEqual([]);
    expect(validateServerMessage({ jsonrpc: "2.0", method: "notifications/tools/list_changed" })).toEqual([]);
    expect(validateServerMessage({ jsonrpc: "2.0", id: 3, method: "ping" })).toEqual([]);
    expect(validateServerMessage({ jsonrpc: "2.0", id: 3, method: "tools/list" })).not.toEqual([]);
    expect(validateClientMessage({ jsonrpc: "2.0", id: 3, method: "tools/list" })).toEqual([]);
    expect(validateClientMessage({ jsonrpc: "2.0", id: 3, method: "tools/call", params: {} })).not.toEqual([]);
    expect(validateServerMessage({ jsonrpc: "2.0", id: 1, error: { code: -32601, message: "no" } })).toEqual([]);
    expect(validateServerMessage({ jsonrpc: "2.0", id: 1, error: { code: -32601 } })).not.toEqual([]);
    expect(validateServerMessage({ jsonrpc: "2.0", id: 1, result: {}, error: {} })).not.toEqual([]);
  });

  it("knows members that came later", () => {
    const tool = { name: "t", title: "T", inputSchema: { type: "object" } };
    const list = answer({ tools: [tool] });
    expect(bound("2025-03-26").validateServerMessage(list, { requestMethod: "tools/list" })).not.toEqual([]);
    expect(bound("2025-06-18").validateServerMessage(list, { requestMethod: "tools/list" })).toEqual([]);
  });

  it("knows the unreadable id of each revision", () => {
    const failure = { jsonrpc: "2.0", id: null, error: { code: -32700, message: "no" } };
    const { id: _, ...bare } = failure;
    expect(bound("2025-06-18").validateServerMessage(failure)).toEqual([]);
    expect(bound("2025-11-25").validateServerMessage(failure)).not.toEqual([]);
    expect(bound("2025-11-25").validateServerMessage(bare)).toEqual([]);
  });

  it("judges batches answer by answer, and leaves custom methods alone", () => {
    const methodOf = (id: unknown) => (id === 1 ? "ping" : "tools/list");
    const { validateServerMessage } = bound("2025-03-26");
    const batch = [answer({}), { ...answer({ tools: [] }), id: 2 }];
    expect(validateServerMessage(batch, { methodOf })).toEqual([]);
    expect(validateServerMessage(batch.toReversed(), { methodOf })).toEqual([]);
    expect(validateServerMessage([{ ...answer({}), id: 2 }], { methodOf })).not.toEqual([]);
    expect(validateServerMessage([])).not.toEqual([]);
    expect(bound("2025-06-18").validateServerMessage(batch, { methodOf })).not.toEqual([]);
    expect(validateServerMessage(answer({ own: 1 }), { requestMethod: "com.example/own" })).toEqual([]);
    expect(validateServerMessage({ jsonrpc: "2.0", method: "com.example/own" })).toEqual([]);
    expect(validateServerMessage({ jsonrpc: "2.0", method: "notifications/own" })).not.toEqual([]);
  });

  it("accepts and refuses stateless messages", () => {
    const { validateServerMessage, validateClientMessage } = bound("2026-07-28");
    const list = { requestMethod: "tools/list" };
    expect(
      validateServerMessage(answer({ resultType: "complete", ttlMs: 0, cacheScope: "private", tools: [] }), list),
    ).toEqual([]);
    expect(validateServerMessage(answer({ resultType: "complete", tools: [] }), list)).not.toEqual([]);
    expect(validateServerMessage(answer({ resultType: "input_required", requestState: "s" }), list)).not.toEqual([]);
    expect(
      validateServerMessage(answer({ resultType: "input_required", requestState: "s" }), {
        requestMethod: "tools/call",
      }),
    ).toEqual([]);
    expect(
      validateServerMessage(answer({ resultType: "input_required" }), { requestMethod: "tools/call" }),
    ).not.toEqual([]);
    expect(validateServerMessage({ jsonrpc: "2.0", id: 1, method: "ping" })).not.toEqual([]);
    expect(validateServerMessage({ jsonrpc: "2.0", id: 1, error: { code: -32002, message: "gone" } })).not.toEqual([]);
    expect(validateServerMessage({ jsonrpc: "2.0", id: 1, error: { code: -32022, message: "v" } })).not.toEqual([]);
    expect(validateClientMessage({ jsonrpc: "2.0", id: 1, method: "tools/list" })).not.toEqual([]);
    expect(
      validateClientMessage({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 1 } }),
    ).toEqual([]);
  });
});

function bound(date: string) {
  const validator = specValidator(date);
  return {
    validateServerMessage: validator.validateServerMessage.bind(validator),
    validateClientMessage: validator.validateClientMessage.bind(validator),
  };
}
