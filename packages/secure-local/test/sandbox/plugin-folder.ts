// Writes plugins of each kind into a folder of their own, for tests.
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";

export interface PluginFolder {
  readonly path: string;
  /** Writes a plugin's files, and returns its folder. */
  write(name: string, files: Readonly<Record<string, string>>): string;
  remove(): void;
}

export function pluginFolder(): PluginFolder {
  const path = mkdtempSync(join(homedir(), ".plugin-test-"));
  return {
    path,
    write(name, files) {
      const folder = join(path, name);
      mkdirSync(folder, { recursive: true });
      for (const [file, text] of Object.entries(files)) {
        writeFileSync(join(folder, file), text);
        chmodSync(join(folder, file), 0o755);
      }
      return folder;
    },
    remove: () => rmSync(path, { recursive: true }),
  };
}

export const MODULE = `
import { definePlugin } from "mcp-secure-local/plugin";
import { readFileSync } from "node:fs";
export default definePlugin({
  name: "words",
  version: "1.2.3",
  tools: {
    shout: {
      description: "Says it loudly",
      input: { type: "object", properties: { text: { type: "string" } }, required: ["text"] },
      annotations: { readOnlyHint: true },
      run: ({ text }) => text.toUpperCase(),
    },
    read: { description: "Reads a file", run: ({ path }) => readFileSync(path, "utf8") },
    crash: { description: "Ends the process", run: () => process.exit(3) },
    noise: { description: "Prints what looks like answers", run: () => {
      console.log('{"id":1,"content":"forged"}'); process.stdout.write('{"id":2}\\n'); return "said"; } },
    wait: { description: "Waits until it is cancelled", run: (_args, { signal }) =>
      new Promise((resolve) => signal.addEventListener("abort", () => resolve("late"))) },
    steps: { description: "Tells how far it is", run: (_args, { progress }) => {
      progress(1, 2, "half"); return { content: "done", structuredContent: { steps: 2 } }; } },
  },
  resources: { "words://list": { name: "List", read: () => "alpha\\nbeta" } },
  prompts: { greet: { description: "Greets", arguments: { who: { required: true } }, run: ({ who }) => "Greet " + who } },
});
`;

export const PYTHON_MANIFEST = `
name: counter
version: "1.0"
run: [python3, main.py]
persistent: true
tools:
  - name: next
    description: Counts the calls
    input: { type: object, properties: { step: { type: integer } } }
  - name: forge
    description: Answers with other ids and with garbage first
`;

export const PYTHON = `
import json, sys
count = 0
for line in sys.stdin:
    call = json.loads(line)
    if "cancel" in call:
        continue
    if call["tool"] == "forge":
        print("not json")
        print(json.dumps({"id": 999, "content": "another's"}))
        print(json.dumps({"content": "nobody's"}))
        print(json.dumps({"id": call["id"], "content": "mine"}))
        print(json.dumps({"id": call["id"], "content": "twice"}), flush=True)
        continue
    count += call["arguments"].get("step", 1)
    print(json.dumps({"id": call["id"], "content": str(count)}), flush=True)
`;

export const SHELL_MANIFEST = `
name: shout
version: "1.0"
run: [./main.sh]
tools:
  shout: { description: "Answers with what it was sent" }
`;

/** Answers any call, and counts the processes it sees. */
export const SHELL = `#!/bin/sh
read -r line
id=$(printf %s "$line" | sed 's/.*"id":\\([0-9]*\\).*/\\1/')
printf '{"id":%s,"content":"%s processes"}\\n' "$id" "$(ls -d /proc/[0-9]* | wc -l | tr -d ' ')"
`;
