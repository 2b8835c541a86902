// What an operator is told of a Redis that goes, is full, and comes back.
import { LocalError } from "@secure-local/mcp/client";
import { expect, it } from "vitest";
import { Presence } from "../../src/cluster/open-cluster.js";

const NAME = "redis://127.0.0.1:6379";

function presence(): { readonly presence: Presence; readonly said: string[] } {
  const said: string[] = [];
  return { said, presence: new Presence(NAME, (line) => said.push(line)) };
}

const full = (): Error =>
  new LocalError("UNREACHABLE", `${NAME} is full: raise its maxmemory`, {
    cause: new Error("OOM command not allowed"),
  });
const lost = (): Error => new LocalError("UNREACHABLE", `${NAME} cannot be reached: the connection was lost`);

it("a Redis that is full is so steadily, though it takes a sign of life now and then, and is said to be once", () => {
  const { presence: there, said } = presence();
  there.gone(full());
  for (let n = 0; n < 30; n++) {
    if (n % 4 === 3) there.gone(full());
    else there.back();
    expect(there.away).toBe(true);
  }
  expect(said).toEqual([expect.stringMatching(/^redis: redis:\/\/127.0.0.1:6379 is full: raise its maxmemory; until/)]);
  for (let n = 0; n < 10; n++) there.back();
  expect(there.away).toBe(false);
  expect(said).toHaveLength(2);
});

it("one that cannot be reached for a moment meanwhile is full yet", () => {
  const { presence: there, said } = presence();
  there.gone(full());
  there.gone(lost());
  there.back();
  expect([there.away, said.length]).toEqual([true, 1]);
});

it("one that was lost is back with its first sign of life", () => {
  const { presence: there, said } = presence();
  there.gone(lost());
  there.back();
  expect([there.away, said.length]).toEqual([false, 2]);
});

it.each([
  ["is full: raise its maxmemory", new Error("OOM command not allowed"), "Redis is full: raise its maxmemory"],
  ["cannot be reached: no answer within 2000 ms", undefined, "Redis cannot be reached: no answer within 2000 ms"],
  [
    "cannot be reached: the connection was refused; x",
    undefined,
    "Redis cannot be reached: the connection was refused",
  ],
  [
    "cannot be reached: connect ETIMEDOUT 10.0.0.2:6379",
    Object.assign(new Error("connect ETIMEDOUT 10.0.0.2:6379"), { code: "ETIMEDOUT" }),
    "Redis cannot be used (ETIMEDOUT)",
  ],
  ["needs a password: redis://:PASSWORD@host", new Error("NOAUTH x"), "Redis cannot be used (NOAUTH)"],
  ["cannot be reached: MOVED 1 10.0.0.2:6379", new Error("MOVED 1 10.0.0.2:6379"), "Redis cannot be used (MOVED)"],
  ["cannot be reached: 10.0.0.2", new Error("10.0.0.2"), "Redis cannot be used"],
])("tells anybody why without where: %s", (said, cause, why) => {
  const { presence: there } = presence();
  expect(there.why).toBeUndefined();
  there.gone(new LocalError("UNREACHABLE", `${NAME} ${said}`, { cause }));
  expect(there.why).toBe(why);
  there.gone(lost());
  expect(there.why).toBe("Redis cannot be reached: the connection was lost");
  for (let n = 0; n < 10; n++) there.back();
  expect(there.why).toBeUndefined();
});
