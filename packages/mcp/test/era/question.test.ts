// Questions to the client: what each revision can be asked, and how.
import { describe, expect, it } from "vitest";
import { projectQuestion } from "../../src/era/project-question.js";
import { codecFor } from "../../src/era/select.js";
import type { RequestedSchema } from "../../src/protocol/features/elicitation.js";
import { REVISIONS, revision } from "../../src/protocol/revisions/all.js";
import type { Revision } from "../../src/protocol/revisions/revision.js";
import { specValidator } from "../support/spec-schema.js";

function ask(date: string, method: string, params: object): Record<string, unknown> {
  return projectQuestion(codecFor(revision(date) as Revision), method, params) as Record<string, unknown>;
}

/** Faults of a question, as it stands on the wire of its revision. */
function faults(date: string, method: string, params: object): string[] {
  const validator = specValidator(date);
  if (revision(date)?.era === "handshake")
    return validator.validateServerMessage({ jsonrpc: "2.0", id: 1, method, params });
  const result = { resultType: "input_required", inputRequests: { q: { method, params } } };
  return validator.validateServerMessage({ jsonrpc: "2.0", id: 1, result }, { requestMethod: "tools/call" });
}

const FORM: RequestedSchema = {
  type: "object",
  properties: {
    name: { type: "string", minLength: 1, default: "Ada" },
    age: { type: "integer", minimum: 18, default: 20 },
    sure: { type: "boolean", default: true },
    size: { type: "string", enum: ["s", "m"], default: "m" },
    colour: {
      type: "string",
      title: "Colour",
      oneOf: [
        { const: "r", title: "Red" },
        { const: "g", title: "Green" },
      ],
      default: "r",
    },
    old: { type: "string", enum: ["a"], enumNames: ["Alpha"] },
    days: { type: "array", title: "Days", items: { enum: ["mo", "tu"], type: "string" }, default: ["mo"], minItems: 1 },
    hours: { type: "array", items: { anyOf: [{ const: "1", title: "One" }] } },
  },
  required: ["name", "days"],
};

describe("forms", () => {
  const dates = REVISIONS.filter((each) => each.elicitation.form).map((each) => each.date);

  it.each(dates)("can be read in %s", (date) => {
    const params = ask(date, "elicitation/create", { mode: "form", message: "m", requestedSchema: FORM });
    expect(faults(date, "elicitation/create", params)).toEqual([]);
  });

  it("keep everything since 2025-11-25", () => {
    const params = { mode: "form", message: "m", requestedSchema: FORM };
    expect(ask("2025-11-25", "elicitation/create", params)).toEqual(params);
    expect(ask("2026-07-28", "elicitation/create", params)).toEqual(params);
  });

  it("become simpler in 2025-06-18", () => {
    expect(ask("2025-06-18", "elicitation/create", { mode: "form", message: "m", requestedSchema: FORM })).toEqual({
      message: "m",
      requestedSchema: {
        type: "object",
        properties: {
          name: { type: "string", minLength: 1 },
          age: { type: "integer", minimum: 18 },
          sure: { type: "boolean", default: true },
          size: { type: "string", enum: ["s", "m"] },
          colour: { type: "string", title: "Colour", enum: ["r", "g"], enumNames: ["Red", "Green"] },
          old: { type: "string", enum: ["a"], enumNames: ["Alpha"] },
          "days[mo]": { type: "boolean", title: "Days: mo", default: true },
          "days[tu]": { type: "boolean", title: "Days: tu", default: false },
          "hours[1]": { type: "boolean", title: "hours: One", default: false },
        },
        required: ["name", "days[mo]", "days[tu]"],
      },
    });
  });

  it.each(["2024-11-05", "2025-03-26"])("cannot be asked in %s", (date) => {
    const form = { message: "m", requestedSchema: FORM };
    expect(() => ask(date, "elicitation/create", form)).toThrow(expect.objectContaining({ code: "NOT_EXPRESSIBLE" }));
  });
});

describe("pages to open", () => {
  const params = { mode: "url", message: "m", url: "https://a.example/" };

  it("carry an id where they must and none where they must not", () => {
    expect(ask("2025-11-25", "elicitation/create", { ...params, elicitationId: "7" })["elicitationId"]).toBe("7");
    const made = ask("2025-11-25", "elicitation/create", params);
    expect(made["elicitationId"]).toMatch(/^[0-9a-f-]{36}$/);
    expect(faults("2025-11-25", "elicitation/create", made)).toEqual([]);
    const stateless = ask("2026-07-28", "elicitation/create", { ...params, elicitationId: "7" });
    expect(stateless).toEqual(params);
    expect(faults("2026-07-28", "elicitation/create", stateless)).toEqual([]);
    expect(() => ask("2025-06-18", "elicitation/create", params)).toThrow(/2025-06-18.*page/);
  });
});

describe("sampling", () => {
  const text = { type: "text", text: "t", annotations: { lastModified: "2025-01-12T15:00:58Z" }, _meta: { a: 1 } };
  const audio = { type: "audio", data: "AAAA", mimeType: "audio/wav" };
  const messages = [{ role: "user", content: [text, audio], _meta: { b: 1 } }];

  it.each(REVISIONS.map((each) => each.date))("can be read in %s", (date) => {
    const params = ask(date, "sampling/createMessage", { messages, maxTokens: 5, temperature: 0.5 });
    expect(faults(date, "sampling/createMessage", params)).toEqual([]);
  });

  it("says one thing at a time to older clients", () => {
    expect(ask("2024-11-05", "sampling/createMessage", { messages, maxTokens: 5 })["messages"]).toEqual([
      { role: "user", content: { type: "text", text: "t", annotations: {} } },
      { role: "user", content: { type: "text", text: "[audio, audio/wav: cannot be sent to this client]" } },
    ]);
    expect(ask("2025-11-25", "sampling/createMessage", { messages, maxTokens: 5 })["messages"]).toEqual(messages);
  });

  it("has tools since 2025-11-25", () => {
    const tools = [{ name: "t", title: "T", inputSchema: { type: "object" } }];
    const use = { role: "assistant", content: { type: "tool_use", id: "1", name: "t", input: {} } };
    const answer = {
      role: "user",
      content: [{ type: "tool_result", toolUseId: "1", content: [], structuredContent: [1] }],
    };
    const params = { messages: [use, answer], maxTokens: 5, tools, toolChoice: { mode: "auto" } };
    for (const date of ["2025-11-25", "2026-07-28"]) {
      const asked = ask(date, "sampling/createMessage", params);
      expect(faults(date, "sampling/createMessage", asked)).toEqual([]);
      expect(asked["tools"]).toEqual(tools);
    }
    expect(() => ask("2025-06-18", "sampling/createMessage", params)).toThrow(/sampling has no tools/);
    expect(() => ask("2025-06-18", "sampling/createMessage", { messages: [use], maxTokens: 5 })).toThrow(
      /sampling has no tools/,
    );
  });
});

describe("roots", () => {
  it.each(REVISIONS.map((each) => each.date))("can be asked for in %s", (date) => {
    const params = ask(date, "roots/list", {});
    expect(params).toEqual({});
    expect(faults(date, "roots/list", params)).toEqual([]);
  });
});
