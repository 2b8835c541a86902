// A server whose secret cannot be read is not started: whoever calls, lists or checks hears at once which file or variable it is.
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { Household, said, tool } from "./household.js";

const house = new Household();
const file = join(house.folder, "key");
const starts = join(house.folder, "starts");
afterAll(() => house.close());

const FAULTS: readonly (readonly [fault: string, spoil: () => void, why: string])[] = [
  ["missing", () => rmSync(file, { recursive: true, force: true }), `${file} is missing`],
  ["empty", () => writeFileSync(file, " \n"), `${file} is empty`],
  ["a folder", () => (rmSync(file), mkdirSync(file)), `${file} is no file but a folder; move it away`],
];

beforeAll(async () => {
  writeFileSync(file, "the-value-of-the-key");
  const program = house.program("brave", { tools: [tool("find")] });
  const counting = `import { appendFileSync } from "node:fs"; try { appendFileSync(${JSON.stringify(starts)}, "x"); } catch {}\n`;
  writeFileSync(program, counting + readFileSync(program, "utf8"));
  house.write(`version: "1.0"
sandbox: none
tools: { allowed: ["brave__*"] }
secrets: { brave_api_key: { from: "file:${file}", hosts: [] } }
servers: { brave: { command: [node, "${program}"], env: { KEY: "\${secret:brave_api_key}" }, ${house.readable} } }
`);
  await house.approve("brave");
});

it.each(FAULTS)("one whose file is %s", async (_fault, spoil, why) => {
  spoil();
  rmSync(starts, { force: true });
  const called = await house.run(["call", "brave__find"]);
  expect(called.code).not.toBe(0);
  const lines = (called.stdout + called.stderr).trim().split("\n");
  const line = lines.find((each) => each.includes(why)) ?? lines.join("\n");
  expect(line).toContain(`servers.brave: the secret brave_api_key cannot be read: ${why}`);
  expect(called.stdout + called.stderr).not.toContain("\\n");
  expect((called.stdout + called.stderr).length).toBeLessThan(600);
  expect(existsSync(starts)).toBe(false);
  const listed = await house.run(["servers", "list"]);
  expect(listed.stdout).toContain(`the secret brave_api_key cannot be read: ${why}`);
  expect(listed.code).toBe(1);
  const reviewed = await house.run(["servers", "review"]);
  expect(reviewed.stderr).toContain(why);
  expect(existsSync(starts)).toBe(false);
});

it("is noted by policy check", async () => {
  rmSync(file, { recursive: true, force: true });
  const checked = await house.run(["policy", "check", "--strict"]);
  expect(checked.stdout).toContain(`the secret brave_api_key cannot be read: ${file} is missing`);
  expect(checked.code).toBe(1);
});

it("is started again by a process that serves once its policy can be used, and is not taken for broken meanwhile", async () => {
  writeFileSync(file, "the-value-of-the-key");
  const client = await house.client();
  const policy = readFileSync(house.policy, "utf8");
  writeFileSync(house.policy, `${policy}nonsense: 1\n`);
  for (let tries = 0; tries < 4; tries += 1)
    expect(await said(client, "brave__find")).toContain(
      "brave: it cannot be started while the policy file cannot be used",
    );
  writeFileSync(house.policy, policy);
  expect(await said(client, "brave__find")).toContain("find");
  await house.closeClients();
});
