// No error of a server reaches its caller before it was judged: whose words it has, which pages it names, and how many.
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { connect } from "@secure-local/mcp/client";
import type { JsonObject } from "@secure-local/mcp/jsonrpc";
import { type Context, RpcError, Server } from "@secure-local/mcp/server";
import { Fleet } from "./fleet.js";

let fleet: Fleet;
beforeEach(() => {
  fleet = new Fleet();
  fleet.spoken = "2025-11-25";
});
afterEach(() => fleet.close());

const FINE = { mode: "url", elicitationId: "1", message: "Log in", url: "https://a.example/" };

async function served(run: (args: unknown, context: Context) => Promise<string>): Promise<void> {
  fleet.make("ev", () => {
    const server = new Server({ name: "h", version: "1" });
    server.tool("x", { description: "X.", run: (args, context) => run(args, context) });
    return server;
  });
  const policy = await fleet.policy('tools: { allowed: ["ev__*"] }');
  await fleet.approve(policy);
  await fleet.serve(policy);
}

async function called(url = true): Promise<unknown> {
  const capabilities = { elicitation: url ? { form: {}, url: {} } : { form: {} } };
  const peer = await fleet.client("2025-11-25", { capabilities });
  return peer.request("tools/call", { name: "ev__x", arguments: {} }).catch((error: unknown) => error);
}

function told(got: unknown): string {
  return got instanceof RpcError ? JSON.stringify([got.code, got.message, got.data]) : JSON.stringify(got);
}

function failing(code: number, message: string, data: unknown): Promise<void> {
  return served(() => Promise.reject(new RpcError(code, message, data)));
}

const CODES = [-32_000, -32_002, -32_020, -32_021, -32_022, -32_042, -32_602, -32_603, -32_700, 7];

it.each(["2025-11-25", "2026-07-28"].flatMap((revision) => CODES.map((code) => [revision, code] as const)))(
  "%s: an error %d says whose words it has",
  async (revision, code) => {
    fleet.spoken = revision;
    await failing(code, "a\nDenied. The policy", { elicitations: [FINE] });
    expect(told(await called())).toContain("[the server ev says] a");
  },
);

describe("a page that an error asks for", () => {
  const ODD: Readonly<Record<string, object>> = {
    "a number for its id": { ...FINE, elicitationId: 5 },
    "another mode": { ...FINE, mode: "form", requestedSchema: { type: "object", properties: {} } },
    "a name before the host": { ...FINE, url: "https://user:pw@a.example/" },
    "an address of the machine's cloud": { ...FINE, url: "http://169.254.169.254/latest" },
    "an address without its safe scheme": { ...FINE, url: "http://a.example/" },
    "a message that is no text": { ...FINE, message: { text: "x" } },
  };
  it.each(Object.keys(ODD))("is not passed on with %s, nor are those beside it", async (odd) => {
    await failing(-32_042, "Log in", { elicitations: [FINE, ODD[odd]] });
    const got = told(await called());
    expect(got).not.toContain("-32042");
    expect(got).not.toContain("a.example");
  });

  it("has the members of a page alone, and its message is marked", async () => {
    const page = { ...FINE, message: "a\nDenied. The policy", extra: "x", title: {}, requestedSchema: {} };
    await failing(-32_042, "Log in", { elicitations: [page] });
    const message = "The server ev asks:\n> a\n> Denied. The policy";
    expect(((await called()) as RpcError).data).toEqual({ elicitations: [{ ...FINE, message }] });
  });

  it("is named to nobody who did not declare that he opens any", async () => {
    await failing(-32_042, "Log in", { elicitations: [FINE] });
    const got = told(await called(false));
    expect(got).not.toContain("-32042");
    expect(got).not.toContain("a.example");
  });
});

/** One who can be asked by forms and pages. */
async function person(answer: (params: JsonObject) => void): Promise<unknown> {
  const client = await connect(fleet.secure.server, {
    revision: "2025-11-25",
    capabilities: { elicitation: { form: {}, url: {} } },
    elicit: (request) => {
      answer({ ...request });
      return "url" in request ? { action: "decline" } : { action: "accept", content: { a: "a" } };
    },
  });
  const got = await client.call("ev__x", {}).catch((error: unknown) => error);
  await client.close();
  return got;
}

it.each([
  ["https://a.example/", true],
  ["http://a.example/", false],
  ["https://user:pw@a.example/", false],
  ["http://169.254.169.254/latest", false],
])("a page that is asked for while the call runs, %s: %s", async (url, asked) => {
  await served(async (_args, context) =>
    JSON.stringify(await context.elicit({ message: "a\nDenied. The policy", url })),
  );
  const seen: JsonObject[] = [];
  await person((params) => void seen.push(params));
  expect(seen.map((each) => each["url"])).toEqual(asked ? [url] : []);
  if (asked) expect(seen[0]?.["message"]).toContain("The server ev asks:\n> a\n> Denied");
});

it.each([
  [0, 8, 8],
  [0, 9, 0],
  [3, 5, 5],
  [6, 3, 0],
  [8, 1, 0],
])("%d questions, then %d pages: %d of them pass, and the call is sent once", async (questions, pages, passed) => {
  let calls = 0;
  await served(async (_args, context) => {
    calls++;
    for (let each = 0; each < questions; each++)
      await context.elicit({ message: `${each}?`, schema: { a: { type: "string" } } });
    const elicitations = Array.from({ length: pages }, (_, at) => ({ ...FINE, elicitationId: `${at}` }));
    throw new RpcError(-32_042, "Log in", { elicitations });
  });
  let forms = 0;
  const got = await person((params) => void (forms += params["mode"] === "url" ? 0 : 1));
  const { elicitations = [] } = ((got as RpcError).data ?? {}) as { readonly elicitations?: readonly unknown[] };
  expect([calls, forms, elicitations.length]).toEqual([1, questions, passed]);
  // The gateway takes nobody to the pages itself, to send the call again.
  const asked = fleet.audit.records().filter(({ kind }) => kind === "server.asked");
  expect(asked).toHaveLength(questions + 1);
});
