// What goes through each tool, prompt and resource, as the policy grants it.
import { expect, it } from "vitest";
import { parsePolicy } from "../../src/policy/parse-policy.js";
import { catalogueOf } from "../../src/server/catalogue.js";
import { flowOf, type FlowSubject } from "../../src/server/registrations.js";

const POLICY = `
version: "1.0"
tools: { allowed: ["*"] }
commands:
  allowed:
    - { name: date, executable: /bin/date }
    - { name: curl, executable: /usr/bin/curl, network: { allowed_endpoints: [{ host: a.example }] } }
plugins:
  folder: /srv/plugins
  load:
    - { name: shut }
    - { name: reads, filesystem: { readable_paths: ["/srv/**"] } }
    - { name: sends, network: { allowed_endpoints: [{ host: a.example }] } }
    - { name: runs, commands: [curl] }
`;

async function flow(subject: FlowSubject, extra = ""): Promise<string> {
  const policy = await parsePolicy(POLICY + extra, { file: "policy.yaml", environment: {} });
  const owners = new Map(["shut", "reads", "sends", "runs"].map((name) => [`tool ${name}`, name]));
  const identity = { name: "x", version: "1" };
  const plugins = { withheld: new Map(), owners, tools: [], prompts: new Map(), resources: new Map() };
  const found = flowOf(policy, catalogueOf(policy, { identity, tools: [], plugins }), subject);
  return Object.entries(found)
    .filter(([, holds]) => holds)
    .map(([name]) => name)
    .join(" ");
}

it.each<[string, string]>([
  ["web_fetch", "untrusted sends"],
  ["web_search", "untrusted sends"],
  ["read_file", "private"],
  ["search_text", "private"],
  ["list_directory", "private"],
  ["query_database", "private"],
  ["calculate", ""],
  ["get_timestamp", ""],
  ["search_tools", ""],
  ["shut", "untrusted"],
  ["reads", "untrusted private"],
  ["sends", "untrusted sends"],
  ["runs", "untrusted private sends"],
  ["nothing_of_that_name", ""],
])("the tool %s: %s", async (name, expected) => {
  expect(await flow({ kind: "tool", name })).toBe(expected);
});

it("of a command is what that command was granted; without its name, what any was", async () => {
  const run = (command?: string): Promise<string> =>
    flow({ kind: "tool", name: "run_command", arguments: { command } });
  expect(await run("date")).toBe("private");
  expect(await run("curl")).toBe("untrusted private sends");
  expect(await run()).toBe("untrusted private sends");
});

it("is everything without a wall", async () => {
  expect(await flow({ kind: "tool", name: "shut" }, "sandbox: none\n")).toBe("untrusted private sends");
  expect(await flow({ kind: "tool", name: "run_command", arguments: { command: "date" } }, "sandbox: none\n")).toBe(
    "untrusted private sends",
  );
});

it("of resources and prompts", async () => {
  expect(await flow({ kind: "resource", name: "file:///srv/a" })).toBe("private");
  expect(await flow({ kind: "resource", name: "server://info" })).toBe("");
  expect(await flow({ kind: "prompt", name: "analyze_logs" })).toBe("untrusted private");
  expect(await flow({ kind: "prompt", name: "code_review" })).toBe("");
});
