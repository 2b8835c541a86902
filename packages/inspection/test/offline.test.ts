// The inspection is offline by construction: nothing it is made of can reach files, the network, a clock or chance.
import { readFileSync } from "node:fs";
import { expect, it } from "vitest";

const ENTRY = new URL("../src/items/inspect.ts", import.meta.url);
const IMPORT = /^(?:import|export)[^;]*? from "([^"]+)"/gm;

/** Every source file the inspection is made of. */
function closure(): URL[] {
  const seen = new Map<string, URL>();
  const queue = [ENTRY];
  for (let file = queue.pop(); file !== undefined; file = queue.pop()) {
    if (seen.has(file.href)) continue;
    seen.set(file.href, file);
    for (const specifier of importsOf(file))
      if (specifier.startsWith(".")) queue.push(new URL(specifier.replace(/\.js$/, ".ts"), file));
  }
  return [...seen.values()];
}

function importsOf(file: URL): string[] {
  return [...readFileSync(file, "utf8").matchAll(IMPORT)].map(([, specifier = ""]) => specifier);
}

it("imports nothing but its own files and the cleaning of texts", () => {
  const files = closure();
  expect(files.length).toBeGreaterThan(15);
  const outside = files.flatMap((file) => importsOf(file).filter((specifier) => !specifier.startsWith(".")));
  expect(outside).toEqual([]);
});

it("asks neither a clock nor chance nor the network", () => {
  const named =
    /\b(?:Date\.now|new Date|performance\.|Math\.random|randomUUID|getRandomValues|fetch\(|WebSocket|process\.|import\()/;
  const files = closure().filter((file) => named.test(readFileSync(file, "utf8")));
  expect(files.map(({ pathname }) => pathname)).toEqual([]);
});
