#!/usr/bin/env node
// Makes forty mistakes with three libraries and prints who noticed each: the compiler, the registration, the log, only the
// client, or nobody. `--words` also prints what was said, `--ours` asks ours alone, `--write` puts the table into its page.
// FastMCP is installed once, without running scripts, into the user's cache. Fails where ours leaves a mistake to the client or
// to nobody.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { installed } from "../world/install.mjs";
import { judge, MISTAKES, mistakeTable, PAGE, withTable } from "./mistakes/programs.mjs";

const FASTMCP = { package: "fastmcp", version: "4.20.16", with: ["zod@4.6.7"] };
const has = (flag) => process.argv.includes(flag);

async function fastmcp() {
  const modules = join(await installed(FASTMCP), "node_modules");
  return judge("fastmcp", { packages: { fastmcp: join(modules, "fastmcp"), zod: join(modules, "zod") }, meant: true });
}

const ours = await judge("ours", { meant: true });
const others = has("--ours")
  ? {}
  : { "SDK v2 2.4": await judge("v2", { meant: true }), "FastMCP 4.20": await fastmcp() };
const columns = { ours, ...others };
const table = mistakeTable(columns);
console.log(table);
if (has("--words")) {
  for (const [index, { what }] of MISTAKES.entries()) {
    console.log(what);
    for (const [name, cells] of Object.entries(columns)) {
      if (cells[index]) console.log(`    ${name}, ${cells[index].by}: ${cells[index].words.trim().slice(0, 300)}`);
    }
  }
}
if (has("--write") && !has("--ours")) writeFileSync(PAGE, withTable(readFileSync(PAGE, "utf8"), table));
process.exitCode = ours.some(({ by }) => by === "the client" || by === "nobody") ? 1 : 0;
