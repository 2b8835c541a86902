// The plugins that `plugins new` writes greet everybody by the name they gave, whatever letters are in it.
import { spawnSync } from "node:child_process";
import { chmodSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { expect, it } from "vitest";
import { pluginFiles } from "../../src/cli/plugins-command.js";
import { temporaryFolder } from "../audit/temporary-folder.js";

/** Letters that shells, sed, printf and JSON give a meaning to, and some that none of them knows. */
const letter = fc.constantFrom(..."aZ 0'\"\\/%&|$`!*{}[]()<>;:,.\n\t\u0007é日🙂-".match(/./gsu)!);
const names = fc.string({ unit: letter, minLength: 1, maxLength: 12 });

const PROGRAMS = { sh: ["sh", "main.sh"], python: ["python3", "main.py"] } as const;

it.each(["sh", "python"] as const)("in %s", (language) => {
  const folder = temporaryFolder();
  for (const [name, { text }] of Object.entries(pluginFiles("greeter", language).files)) {
    writeFileSync(join(folder, name), text);
    chmodSync(join(folder, name), 0o755);
  }
  const [program, file] = PROGRAMS[language];
  fc.assert(
    fc.property(fc.array(names, { minLength: 1, maxLength: 20 }), (given) => {
      const whoever = ["O'Brien", "Zoë", 'x","who":"y', undefined, ...given];
      const lines = whoever.map((who, at) => JSON.stringify({ id: at + 1, tool: "greet", arguments: { who } }));
      const { stdout } = spawnSync(program, [file], { cwd: folder, input: `${lines.join("\n")}\n`, encoding: "utf8" });
      const answers = stdout
        .trimEnd()
        .split("\n")
        .map((line) => JSON.parse(line) as unknown);
      expect(answers).toEqual(whoever.map((who = "world", at) => ({ id: at + 1, content: `Hello, ${who}!` })));
    }),
    { numRuns: 10 },
  );
});
