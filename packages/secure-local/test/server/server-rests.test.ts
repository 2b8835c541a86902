// Since when a server does not run, and whether a person stopped it or nobody calls it.
import { expect, it } from "vitest";
import { failureLines, type ServerHealth, ServerRests } from "../../src/server/server-health.js";

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

it("tells a failure line by line, and nothing of how it was tried in other revisions", () => {
  const message =
    "it exited with status 3. The end of its standard error:\n  first\n  second Before that: server/discover over stdio: it ended.";
  expect(failureLines("bad", message)).toEqual([
    "server bad: it exited with status 3. The end of its standard error:",
    "  | first",
    "  | second",
  ]);
});
