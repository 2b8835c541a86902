// Resources and prompts of mounted servers are asked about like their tools, and nothing is started or sent before the answer.
import { afterEach, beforeEach, expect, it } from "vitest";
import { everyKind, Fleet } from "./fleet.js";

let fleet: Fleet;
beforeEach(() => {
  fleet = new Fleet();
  fleet.make("every", () => everyKind());
});
afterEach(() => fleet.close());

const ASKS: Readonly<Record<string, object>> = {
  "tools/call": { name: "every__num", arguments: {} },
  "prompts/get": { name: "every__pr", arguments: { q: "x" } },
  "resources/read": { uri: "note://a" },
};
const TEMPLATE = { uri: "memo://7" };
const ASKED = /needs a person's consent/;

async function told(rule: string, revision: string, first?: string): Promise<string[]> {
  const policy = await fleet.policy(
    `tools: { allowed: ["every__*"] }\nprompts: { allowed: ["every__*"] }\nresources: { allowed: ["note://*", "memo://*"] }
sandbox: none\napprovals: [${rule}]`,
  );
  await fleet.approve(policy);
  await fleet.serve(policy);
  const peer = await fleet.client(revision);
  if (first !== undefined) await peer.request(first, { ...ASKS[first] });
  const asks = [...Object.entries(ASKS), ["resources/read", TEMPLATE] as const];
  const answers = asks.map(([method, params]) =>
    peer.request(method, { ...params }).then(JSON.stringify, (error: Error) => error.message),
  );
  return Promise.all(answers);
}

it.each(["2025-06-18", "2026-07-28"])(
  "asks about each of them before a server is started, in revision %s",
  async (revision) => {
    for (const answer of await told("{ approve: all }", revision)) expect(answer).toMatch(ASKED);
    expect([fleet.starts, fleet.asked]).toEqual([[], []]);
  },
);

it("asks by name, and lets pass what no rule names", async () => {
  const [tool, prompt, resource, template] = await told('{ approve: ["every__pr"] }', "2025-11-25");
  expect(prompt).toMatch(ASKED);
  expect([tool, resource, template].filter((answer) => ASKED.test(answer ?? ""))).toEqual([]);
  const sent = fleet.asked.filter((method) => !method.endsWith("listen"));
  expect(sent.toSorted()).toEqual(["every resources/read", "every resources/read", "every tools/call"]);
});

it("asks before what could carry away what the session has read, a URI as well", async () => {
  for (const answer of await told("{ approve: tainted }", "2025-11-25", "resources/read"))
    expect(answer).toMatch(ASKED);
  expect(fleet.asked.filter((method) => !method.endsWith("listen"))).toEqual(["every resources/read"]);
});

/** What tells a server of a URI or a value without reading it. */
const REACHES: Readonly<Record<string, readonly (readonly [method: string, params: object])[]>> = {
  "2025-11-25": [
    ["resources/subscribe", { uri: "note://a" }],
    ["resources/subscribe", { uri: "memo://what-was-read" }],
  ],
  "2026-07-28": [
    ["subscriptions/listen", { notifications: { resourceSubscriptions: ["note://a"] } }],
    ["subscriptions/listen", { notifications: { resourceSubscriptions: ["memo://what-was-read"] } }],
  ],
};
const COMPLETIONS = [
  { ref: { type: "ref/resource", uri: "memo://{id}" }, argument: { name: "id", value: "what-was-read" } },
  { ref: { type: "ref/prompt", name: "every__pr" }, argument: { name: "q", value: "what-was-read" } },
];

it.each(Object.keys(REACHES))(
  "tells a server nothing by a subscription that a read would be asked about, in revision %s",
  async (revision) => {
    for (const [rule, first] of [["{ approve: all }"], ["{ approve: tainted }", "resources/read"]] as const) {
      await told(rule, revision, first);
      const peer = await fleet.client(revision);
      if (first !== undefined) await peer.request(first, { ...ASKS[first] }).catch(() => undefined);
      const before = fleet.asked.filter((method) => !/listen|read/.test(method)).length;
      for (const [method, params] of REACHES[revision] ?? [])
        await expect(peer.request(method, { ...params }), `${rule} ${method}`).rejects.toThrow(ASKED);
      for (const params of COMPLETIONS)
        expect(await peer.request("completion/complete", { ...params })).toMatchObject({ completion: { values: [] } });
      expect(fleet.asked.filter((method) => !/listen|read/.test(method)).length).toBe(before);
      const kinds = fleet.audit.records().map(({ kind }) => kind);
      expect(kinds).toContain("approval.denied");
    }
  },
);

it("passes subscriptions and completions on where no rule asks", async () => {
  await told('{ approve: ["every__num"] }', "2025-11-25");
  const peer = await fleet.client("2025-11-25");
  await peer.request("resources/subscribe", { uri: "memo://7" });
  const [params] = COMPLETIONS;
  expect(await peer.request("completion/complete", { ...params })).toMatchObject({
    completion: { values: ["completed"] },
  });
});

it.each(Object.keys(REACHES))(
  "tells a server nothing when its caller goes away while a person is asked, in revision %s",
  async (revision) => {
    const policy = await fleet.policy(
      `resources: { allowed: ["note://*", "memo://*"] }\nsandbox: none\napprovals: [{ approve: all, answer_by: [terminal] }]`,
    );
    await fleet.approve(policy);
    for (const [method, params] of REACHES[revision] ?? []) {
      let asked: () => void = () => undefined;
      const waiting = new Promise<void>((resolve) => (asked = resolve));
      let ended: () => void = () => undefined;
      const over = new Promise<void>((resolve) => (ended = resolve));
      const channel = {
        ask: async (_: unknown, signal: AbortSignal) => {
          asked();
          await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
          ended();
          return { answer: undefined, reason: "gone" } as const;
        },
      };
      fleet.secure = fleet.part(policy, { channel });
      await fleet.secure.serversReady;
      const peer = await fleet.client(revision);
      const answer = peer.request(method, { ...params }).catch(() => undefined);
      await waiting;
      await peer.close();
      await Promise.all([answer, over]);
      await expect.poll(() => fleet.audit.records().map(({ outcome }) => outcome)).toContain("cancelled");
      expect(fleet.asked).toEqual([]);
    }
  },
);
