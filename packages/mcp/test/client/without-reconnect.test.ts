// A client without `reconnect`: nothing is opened anew and nothing is sent again, and the end of a session is the end of the client.
import { expect, it } from "vitest";
import { Client } from "../../src/client/client.js";
import { code, said, type Script, ScriptedServer, serving, type Talk } from "./scripted-server.js";

async function connected(revision: string, script: Script): Promise<{ client: Client; scripted: ScriptedServer }> {
  const scripted = new ScriptedServer(serving(revision, script));
  const client = await Client.connect(scripted.dialer("http"), { verdicts: false, reconnect: false });
  return { client, scripted };
}

interface Refusal {
  readonly revision: string;
  refuse(talk: Talk): void;
  readonly code: unknown;
}

const REFUSALS: Readonly<Record<string, Refusal>> = {
  "its session is unknown": {
    revision: "2025-11-25",
    refuse: (talk) => talk.lost("SESSION_EXPIRED"),
    code: "SESSION_EXPIRED",
  },
  "its version is not spoken": {
    revision: "2026-07-28",
    refuse: (talk) => talk.fail({ code: -32022, data: { supported: ["2026-07-28"], requested: "2026-07-28" } }, 400),
    code: -32022,
  },
};
it.each(
  Object.keys(REFUSALS).flatMap((why) =>
    ["tools/call", "tools/list", "resources/read"].map((method) => [why, method] as const),
  ),
)("nothing is opened and nothing sent again where %s, for %s", async (why, method) => {
  const { revision, refuse, code: expected } = REFUSALS[why] as Refusal;
  const { client, scripted } = await connected(revision, (_message, talk) => refuse(talk));
  const opened = scripted.methods.length;
  const params = method === "resources/read" ? { uri: "a:b" } : { name: "x" };
  expect(await code(client.request(method, params))).toBe(expected);
  expect(scripted.methods.slice(opened)).toEqual([method]);
  if (expected !== "SESSION_EXPIRED") return client.close();
  await expect(client.closed).resolves.toMatchObject({ code: "SESSION_EXPIRED" });
  expect(scripted.open).toBe(0);
  await expect(client.call("x")).rejects.toMatchObject({ code: "SESSION_EXPIRED", unsent: true });
  expect(scripted.methods.slice(opened)).toEqual([method]);
});

it("a session that is over ends the client when the requests under way are over, and none before", async () => {
  const waiting: Talk[] = [];
  const { client, scripted } = await connected("2025-11-25", ({ params }, talk) =>
    params?.["name"] === "slow" ? void waiting.push(talk) : talk.lost("SESSION_EXPIRED"),
  );
  const slow = client.call("slow");
  expect(await code(client.call("x"))).toBe("SESSION_EXPIRED");
  expect(scripted.open).toBe(1);
  waiting[0]?.answer(said("late"));
  await expect(slow).resolves.toMatchObject(said("late"));
  await expect(client.closed).resolves.toMatchObject({ code: "SESSION_EXPIRED" });
  expect(scripted.open).toBe(0);
});
