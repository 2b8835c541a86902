// Somebody who left the file of tokens: what they had running and waiting ends, also at the server behind it, and is recorded once.
import { createHash } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { Server } from "@secure-local/mcp/server";
import { afterEach, beforeEach, expect, it } from "vitest";
import { MemoryAudit } from "../../src/audit/event-text.js";
import { followTokensFile, namedTokens } from "../../src/cli/named-tokens.js";
import { ProfileServers } from "../../src/cli/serve-profiles.js";
import { KnownPeople } from "../../src/server/http-options.js";
import { temporaryFolder } from "../audit/temporary-folder.js";
import { Fleet } from "../servers/fleet.js";

let fleet: Fleet;
beforeEach(() => {
  fleet = new Fleet();
});
afterEach(() => fleet.close());

const input = { type: "object" } as const;
const ABLE = { elicitation: {}, extensions: { "io.modelcontextprotocol/tasks": {} } };
const line = (name: string): string => `${name}: ${createHash("sha256").update(name.repeat(20)).digest("hex")}\n`;

/** A server whose jobs run until they are ended. */
function jobs(ended: string[]): Server {
  const server = new Server({ name: "jobs", version: "1" });
  server.tool("long", {
    input,
    task: "required",
    run: (_args, ctx) =>
      new Promise((_, reject) => {
        ctx.signal.addEventListener("abort", () => {
          ended.push("long");
          reject(ctx.signal.reason);
        });
      }),
  });
  return server;
}

function asks(): Server {
  const server = new Server({ name: "asks", version: "1" });
  server.tool("ask", {
    input,
    run: async (_args, ctx) => {
      const { content } = await ctx.elicit({ message: "Who?", schema: { name: { type: "string" } } });
      return `for ${String(content?.name)}`;
    },
  });
  return server;
}

/** Follows a file of tokens as `serve` does, without a listener. */
function following(file: string) {
  const people = new KnownPeople(namedTokens(file));
  const audit = new MemoryAudit();
  const profiles = new ProfileServers(
    fleet.secure,
    () => fleet.secure,
    () => undefined,
  );
  const said: string[] = [];
  const stop = followTokensFile(people, file, {
    serving: { endSessions: () => Promise.resolve() },
    audit,
    say: (text) => void said.push(text),
    profiles,
  });
  return { audit, people, said, stop };
}

it("ends the tasks and the questions of who is gone at every server, once, and of nobody else", async () => {
  const ended: string[] = [];
  fleet.make("jobs", () => jobs(ended));
  fleet.make("asks", asks);
  const policy = await fleet.policy('tools: { allowed: ["jobs__*", "asks__*"] }\nsandbox: none', {
    asks: ", may_ask: [elicitation]",
  });
  await fleet.approve(policy);
  await fleet.serve(policy);
  const file = join(temporaryFolder(), "tokens");
  writeFileSync(file, line("ada") + line("ben"), { mode: 0o600 });
  const { audit, said, stop } = following(file);
  const client = (principal: string) => fleet.client("2026-07-28", { principal, capabilities: ABLE });
  const [ada, ben] = [await client("ada"), await client("ben")];
  const call = (peer: typeof ada, name: string, more: object = {}) =>
    peer.request("tools/call", { name, arguments: {}, ...more });
  const [hers, his] = [await call(ada, "jobs__long"), await call(ben, "jobs__long")];
  const state = (await call(ada, "asks__ask"))["requestState"];
  expect(typeof state).toBe("string");

  writeFileSync(file, line("ben"), { mode: 0o600 });
  process.emit("SIGHUP", "SIGHUP");
  await expect.poll(() => ended, { timeout: 5_000 }).toEqual(["long"]);
  stop();
  expect(said.join()).toContain("ada is gone");
  const ending = audit.records().filter(({ kind }) => kind === "people.ended");
  expect(ending).toMatchObject([{ detail: { ended: { ada: { tasks: 1, questions: 1 } } } }]);

  const next = await client("ada");
  await expect(next.request("tasks/get", { taskId: hers["taskId"] })).rejects.toThrow("no such task");
  const answer = { "ask-1": { action: "accept", content: { name: "Ada" } } };
  await expect(call(next, "asks__ask", { requestState: state, inputResponses: answer })).rejects.toThrow("was ended");
  expect((await ben.request("tasks/get", { taskId: his["taskId"] }))["status"]).toBe("working");
});

it("leaves their tasks to whoever only has another token", async () => {
  const ended: string[] = [];
  fleet.make("jobs", () => jobs(ended));
  const policy = await fleet.policy('tools: { allowed: ["jobs__*"] }\nsandbox: none');
  await fleet.approve(policy);
  await fleet.serve(policy);
  const file = join(temporaryFolder(), "tokens");
  writeFileSync(file, line("ada"), { mode: 0o600 });
  const { audit, said, stop } = following(file);
  const ada = await fleet.client("2026-07-28", { principal: "ada", capabilities: ABLE });
  const { taskId } = await ada.request("tools/call", { name: "jobs__long", arguments: {} });
  const other = `ada: ${"a1".repeat(32)}\n`;
  for (const [at, text] of [line("ada") + other, other].entries()) {
    writeFileSync(file, text, { mode: 0o600 });
    process.emit("SIGHUP", "SIGHUP");
    await expect.poll(() => said.filter((each) => each.includes("ada has other tokens")).length).toBe(at + 1);
  }
  expect((await ada.request("tasks/get", { taskId }))["status"]).toBe("working");
  expect(audit.records().map(({ kind }) => kind)).toEqual(["people.changed", "people.changed"]);

  // Of whom no token is left, nobody knows that it is the same one.
  writeFileSync(file, `ada: ${"b2".repeat(32)}\n`, { mode: 0o600 });
  process.emit("SIGHUP", "SIGHUP");
  await expect.poll(() => said.at(-1)).toBe("tokens: ada is gone, ada is new, 1 person");
  stop();
  await expect.poll(() => ended).toEqual(["long"]);
  await expect(ada.request("tasks/get", { taskId })).rejects.toThrow("no such task");
});

it("takes an empty file, as it is when the last of them leaves, for nobody", async () => {
  fleet.make("jobs", () => jobs([]));
  await fleet.serve(await fleet.policy("sandbox: none"));
  const file = join(temporaryFolder(), "tokens");
  writeFileSync(file, line("ada"), { mode: 0o600 });
  const { audit, people, said, stop } = following(file);
  writeFileSync(file, "# nobody\n", { mode: 0o600 });
  process.emit("SIGHUP", "SIGHUP");
  await expect.poll(() => said.join(), { timeout: 5_000 }).toBe("tokens: ada is gone, nobody but the owner is left");
  stop();
  expect(people.tokens).toEqual([]);
  expect(audit.records()).toMatchObject([{ kind: "people.changed", detail: { gone: ["ada"], count: 0 } }]);
});

it.skipIf(process.platform === "win32")(
  "says that a faulty list is mended, also where it names the same people as before",
  () => {
    const file = join(temporaryFolder(), "tokens");
    writeFileSync(file, line("ada"), { mode: 0o600 });
    const said: string[] = [];
    const stop = followTokensFile(new KnownPeople(namedTokens(file)), file, {
      serving: { endSessions: () => Promise.resolve() },
      profiles: { endWorkOf: () => Promise.resolve({ tasks: 0, questions: 0 }) },
      audit: new MemoryAudit(),
      say: (text) => void said.push(text),
    });
    try {
      writeFileSync(file, "nobody\n");
      process.emit("SIGHUP");
      expect(said).toEqual([
        expect.stringContaining("line 1: this line names nobody"),
        "tokens: keeping the people of before: ada",
      ]);
      writeFileSync(file, line("ada"));
      process.emit("SIGHUP");
      expect(said.slice(2)).toEqual([`tokens: ${file} can be used again`, "tokens: nothing has changed, 1 person"]);
    } finally {
      stop();
    }
  },
);
