// What a server of the policy asks whoever calls it: in a terminal it is asked there, elsewhere it is said that nobody can be asked.
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, it } from "vitest";
import { COMMAND, environmentOf, run } from "../cli/command.js";
import { Household } from "./household.js";

const house = new Household();
afterAll(() => house.close());
/** Gives a program a terminal. */
const hasScript = spawnSync("script", ["--version"]).status === 0;

beforeAll(async () => {
  const cards = join(house.folder, "programs/cards.mjs");
  mkdirSync(dirname(cards));
  const asking = readFileSync(fileURLToPath(new URL("../../../mcp/test/gateway/asking.mjs", import.meta.url)), "utf8");
  // As servers of libraries have it: whoever cannot be asked is told so.
  const refusing = asking
    .replace(
      "initialize: async () => ({",
      "initialize: async (given) => ({ ...((can = given.capabilities.elicitation) && {}),",
    )
    .replace("let ids = 0;", "let ids = 0;\nlet can;")
    .replace(
      "ask: ({ tag }) => asked(tag),",
      "ask: async ({ tag }) => { if (can === undefined) throw { code: -32021, message: 'This needs a client that can be asked' }; return asked(tag); },",
    )
    .replace(
      ".then((result) => send({ id, result }))",
      ".then((result) => send({ id, result }), (error) => send({ id, error }))",
    );
  writeFileSync(cards, refusing);
  house.write(`version: "1.0"
tools: { allowed: ["cards__*"] }
approvals: [{ approve: [cards__ask], answer_by: [client, terminal] }]
servers: { cards: { command: [node, ${cards}], ${house.readable} } }
`);
  const approved = await house.approve();
  expect(approved, approved.stderr).toMatchObject({ code: 0 });
});

/** Types each answer once what comes before it was shown; what was shown. */
async function typed(
  words: readonly string[],
  answers: readonly (readonly [after: RegExp, answer: string])[],
): Promise<string> {
  const line = [process.execPath, COMMAND, ...words, "--policy", house.policy].map((word) => `'${word}'`).join(" ");
  const child = spawn("script", ["-qec", line, "/dev/null"], { env: { ...environmentOf(house.folder), TERM: "dumb" } });
  let shown = "";
  const waiting = [...answers];
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    shown += text;
    const [next] = waiting;
    const found = next?.[0].exec(shown);
    if (next === undefined || found === null || found === undefined) return;
    waiting.shift();
    child.stdin.write(`${next[1].replace("$1", found[1] ?? "")}\r`);
  });
  await once(child, "close");
  return shown;
}

it.skipIf(!hasScript)("asks in the terminal, after the question of the policy", { timeout: 60_000 }, async () => {
  const shown = await typed(
    ["call", "cards__ask", "tag=Whose?"],
    [
      [/Type the code (\w+) to allow it[^:]*: $/, "$1"],
      [/whose \(optional\): $/, "ada"],
      [/Send this answer\?[^:]*$/, "y"],
    ],
  );
  expect(shown).toContain("The server cards asks:");
  expect(shown).toContain("Whose? -> ada");
  // Once each, and at one place.
  expect(shown.split("Send this answer?")).toHaveLength(2);
});

it("says that there is no terminal to ask in", async () => {
  house.write(readFileSync(house.policy, "utf8").replace(/approvals:.*\n/, ""));
  const { stdout, stderr } = await run(["call", "cards__ask", "tag=Whose?", "--policy", house.policy], {
    home: house.folder,
  });
  expect(stdout + stderr).toContain("It asks whoever calls it, and here is no terminal to ask in: run this in one");
});
