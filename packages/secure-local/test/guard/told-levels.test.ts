// What the guard tells callers goes to those who want messages of its level, and to nobody else.
import { expect, it } from "vitest";
import { call, guardedServer } from "./guarded-server.js";

const LEVELS = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];

it.each(LEVELS)("tells of a slow call and of a refusal as the level %s wants", async (level) => {
  const { connect, tools, clock } = await guardedServer();
  tools["ask"] = () => {
    clock.now += 4_000;
    return "done";
  };
  const peer = await connect({ revision: "2025-11-25" });
  await peer.request("logging/setLevel", { level });
  await call(peer, "ask");
  await call(peer, "not_listed").catch(() => undefined);
  const told = peer.messages
    .filter(({ method }) => method === "notifications/message")
    .map(({ params }) => (params as { readonly level: string }).level);
  const wanted = ["notice", "warning"].filter((each) => LEVELS.indexOf(each) >= LEVELS.indexOf(level));
  expect(told).toEqual(wanted);
});
