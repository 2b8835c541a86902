// Params of every method: what is refused names its place, and what deployed clients send is accepted.
import { describe, expect, it } from "vitest";
import type { MethodRecord } from "../../src/protocol/method.js";
import { NEWEST_HANDSHAKE, REVISIONS } from "../../src/protocol/revisions/all.js";
import { DATES, isSpecifiedMethod, isSpecifiedNotification, NEWEST } from "../../src/protocol/revisions/newest.js";

function check(method: string, params: object): unknown {
  const record = (NEWEST.methods.get(method) ?? NEWEST_HANDSHAKE.methods.get(method)) as MethodRecord;
  return record.check(params as Record<string, unknown>);
}

const argument = { name: "a", value: "" };
const ref = { type: "ref/prompt", name: "p" };

describe("what is known without the tables of older revisions", () => {
  it("names every revision", () => {
    expect(DATES).toEqual(REVISIONS.map(({ date }) => date));
  });

  it("knows each of their methods and notifications, and nothing else", () => {
    for (const { methods, serverNotifications } of REVISIONS) {
      expect([...methods.keys()].filter((method) => !isSpecifiedMethod(method))).toEqual([]);
      expect([...serverNotifications].filter((method) => !isSpecifiedNotification(method))).toEqual([]);
    }
    const own = ["tools/other", "resources/watch", "tasks/listen", "notifications/tasks/other", "pinged"];
    expect(own.filter((method) => isSpecifiedMethod(method) || isSpecifiedNotification(method))).toEqual([]);
  });
});

describe("params", () => {
  it.each<[string, object, string, string]>([
    ["tools/call", {}, "/name", "params.name is required and must be a string"],
    ["tools/call", { name: 1 }, "/name", "params.name must be a string"],
    ["tools/call", { name: "t", arguments: null }, "/arguments", "params.arguments must be an object"],
    ["tools/call", { name: "t", arguments: [] }, "/arguments", "params.arguments must be an object"],
    ["tools/call", { name: "t", requestState: 1 }, "/requestState", "params.requestState must be a string"],
    [
      "tools/call",
      { name: "t", inputResponses: { "a/b": 1 } },
      "/inputResponses/a~1b",
      "params.inputResponses.a/b must be an object",
    ],
    ["tools/list", { cursor: 1 }, "/cursor", "params.cursor must be a string"],
    ["resources/read", {}, "/uri", "params.uri is required and must be an absolute URI"],
    ["resources/read", { uri: "no scheme" }, "/uri", "params.uri must be an absolute URI"],
    ["resources/read", { uri: "a:b\n" }, "/uri", "params.uri must be an absolute URI"],
    ["resources/subscribe", { uri: "/etc" }, "/uri", "params.uri must be an absolute URI"],
    ["prompts/get", { name: "p", arguments: { a: 1 } }, "/arguments/a", "params.arguments.a must be a string"],
    ["prompts/get", { name: "p", arguments: null }, "/arguments", "params.arguments must be an object of strings"],
    ["completion/complete", { argument }, "/ref", "params.ref is required and must be an object"],
    [
      "completion/complete",
      { ref: {}, argument },
      "/ref/type",
      'params.ref.type is required and must be "ref/prompt" or "ref/resource"',
    ],
    [
      "completion/complete",
      { ref: { type: "ref/resource" }, argument },
      "/ref/uri",
      "params.ref.uri is required and must be a string",
    ],
    [
      "completion/complete",
      { ref, argument: { name: "a" } },
      "/argument/value",
      "params.argument.value is required and must be a string",
    ],
    [
      "completion/complete",
      { ref, argument, context: { arguments: { b: 1 } } },
      "/context/arguments/b",
      "params.context.arguments.b must be a string",
    ],
    [
      "logging/setLevel",
      { level: "loud" },
      "/level",
      "params.level must be one of debug, info, notice, warning, error, critical, alert, emergency",
    ],
    ["initialize", { capabilities: {} }, "/protocolVersion", "params.protocolVersion is required and must be a string"],
    [
      "initialize",
      { protocolVersion: "x", capabilities: [] },
      "/capabilities",
      "params.capabilities must be an object",
    ],
    ["subscriptions/listen", {}, "/notifications", "params.notifications is required and must be an object"],
    [
      "subscriptions/listen",
      { notifications: { toolsListChanged: 1 } },
      "/notifications/toolsListChanged",
      "params.notifications.toolsListChanged must be a boolean",
    ],
    [
      "subscriptions/listen",
      { notifications: { resourceSubscriptions: [1] } },
      "/notifications/resourceSubscriptions",
      "params.notifications.resourceSubscriptions must be an array of strings",
    ],
  ])("of %s: %j", (method, params, path, message) => {
    expect(check(method, params)).toMatchObject({ path, message });
  });

  it.each<[string, object]>([
    ["tools/call", { name: "t" }],
    ["tools/call", { name: "t", arguments: {}, inputResponses: { a: {} }, requestState: "", vendor: 1 }],
    ["tools/list", { cursor: "" }],
    ["resources/read", { uri: "urn:x:ü" }],
    ["prompts/get", { name: "p" }],
    ["completion/complete", { ref, argument, context: {} }],
    ["initialize", { protocolVersion: "x", capabilities: {} }],
    ["initialize", { protocolVersion: "x", capabilities: {}, clientInfo: { name: 1 } }],
    ["ping", { anything: 1 }],
    ["server/discover", {}],
    ["subscriptions/listen", { notifications: { toolsListChanged: true, taskIds: ["t"] } }],
  ])("of %s may be %j", (method, params) => {
    expect(check(method, params)).toBeUndefined();
  });

  it("belong to methods that exist where the specification has them", () => {
    const having = (method: string) => REVISIONS.filter((each) => each.methods.has(method)).map((each) => each.date);
    const handshake = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];
    for (const method of ["initialize", "ping", "resources/subscribe", "resources/unsubscribe", "logging/setLevel"]) {
      expect(having(method)).toEqual(handshake);
    }
    for (const method of ["server/discover", "subscriptions/listen"]) expect(having(method)).toEqual(["2026-07-28"]);
    for (const method of ["tools/call", "completion/complete", "resources/templates/list"])
      expect(having(method)).toHaveLength(5);
    expect([...NEWEST.methods.values()].filter((record) => record.interactive).map((record) => record.name)).toEqual([
      "tools/call",
      "resources/read",
      "prompts/get",
    ]);
  });
});
