// What every client finds when it lists and calls tools: answers as the seed documents print them, in every shape.
import { expect, it } from "vitest";
import type { OfficialClient } from "./official-client.js";

const LOCATION = { type: "object", properties: { location: { type: "string" } }, required: ["location"] };

export function toolBehaviour(client: () => OfficialClient, has: (since: string) => boolean): void {
  it("lists tools over several pages, with what the revision knows of them", async () => {
    const { tools } = await client().listTools();
    expect(client().tap.sent("tools/list")).toBe(5);
    expect(tools.map(({ name }) => name).slice(0, 2)).toEqual(["echo", "get_weather_data"]);
    expect(tools).toHaveLength(23);
    const weather = tools.find(({ name }) => name === "get_weather");
    expect(weather?.inputSchema).toMatchObject(LOCATION);
    expect(weather?.title).toBe(has("2025-06-18") ? "Weather Information Provider" : undefined);
    const icon = { src: "https://example.com/weather-icon.png", mimeType: "image/png", sizes: ["48x48"] };
    expect(weather?.icons).toEqual(has("2025-11-25") ? [icon] : undefined);
    const data = tools.find(({ name }) => name === "get_weather_data");
    expect(data?.outputSchema?.["required"]).toEqual(
      has("2025-06-18") ? ["temperature", "conditions", "humidity"] : undefined,
    );
    expect(data?.annotations?.title).toBe(
      has("2025-03-26") && !has("2025-06-18") ? "Weather Data Retriever" : undefined,
    );
    const echo = tools.find(({ name }) => name === "echo");
    expect(echo?.annotations?.readOnlyHint).toBe(has("2025-03-26") ? true : undefined);
    const time = tools.find(({ name }) => name === "get_current_time");
    expect(time?.inputSchema).toEqual({ type: "object", additionalProperties: false });
  });

  it("answers with text, and adds in both dialects", async () => {
    const weather = await client().call("get_weather", { location: "New York" });
    expect(weather.content).toEqual([
      { type: "text", text: "Current weather in New York:\nTemperature: 72°F\nConditions: Partly cloudy" },
    ]);
    expect(weather.isError).toBe(false);
    for (const name of ["calculate_sum", "calculate_sum_draft07"]) {
      const { content } = await client().call(name, { a: 2, b: 40 });
      expect(content).toEqual([{ type: "text", text: "42" }]);
    }
    const { content } = await client().call("get_current_time");
    expect(content).toEqual([{ type: "text", text: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/) }]);
  });

  it("answers with structured content that the client itself validates", async () => {
    const structured = { temperature: 22.5, conditions: "Partly cloudy", humidity: 65 };
    const weather = await client().call("get_weather_data", { location: "New York" });
    expect(weather.content).toEqual([{ type: "text", text: JSON.stringify(structured) }]);
    expect(weather.structuredContent).toEqual(has("2025-06-18") ? structured : undefined);
    const numbers = await client().call("list_numbers");
    const wrapped = has("2025-06-18") ? { result: [1, 2, 3] } : undefined;
    expect(numbers.structuredContent).toEqual(has("2026-07-28") ? [1, 2, 3] : wrapped);
    expect(numbers.content).toEqual([{ type: "text", text: "[1,2,3]" }]);
    const whole = await client().call("with_meta");
    expect(whole._meta?.["example.org/trace"]).toBe("abc");
    expect(whole.structuredContent).toEqual(has("2025-06-18") ? { done: true } : undefined);
  });

  it("answers with every kind of content, or with what stands for it", async () => {
    const { content } = await client().call("every_content");
    const kinds = content.map(({ type }) => type);
    const sound = has("2025-03-26") ? "audio" : "resource";
    expect(kinds).toEqual([
      "text",
      "image",
      sound,
      "resource",
      "resource",
      has("2025-06-18") ? "resource_link" : "text",
    ]);
    expect(content[0]).toMatchObject({ text: "plain text", annotations: { audience: ["user"], priority: 0.9 } });
    expect(content[1]).toMatchObject({ mimeType: "image/png", data: expect.stringMatching(/^iVBOR/) });
    expect(content[3]).toMatchObject({ resource: { uri: "everything://text", mimeType: "text/plain" } });
    expect(content[4]).toMatchObject({ resource: { uri: "everything://blob", blob: "AAEC/w==" } });
    if (has("2025-06-18")) expect(content[5]).toMatchObject({ uri: "everything://text", name: "text" });
    else expect(content[5]).toMatchObject({ text: expect.stringContaining("everything://text") });
  });

  it("tells failures the model can act on from protocol errors, and gives nothing away", async () => {
    const failed = await client().call("fails");
    expect(failed).toMatchObject({ isError: true, content: [{ text: "The file is locked: close it and try again." }] });
    const thrown = await client().call("throws");
    expect(thrown.isError).toBe(true);
    expect(JSON.stringify(thrown.content)).toMatch(/error id [0-9a-f]{8}/);
    expect(JSON.stringify(thrown)).not.toContain("hunter2");
    const invalid = await client().call("calculate_sum", { a: "2" });
    expect(invalid.isError).toBe(true);
    expect(JSON.stringify(invalid.content)).toMatch(/\/a must be a number.*required property/);
    await expect(client().call("no_such_tool")).rejects.toMatchObject({ code: -32602 });
  });
}
