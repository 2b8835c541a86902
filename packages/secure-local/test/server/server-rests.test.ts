// Since when a server does not run, and whether a person stopped it or nobody calls it.
import { expect, it } from "vitest";
import { type ServerHealth, ServerRests } from "../../src/server/server-health.js";

const HEALTH = { name: "notes", state: "stopped", tools: 1, cause: "", remedy: "", hasLogin: false } as const;

it("tells one that nobody calls from one that a person stopped, each with its time", () => {
  const rests = new ServerRests();
  expect(rests.of(HEALTH)).toEqual({ ...HEALTH, state: "idle", since: undefined });
  rests.ended("notes");
  expect(rests.of(HEALTH)).toMatchObject({ state: "idle", since: expect.any(Number) as number });
  rests.stopped("notes");
  expect(rests.of(HEALTH)).toMatchObject({ state: "stopped", since: expect.any(Number) as number });
  rests.started("notes");
  expect(rests.of(HEALTH)).toEqual({ ...HEALTH, state: "idle", since: undefined });
  const ready: ServerHealth = { ...HEALTH, state: "ready" };
  expect(rests.of(ready)).toBe(ready);
});
