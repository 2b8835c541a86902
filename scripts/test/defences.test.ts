// Keeps what `npm run scorecard -- --prove` takes out in step with the sources: each defence stands where its goal says.
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";

interface Defence {
  readonly goal: string;
  readonly name: string;
  readonly file: string;
  readonly find: string;
  readonly replace: string;
  readonly also?: readonly { readonly find: string; readonly replace: string }[];
}

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));

/** All of them, as Node itself reads the goals. */
function defences(): Defence[] {
  const program = `
    import { readdirSync } from "node:fs";
    const all = [];
    for (const name of readdirSync("scorecard/cases").filter((one) => one.endsWith(".mjs"))) {
      const { goal, defences = [] } = await import(process.cwd() + "/scorecard/cases/" + name);
      all.push(...defences.map((defence) => ({ goal: goal.id, ...defence })));
    }
    process.stdout.write(JSON.stringify(all), () => process.exit(0));
  `;
  const args = ["--input-type=module", "-e", program];
  return JSON.parse(execFileSync(process.execPath, args, { cwd: root, encoding: "utf8" })) as Defence[];
}

describe("the defences of the scorecard", () => {
  it("stand once in the files that their goals name", () => {
    const all = defences();
    expect(all.length).toBeGreaterThan(40);
    for (const { goal, name, file, find, replace, also = [] } of all) {
      const text = readFileSync(join(root, file.startsWith("packages/") ? file : `packages/${file}`), "utf8");
      for (const part of [{ find, replace }, ...also]) {
        expect(text.split(part.find).length - 1, `${goal} ${name}`).toBe(1);
        expect(part.replace, name).not.toBe(part.find);
      }
    }
  });
});
