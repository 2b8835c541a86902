// The tools of the everything server that answer by themselves: every result shape and content kind.
import { audio, image, link, resource, result, text } from "@secure-local/mcp/server";

/** One transparent pixel, and a tenth of a second of silence: the smallest honest examples of their kinds. */
export const PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==";
export const SILENCE = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA=";

const LOCATION = {
  type: "object",
  properties: { location: { type: "string", description: "City name or zip code" } },
  required: ["location"],
};

const SUMMANDS = {
  type: "object",
  properties: { a: { type: "number" }, b: { type: "number" } },
  required: ["a", "b"],
};

/** Registers the tools that only answer. */
export function registerPlainTools(server) {
  server.tool("echo", {
    description: "Says what it is told",
    input: { type: "object", properties: { text: { type: "string" } }, required: ["text"] },
    annotations: { readOnlyHint: true, idempotentHint: true, openWorldHint: false },
    run: ({ text: said }) => said,
  });
  server.tool("get_weather_data", {
    title: "Weather Data Retriever",
    description: "Get current weather data for a location",
    input: LOCATION,
    output: {
      type: "object",
      properties: {
        temperature: { type: "number", description: "Temperature in celsius" },
        conditions: { type: "string", description: "Weather conditions description" },
        humidity: { type: "number", description: "Humidity percentage" },
      },
      required: ["temperature", "conditions", "humidity"],
    },
    run: () => ({ temperature: 22.5, conditions: "Partly cloudy", humidity: 65 }),
  });
  const sum = ({ a, b }) => a + b;
  server.tool("calculate_sum", { description: "Add two numbers", input: SUMMANDS, run: sum });
  server.tool("calculate_sum_draft07", {
    description: "Add two numbers",
    input: { $schema: "http://json-schema.org/draft-07/schema#", ...SUMMANDS },
    run: sum,
  });
  server.tool("get_current_time", {
    description: "Returns the current server time",
    run: () => new Date().toISOString(),
  });
  server.tool("list_numbers", {
    description: "Structured content that is not an object",
    output: { type: "array", items: { type: "integer" } },
    run: () => [1, 2, 3],
  });
  registerContentTools(server);
}

function registerContentTools(server) {
  server.tool("every_content", {
    description: "Answers with every kind of content block",
    run: () => [
      text("plain text", { annotations: { audience: ["user"], priority: 0.9 } }),
      image(PIXEL, "image/png"),
      audio(SILENCE, "audio/wav"),
      resource("everything://text", "Hello from a resource", { mimeType: "text/plain" }),
      resource("everything://blob", new Uint8Array([0, 1, 2, 255])),
      link({ uri: "everything://text", name: "text", description: "A text to read", mimeType: "text/plain" }),
    ],
  });
  server.tool("with_meta", {
    description: "A whole result: content, structured content and metadata",
    run: () => result({ content: ["done"], structuredContent: { done: true }, _meta: { "example.org/trace": "abc" } }),
  });
  server.tool("fails", {
    description: "Fails in a way the model can act on",
    run: (_args, ctx) => ctx.fail("The file is locked: close it and try again."),
  });
  server.tool("throws", {
    description: "Fails in a way nobody expected",
    run: () => {
      throw new Error("the password is hunter2");
    },
  });
}
