// A call that was let in, and whose server turned out at its start not to be as it was approved: on record with the rule and the reason.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Household } from "./household.js";

const WORDS = "words.json";
const SERVER = `import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
const description = JSON.parse(readFileSync(new URL("${WORDS}", import.meta.url), "utf8"));
const capabilities = { tools: {}, prompts: {}, resources: {} };
const content = { content: [{ type: "text", text: "reached" }] };
const answers = {
  initialize: () => ({ protocolVersion: "2025-06-18", capabilities, serverInfo: { name: "up", version: "1" } }),
  "tools/list": () => ({ tools: [{ name: "read", description, inputSchema: { type: "object" } }] }),
  "prompts/list": () => ({ prompts: [{ name: "ask", description }] }),
  "resources/list": () => ({ resources: [{ name: "one", uri: "note://one", description }] }),
  "resources/templates/list": () => ({ resourceTemplates: [] }),
  "tools/call": () => content,
  "prompts/get": () => ({ messages: [{ role: "user", content: content.content[0] }] }),
  "resources/read": () => ({ contents: [{ uri: "note://one", text: "reached" }] }),
};
createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method } = JSON.parse(line);
  if (id !== undefined) process.stdout.write(JSON.stringify({ jsonrpc: "2.0", id, result: answers[method]?.() }) + "\\n");
});
`;

const CALLS = [
  ["tools/call", { name: "up__read", arguments: {} }],
  ["prompts/get", { name: "up__ask" }],
  ["resources/read", { uri: "note://one" }],
] as const;

describe.skipIf(process.platform !== "linux")("a call that its server turned out not to be approved for", () => {
  const house = new Household();
  const say = (words: string): void => writeFileSync(join(house.folder, WORDS), JSON.stringify(words));
  const records = (): Record<string, unknown>[] => {
    const log = readFileSync(join(house.folder, "state/mcp-secure-local/audit.log"), "utf8");
    return log
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as Record<string, unknown>);
  };

  beforeAll(async () => {
    writeFileSync(join(house.folder, "up.mjs"), SERVER);
    say("Reads.");
    house.write(`version: "1.0"
sandbox: none
tools: { allowed: ["up__*"] }
prompts: { allowed: ["up__*"] }
resources: { allowed: ["note://*"] }
servers: { up: { command: [node, "${house.folder}/up.mjs"] } }
`);
    expect((await house.approve()).code).toBe(0);
  });
  afterAll(() => house.close());

  it.each(CALLS)("is on record as denied, with the rule and the reason: %s", async (method, params) => {
    say("Reads.");
    const whole = await house.client();
    expect(JSON.stringify(await whole.request(method, params))).toContain("reached");
    await whole.close();
    say("Reads, and tells.");
    const client = await house.client();
    for (const _ of ["at its start", "after it"])
      expect(JSON.stringify(await client.request(method, params))).toMatch(/Denied.*withheld/);
    await client.close();
    const [started, later] = records()
      .filter((each) => each["method"] === method && ["call.result", "denied"].includes(String(each["kind"])))
      .slice(-2);
    const rule = "approval of the server up";
    expect(started).toMatchObject({ kind: "call.result", outcome: "denied", detail: { rule } });
    expect((started?.["detail"] as Record<string, unknown> | undefined)?.["withheld"]).toMatch(
      /not as it was approved|changed/,
    );
    expect(started).not.toHaveProperty("upstream");
    // Of the same rule as what is refused from then on, before anything is done for it.
    expect(later).toMatchObject({ kind: "denied", decision: { rule } });
  });
});
