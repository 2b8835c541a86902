// The tools of the everything server that ask: the person by form or page, the client's model, the client's folders.
import { inputRequired } from "@secure-local/mcp/server";

/** Registers the tools that need an answer from the client. */
export function registerAskingTools(server) {
  server.tool("get_weather", {
    title: "Weather Information Provider",
    description: "Get current weather information for a location",
    input: {
      type: "object",
      properties: { location: { type: "string", description: "City name or zip code" } },
      required: ["location"],
    },
    icons: [{ src: "https://example.com/weather-icon.png", mimeType: "image/png", sizes: ["48x48"] }],
    run: weather,
  });
  server.tool("classify_log", {
    description: "Classify a log entry with the help of the client's model",
    input: { type: "object", properties: { entry: { type: "string" } }, required: ["entry"] },
    run: classify,
  });
  server.tool("book_table", {
    description: "Asks with every kind of form field",
    run: book,
  });
  server.tool("open_page", {
    description: "Sends the person to a page",
    async run(_args, ctx) {
      const answer = await ctx.elicit({ message: "Please sign in", url: "https://example.com/sign-in" });
      return `The page was answered with ${answer.action}`;
    },
  });
  server.tool("show_roots", {
    description: "Lists the client's folders",
    async run(_args, ctx) {
      return { roots: await ctx.roots() };
    },
  });
  server.tool("ask_twice", {
    description: "Asks two rounds of questions, the first with two at once",
    async run(_args, ctx) {
      const [first, second] = await Promise.all([
        ctx.elicit({ message: "First name?", schema: { name: { type: "string" } } }),
        ctx.elicit({ message: "Last name?", schema: { name: { type: "string" } } }),
      ]);
      const sure = await ctx.elicit({ message: "Sure?", schema: { sure: { type: "boolean" } } });
      return `${first.content?.name} ${second.content?.name}: ${sure.content?.sure}`;
    },
  });
}

/** The weather at home needs to know whose home: asked by hand, with the answer in `ctx.inputResponses` of the next round. */
function weather({ location }, ctx) {
  if (location !== "home") return `Current weather in ${location}:\nTemperature: 72°F\nConditions: Partly cloudy`;
  const login = ctx.inputResponses?.github_login;
  if (login?.action === "accept") {
    return `Current weather at the home of ${login.content.name}:\nTemperature: 72°F\nConditions: Partly cloudy`;
  }
  if (login !== undefined) return ctx.fail("Without a user name there is no home to look up.");
  const requestedSchema = { type: "object", properties: { name: { type: "string" } }, required: ["name"] };
  const params = { mode: "form", message: "Please provide your GitHub username", requestedSchema };
  return inputRequired({ requests: { github_login: { method: "elicitation/create", params } }, state: { location } });
}

async function classify({ entry }, ctx) {
  const question = `Classify this log entry as INFO, WARNING, ERROR, or CRITICAL:\n\n${entry}`;
  const answer = await ctx.sample({
    messages: [{ role: "user", content: { type: "text", text: question } }],
    maxTokens: 50,
    modelPreferences: { hints: [{ name: "claude-3-5-haiku" }], speedPriority: 0.8, costPriority: 0.9 },
    systemPrompt: "You are a log classifier. Respond with exactly one word: INFO, WARNING, ERROR, or CRITICAL.",
  });
  return { level: answer.content.text, model: answer.model, stopReason: answer.stopReason };
}

async function book(_args, ctx) {
  const answer = await ctx.elicit({
    message: "Which table?",
    schema: {
      guest: { type: "string", title: "Name", minLength: 2, default: "Ada" },
      email: { type: "string", format: "email", optional: true },
      guests: { type: "integer", minimum: 1, maximum: 12, default: 2 },
      tip: { type: "number", minimum: 0, default: 0.5 },
      smoking: { type: "boolean", default: false },
      room: { type: "string", enum: ["hall", "garden"], default: "garden" },
      course: {
        type: "string",
        oneOf: [
          { const: "s", title: "Soup" },
          { const: "f", title: "Fish" },
        ],
        default: "s",
      },
      wine: { type: "string", enum: ["r", "w"], enumNames: ["Red", "White"], optional: true },
      extras: { type: "array", items: { type: "string", enum: ["bread", "water"] }, maxItems: 2, default: ["bread"] },
      allergies: {
        type: "array",
        items: {
          anyOf: [
            { const: "n", title: "Nuts" },
            { const: "m", title: "Milk" },
          ],
        },
        optional: true,
      },
    },
  });
  return answer.action === "accept" ? { booked: answer.content } : ctx.fail(`No table was booked: ${answer.action}`);
}
