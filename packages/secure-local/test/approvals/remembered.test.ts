// What a person sees of the answers that are remembered: each as a whole, the last one first.
import type { Caller } from "@secure-local/mcp/server";
import { expect, it } from "vitest";
import { type RememberedConsent, RememberedConsents } from "../../src/guard/approvals/remembered.js";
import type { Remember } from "../../src/policy/policy.js";

const DIGEST = Array.from({ length: 64 }, (_, at) => (at % 16).toString(16)).join("");
const GIVEN = {
  tool: "send",
  about: `${"a".repeat(4_000)}b`,
  client: "c 1",
  principal: "ada",
  actor: "",
  profile: "",
  by: "client",
  policy: "p1",
} as const;
const MINUTES: Remember = { kind: "minutes", minutes: 10 };
const caller = {} as Caller;

it("is all that it was given for, until when it holds, and under which policy", async () => {
  let now = 0;
  const consents = new RememberedConsents(() => now, undefined);
  const add = (id: string, at: number, remember: Remember, digest: string): Promise<void> =>
    consents.add({ consent: { digest, rules: ["r"] }, caller, remember, sharedKey: undefined }, { ...GIVEN, id, at });
  await add("q1", 1_000, MINUTES, DIGEST);
  await add("q2", 2_000, { kind: "session" }, `f${DIGEST.slice(1)}`);
  const shown = { ...GIVEN, about: "a".repeat(4_000), used: 0, isVoid: false };
  const one: RememberedConsent = { ...shown, id: "q1", at: 1_000, until: 601_000, call: "0123456789abcdef" };
  const two: RememberedConsent = { ...shown, id: "q2", at: 2_000, call: "f123456789abcdef" };
  expect(await consents.all({ hash: "p1", profile: "" })).toEqual([two, one]);
  expect(await consents.all({ hash: "p2", profile: "" })).toEqual(
    [two, one].map((each) => ({ ...each, isVoid: true })),
  );
  expect(await consents.all({ hash: "p1", profile: "work" })).toEqual([]);
  now = 600_000;
  expect(await consents.all({ hash: "p1", profile: "" })).toEqual([two]);
  await consents.forget("q2");
  expect(await consents.all({ hash: "p1", profile: "" })).toEqual([]);
});
