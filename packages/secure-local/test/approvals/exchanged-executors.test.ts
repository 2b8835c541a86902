// Consent is given for the program that would do it: one that takes its place does nothing on it, remembered or waited for.
import { Server } from "@secure-local/mcp/server";
import { connectInMemory } from "@secure-local/mcp/testing";
import { afterAll, describe, expect, it } from "vitest";
import { exchangedExecutors } from "../../../../scorecard/support/exchanged-executors.mjs";
import { MemoryAudit } from "../../src/audit/event-text.js";
import { parsePolicy } from "../../src/policy/parse-policy.js";
import { SecureServer } from "../../src/server/secure-server.js";
import { Fleet } from "../servers/fleet.js";

interface Exchanges {
  readonly cases: readonly { readonly name: string; run(): Promise<true | string> }[];
  remove(): void;
}

const { cases, remove } = (await exchangedExecutors({
  ...{ connectInMemory, Fleet, MemoryAudit, parsePolicy, SecureServer, Server },
})) as Exchanges;
afterAll(remove);

describe("a consent", () => {
  it.each([...cases])("$name", async ({ run }) => expect(await run()).toBe(true), 60_000);
});
