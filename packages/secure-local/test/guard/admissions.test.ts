// What is withdrawn waits for calls that were admitted before, and for no others.
import { connectInMemory } from "@secure-local/mcp/testing";
import { expect, it } from "vitest";
import { MemoryAudit } from "../../src/audit/event-text.js";
import { Admissions } from "../../src/guard/compiled-policy.js";
import { parsePolicy } from "../../src/policy/parse-policy.js";
import { SecureServer } from "../../src/server/secure-server.js";

it("what nobody was admitted to is taken at once", () => {
  const admissions = new Admissions();
  const taken: string[] = [];
  admissions.withdraw(() => taken.push("idle"));
  admissions.leave(admissions.enter());
  admissions.withdraw(() => taken.push("idle again"));
  expect(taken).toEqual(["idle", "idle again"]);
});

it("what was withdrawn is taken when the last call admitted before it has begun, in whatever order they begin", () => {
  const admissions = new Admissions();
  const taken: string[] = [];
  const [first, second] = [admissions.enter(), admissions.enter()];
  admissions.withdraw(() => taken.push("a"));
  const third = admissions.enter();
  admissions.withdraw(() => taken.push("b"));
  admissions.leave(third);
  admissions.leave(first);
  expect(taken).toEqual([]);
  admissions.leave(second);
  expect(taken).toEqual(["a", "b"]);
});

it("a call is run by the policy that admitted it, though another one comes while its intent is written", async () => {
  const policyOf = (tool: string): ReturnType<typeof parsePolicy> =>
    parsePolicy(`version: "1.0"\ntools: { allowed: [${tool}] }\n`, { file: "policy.yaml" });
  const audit = new MemoryAudit();
  let write = (): void => undefined;
  const begun = new Promise<void>((resolve) => {
    const record = audit.record.bind(audit);
    audit.record = async (event) => {
      if (event.kind === "call.intent") {
        resolve();
        await new Promise<void>((written) => (write = written));
      }
      return record(event);
    };
  });
  const secure = new SecureServer({ policy: await policyOf("calculate"), audit, version: "1.0.0" });
  const peer = await connectInMemory(secure.server, { revision: "2025-11-25" });
  const params = { name: "calculate", arguments: { expression: "6 * 7" } };
  const call = peer.request("tools/call", params);
  await begun;
  secure.reload(await policyOf("get_timestamp"));
  // What comes and goes meanwhile must not get in its way.
  secure.reload(await policyOf("calculate"));
  secure.reload(await policyOf("get_timestamp"));
  expect(await peer.request("tools/call", params)).toMatchObject({ isError: true });
  write();
  expect(await call).toMatchObject({ content: [{ text: expect.stringContaining("42") as string }] });
  const { tools } = (await peer.request("tools/list", {})) as { readonly tools: readonly { readonly name: string }[] };
  expect(tools.map(({ name }) => name)).toEqual(["get_timestamp"]);
  await peer.close();
});
