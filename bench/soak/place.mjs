// Where the soak's servers live: a policy with files, two plugins and what is denied.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { arena } from "../faults/arena.mjs";

const TOOLS = [
  "calculate",
  "get_timestamp",
  "read_file",
  "write_file",
  "list_directory",
  "search_text",
  "steady_*",
  "brittle_*",
];
const BODY = `resources: { allowed: ["server://info"] }
prompts: { allowed: [code_review] }
sandbox: { cpu_seconds: 86400 }`;
const STEADY = `
import { definePlugin } from "mcp-secure-local/plugin";
const annotations = { readOnlyHint: true };
export default definePlugin({ name: "steady", version: "1.0.0", tools: {
  shout: { description: "Says it loudly", annotations, input: { type: "object", properties: { text: { type: "string" } } }, run: ({ text }) => text.toUpperCase() },
  wait: { description: "Waits until it is cancelled", annotations, run: (_args, { signal }) =>
    new Promise((resolve) => signal.addEventListener("abort", () => resolve("late"))) } } });
`;
const BRITTLE = `
import { definePlugin } from "mcp-secure-local/plugin";
export default definePlugin({ name: "brittle", version: "1.0.0",
  tools: { crash: { description: "Ends the process", annotations: { readOnlyHint: true }, run: () => process.exit(3) } } });
`;

/** `files` are there to be read. */
export function soakPlace(files) {
  const place = arena({ tools: TOOLS, body: BODY, load: ["steady", "brittle"], timeout: 10 });
  place.writePlugin("steady", { "plugin.mjs": STEADY });
  place.writePlugin("brittle", { "plugin.mjs": BRITTLE });
  for (let n = 0; n < files; n += 1) writeFileSync(join(place.work, `read${n}.txt`), `file ${n}\n`.repeat(200));
  return place;
}
