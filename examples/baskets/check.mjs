// Shops in both eras: exits 0 only when a basket keeps its items, for its owner alone, until its time is over.
import assert from "node:assert/strict";
import { connectInMemory } from "@secure-local/mcp/testing";
import { basketServer } from "./server.mjs";

const GONE =
  "No such basket: the id is unknown, has expired, or belongs to someone else. Create a new basket and use its id.";
const DAY_MS = 24 * 3_600_000;
const now = Date.now;

for (const revision of ["2025-11-25", "2026-07-28"]) {
  const server = basketServer();
  const ada = await connectInMemory(server, { revision, principal: "ada" });
  const bob = await connectInMemory(server, { revision, principal: "bob" });
  const { tools } = await ada.request("tools/list");
  assert.match(tools.find(({ name }) => name === "create_basket").description, /expires after 24 hours of inactivity/);

  const created = await call(ada, "create_basket");
  const { basket_id } = created.structuredContent;
  assert.match(basket_id, /^bsk_[\w-]{43}$/);
  assert.equal(created.content[0].text, `Created basket ${basket_id}`);

  assert.equal((await call(ada, "add_item", { basket_id, sku: "A-1" })).content[0].text, "Added A-1: 1 in the basket");
  await call(ada, "add_item", { basket_id, sku: "B-2" });
  assert.deepEqual((await call(ada, "show_basket", { basket_id })).structuredContent, { items: ["A-1", "B-2"] });

  // A handle is a name, not a key: who else knows it gets what everybody gets who guesses.
  assertGone(await call(bob, "add_item", { basket_id, sku: "C-3" }));
  assertGone(await call(bob, "show_basket", { basket_id: `bsk_${"A".repeat(43)}` }));

  Date.now = () => now() + DAY_MS - 60_000;
  assert.equal((await call(ada, "show_basket", { basket_id })).isError, false);
  Date.now = () => now() + 2 * DAY_MS;
  assertGone(await call(ada, "show_basket", { basket_id }));
  Date.now = now;
  await Promise.all([ada.close(), bob.close()]);
}
console.log("baskets: kept for their owner, and gone after a day without use");

function call(peer, name, args = {}) {
  return peer.request("tools/call", { name, arguments: args });
}

function assertGone(result) {
  assert.deepEqual([result.isError, result.content[0].text], [true, GONE]);
}
