// The plugins that `plugins new` writes, one a language: a tool that greets, and a test that runs it.

export type Language = "js" | "ts" | "python" | "sh";

export interface TemplateFile {
  readonly text: string;
  readonly executable?: boolean;
}

export interface Template {
  readonly files: Readonly<Record<string, TemplateFile>>;
  /** The command that runs the test. */
  readonly test: string;
}

export function pluginFiles(name: string, language: Language): Template {
  switch (language) {
    case "js":
      return moduleFiles(name, { file: "plugin.mjs", typing: TYPING.js });
    case "ts":
      return moduleFiles(name, { file: "plugin.ts", typing: TYPING.ts });
    case "python":
      return executableFiles(name, { file: "main.py", run: "[python3, main.py]", text: PYTHON });
    case "sh":
      return executableFiles(name, { file: "main.sh", run: "[sh, main.sh]", text: SHELL });
  }
}

interface ModuleTemplate {
  readonly file: string;
  /** What stands in front of the plugin, and behind a parameter and the plugin, so that an editor knows their types. */
  readonly typing: readonly [before: string, parameter: string, after: string];
}

const TYPING: Readonly<Record<"js" | "ts", ModuleTemplate["typing"]>> = {
  js: ['/** @type {import("mcp-secure-local/plugin").PluginDefinition} */\nexport default ', "", ";"],
  ts: [
    'import type { PluginDefinition } from "mcp-secure-local/plugin";\n\nexport default ',
    ": { who?: string }",
    " satisfies PluginDefinition;",
  ],
};

/** Of a test: an older Node runs the plugin in the sandbox all the same. */
const SKIP_OLDER = `
// Node itself reads TypeScript from 22.18 on. On an older one try it in the server: mcp-secure-local call
const skip = process.features.typescript ? false : "this Node reads no TypeScript; 22.18 and later do";
`;

function moduleFiles(name: string, { file, typing: [before, parameter, after] }: ModuleTemplate): Template {
  const typed = file.endsWith(".ts");
  const plugin = `// To have types while you write: npm install --save-dev ./mcp-secure-local-VERSION.tgz
${before}{
  name: "${name}",
  version: "1.0.0",
  tools: {
    greet: {
      description: "Greets somebody",
      input: { type: "object", properties: { who: { type: "string", maxLength: 100 } } },
      annotations: { readOnlyHint: true, destructiveHint: false, openWorldHint: false },
      run: ({ who = "world" }${parameter}) => \`Hello, \${who}!\`,
    },
  },
}${after}
`;
  const test = `// Run with: node --test
import assert from "node:assert/strict";
import test from "node:test";
${typed ? SKIP_OLDER : `import plugin from "./${file}";\n`}
test("greets", ${typed ? "{ skip }, async " : ""}() => {
${typed ? `  const { default: plugin } = await import("./${file}");\n` : ""}  assert.equal(plugin.tools.greet.run({ who: "Ada" }), "Hello, Ada!");
});
`;
  return { files: { [file]: { text: plugin }, "plugin.test.mjs": { text: test } }, test: "node --test" };
}

interface ExecutableTemplate {
  readonly file: string;
  readonly run: string;
  readonly text: string;
}

function executableFiles(name: string, { file, run, text }: ExecutableTemplate): Template {
  const manifest = `# What this plugin is. The policy has to grant what stands under needs.
name: ${name}
version: "1.0.0"
run: ${run}
# One process answers many calls; without it each call gets a process of its own.
persistent: true
needs: { network: [], filesystem: [] }
tools:
  - name: greet
    description: Greets somebody
    input: { type: object, properties: { who: { type: string, maxLength: 100 } } }
    annotations: { readOnlyHint: true, destructiveHint: false, openWorldHint: false }
`;
  const command = run.slice(1, -1).replace(", ", " ");
  const test = `#!/bin/sh
# Sends one call, as the server does, and compares the answer.
cd "$(dirname "$0")" || exit 1
answer=$(printf '{"id":1,"tool":"greet","arguments":{"who":"Ada"}}\\n' | ${command})
case "$answer" in
  *'"Hello, Ada!"'*) echo passed ;;
  *) echo "failed: $answer"; exit 1 ;;
esac
`;
  return {
    files: {
      "manifest.yaml": { text: manifest },
      [file]: { text, executable: true },
      "test.sh": { text: test, executable: true },
    },
    test: "sh test.sh",
  };
}

const PYTHON = `# Answers calls: one JSON line in, one JSON line out, with the same id. Print nothing else to stdout.
import json
import sys

for line in sys.stdin:
    call = json.loads(line)
    if "cancel" in call:
        continue
    who = call.get("arguments", {}).get("who", "world")
    answer = {"id": call["id"], "content": "Hello, " + who + "!"}
    print(json.dumps(answer, ensure_ascii=False), flush=True)
`;

const SHELL = `# Answers calls: one JSON line in, one JSON line out, with the same id. One with more to read would do so with jq.
LC_ALL=C
export LC_ALL
while IFS= read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/^{"id":\\([0-9]*\\).*/\\1/p')
  # The text stays as JSON has it, with its escapes, and is put into JSON again.
  who=$(printf '%s' "$line" | sed -nE 's/.*"who":"(([^"\\\\]|\\\\.)*)".*/\\1/p')
  [ -n "$id" ] && printf '{"id":%s,"content":"Hello, %s!"}\\n' "$id" "\${who:-world}"
done
`;
