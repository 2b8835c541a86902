// The end of a session is told to its server where the policy in force still has that very entry, and to nobody else.
import { setTimeout as wait } from "node:timers/promises";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import type { ServerGrant } from "../../src/policy/policy.js";
import { type Logins, upstreamOf } from "../../src/server/open-server.js";
import { Guarded } from "./forgetful.js";

let house: Guarded;
beforeEach(async () => {
  house = new Guarded();
  await house.upstream.listen();
  vi.stubEnv("FIRST_KEY", "first-secret-value-1234567");
  vi.stubEnv("SECOND_KEY", "second-secret-value-1234567");
});
afterEach(async () => {
  await house.close();
  vi.unstubAllEnvs();
});

const HEADERS = ', headers: { X-Key: "${secret:key}" }';
const secrets = (from: string, hosts: readonly string[] = ["127.0.0.1", "localhost"]): string => {
  const named = hosts.map((host) => `{ host: ${host}, ports: [${house.upstream.port}] }`).join(", ");
  return `secrets: { key: { from: "env:${from}", hosts: [${named}] } }\n`;
};
const elsewhere = '  other: { url: "http://127.0.0.1:1/mcp" }\n';

/** Policies that have not the entry any more by which the session was opened. */
const CHANGES: Readonly<Record<string, () => readonly [entries: string, more: string]>> = {
  "is gone": () => [elsewhere, secrets("FIRST_KEY")],
  "is gone with its secret": () => [elsewhere, ""],
  "is disabled": () => [house.entry(`${HEADERS}, enabled: false`), secrets("FIRST_KEY")],
  "has another URL": () => [house.entry(HEADERS).replace("/mcp", "/other"), secrets("FIRST_KEY")],
  "has another host": () => [house.entry(HEADERS).replace("127.0.0.1", "localhost"), secrets("FIRST_KEY")],
  "has another secret": () => [house.entry(HEADERS), secrets("SECOND_KEY")],
  "has a secret for fewer hosts": () => [house.entry(HEADERS), secrets("FIRST_KEY", ["127.0.0.1"])],
  "has other headers": () => [house.entry(HEADERS.replace("X-Key", "X-Other")), secrets("FIRST_KEY")],
  "has no headers": () => [house.entry(), ""],
  "is offline": () => [house.entry(HEADERS), `${secrets("FIRST_KEY")}network: { offline: true }\n`],
};

const opened = async (): Promise<void> => {
  await house.serve(await house.policy(house.entry(HEADERS), secrets("FIRST_KEY")));
  expect(await house.call("before")).toBe("said before");
};

it.each(Object.keys(CHANGES).flatMap((change) => [true, false].map((streams) => ({ change, streams }))))(
  "nothing is sent to a server whose entry $change, with a stream of its own: $streams",
  async ({ change, streams }) => {
    const { upstream } = house;
    upstream.streams = streams;
    await opened();
    const [requests, connections] = [upstream.asked.length, upstream.connections];
    const [entries, more] = (CHANGES[change] as () => readonly [string, string])();
    house.secure.reload(await house.policy(entries, more));
    await house.secure.serversReady;
    await wait(100);
    await house.secure.stop();
    expect(upstream.asked.slice(requests)).toEqual([]);
    expect(upstream.connections).toBe(connections);
  },
);

it.each([
  ["it stops", ""],
  ["another part of the policy changed", "menu: search\n"],
  ["the entry stands in another line", "\n# a comment\n\n"],
])("a server is told that its session is over when %s", async (_, more) => {
  const { upstream } = house;
  await opened();
  if (more !== "")
    house.secure.reload(
      await house.policy(
        `${more.startsWith("\n") ? more : ""}${house.entry(HEADERS)}`,
        secrets("FIRST_KEY") + (more.startsWith("\n") ? "" : more),
      ),
    );
  await house.secure.serversReady;
  expect(upstream.asked.filter(({ method }) => method === "DELETE")).toEqual([]);
  await house.secure.stop();
  const ends = upstream.asked.filter(({ method }) => method === "DELETE");
  expect(ends).toMatchObject([
    { session: expect.stringMatching(/^session-/), headers: { "x-key": "first-secret-value-1234567" } },
  ]);
});

it("a server is told so when it is started anew by a person", async () => {
  const { upstream } = house;
  await opened();
  await house.secure.restartServer("notes");
  await expect.poll(() => upstream.asked.filter(({ method }) => method === "DELETE")).toHaveLength(1);
});

it.each(["is gone", "is disabled", "has another URL", "has other headers"])(
  "its login is renewed for nobody whose entry %s",
  async (change) => {
    const { upstream } = house;
    let policy = await house.policy(house.entry(`${HEADERS}, login: oauth`), secrets("FIRST_KEY"));
    const records: unknown[] = [];
    let fetching!: Parameters<Logins>[1];
    const logins: Logins = (_url, fetch) => Promise.resolve(void (fetching = fetch));
    const record = (event: unknown): Promise<void> => Promise.resolve(void records.push(event));
    const grant = policy.servers.get("notes") as ServerGrant;
    await upstreamOf(grant, { policy, program: "", current: () => policy, logins, record });
    const token = `http://127.0.0.1:${upstream.port}/token`;
    await fetching(token, {});
    expect([upstream.asked.length, records.length]).toEqual([1, 1]);
    policy = await house.policy(...(CHANGES[change] as () => readonly [string, string])());
    await expect(fetching(token, {})).rejects.toThrow(/^Denied\. What the entry of notes was opened by/);
    expect([upstream.asked.length, records.length]).toEqual([1, 2]);
    expect(records[1]).toMatchObject({ kind: "server.login", outcome: "denied" });
  },
);
