// The digits of numbers, through the whole guard: what a person is shown and the log holds is what the server gets.
import { copyFileSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, it } from "vitest";
import { RawClient } from "../cli/command.js";
import { Household } from "./household.js";

const DIGITS = fileURLToPath(new URL("../../../mcp/test/gateway/digits.mjs", import.meta.url));
const NUMBERS = '"big":12345678901234567890,"one":1.0,"huge":1e400,"none":-0,"money":0.10';

const house = new Household();
beforeAll(async () => {
  mkdirSync(join(house.folder, "programs"));
  const program = join(house.folder, "programs", "digits.mjs");
  copyFileSync(DIGITS, program);
  house.write(`version: "1.0"
tools: { allowed: ["digits__*"] }
approvals: [{ approve: [digits__tell], remember: session }]
servers: { digits: { command: [node, ${program}], ${house.readable} } }
`);
  const reviewed = await house.approve("digits");
  expect([reviewed.code, reviewed.stderr]).toEqual([0, ""]);
});
afterAll(() => house.close());

it("asks about the digits that are sent, counts others as another call, and keeps those of the answer", async () => {
  const client = new RawClient(["--policy", house.policy], { home: house.folder, env: house.env });
  const clientInfo = { name: "test", version: "1" };
  await client.request("initialize", { protocolVersion: "2025-11-25", clientInfo, capabilities: { elicitation: {} } });
  const lines: string[] = [];
  client.child.stdout.on("data", (chunk: Buffer) => lines.push(String(chunk)));
  const write = (text: string): unknown => client.child.stdin.write(`${text}\n`);
  const asked: string[] = [];
  const call = async (id: number, digits: string): Promise<string> => {
    const question = client.next(({ method }) => method === "elicitation/create");
    const answer = client.next((message) => message["id"] === id && "result" in message);
    write(
      `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":{"name":"digits__tell","arguments":{"n":${digits}}}}`,
    );
    const first = await Promise.race([question, answer]);
    if (first["method"] !== undefined) {
      const { message, requestedSchema } = first["params"] as {
        message: string;
        requestedSchema: { properties: { decision: { enum: string[] } } };
      };
      asked.push(message);
      const decision = requestedSchema.properties.decision.enum.at(-1);
      write(JSON.stringify({ jsonrpc: "2.0", id: first["id"], result: { action: "accept", content: { decision } } }));
    }
    return ((await answer)["result"] as { content: { text: string }[] }).content[0]?.text ?? "";
  };
  expect(await call(101, "12345678901234567890")).toContain('"arguments":{"n":12345678901234567890}');
  expect(asked).toEqual([expect.stringContaining("12345678901234567890")]);
  // The person said yes to that very call for the session: to a number that only a rounding makes the same, it did not.
  await call(102, "12345678901234567890");
  expect(asked).toHaveLength(1);
  expect(await call(103, "12345678901234567891")).toContain('"arguments":{"n":12345678901234567891}');
  expect(asked).toHaveLength(2);
  expect(await call(104, "1.0")).toContain('"arguments":{"n":1.0}');
  expect(await call(105, "1e400")).toContain('"arguments":{"n":1e400}');
  expect(lines.join("").match(new RegExp(NUMBERS, "g"))?.length).toBeGreaterThanOrEqual(8);
  await client.close();
  const { stdout } = await house.run(["audit", "query", "server=digits", "--json"]);
  expect(stdout).toContain('"n":"12345678901234567891"');
  expect(stdout).toContain('"n":"1e400"');
});
