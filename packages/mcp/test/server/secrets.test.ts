// What nobody expected says nothing of itself to the peer, and everything to the log.
import { describe, expect, it } from "vitest";
import { Server } from "@secure-local/mcp/server";
import { connect } from "../support/connect.js";
import { repeated, soaking } from "../support/soak.js";

const REVISIONS = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"];
const SECRET = "hunter2";

/** Everything people throw. */
const THROWN: readonly (() => unknown)[] = [
  () => new Error(`the password is ${SECRET}`),
  () => new TypeError(SECRET, { cause: new Error(SECRET) }),
  () => Object.assign(new Error(SECRET), { code: -32602, data: SECRET }),
  () => SECRET,
  () => ({ message: SECRET, code: -32602 }),
  () => [SECRET],
  () => new AggregateError([new Error(SECRET)], SECRET),
  () => Object.assign(Object.create(null) as object, { secret: SECRET }),
  () => Symbol(SECRET),
  () => new DOMException(SECRET, "AbortError"),
];

function leaky(thrown: () => unknown, how: "now" | "later", reports: string[]): Server {
  const report = (_level: string, message: string, details?: Readonly<Record<string, unknown>>): void => {
    reports.push(`${message} ${String(details?.["errorId"])}`);
  };
  const server = new Server({ name: "s", version: "1", report });
  const leak = (): never => {
    throw thrown();
  };
  const run = how === "now" ? leak : (): Promise<never> => Promise.resolve().then(leak);
  server.tool("leak", { run });
  server.prompt("leak", { arguments: { a: { complete: run } }, run });
  server.resource("test://leak", { read: run });
  server.resourceTemplate("test://leak/{x}", { read: run, complete: { x: run } });
  server.method("example.com/leak", run);
  server.use((call, next) => (call.method === "tools/list" ? run() : next()));
  return server;
}

const REQUESTS: readonly (readonly [string, Record<string, unknown>])[] = [
  ["tools/call", { name: "leak" }],
  ["prompts/get", { name: "leak" }],
  ["resources/read", { uri: "test://leak" }],
  ["resources/read", { uri: "test://leak/x" }],
  ["completion/complete", { ref: { type: "ref/prompt", name: "leak" }, argument: { name: "a", value: "" } }],
  [
    "completion/complete",
    { ref: { type: "ref/resource", uri: "test://leak/{x}" }, argument: { name: "x", value: "" } },
  ],
  ["example.com/leak", {}],
  ["tools/list", {}],
];

const WAYS = ["now", "later"] as const;
const EXCEPTIONS = repeated(80, 160);

describe.each(REVISIONS.map((revision, at) => [revision, at] as const))("in %s", (revision, at) => {
  it(`${EXCEPTIONS} exceptions reach the peer as ids and the log as they are`, async () => {
    let ids = 0;
    for (const [index, thrown] of THROWN.entries()) {
      // In a usual run by one of the ways, by the other in the next revision.
      for (const how of soaking ? WAYS : [WAYS[(index + at) % 2] ?? "now"]) {
        const reports: string[] = [];
        const peer = await connect(leaky(thrown, how, reports), { revision });
        const answers = await Promise.allSettled(REQUESTS.map(([method, params]) => peer.request(method, params)));
        const wire = JSON.stringify(peer.messages);
        expect(wire).not.toContain(SECRET);
        expect(wire).not.toMatch(/\bat .*\.ts|node_modules|stack/);
        const told = [...wire.matchAll(/error id ([0-9a-f]{8})/g)].map((match) => match[1]);
        expect(told).toHaveLength(REQUESTS.length);
        for (const id of told) expect(reports.join("\n")).toContain(id);
        expect(answers[0]).toMatchObject({ status: "fulfilled", value: { isError: true } });
        for (const answer of answers.slice(1)) expect(answer).toMatchObject({ reason: { code: -32603 } });
        ids += told.length;
      }
    }
    expect(ids).toBe(EXCEPTIONS);
  });
});

it("results that JSON cannot carry are exceptions, too", async () => {
  const circular: Record<string, unknown> = { [SECRET]: 1 };
  circular["self"] = circular;
  const server = new Server({ name: "s", version: "1" });
  const returned: readonly unknown[] = [circular, { big: 10n }, () => SECRET, Symbol(SECRET)];
  server.method("example.com/nothing", () => undefined as never);
  server.method("example.com/list", () => [] as never);
  server.use((call, next) => (call.method === "ping" ? (undefined as never) : next()));
  returned.forEach((value, n) => {
    server.tool(`t${n}`, { run: () => value as object });
    server.method(`example.com/m${n}`, () => value as Record<string, unknown>);
  });
  const peer = await connect(server, { revision: "2025-11-25" });
  for (const n of returned.keys()) {
    expect(await peer.request("tools/call", { name: `t${n}` })).toMatchObject({ isError: true });
    await expect(peer.request(`example.com/m${n}`)).rejects.toMatchObject({ code: -32603 });
  }
  for (const method of ["ping", "example.com/nothing", "example.com/list"]) {
    await expect(peer.request(method)).rejects.toMatchObject({ code: -32603 });
  }
  expect(JSON.stringify(peer.messages)).not.toContain(SECRET);
});
