// Plugins that are broken in the ways plugins are: `plugins list` says what happened, where, and what to do; so does a call.
import { chmodSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { exitText } from "../../src/plugins/plugin-process.js";
import { pluginFolder } from "../sandbox/plugin-folder.js";
import { hasWall } from "../sandbox/walls.js";
import { type Ran, run } from "./command.js";
import { runQuickly } from "./command-in-thread.js";

const folder = pluginFolder();
afterAll(() => folder.remove());

const tools = "tools: { go: { description: 'Goes', run: () => { throw new Error('a detail of ours'); } } }";
const MODULES = {
  throws: 'import "node:fs";\nthrow new Error("no key in the configuration");\n',
  syntax: "export default {\n",
  exits: 'console.log("before the end");\nprocess.exit(7);\n',
  noise: 'import { writeSync } from "node:fs";\nwriteSync(1, "debug: on\\n");\nprocess.exit(1);\n',
  other: `export default { name: "another", version: "1", ${tools} };\n`,
  misspelt: `export default { name: "misspelt", version: "1", tools: { go: { description: 'Goes', runn: () => "x" } } };\n`,
  prints: `import { writeSync } from "node:fs";
export default { name: "prints", version: "1", tools: { go: { description: "Goes", run: async ({ fails }) => {
  console.log("first", fails); console.error("second"); process.stderr.write("third\\n"); writeSync(2, "fourth\\n");
  await new Promise((done) => setTimeout(done, 20));
  if (fails) throw new Error("late");
  return "done";
} } } };\n`,
  fails: `export default { name: "fails", version: "1", ${tools} };\n`,
};
folder.write("beside", {
  "plugin.mjs": 'import "./helper.mjs";\nexport default {};\n',
  "helper.mjs": "// beside it\nexport defalt {};\n",
});
folder.write("typed", { "plugin.ts": "const one: number = 1;\nexport defalt { one };\n" });
for (const [name, text] of Object.entries(MODULES)) folder.write(name, { "plugin.mjs": text });

function executable(name: string, run: string, text: string, persistent: boolean): void {
  const manifest = `name: ${name}\nversion: "1"\nrun: [${run}]\npersistent: ${persistent}\ntools: [{ name: go, description: Goes }]\n`;
  folder.write(name, { "manifest.yaml": manifest, "main.sh": text });
}
executable("falls", "sh, main.sh", "echo falling >&2\nexit 3\n", true);
executable("garbage", "sh, main.sh", "echo 'not JSON'\necho trouble >&2\nexit 5\n", false);
const beeps = `seq 30 | sed "s/$/$(printf '\\033[2J') beep/" >&2\nread -r line\necho '{"id":1,"content":"done"}'\n`;
executable("beeps", "sh, main.sh", beeps, false);
executable("closed", "./main.sh", "exit 0\n", true);
chmodSync(join(folder.path, "closed", "main.sh"), 0o644);

async function ask(plugins: readonly string[], words: readonly string[], by = runQuickly): Promise<Ran> {
  const policy = join(folder.path, `${plugins.join("-")}.yaml`);
  const load = plugins.map((name) => `{ name: ${name} }`).join(", ");
  const text = `version: "1.0"\ntools: { allowed: ["*"] }\nplugins: { folder: ${folder.path}, load: [${load}] }\n`;
  writeFileSync(policy, text, { mode: 0o600 });
  return await by([...words, "--policy", policy], { home: folder.path });
}

describe.skipIf(!hasWall())("broken plugins", () => {
  it("are each told with what they wrote", async () => {
    const names = [
      "throws",
      "syntax",
      "beside",
      "typed",
      "exits",
      "noise",
      "other",
      "misspelt",
      "falls",
      "closed",
      "gone",
    ];
    const { code, stdout, stderr } = await ask(names, ["plugins", "list"], run);
    expect(code).toBe(1);
    expect(stderr).toBe("");
    const told = (name: string): string => stdout.split(/^(?=\w)/m).find((part) => part.startsWith(`${name}  `)) ?? "";
    expect(told("throws")).toMatch(
      /waiting.*\n {2}it ended by itself with code 1; next start in \d s\n {2}\| \S+throws\/plugin\.mjs cannot be loaded: Error: no key in the configuration\n {2}\| +at \S+throws\/plugin\.mjs:2:7\n/,
    );
    expect(told("syntax")).toMatch(
      /syntax\/plugin\.mjs cannot be loaded: SyntaxError[^\n]*\n {2}\| file:\/\/\S+syntax\/plugin\.mjs:2\n/,
    );
    expect(told("beside")).toMatch(/\| file:\/\/\S+beside\/helper\.mjs:2\n {2}\| export defalt \{\};\n {2}\| \^+\n/);
    expect(told("typed")).toMatch(/typed\/plugin\.ts cannot be loaded: [^]*\b(?:line )?2\b/);
    for (const name of ["syntax", "beside"]) expect(told(name)).not.toMatch(/node:internal/);
    expect(told("exits")).toMatch(/with code 7; [^]*\| before the end\n/);
    expect(told("noise")).toContain(
      'stdout is for answers; lines there that are none (an answer has the id of its call): 1, the first: "debug: on"',
    );
    expect(told("other")).toMatch(/refused.*\n {2}It calls itself another, the policy other; make them the same\./);
    expect(told("misspelt")).toMatch(
      /refused.*\n {2}\S+misspelt\/plugin\.mjs: tools\.go has no function "run", and a function "runn" that nobody calls; write run/,
    );
    expect(told("falls")).toMatch(/waiting.*\n {2}it ended by itself with code 3; [^]*\| falling\n/);
    expect(told("closed")).toMatch(
      /closed\/main\.sh is no program that may be run; make it one: chmod \+x \S+main\.sh\n/,
    );
    expect(told("gone")).toMatch(/There is nothing at \S+gone; correct its path in plugins\.load\.\n/);
  });

  it("are listed with the secrets that cannot be read here", async () => {
    const policy = join(folder.path, "secret.yaml");
    const text = `version: "1.0"\nsecrets: { key: { from: "env:NO_SUCH_KEY", hosts: [] } }
tools: { allowed: ["*"] }\nplugins: { folder: ${folder.path}, load: [{ name: prints, secrets: [key] }] }\n`;
    writeFileSync(policy, text, { mode: 0o600 });
    const { stdout } = await runQuickly(["plugins", "list", "--policy", policy], { home: folder.path });
    expect(stdout).toContain("  the secret key cannot be read: the variable NO_SUCH_KEY is not set here; set it\n");
  });

  it("say why a call failed to the operator, and only that it did to the client", async () => {
    const thrown = await ask(["fails"], ["call", "fails_go", "--json"]);
    expect(thrown.stderr).toMatch(/^plugin fails: a call of it failed\n {2}\| Error: a detail of ours\n/);
    expect(thrown.stdout).toContain("The plugin failed. The operator is told why, on the stderr of the server");
    expect(thrown.stdout).not.toContain("a detail of ours");
    expect(thrown.stderr).not.toMatch(/host\.cjs|node:internal/);
    const printed = await ask(["prints"], ["call", "prints_go", "fails=true", "--json"]);
    expect(printed.stderr).toMatch(
      /^plugin prints: a call of it failed\n {2}\| first true\n {2}\| second\n {2}\| third\n {2}\| fourth\n {2}\| Error: late\n {2}\| +at \S+ \(\S+prints\/plugin\.mjs:5:20\)\n$/,
    );
    expect((await ask(["prints"], ["call", "prints_go", "--json"])).stderr).toBe("");
    const ended = await ask(["garbage"], ["call", "garbage_go", "--json"]);
    expect(ended.stderr).toMatch(
      /^plugin garbage: it ended by itself with code 5\n {2}\| trouble\n {2}\| stdout is for answers; .*"not JSON"\n$/,
    );
    expect(ended.stdout).toContain("The plugin ended before it answered.");
    expect(ended.stdout).not.toContain("trouble");
  });

  it("tell with --debug what they printed in a call that did not fail, cleaned and not without end", async () => {
    const { stdout, stderr } = await ask(["prints"], ["call", "prints_go", "--debug"]);
    const said = ["first undefined", "second", "third", "fourth"];
    expect(stderr).toBe(said.map((line) => `plugin prints | ${line}\n`).join(""));
    expect(stdout).toBe("done\n");
    const many = await ask(["beeps"], ["call", "beeps_go", "--debug"]);
    expect(many.stderr.match(/^plugin beeps \| \d+ beep$/gm)).toHaveLength(20);
    expect(many.stderr).toMatch(/^plugin beeps \| 11 beep\n[^]*\| 30 beep\n$/);
    expect(many.stderr).not.toContain("\u001b");
  });
});

it.each([
  [0, null, "it ended by itself with code 0"],
  [3, null, "it ended by itself with code 3"],
  [139, null, "it was ended by SIGSEGV"],
  [200, null, "it ended by itself with code 200"],
  [null, "SIGKILL", "it was ended by SIGKILL"],
] as const)("the end of a process is told: %s %s", (code, signal, text) => expect(exitText(code, signal)).toBe(text));
