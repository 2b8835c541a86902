// What a server may not ask is not declared to it: in no call, whatever its caller can be asked, and in no review.
import { readFileSync, writeFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Server } from "@secure-local/mcp/server";
import { Fleet } from "./fleet.js";
import { Household, tool } from "./household.js";

const QUESTIONS = ["elicitation", "roots", "sampling"] as const;
/** Every set of them, by the name of the server that may ask it. */
const ALLOWED = Object.fromEntries(
  Array.from({ length: 1 << QUESTIONS.length }, (_, set) => [
    `s${set}`,
    QUESTIONS.filter((_question, index) => (set & (1 << index)) !== 0),
  ]),
);

describe("in a call", () => {
  const fleet = new Fleet();
  beforeAll(async () => {
    for (const name of Object.keys(ALLOWED))
      fleet.make(name, () => {
        const server = new Server({ name, version: "1" });
        const run = (_args: object, { clientCapabilities }: { readonly clientCapabilities: object }): string =>
          Object.keys(clientCapabilities).toSorted().join(" ");
        server.tool("declared", { description: "Says what was declared.", run });
        return server;
      });
    const entries = Object.entries(ALLOWED).map(([name, may]) => [name, `, may_ask: [${may.join(", ")}]`] as const);
    const policy = await fleet.policy(
      'tools: { allowed: ["*"], rate_limits: { default: 10000 } }\nsandbox: none',
      Object.fromEntries(entries),
    );
    await fleet.approve(policy);
    await fleet.serve(policy);
  });
  afterAll(() => fleet.close());

  it.each(["2025-06-18", "2025-11-25", "2026-07-28"])("of %s", async (revision) => {
    for (const [name, may] of Object.entries(ALLOWED)) {
      for (const can of Object.values(ALLOWED)) {
        const capabilities = Object.fromEntries(can.map((each) => [each, {}]));
        const peer = await fleet.client(revision, { capabilities });
        const answer = await peer.request("tools/call", { name: `${name}__declared`, arguments: {} });
        const both = can.filter((each) => may.includes(each));
        expect(answer, `${name}, ${can.join(" ")}`).toMatchObject({ content: [{ text: both.join(" ") }] });
      }
    }
  });
});

it("in a review", async () => {
  const house = new Household();
  const entries = Object.entries(ALLOWED).map(([name, may]) => {
    const file = house.program(name, { tools: [] });
    const declared = tool("declared", { description: "" });
    const source = readFileSync(file, "utf8").replace(
      "initialize: () => (",
      `initialize: ({ capabilities }) => (tools.push({ ...${JSON.stringify(declared)}, description: Object.keys(capabilities).sort().join(" ") }), `,
    );
    writeFileSync(file, source);
    return `${name}: { command: [node, "${file}"], may_ask: [${may.join(", ")}], ${house.readable} }`;
  });
  house.write(`version: "1.0"\nsandbox: none\nservers: { ${entries.join(", ")} }\n`);
  const { stdout } = await house.run(["servers", "review", "--json"]);
  const looked = JSON.parse(stdout) as {
    name: string;
    items: { item: string; places: { at: string; now: string }[] }[];
  }[];
  const said = looked.map(({ name, items }) => {
    const { places = [] } = items.find(({ item }) => item === "tool declared") ?? {};
    return [name, places.find(({ at }) => at === "/description")?.now];
  });
  expect(said).toEqual(Object.entries(ALLOWED).map(([name, may]) => [name, may.join(" ")]));
  await house.close();
});
