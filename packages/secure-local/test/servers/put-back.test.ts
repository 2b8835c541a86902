// A server that was changed and put back while `serve` runs: looked at anew, by a restart or at the next look, at every path alike.
import { readFileSync, writeFileSync } from "node:fs";
import { afterAll, beforeEach, expect, it } from "vitest";
import { run } from "../cli/command.js";
import { ENVELOPE, send, Served, toolCall } from "../serve/served.js";
import { Household, tool } from "./household.js";

const house = new Household();
const TOOLS = [tool("list_cards"), tool("move_card")];
const board = house.program("board", { tools: TOOLS });
afterAll(() => house.close());

beforeEach(async () => {
  house.write(`version: "1.0"
tools: { allowed: ["board__*", calculate], rate_limits: { default: 10000 } }
servers: { board: { command: [node, ${board}], ${house.readable} } }
profiles: { work: { servers: [board] } }
`);
  expect(await house.approve()).toMatchObject({ code: 0 });
});

interface Asked {
  readonly url: string;
  call(path: string, name: string): Promise<string>;
  /** Names of the tools that a path lists. */
  listed(path: string): Promise<string[]>;
}

async function served(): Promise<Asked> {
  const serving = new Served(["--quiet", "--policy", house.policy], house.folder);
  const url = await serving.ready();
  const { bearer } = serving;
  return {
    url,
    call: async (path, name) => (await send(`${url}${path}`, toolCall(name, {}, bearer))).text,
    listed: async (path) => {
      const { "mcp-name": _, ...headers } = toolCall("", {}, bearer).headers ?? {};
      const body = { jsonrpc: "2.0", id: 1, method: "tools/list", params: { _meta: ENVELOPE } };
      const { text } = await send(`${url}${path}`, { body, headers: { ...headers, "mcp-method": "tools/list" } });
      return [...text.matchAll(/"name":"(\w+)"/g)].map(([, name = ""]) => name);
    },
  };
}

const PATHS = ["", "/work"] as const;

it.each(PATHS)("is offered again after a restart, once its file is what was approved (/mcp%s)", async (path) => {
  const { call, listed } = await served();
  const approved = readFileSync(board, "utf8");
  expect(await call(path, "board__list_cards")).toContain("did list_cards");
  writeFileSync(board, `${approved}\n// v3\n`);
  await house.run(["servers", "restart", "board"]);
  expect(await call(path, "board__list_cards")).toContain("launch was changed");
  expect(await listed(path)).not.toContain("board__list_cards");
  writeFileSync(board, approved);
  await house.run(["servers", "restart", "board"]);
  expect(await listed(path)).toContain("board__list_cards");
  expect(await call(path, "board__list_cards")).toContain("did list_cards");
});

it("is offered again without a restart, as soon as somebody looks how it is or calls it", async () => {
  const { call, listed } = await served();
  const approved = readFileSync(board, "utf8");
  writeFileSync(board, `${approved}\n// v3\n`);
  expect(await call("", "board__list_cards")).toContain("launch was changed");
  writeFileSync(board, approved);
  expect(await call("", "board__list_cards")).toContain("did list_cards");
  expect(await listed("")).toContain("board__list_cards");
  writeFileSync(board, `${approved}\n// v4\n`);
  await house.run(["servers", "restart", "board"]);
  expect(await call("", "board__list_cards")).toContain("launch was changed");
  writeFileSync(board, approved);
  expect((await house.run(["servers", "list"])).stdout).not.toContain("withheld");
  expect(await listed("")).toContain("board__list_cards");
});

it.each(PATHS)(
  "forgets at a restart what a tool was, and compares it with what was approved (/mcp%s)",
  async (path) => {
    const { call, listed } = await served();
    house.offer("board", [tool("list_cards", { description: "Something else." }), tool("move_card")]);
    expect(await call(path, "board__list_cards")).toContain("not as it was approved");
    house.offer("board", TOOLS);
    await house.run(["servers", "restart", "board"]);
    expect(await listed(path)).toContain("board__list_cards");
    expect(await call(path, "board__list_cards")).toContain("did list_cards");
    // What is changed is withheld before anything is sent to it, after a restart as before.
    house.offer("board", [tool("list_cards", { description: "Something else." }), tool("move_card")]);
    await house.run(["servers", "restart", "board"]);
    expect(await call(path, "board__list_cards")).toContain("not as it was approved");
    house.offer("board", TOOLS);
  },
);

it.each(PATHS)("is stopped and started wherever it runs, and says how to start it (/mcp%s)", async (path) => {
  const { url, call } = await served();
  expect(await call(path, "board__list_cards")).toContain("did list_cards");
  await house.run(["servers", "stop", "board"]);
  const how = "a person stopped its server; to start it: mcp-secure-local servers restart board";
  expect(await call(path, "board__list_cards")).toContain(how);
  // A client that lists first, as this program does for a URL, hears of it too.
  const token = `${house.folder}/.config/mcp-secure-local/token`;
  const words = ["call", `${url}${path}`, "board__list_cards", "--token-file", token];
  const called = await run(words, { home: house.folder });
  expect(called.stdout + called.stderr).toContain(how);
  await house.run(["servers", "restart", "board"]);
  expect(await call(path, "board__list_cards")).toContain("did list_cards");
});

it("counts in status the tools of servers with our own", async () => {
  await served();
  for (;;) {
    const { stdout } = await house.run(["status"]);
    const [, count] = /: (\d+) tools?, by/.exec(stdout.replace(/\s+/g, " ")) ?? [];
    if (count === undefined) continue;
    expect(count).toBe("3");
    break;
  }
});

it("takes a slip in the name of a tool for one, and not for something that waits to be approved", async () => {
  const slip = await house.run(["call", "board__list_card"]);
  expect(slip.stderr).toContain('did you mean "board__list_cards"?');
  expect(slip.stderr).not.toContain("servers review");
  const other = await house.run(["call", "board__anything_else"]);
  expect(other.stderr).toContain(
    "the server board offers what you approved of it: mcp-secure-local servers review board",
  );
});
