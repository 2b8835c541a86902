// What of a question goes to the caller of a server, and what of the answer goes to the server.
import fc from "fast-check";
import { expect, it } from "vitest";
import type { RelayedQuestion } from "@secure-local/mcp/gateway";
import type { JsonObject } from "@secure-local/mcp/jsonrpc";
import type { ServerGrant } from "../../src/policy/policy.js";
import { parsePolicy } from "../../src/policy/parse-policy.js";
import { isPage } from "../../src/server/server-links.js";
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
      attributed: (text) => (/allow this one/i.test(text) ? `[the server up says] ${text}` : text),
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

it("says of a page that is not on the internet what its host is", async () => {
  const inward: readonly (readonly [string, string])[] = [
    ...["127.0.0.1", "127.1", "2130706433", "[::1]", "[::ffff:127.0.0.1]"].map((host) => [host, "loopback"] as const),
    ...["10.0.0.7:8443", "192.168.1.1", "0xac100001", "[fd12::1]"].map((host) => [host, "private address"] as const),
    ...["169.254.7.7", "[fe80::1]"].map((host) => [host, "link-local"] as const),
    ...["localhost", "LOCALHOST.", "app.localhost"].map((host) => [host, "this machine"] as const),
    ...["router", "nas.local", "git.corp.internal"].map((host) => [host, "private network"] as const),
  ];
  for (const [host, what] of inward) {
    const [given] = await asked("elicitation/create", { mode: "url", url: `https://${host}/x`, message: "Log in" });
    expect(String(given?.["message"]), host).toMatch(
      new RegExp(`^The server up asks: Log in\nCAREFUL: .* is .*${what}`),
    );
  }
  for (const host of ["example.com", "1.1.1.1", "[2606:4700::1111]", "internal.example.com", "a.localhost.example"]) {
    const [given] = await asked("elicitation/create", { mode: "url", url: `https://${host}/`, message: "Log in" });
    expect(given?.["message"]).toBe("The server up asks: Log in");
  }
});

it("leads to no page with a name before its host, be it empty, and to none that hands out a machine's credentials", async () => {
  const policy = await parsePolicy(
    'version: "1.0"\nnetwork: { allowed_endpoints: [{ host: a.example, ports: [80] }] }',
    {
      file: "p.yaml",
      environment: {},
    },
  );
  const before = ["@", ":@", "a@", "a:b@", "@@", "%40@", "a.example@", "a.example:443@"];
  const metadata = [
    "169.254.169.254",
    "0xa9fea9fe",
    "[::ffff:169.254.169.254]",
    "[fd00:ec2::254]",
    "metadata.google.internal",
    "metadata.google.internal.",
  ];
  for (const scheme of ["https://", "HTTPS://", "https:///", "http://"]) {
    for (const name of before) expect(isPage(policy, `${scheme}${name}a.example/x`), scheme + name).toBe(false);
    for (const host of metadata) expect(isPage(policy, `${scheme}${host}/latest`), scheme + host).toBe(false);
  }
  for (const page of ["https://a.example/@x", "https://a.example/?a=b@c", "https://a.example#@", "http://a.example/@"])
    expect(isPage(policy, page), page).toBe(true);
});

/** Texts that hide in a question who asks it, and pass for our own. */
const POSING = fc.array(
  fc.oneof(
    fc.constantFrom(
      "\n".repeat(300),
      "\r\n \r\n",
      "\u2028",
      "\v\f",
      "\u0085\n",
      " ".repeat(500),
      "\u3000".repeat(99),
      "\t".repeat(40),
    ),
    fc.constantFrom(
      'Allow this one call of the tool "write_file"?',
      "Denied. The policy",
      "> ",
      "The server up asks: x",
      "a",
    ),
  ),
  { minLength: 1, maxLength: 12 },
);

it("has its server's name before each of its lines, whatever it consists of", async () => {
  await fc.assert(
    fc.asyncProperty(POSING, async (pieces) => {
      const [given] = await asked("elicitation/create", { message: pieces.join("") });
      const [first = "", ...below] = String(given?.["message"]).split(/\r\n|[\n\r\v\f\u0085\u2028\u2029]/);
      expect(first).toMatch(/^The server up asks:/);
      for (const line of below) expect(line).toMatch(/^>/);
      // As many lines as have words, each with one that has none behind it at most.
      expect(below.filter((line) => line.trim() === ">").length).toBeLessThanOrEqual(1 + below.length / 2);
      expect(String(given?.["message"])).not.toMatch(/\s{18}/);
    }),
    { numRuns: 60 },
  );
});

it("has labels that pass for nothing of ours, and the values that its server knows", async () => {
  const posing = "Allow this one call of the tool x?";
  const properties = {
    title: { type: "string", title: posing, description: `a\n${posing}`, minLength: 1 },
    one: { type: "string", enum: [posing], default: posing },
    two: { type: "string", oneOf: [{ const: posing, title: posing }] },
    plain: { type: "string", title: "Your name" },
  };
  const requestedSchema = { type: "object", properties, required: ["title"] };
  const [given] = await asked("elicitation/create", { message: "Fill in", requestedSchema });
  const by = (text: string): string => `[the server up says] ${text}`;
  expect(given?.["requestedSchema"]).toEqual({
    ...requestedSchema,
    properties: {
      ...properties,
      title: { ...properties.title, title: by(posing), description: by(`a\n${posing}`) },
      two: { type: "string", oneOf: [{ const: posing, title: by(posing) }] },
    },
  });
});
