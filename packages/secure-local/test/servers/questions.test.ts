// What of a question goes to the caller of a server, and what of the answer goes to the server.
import { expect, it } from "vitest";
import type { RelayedQuestion } from "@secure-local/mcp/gateway";
import type { JsonObject } from "@secure-local/mcp/jsonrpc";
import type { ServerGrant } from "../../src/policy/policy.js";
import { passQuestion } from "../../src/server/server-questions.js";

const GRANT = { name: "up", mayAsk: new Set(["elicitation", "sampling", "roots"]) } as unknown as ServerGrant;
const CALL = { id: 1, carrier: { principal: "ada" } } as unknown as RelayedQuestion["call"];

async function asked(method: RelayedQuestion["method"], params: JsonObject): Promise<readonly JsonObject[]> {
  const passed: JsonObject[] = [];
  const answer = await passQuestion(
    GRANT,
    { call: CALL, among: [CALL], method, number: 1, params },
    {
      record: () => Promise.resolve(),
      mayOpen: () => true,
      said: (text) => text,
      pass: (given) => {
        passed.push(given);
        return Promise.resolve({ action: "accept", content: { a: 1 }, _meta: { "vendor/own": "caller" } });
      },
    },
  );
  return [passed[0] ?? {}, answer ?? {}];
}

const META = { _meta: { "vendor/own": "server", progressToken: 1 } };

it.each(["elicitation/create", "sampling/createMessage", "roots/list"] as const)(
  "passes no _meta on, in either direction: %s",
  async (method) => {
    expect(JSON.stringify(await asked(method, { message: "a", messages: [], ...META }))).not.toContain("_meta");
  },
);

it("asks a model without the caller's tools and without what it knows of other servers", async () => {
  for (const includeContext of ["none", "thisServer", "allServers", 7]) {
    const [given] = await asked("sampling/createMessage", {
      ...{ messages: [], maxTokens: 9, includeContext },
      ...{ tools: [{ name: "t" }], toolChoice: { mode: "required" } },
    });
    expect(given).toEqual({ messages: [], maxTokens: 9, systemPrompt: "The server up asks:" });
  }
});

it("refuses a question that is longer than anybody reads, wherever its length is", async () => {
  const long = "word ".repeat(20_000);
  for (const params of [{ message: long }, { message: "a", requestedSchema: { properties: { a: { title: long } } } }])
    await expect(asked("elicitation/create", params)).rejects.toThrow("at most 64 KiB");
  await expect(asked("sampling/createMessage", { messages: [{ content: { text: long } }] })).rejects.toThrow("64 KiB");
});

it("names a host whose letters may look like others as machines write it", async () => {
  for (const host of ["\u0430pple.com", "xn--pple-43d.com", "login.\u0440aypal.com", "a.xn--80ak6aa92e"])
    expect(
      (await asked("elicitation/create", { mode: "url", url: `https://${host}/x`, message: "Log in" }))[0],
    ).toMatchObject({
      message: expect.stringMatching(/CAREFUL: the host of this page .* xn--|CAREFUL: .*xn--/) as string,
    });
  const [plain] = await asked("elicitation/create", { mode: "url", url: "https://apple.com/", message: "Log in" });
  expect(plain?.["message"]).toBe("The server up asks: Log in");
});
