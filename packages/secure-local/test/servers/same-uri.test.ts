// What is withheld or denied is so in every spelling that an honest server takes for the same, through every door.
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { JsonObject } from "@secure-local/mcp/jsonrpc";
import { Server } from "@secure-local/mcp/server";
import { mayBeSame } from "../../src/policy/same-uri.js";
import { Fleet } from "./fleet.js";

let fleet: Fleet;
beforeEach(() => {
  fleet = new Fleet();
});
afterEach(() => fleet.close());

/** How `z://r/NAME` may be written. */
const SPELLINGS: Readonly<Record<string, (name: string) => string>> = {
  "as it is": (name) => `z://r/${name}`,
  "an empty fragment": (name) => `z://r/${name}#`,
  "a fragment": (name) => `z://r/${name}#x`,
  "a fragment that looks like a query": (name) => `z://r/${name}#?x`,
  "an empty query": (name) => `z://r/${name}?`,
  "an empty query and a fragment": (name) => `z://r/${name}?#`,
  "an empty member": (name) => `z://r/${name}?&`,
  "a query": (name) => `z://r/${name}?x`,
  "many members": (name) => `z://r/${name}?x=1&y=2`,
  "the host in capitals": (name) => `z://R/${name}`,
  "the scheme in capitals": (name) => `Z://r/${name}`,
  "the path in capitals": (name) => `z://r/${name.toUpperCase()}`,
  "an encoded letter": (name) => `z://r/%${name.charCodeAt(0).toString(16)}${name.slice(1)}`,
  "an encoded letter beside what cannot be decoded": (name) =>
    `z://r/%${name.charCodeAt(0).toString(16)}${name.slice(1)}#%`,
  "a letter that is encoded twice": (name) => `z://r/%25${name.charCodeAt(0).toString(16)}${name.slice(1)}`,
  "a dot segment": (name) => `z://r/./${name}`,
  "two dot segments": (name) => `z://r/x/../${name}`,
  "encoded dot segments": (name) => `z://r/x/%2e%2E/${name}`,
  "an encoded slash": (name) => `z://r/x%2f..%2f${name}`,
  "a doubled slash": (name) => `z://r//${name}`,
  "a slash at its end": (name) => `z://r/${name}/`,
  "a name before the host": (name) => `z://u@r/${name}`,
  "an empty port": (name) => `z://r:/${name}`,
  "the name of its server": (name) => `mcp.ev+z://r/${name}`,
  "the name of its server and a fragment": (name) => `MCP.ev+z://R/${name}#`,
};

const HIDDEN = ["hidden", "denied"] as const;

/** Finds by the path alone, as an honest server may. */
function forgiving(description: string): Server {
  const server = new Server({ name: "h", version: "1" });
  for (const name of ["open", "hidden", "denied"])
    server.resource(`z://r/${name}`, {
      name,
      description: name === "hidden" ? description : "A note.",
      read: () => `from ev: ${name}`,
      watch: () => () => undefined,
    });
  server.resourceTemplate("z://{+any}", {
    name: "any",
    description: "Any note.",
    read: (uri) => `from ev: ${uri}`,
    watch: () => () => undefined,
    complete: { any: ["from ev"] },
  });
  return server;
}

async function served(rules = ""): Promise<void> {
  fleet.make("ev", () => forgiving("A note."));
  const allowed = '"z://*", "mcp.ev+z://*", "u://*"';
  const policy = await fleet.policy(`resources: { allowed: [${allowed}], denied: ["z://r/denied"] }${rules}`);
  await fleet.approve(policy);
  fleet.make("ev", () => forgiving("Another note."));
  await fleet.serve(policy);
  const peer = await fleet.client("2025-11-25");
  await peer.request("resources/read", { uri: "z://r/open" });
  fleet.asked.splice(0);
}

const DOORS: Readonly<Record<"read" | "subscribe" | "complete", (uri: string) => readonly [string, JsonObject]>> = {
  read: (uri: string) => ["resources/read", { uri }],
  subscribe: (uri: string) => ["resources/subscribe", { uri }],
  complete: (uri: string) => [
    "completion/complete",
    { ref: { type: "ref/resource", uri }, argument: { name: "any", value: "" } },
  ],
};

describe.each(Object.keys(DOORS) as (keyof typeof DOORS)[])("%s", (door) => {
  it.each(HIDDEN.flatMap((name) => Object.keys(SPELLINGS).map((spelling) => [name, spelling] as const)))(
    "what is %s, with %s, does not reach its server",
    async (name, spelling) => {
      await served();
      const peer = await fleet.client("2025-11-25");
      const [method, params] = DOORS[door](SPELLINGS[spelling]?.(name) as string);
      const refused: unknown = await peer.request(method, params).then(
        (answer) => answer,
        (error: unknown) => error,
      );
      expect(refused).toBeInstanceOf(Error);
      expect(String(refused)).toMatch(/Denied|not found|Unknown/i);
      expect(fleet.asked).toEqual([]);
    },
  );

  it("lets through what is neither", async () => {
    await served();
    const peer = await fleet.client("2025-11-25");
    const uris =
      door === "complete" ? ["z://{+any}"] : ["z://r/open", "z://r/other#part", "z://r/hidden2?x", "z://s/denied"];
    for (const uri of uris) {
      const [method, params] = DOORS[door](uri);
      await peer.request(method, params);
    }
    await expect.poll(() => fleet.asked.length).toBeGreaterThan(0);
  });
});

it.each([
  ["file:///a/secret", "file:///a/b/../secret", true],
  ["file:///secret", "file:///a/..%2fsecret", true],
  ["file:///a", "file://localhost/a", true],
  ["https://h.example/a", "https://H.example:443/a", true],
  ["https://h.example/a", "https://h.example:444/a", false],
  ["z://r/a?x=1&y=2", "z://r/a?y=2&x=1", true],
  ["z://r/a?x=1", "z://r/a?x=2", false],
  ["z://r/a?x=1", "z://r/a", false],
  ["z://r/a#part", "z://r/a", true],
  ["z://r/a", "z://r/a%23b", false],
  ["z://admin@r/a", "z://r/a", false],
  ["note:a", "NOTE:a#", true],
])("%s and %s: %s", (known, asked, same) => expect(mayBeSame(known, asked)).toBe(same));
