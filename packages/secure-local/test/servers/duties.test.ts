// Each method of each revision, and each duty of the guard: who reaches something is refused, counted, asked about and recorded.
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { REVISIONS } from "../../../mcp/src/protocol/revisions/all.js";
import { everyKind, Fleet } from "./fleet.js";

/** What reaches a thing of a server, with what is asked of it. A new method has to be put here or below. */
const REACHING: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  "tools/call": { name: "every__num", arguments: {} },
  "prompts/get": { name: "every__pr", arguments: { q: "x" } },
  "resources/read": { uri: "note://a" },
  "resources/subscribe": { uri: "note://a" },
  "subscriptions/listen": { notifications: { resourceSubscriptions: ["note://a", "memo://7"] } },
  "completion/complete": {
    ref: { type: "ref/resource", uri: "memo://{id}" },
    argument: { name: "id", value: "a" },
  },
};

/** What reaches nothing, and why. */
const REACHING_NOTHING: Readonly<Record<string, string>> = {
  initialize: "opens a session",
  ping: "says that somebody is there",
  "server/discover": "says what there is",
  "tools/list": "is a list",
  "prompts/list": "is a list",
  "resources/list": "is a list",
  "resources/templates/list": "is a list",
  "logging/setLevel": "is about the caller's own messages",
  "resources/unsubscribe": "gives up what is on record",
  "tasks/list": "is about calls that are on record",
  "tasks/get": "is about a call that is on record",
  "tasks/result": "is about a call that is on record",
  "tasks/cancel": "gives up a call that is on record",
  "tasks/update": "answers what a call on record asked",
};

const methodsOf = (revision: string): string[] => [
  ...(REVISIONS.find(({ date }) => date === revision)?.methods.keys() ?? []),
];
const CASES = REVISIONS.flatMap(({ date }) =>
  methodsOf(date)
    .filter((method) => method in REACHING)
    .map((method) => [date, method] as const),
);
/** How many things one request of a method reaches. */
const things = (method: string): number => (method === "subscriptions/listen" ? 2 : 1);
const ALLOWED = `tools: { allowed: ["every__*"] }\nprompts: { allowed: ["every__*"] }
resources: { allowed: ["note://*", "memo://*"] }`;

it("knows of every method what it reaches", () => {
  const all = REVISIONS.flatMap(({ date }) => methodsOf(date));
  expect([...new Set(all)].filter((method) => !(method in REACHING) && !(method in REACHING_NOTHING))).toEqual([]);
});

describe.each(CASES)("%s %s", (revision, method) => {
  let fleet: Fleet;
  beforeEach(() => {
    fleet = new Fleet();
    fleet.make("every", () => everyKind());
  });
  afterEach(() => fleet.close());

  async function served(body: string) {
    const policy = await fleet.policy(`${body}\nsandbox: none`);
    await fleet.approve(policy);
    await fleet.serve(policy);
    return fleet.client(revision);
  }
  const records = (kind: string) =>
    fleet.audit.records().filter((each) => each["kind"] === kind && each["method"] === method);
  /** The answer, or what is said of a stream that has begun. */
  const answered = async (peer: Awaited<ReturnType<typeof served>>): Promise<string> => {
    const said = [peer.request(method, { ...REACHING[method] }).then(JSON.stringify, String)];
    if (method === "subscriptions/listen")
      said.push(peer.next((each) => each.method === "notifications/subscriptions/acknowledged").then(() => "begun"));
    return Promise.race(said);
  };

  it("is on record as meant before it is done, and as it ended", async () => {
    const peer = await served(ALLOWED);
    await answered(peer);
    expect(records("call.intent").length).toBe(things(method));
    await peer.close();
    await expect.poll(() => records("call.result").length).toBe(things(method));
    const ends = records("call.result").map(({ outcome }) => outcome);
    expect(ends).toEqual(Array<string>(things(method)).fill("ok"));
  });

  it("reaches nothing while it cannot be recorded", async () => {
    const peer = await served(ALLOWED);
    fleet.audit.failure = new Error("the disk is full");
    expect(await answered(peer)).toContain("Not run: the audit log is unavailable");
    expect([fleet.starts, fleet.asked]).toEqual([[], []]);
  });

  it("is refused where the policy denies it, and on record", async () => {
    // Where nothing is left that can be completed, there is no such method.
    const prompts = method === "prompts/get" ? "" : 'prompts: { allowed: ["every__*"] }';
    const peer = await served(`${prompts}\ntools: { allowed: ["every__*"], denied: ["every__num"] }
resources: { allowed: ["note://*", "memo://*"], denied: ["note://a", "memo://*"] }`);
    expect(await answered(peer)).toMatch(/Denied\./);
    expect(records("denied").length).toBe(1);
    expect([fleet.starts, fleet.asked, records("call.intent")]).toEqual([[], [], []]);
  });

  it("is asked about where the policy says so", async () => {
    const peer = await served(`${ALLOWED}\napprovals: [{ approve: all }]`);
    const answer = await answered(peer);
    // Nobody is asked while somebody types.
    if (method === "completion/complete") expect(answer).toContain('"values":[]');
    else expect(answer).toMatch(/needs a person's consent/);
    expect([fleet.starts, fleet.asked]).toEqual([[], []]);
  });
});

it("counts each resource that one request subscribes to", async () => {
  const fleet = new Fleet();
  fleet.make("every", () => everyKind());
  const policy = await fleet.policy(`${ALLOWED}\nsandbox: none`);
  await fleet.approve(policy);
  await fleet.serve(policy);
  const peer = await fleet.client("2026-07-28");
  const resourceSubscriptions = Array.from({ length: 6_100 }, (_, at) => `memo://${at}`);
  const listen = peer.request("subscriptions/listen", { notifications: { resourceSubscriptions } });
  await expect(listen).rejects.toThrow(/Too many requests/);
  expect(fleet.starts).toEqual([]);
  await fleet.close();
});
