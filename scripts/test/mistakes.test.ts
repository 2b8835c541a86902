// No usual mistake with the library stays unnoticed, and the page says who notices.
import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { soaking } from "../../packages/mcp/test/support/soak.js";
import { judge, MISTAKES, PAGE, tableOf } from "../mistakes/programs.mjs";

it("is left to the client or to nobody, and the page says who notices: else run npm run mistakes -- --write", async () => {
  const noticed = await judge("ours", { meant: soaking });
  const rows = MISTAKES.map(({ what }: { what: string }, index: number) => `| ${what} | ${noticed[index]?.by}`);
  expect(rows.filter((row: string) => /\| (?:the client|nobody|undefined)$/.test(row))).toEqual([]);
  const page = tableOf(readFileSync(PAGE, "utf8"))?.split("\n") ?? [];
  expect(page.slice(2, 2 + MISTAKES.length).map((row: string) => row.split(" | ").slice(0, 2).join(" | "))).toEqual(
    rows,
  );
}, 180_000);
