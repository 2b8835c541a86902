// What a name stands for is exchanged between any two looks of an operation, and back: nothing of what lies outside comes out.
//
// Races by chance are in `races.test.ts`; here are the orders that they meet once in ten thousand times.
import { expect, it } from "vitest";
import { portableLookup, procLookup } from "../../src/capabilities/files/lookup.js";
import { sampled } from "../../../mcp/test/support/soak.js";
import { inEveryOrder } from "./exchange-orders.js";
import { filesIn, tree } from "./tree.js";

const LOOKUPS = process.platform === "linux" ? { procLookup, portableLookup } : { portableLookup };

it.each(Object.entries(LOOKUPS))("an exchange between any two looks lets nothing out by %s", async (_name, lookup) => {
  const folder = tree();
  const files = await filesIn(folder, { lookup });
  const came = await inEveryOrder({ folder, files, some: (orders) => sampled(orders, 7) });
  expect(came.filter(({ escaped }) => escaped)).toEqual([]);
  expect(came.filter(({ done }) => done).length).toBeGreaterThan(came.length / 20);
  expect(folder.isUntouched()).toBe(true);
});
