// The official clients against the server with every feature: each client uses all that its revision has.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { askingBehaviour } from "./asking-behaviour.js";
import { CLIENTS } from "./clients.js";
import { offerBehaviour } from "./offer-behaviour.js";
import type { OfficialClient } from "./official-client.js";
import { toolBehaviour } from "./tool-behaviour.js";
import { workingBehaviour } from "./working-behaviour.js";

const EVERYTHING = { args: ["examples/everything/server.mjs"] };

describe.each(CLIENTS)("examples/everything with $name", ({ revision, connect }) => {
  let connected: OfficialClient;
  const client = (): OfficialClient => connected;
  const has = (since: string): boolean => revision >= since;

  beforeAll(async () => {
    connected = await connect(EVERYTHING);
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
