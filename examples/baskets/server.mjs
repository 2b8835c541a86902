// Tools that remember: a basket is made in one call, filled and shown in others, and named by a handle in between.
import { fileURLToPath } from "node:url";
import { handles, result, Server } from "@secure-local/mcp/server";
import { serveStdio } from "@secure-local/mcp/stdio";

/** Items of one basket: what one person may keep in memory has an end, too. */
const MOST_ITEMS = 100;

const basketId = { type: "string", description: "The basket_id that create_basket gave" };

/** Makes the server; the check connects to it in memory. */
export function basketServer() {
  const baskets = handles({ kind: "basket", prefix: "bsk_", ttlMs: 24 * 3_600_000, mostPerPrincipal: 20 });
  const server = new Server({ name: "baskets", version: "1.0.0" });

  server.tool("create_basket", {
    description: `Create an empty shopping basket. ${baskets.retention}`,
    output: { type: "object", properties: { basket_id: { type: "string" } }, required: ["basket_id"] },
    run(_args, ctx) {
      const basket_id = baskets.create(ctx, []);
      return result({ content: [`Created basket ${basket_id}`], structuredContent: { basket_id } });
    },
  });
  server.tool("add_item", {
    description: "Put an article into a basket",
    input: {
      type: "object",
      properties: { basket_id: basketId, sku: { type: "string", maxLength: 64, description: "Number of the article" } },
      required: ["basket_id", "sku"],
    },
    run({ basket_id, sku }, ctx) {
      const items = baskets.get(ctx, basket_id);
      if (items.length >= MOST_ITEMS) return ctx.fail(`The basket is full: it holds ${MOST_ITEMS} items.`);
      items.push(sku);
      return `Added ${sku}: ${items.length} in the basket`;
    },
  });
  server.tool("show_basket", {
    description: "List what is in a basket",
    input: { type: "object", properties: { basket_id: basketId }, required: ["basket_id"] },
    output: {
      type: "object",
      properties: { items: { type: "array", items: { type: "string" } } },
      required: ["items"],
    },
    annotations: { readOnlyHint: true },
    run: ({ basket_id }, ctx) => ({ items: baskets.get(ctx, basket_id) }),
  });
  return server;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await serveStdio(basketServer());
