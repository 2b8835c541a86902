// A server's questions at the terminal: every kind of field, pages, and people who go away.
import type { ElicitRequest } from "@secure-local/mcp/client";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { askForm, type Field, readField } from "../../src/cli/remote/with-client.js";
import { progressLine, progressText } from "../../src/cli/remote/remote-call.js";

type Form = Extract<ElicitRequest, { mode: "form" }>;
type Schema = Field["schema"];

const read = (schema: Schema, text: string, required = true) => readField(text, { name: "x", schema, required });

describe("a field", () => {
  it.each<[Schema, string, unknown]>([
    [{ type: "string" }, "Ada", "Ada"],
    [{ type: "string", format: "email" }, "ada@example.org", "ada@example.org"],
    [{ type: "string", format: "date" }, "2026-01-31", "2026-01-31"],
    [{ type: "integer" }, "-3", -3],
    [{ type: "number", minimum: 0 }, "0.5", 0.5],
    [{ type: "boolean" }, "Yes", true],
    [{ type: "boolean" }, "n", false],
    [{ type: "boolean", default: true }, "", true],
    [{ type: "string", enum: ["a", "b"] }, "2", "b"],
    [{ type: "string", enum: ["a", "b"], enumNames: ["A", "B"] }, "a", "a"],
    [{ type: "string", oneOf: [{ const: "r", title: "Red" }] }, "1", "r"],
    [{ type: "array", items: { type: "string", enum: ["a", "b", "c"] } }, "1, c,a", ["a", "c"]],
    [{ type: "array", items: { anyOf: [{ const: "r", title: "Red" }] } }, "r", ["r"]],
  ])("%j takes %s", (schema, text, value) => expect(read(schema, text)).toEqual({ value }));

  it.each<[Schema, string, string]>([
    [{ type: "string" }, "", "needed"],
    [{ type: "string", minLength: 3 }, "ab", "At least 3"],
    [{ type: "string", maxLength: 1 }, "ab", "At most 1"],
    [{ type: "string", format: "email" }, "ada", "e-mail"],
    [{ type: "string", format: "uri" }, "ada", "URI"],
    [{ type: "integer" }, "1.5", "whole"],
    [{ type: "number" }, "x", "no number"],
    [{ type: "number", maximum: 2 }, "3", "At most 2"],
    [{ type: "boolean" }, "maybe", "yes or no"],
    [{ type: "string", enum: ["a", "b"] }, "3", "1 to 2"],
    [{ type: "array", items: { type: "string", enum: ["a", "b"] }, minItems: 2 }, "a", "At least 2"],
    [{ type: "array", items: { type: "string", enum: ["a", "b"] }, maxItems: 1 }, "a,b", "At most 1"],
    [{ type: "array", items: { type: "string", enum: ["a"] } }, "a,z", "choices"],
  ])("%j refuses %j", (schema, text, fault) => {
    expect(read(schema, text)).toEqual({ fault: expect.stringContaining(fault) as string });
  });

  it("that is optional may be left out", () => {
    expect(read({ type: "integer" }, "", false)).toEqual({ value: undefined });
  });
});

describe("a question", () => {
  let told = "";
  beforeEach(() => {
    told = "";
    vi.spyOn(process.stderr, "write").mockImplementation((text) => {
      told += String(text);
      return true;
    });
  });
  afterEach(() => vi.restoreAllMocks());

  const form: Form = {
    mode: "form",
    message: "Who are \u001b[31myou?",
    requestedSchema: {
      type: "object",
      properties: { name: { type: "string", title: "Name" }, age: { type: "integer", description: "In years" } },
      required: ["name"],
    },
  };
  const answers =
    (...lines: string[]) =>
    () =>
      Promise.resolve(lines.shift() ?? "");

  it("is answered field by field, again where an answer does not fit", async () => {
    expect(await askForm(form, "srv", answers("", "Ada", "old", "36", "y"))).toEqual({
      action: "accept",
      content: { name: "Ada", age: 36 },
    });
    expect(told).toContain("srv asks: Who are you?");
    expect(told).toContain("This is needed.");
    expect(told).toContain("That is no number.");
  });

  it("is declined at the end, cancelled by nonsense and by going away", async () => {
    expect(await askForm(form, "srv", answers("Ada", "", "n"))).toEqual({ action: "decline" });
    expect(await askForm(form, "srv", answers())).toEqual({ action: "cancel" });
    const gone = Object.assign(new Error("gone"), { name: "AbortError" });
    expect(await askForm(form, "srv", () => Promise.reject(gone))).toEqual({ action: "cancel" });
  });

  it("that wants a page opened shows the whole address and opens nothing", async () => {
    const url = `https://a.example/very/long?state=${"x".repeat(300)}`;
    const page: ElicitRequest = { mode: "url", message: "Sign in", url };
    expect(await askForm(page, "srv", answers("yes"))).toEqual({ action: "accept" });
    expect(told).toContain("at a.example");
    expect(told).toContain(url);
    expect(await askForm(page, "srv", answers(""))).toEqual({ action: "decline" });
  });
});

describe("progress", () => {
  it("is a bar where the total is known", () => {
    expect(progressText({ progress: 1, total: 2, message: "half\u0007" })).toBe(
      `[${"#".repeat(12)}${"-".repeat(12)}]  50% half`,
    );
    expect(progressText({ progress: 7 })).toBe("… 7");
    expect(progressText({ progress: 9, total: 3 })).toContain("100%");
  });

  it("is shown in terminals only, and cleared", () => {
    let written = "";
    const stream = (isTTY: boolean) => ({ isTTY, write: (text: unknown) => ((written += String(text)), true) });
    const hidden = progressLine(stream(false));
    hidden.show({ progress: 1 });
    hidden.end();
    expect(written).toBe("");
    const shown = progressLine(stream(true));
    shown.show({ progress: 1 });
    shown.end();
    expect(written).toBe("\r\u001b[K… 1\r\u001b[K");
  });
});
