// A server with two tools; the second asks the user before it does anything.
import { Server } from "@secure-local/mcp/server";
import { serveStdio } from "@secure-local/mcp/stdio";

const server = new Server({ name: "shop", version: "1.0.0" });
const prices = { tea: 3, coffee: 4 };

server.tool("price", {
  description: "The price of a drink: tea or coffee",
  input: { type: "object", properties: { drink: { type: "string" } }, required: ["drink"] },
  annotations: { readOnlyHint: true },
  run: ({ drink }, ctx) =>
    prices[drink] ?? ctx.fail(`There is no ${drink}, only ${Object.keys(prices).join(" and ")}.`),
});

server.tool("order", {
  description: "Orders drinks, once the user has agreed",
  input: { type: "object", properties: { drink: { type: "string" }, cups: { type: "integer", default: 1 } } },
  async run({ drink, cups }, ctx) {
    const answer = await ctx.elicit({ message: `Order ${cups} ${drink}?`, schema: { sure: { type: "boolean" } } });
    return answer.content?.sure ? `Ordered ${cups} ${drink}` : ctx.fail("The user does not want it.");
  },
});

await serveStdio(server);
