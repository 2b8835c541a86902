// The official clients against the server with every feature: each client uses all that its revision has.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { soaking } from "../support/soak.js";
import { askingBehaviour } from "./asking-behaviour.js";
import { CLIENTS } from "./clients.js";
import { offerBehaviour } from "./offer-behaviour.js";
import { EVERYTHING, EVERYTHING_HERE, type OfficialClient, type Target } from "./official-client.js";
import { toolBehaviour } from "./tool-behaviour.js";
import { workingBehaviour } from "./working-behaviour.js";

/** Each revision once, each generation of the SDK over stdio. What is left out of it the long run has, as a program. */
const USUAL: Readonly<Record<string, Target>> = {
  v1: EVERYTHING,
  "v1 asking for 2025-03-26": EVERYTHING_HERE,
  "v2 asking for 2025-06-18": EVERYTHING_HERE,
  "v2 asking for 2024-11-05": EVERYTHING_HERE,
  "v2 auto": EVERYTHING,
};
const SHOWN = soaking ? CLIENTS : CLIENTS.filter(({ name }) => name in USUAL);

it("the usual run has every revision", () => {
  const usual = CLIENTS.filter(({ name }) => name in USUAL).map(({ revision }) => revision);
  expect(new Set(usual)).toEqual(new Set(CLIENTS.map(({ revision }) => revision)));
});

describe.each(SHOWN)("examples/everything with $name", ({ name, revision, connect }) => {
  let connected: OfficialClient;
  const client = (): OfficialClient => connected;
  const has = (since: string): boolean => revision >= since;

  beforeAll(async () => {
    connected = await connect(USUAL[name] ?? EVERYTHING);
  });
  afterAll(() => connected.close());

  it("agrees on the revision and says who it is", () => {
    expect(connected.revision).toBe(revision);
    expect(connected.server).toMatchObject({ name: "everything", version: "1.0.0" });
    expect(connected.server?.title).toBe(has("2025-06-18") ? "Everything" : undefined);
    expect(connected.server?.icons?.length).toBe(has("2025-11-25") ? 1 : undefined);
    expect(connected.instructions).toBe("Try the tools: each shows one feature.");
    expect(connected.capabilities).toEqual({
      tools: { listChanged: true },
      prompts: { listChanged: true },
      resources: { subscribe: true, listChanged: true },
      logging: {},
      ...(has("2025-03-26") ? { completions: {} } : {}),
    });
  });

  toolBehaviour(client, has);
  offerBehaviour(client, has);
  workingBehaviour(client, has);
  askingBehaviour(client, has);

  it("wrote nothing that the revision's own schema refuses, and answered all but what was cancelled", () => {
    expect(connected.tap.faults(revision)).toEqual([]);
    const listens = has("2026-07-28") ? ["subscriptions/listen", "subscriptions/listen"] : [];
    expect(connected.tap.unanswered().sort()).toEqual([...listens, "tools/call"]);
  });
});
