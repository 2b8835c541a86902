// A server that lists less to a client that can be asked less: what is missing for that is no fault, and nobody has to decide anything.
import { readFileSync, writeFileSync } from "node:fs";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { RawClient } from "../cli/command.js";
import { Household, said, tool, toolNames } from "./household.js";

const house = new Household();
const clients: RawClient[] = [];
const CAN = ["elicitation", "sampling", "roots"] as const;

beforeAll(async () => {
  const file = house.program("review", { tools: [tool("plain")] });
  // Each ability brings a tool of its own, as servers do that ask within a call.
  const more = JSON.stringify(CAN.map((name) => tool(name)));
  const source = readFileSync(file, "utf8").replace(
    "initialize: () => (",
    `initialize: ({ capabilities }) => (tools.push(...${more}.filter(({ name }) => capabilities[name])), `,
  );
  writeFileSync(file, source);
  house.write(`version: "1.0"
sandbox: none
tools: { allowed: ["review__*"] }
servers: { review: { command: [node, "${file}"], may_ask: [${CAN.join(", ")}], ${house.readable} } }
`);
  expect(await house.approve("review")).toMatchObject({ code: 0 });
});
afterAll(async () => {
  for (const client of clients) await client.close();
  await house.close();
});

it("is listed as well, with what depends on the client", async () => {
  const client = await house.client();
  await client.request("tools/call", { name: "review__plain", arguments: {} });
  expect(await toolNames(client)).toEqual(["review__plain"]);
  const listed = await house.run(["servers", "list"]);
  expect(listed.stdout).not.toContain("withheld");
  expect(listed.stdout).not.toContain("what to do");
  for (const name of CAN) expect(listed.stdout).toContain(`tool ${name}`);
  expect(listed.stdout).toContain("not offered any more, or only for clients that declare more");
  // Nobody knows which of the two it is.
  for (const name of CAN)
    expect(await said(client, `review__${name}`)).toMatch(
      /its server does not offer it any more, or not to a client that declares no elicitation and no sampling and no roots/,
    );
  expect(listed.code).toBe(0);
});

it("and one that is not as it was approved still counts", async () => {
  house.offer("review", [tool("plain", { description: "Does something else." })]);
  const client = await house.client();
  await client.request("tools/call", { name: "review__plain", arguments: {} });
  const listed = await house.run(["servers", "list"]);
  expect(listed.stdout).toContain("1 withheld, since it is not as it was approved");
});

it("is not said to be another one than was approved where it offers less to one that declares the same by name", async () => {
  const file = house.program("urls", { tools: [tool("plain")] });
  const source = readFileSync(file, "utf8").replace(
    "initialize: () => (",
    `initialize: ({ capabilities }) => (tools.push(...(capabilities.elicitation?.url ? [${JSON.stringify(tool("pages"))}] : [])), `,
  );
  writeFileSync(file, source);
  house.write(`version: "1.0"
sandbox: none
tools: { allowed: ["urls__*"] }
servers: { urls: { command: [node, "${file}"], may_ask: [elicitation], ${house.readable} } }
`);
  expect(await house.approve("urls")).toMatchObject({ code: 0 });
  const client = await house.client({ elicitation: {} });
  await client.request("tools/call", { name: "urls__plain", arguments: {} });
  // The processes of the clients before look at what was approved a moment later.
  await expect
    .poll(async () => (await house.run(["servers", "list"])).stdout, { timeout: 15_000 })
    .not.toContain("withheld");
  const listed = await house.run(["servers", "list"]);
  expect(listed.stdout).toContain("tool pages: not offered to this client, or not any more");
  expect(listed.code).toBe(0);
});
