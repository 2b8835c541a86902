// Consent: what is asked, who is asked, and that nothing but the very call that was shown is ever run.
import { describe, expect, it, vi } from "vitest";
import type { Caller } from "@secure-local/mcp/server";
import { Approvals } from "../../src/guard/approvals/approvals.js";
import { type AskedConsent, Grants } from "../../src/guard/approvals/shown-call.js";
import { parsePolicy } from "../../src/policy/parse-policy.js";
import { textOf } from "../guard/guarded-server.js";
import {
  APPROVE,
  type Approving,
  approvingServer,
  deny,
  erase,
  kinds,
  person,
  questionOf,
  retry,
  STATELESS,
  STATEFUL,
  yes,
} from "./approving-server.js";

const DESTRUCTIVE = "  - approve: destructive\n    timeout: 5";
const KEEP = "  - { approve: destructive, remember: 10 }";
const SESSION = "  - { approve: destructive, remember: session }";
const FORMS = { elicitation: {} };

describe("a client that can ask", () => {
  it("has the call run once its user approves, in both eras, with everything on record", async () => {
    const forms: string[] = [];
    const stateful = await approvingServer(DESTRUCTIVE);
    const peer = await stateful.connect(person(yes, forms));
    expect(textOf(await erase(peer))).toBe("done");
    expect(stateful.ran).toEqual([{ tool: "erase", args: { path: "/a", force: true } }]);
    expect(forms[0]).toContain('"path": "/a"');
    expect(forms[0]).toContain('"force": true');
    expect(kinds(stateful)).toEqual(["call.intent", "approval.asked", "approval.given", "call.result"]);
    expect(stateful.audit.records()[2]).toMatchObject({
      decision: { allowed: true, rule: "approvals: destructive", line: 4 },
      detail: { by: "client" },
    });

    const stateless = await approvingServer(DESTRUCTIVE);
    const other = await stateless.connect({ revision: STATELESS, capabilities: FORMS });
    const asked = await erase(other);
    expect(asked["resultType"]).toBe("input_required");
    expect(stateless.ran).toEqual([]);
    expect(textOf(await other.request("tools/call", retry(asked, yes())))).toBe("done");
    expect(stateless.ran).toHaveLength(1);
  });

  it.each([
    ["declined", { action: "decline" }],
    ["cancelled", { action: "cancel" }],
    ["answered with deny", { action: "accept", content: { decision: "deny" } }],
    ["accepted without a decision", { action: "accept", content: {} }],
    ["accepted with another word", { action: "accept", content: { decision: "yes" } }],
    ["accepted with true", { action: "accept", content: { decision: true } }],
    ["accepted in other letters", { action: "accept", content: { decision: "Approve this one call" } }],
    [
      "asked to remember what is not remembered",
      { action: "accept", content: { decision: `${APPROVE} for 10 minutes` } },
    ],
    ["answered with nonsense", { action: "ok" }],
  ])("has nothing run when the form is %s", async (_how, answer) => {
    for (const revision of [STATEFUL, STATELESS]) {
      const server = await approvingServer(DESTRUCTIVE);
      const peer = await server.connect({ ...person(() => answer), revision });
      let result = await erase(peer).catch((error: unknown) => ({ error }) as never);
      if (revision === STATELESS) {
        const again = peer.request("tools/call", retry(result, answer));
        result = await again.catch((error: unknown) => ({ error }) as never);
      }
      expect(server.ran).toEqual([]);
      if (result["error"] === undefined) expect(textOf(result)).toMatch(/^Denied\. This call needs a person's consent/);
    }
  });

  it("has nothing run when it refuses to ask, or goes away while it asks", async () => {
    const server = await approvingServer(DESTRUCTIVE);
    const mute = await server.connect({ revision: STATEFUL, capabilities: FORMS });
    expect(textOf(await erase(mute))).toContain("refused to show the question");
    let shown = (): void => undefined;
    const asked = new Promise<void>((resolve) => (shown = resolve));
    const gone = await server.connect(person(() => (shown(), new Promise(() => undefined))));
    const answer = erase(gone).catch(() => undefined);
    await asked;
    await gone.close();
    await answer;
    expect(server.ran).toEqual([]);
  });

  it("is refused when nobody answers in time, and the time of the tool does not run meanwhile", async () => {
    const server = await approvingServer("  - { approve: destructive, timeout: 0.5 }");
    for (const revision of [STATEFUL, STATELESS]) {
      const peer = await server.connect({ ...person(() => new Promise(() => undefined)), revision });
      const result = await erase(peer);
      if (revision === STATEFUL) expect(textOf(result)).toContain("nobody answered in time");
      else {
        await expect.poll(() => kinds(server).filter((kind) => kind === "approval.denied")).toHaveLength(2);
        // An answer that comes later finds the refusal.
        expect(textOf(await peer.request("tools/call", retry(result, yes())))).toContain("nobody answered in time");
      }
    }
    // Longer than the tool may take.
    const slow = await approvingServer(DESTRUCTIVE, undefined, 0.5);
    const peer = await slow.connect(person(() => new Promise((resolve) => setTimeout(() => resolve(yes()), 700))));
    expect(textOf(await erase(peer))).toBe("done");
  });
});

describe("what is asked about", () => {
  it("is what the policy names: by tool, by argument with its default, and nothing else", async () => {
    const server = await approvingServer('  - approve: ["count"]\n    when: { force: true, path: "/etc/**" }');
    const peer = await server.connect(person(() => ({ action: "decline" })));
    const call = (name: string, args: object): Promise<Record<string, unknown>> =>
      peer.request("tools/call", { name, arguments: args });
    expect(textOf(await call("look", { path: "/etc/a" }))).toBe("done");
    expect(textOf(await call("count", { path: "/home/a" }))).toBe("done");
    expect(textOf(await call("count", { path: "/etc/a", force: false }))).toBe("done");
    expect(textOf(await call("count", { path: "/etc/a" }))).toMatch(/^Denied/);
    expect(textOf(await call("count", { path: "/home/../etc/a" }))).toMatch(/^Denied/);
    expect(server.ran).toHaveLength(3);
  });

  it("is not asked where arguments do not fit, and refused where rules agree on nobody", async () => {
    const forms: string[] = [];
    const rules = "  - { approve: destructive, answer_by: [client] }\n  - { approve: [erase], answer_by: [terminal] }";
    const server = await approvingServer(rules, async () => ({ answer: "approve" }));
    const peer = await server.connect(person(yes, forms));
    expect(textOf(await erase(peer, { path: 5 }))).toContain("Invalid arguments");
    expect(textOf(await erase(peer))).toContain("agree on nobody");
    expect(forms).toEqual([]);
  });
});

describe("a consent", () => {
  it.each([
    ["another path", { path: "/b" }],
    ["a homoglyph", { path: "/\u0430" }],
    ["one argument more", { path: "/a", text: "x" }],
    ["another default", { path: "/a", force: false }],
    ["a space", { path: "/a " }],
    ["another case", { path: "/A" }],
    ["a hidden character", { path: "/a\u200b" }],
    ["a key of another name", { path: "/a", __proto__x: 1 }],
    ["a decomposed letter", { path: "/a\u0301" }],
    ["no arguments", {}],
  ])("is not one for %s", async (_what, changed) => {
    const server = await approvingServer(DESTRUCTIVE);
    const peer = await server.connect({ revision: STATELESS, capabilities: FORMS });
    const asked = await erase(peer);
    await expect(peer.request("tools/call", retry(asked, yes(), changed))).rejects.toMatchObject({ code: -32602 });
    expect(server.ran).toEqual([]);
    const kept = await approvingServer(KEEP);
    const forms: string[] = [];
    const other = await kept.connect(
      person(() => ({ action: "accept", content: { decision: "approve this very call for 10 minutes" } }), forms),
    );
    await erase(other);
    await erase(other);
    expect(forms).toHaveLength(1);
    await erase(other, changed);
    expect(forms).toHaveLength(2);
  });

  it("is used up by its call: a replay runs nothing, and another call asks again", async () => {
    const server = await approvingServer(DESTRUCTIVE);
    const peer = await server.connect({ revision: STATELESS, capabilities: FORMS });
    const asked = await erase(peer);
    const answer = retry(asked, yes());
    await peer.request("tools/call", answer);
    await peer.request("tools/call", answer);
    expect(server.ran).toHaveLength(1);
    expect((await erase(peer))["resultType"]).toBe("input_required");
    expect(server.ran).toHaveLength(1);
  });

  it("is nobody else's", async () => {
    const server = await approvingServer(DESTRUCTIVE);
    const ada = await server.connect({ revision: STATELESS, capabilities: FORMS, principal: "ada" });
    const eve = await server.connect({ revision: STATELESS, capabilities: FORMS, principal: "eve" });
    const asked = await erase(ada);
    await expect(eve.request("tools/call", retry(asked, yes()))).rejects.toMatchObject({ code: -32602 });
    expect(server.ran).toEqual([]);
    const kept = await approvingServer(KEEP);
    const keep = (): Record<string, unknown> => ({
      action: "accept",
      content: { decision: "approve this very call for 10 minutes" },
    });
    await erase(await kept.connect({ ...person(keep), principal: "ada" }));
    const forms: string[] = [];
    const other = await kept.connect({ ...person(() => ({ action: "decline" }), forms), principal: "eve" });
    await erase(other);
    expect(forms).toHaveLength(1);
    expect(kept.ran).toHaveLength(1);
  });

  it("is worth nothing under another policy, asked for or remembered", async () => {
    const server = await approvingServer(DESTRUCTIVE);
    const peer = await server.connect({ revision: STATELESS, capabilities: FORMS });
    const asked = await erase(peer);
    await server.reload(`${DESTRUCTIVE} # changed`);
    const late = await peer.request("tools/call", retry(asked, yes()));
    expect(textOf(late)).toContain("the policy has changed");
    expect(server.ran).toEqual([]);
  });

  it.each([
    [1, "for 1 minute"],
    [2, "for 2 minutes"],
  ])("says how long it is remembered, of %i", async (minutes, words) => {
    const server = await approvingServer(KEEP.replace("10", String(minutes)));
    const keep = { action: "accept", content: { decision: `${APPROVE.replace("one ", "very ")} ${words}` } };
    const forms: string[] = [];
    const peer = await server.connect(person(() => keep, forms));
    for (let time = 0; time < 2; time += 1) await erase(peer);
    expect([forms.length, server.ran.length]).toEqual([1, 2]);
  });

  it("that is remembered ends with the policy it was given under, also where that comes back", async () => {
    const server = await approvingServer(KEEP);
    const forms: string[] = [];
    const keep = { action: "accept", content: { decision: `${APPROVE.replace("one ", "very ")} for 10 minutes` } };
    const peer = await server.connect(person(() => keep, forms));
    await erase(peer);
    await erase(peer);
    await server.reload(KEEP);
    await erase(peer);
    expect(forms).toHaveLength(1);
    await server.reload(`${KEEP} # changed`);
    await server.reload(KEEP);
    await erase(peer);
    expect(forms).toHaveLength(2);
  });

  it("is worth nothing once another policy was in force, though the one it was asked under is back", async () => {
    const server = await approvingServer(DESTRUCTIVE);
    const peer = await server.connect({ revision: STATELESS, capabilities: FORMS });
    const asked = await erase(peer);
    await server.reload(`${DESTRUCTIVE} # changed`);
    await server.reload(DESTRUCTIVE);
    const late = await peer.request("tools/call", retry(asked, yes()));
    expect(textOf(late)).toContain("the policy has changed");
    expect(server.ran).toEqual([]);
  });

  it("does not outlive the server", async () => {
    const [before, after] = [await approvingServer(DESTRUCTIVE), await approvingServer(DESTRUCTIVE)];
    const asked = await erase(await before.connect({ revision: STATELESS, capabilities: FORMS }));
    const peer = await after.connect({ revision: STATELESS, capabilities: FORMS });
    await expect(peer.request("tools/call", retry(asked, yes()))).rejects.toMatchObject({ code: -32602 });
    expect([...before.ran, ...after.ran]).toEqual([]);
  });

  it("counts only on record: a log that fails before or after the question keeps the call from running", async () => {
    for (const failing of ["approval.asked", "approval.given"]) {
      const server = await approvingServer(DESTRUCTIVE);
      const record = server.audit.record.bind(server.audit);
      server.audit.record = (event) => (event.kind === failing ? Promise.reject(new Error("full")) : record(event));
      const peer = await server.connect(person(yes));
      expect(textOf(await erase(peer))).toContain("audit log is unavailable");
      expect(server.ran).toEqual([]);
    }
  });

  it("that is remembered counts only on record too, each time it is used", async () => {
    const server = await approvingServer(KEEP);
    const forms: string[] = [];
    const keep = { action: "accept", content: { decision: `${APPROVE.replace("one ", "very ")} for 10 minutes` } };
    const peer = await server.connect(person(() => keep, forms));
    expect(textOf(await erase(peer))).toBe("done");
    const record = server.audit.record.bind(server.audit);
    let failing = true;
    server.audit.record = (event) =>
      failing && event.kind === "approval.given" ? Promise.reject(new Error("full")) : record(event);
    expect(textOf(await erase(peer))).toContain("audit log is unavailable");
    failing = false;
    expect(textOf(await erase(peer))).toBe("done");
    expect(forms).toHaveLength(1);
    expect(server.ran).toHaveLength(2);
    expect(server.audit.records().filter(({ kind }) => kind === "approval.given")).toMatchObject([
      { detail: { by: "client" } },
      { detail: { remembered: true, by: "client", answer: questionOf(server.audit) } },
    ]);
  });

  it("is looked at once more when it is on record: what changed while that was written counts", async () => {
    const changes = {
      "the policy has changed": (server: Approving) => server.reload(`${DESTRUCTIVE} # changed`),
      cancelled: (_server: Approving, cancel: () => void) => Promise.resolve(cancel()),
    };
    for (const change of Object.values(changes)) {
      const server = await approvingServer(DESTRUCTIVE);
      const record = server.audit.record.bind(server.audit);
      const peer = await server.connect(person(yes));
      let given = 0;
      server.audit.record = async (event) => {
        await record(event);
        if (event.kind !== "approval.given") return;
        given += 1;
        await change(server, () => peer.notify("notifications/cancelled", { requestId: "asked" }));
        await new Promise((resolve) => setImmediate(resolve));
      };
      const params = { name: "erase", arguments: { path: "/a" } };
      peer.send(JSON.stringify({ jsonrpc: "2.0", id: "asked", method: "tools/call", params }));
      await expect.poll(() => kinds(server)).toContain("call.result");
      expect(given).toBe(1);
      expect(server.ran).toEqual([]);
    }
  });

  it("is remembered for its minutes and not longer, and makes room for others", () => {
    let now = 0;
    const grants = new Grants(() => now);
    const minutes = { kind: "minutes", minutes: 10 } as const;
    const caller = {} as Caller;
    const of = (digest: string): AskedConsent => ({ digest, rules: ["a rule"] });
    grants.add(of("a"), caller, minutes);
    now = 10 * 60_000 - 1;
    const has = (digest: string): boolean => grants.find(of(digest), caller, minutes) !== undefined;
    expect(has("a")).toBe(true);
    expect(has("b")).toBe(false);
    now += 1;
    expect(has("a")).toBe(false);
    now += 1e12;
    expect(has("a")).toBe(false);
    grants.add(of("first"), caller, minutes);
    for (let at = 0; at < 1_000; at += 1) grants.add(of(`more ${at}`), caller, minutes);
    expect(has("first")).toBe(false);
  });

  it("is remembered for a session only there", async () => {
    const server = await approvingServer(SESSION);
    const forms: string[] = [];
    const keep = (): Record<string, unknown> => ({
      action: "accept",
      content: { decision: "approve this very call until this session ends" },
    });
    const one = await server.connect(person(keep, forms));
    await erase(one);
    await erase(one);
    expect(forms).toHaveLength(1);
    await erase(await server.connect(person(keep, forms)));
    expect(forms).toHaveLength(2);
    expect(server.audit.records().filter(({ kind }) => kind === "approval.given")).toHaveLength(3);
  });
});

describe("the channel", () => {
  it("is asked when the client cannot ask, and what it says counts", async () => {
    for (const revision of [STATEFUL, STATELESS, "2024-11-05"]) {
      const server = await approvingServer(DESTRUCTIVE, async () => ({ answer: "approve" }));
      expect(textOf(await erase(await server.connect({ revision })))).toBe("done");
      expect(server.questions).toHaveLength(1);
      const refusing = await approvingServer(DESTRUCTIVE, async () => deny("the terminal was closed"));
      const refused = await erase(await refusing.connect({ revision }));
      expect(textOf(refused)).toContain(
        "and the terminal was closed. Rule: approvals: destructive (line 4 of the policy).",
      );
      expect(refusing.ran).toEqual([]);
      expect(refusing.audit.records().at(-1)).toMatchObject({ kind: "call.result", outcome: "denied" });
    }
  });

  it.each([
    [{ answer: "approve" }, "approval.given", "terminal"],
    [{ answer: "approve", by: "console" }, "approval.given", "console"],
    [{ answer: "deny", by: "console" }, "approval.denied", "console"],
    [{ answer: "deny" }, "approval.denied", "terminal"],
  ] as const)("has on record where the person sat who said %j", async (reply, kind, by) => {
    const server = await approvingServer(DESTRUCTIVE, async () => reply);
    await erase(await server.connect({ revision: STATEFUL }));
    expect(server.audit.records().find((record) => record.kind === kind)).toMatchObject({ detail: { by } });
  });

  it("is not asked where only the client's user may answer, and without one the call is refused", async () => {
    const server = await approvingServer("  - { approve: destructive, answer_by: [client] }", async () => ({
      answer: "approve",
    }));
    expect(textOf(await erase(await server.connect({ revision: STATEFUL })))).toContain("nobody can be asked");
    const none = await approvingServer(DESTRUCTIVE);
    expect(textOf(await erase(await none.connect({ revision: STATEFUL })))).toContain("nobody can be asked");
    expect([...server.questions, ...server.ran, ...none.ran]).toEqual([]);
  });

  it("hears that a call was cancelled, and a yes after that runs nothing", async () => {
    let asked = (): void => undefined;
    const put = new Promise<void>((resolve) => (asked = resolve));
    let withdrawn = false;
    const server = await approvingServer(DESTRUCTIVE, (_question, signal) => {
      asked();
      return new Promise((resolve) =>
        signal.addEventListener("abort", () => ((withdrawn = true), resolve({ answer: "approve" }))),
      );
    });
    const peer = await server.connect({ revision: STATEFUL });
    void erase(peer);
    await put;
    peer.notify("notifications/cancelled", { requestId: 2 });
    await expect.poll(() => kinds(server)).toContain("approval.denied");
    expect(withdrawn).toBe(true);
    expect(server.ran).toEqual([]);
  });

  it("is spared a client that asks again and again", async () => {
    const server = await approvingServer(DESTRUCTIVE, async () => ({ answer: "deny" }));
    const peer = await server.connect({ revision: STATEFUL });
    for (let count = 0; count < 25; count++) await erase(peer, { path: `/${count}` });
    expect(server.questions).toHaveLength(20);
    const crowd = await approvingServer(DESTRUCTIVE, () => new Promise(() => undefined));
    const other = await crowd.connect({ revision: STATEFUL });
    const calls = Array.from({ length: 9 }, () => erase(other));
    expect(textOf(await Promise.race(calls))).toContain("too many questions are open");
    expect(crowd.questions).toHaveLength(8);
    await other.close();
  });
});

it("a further step of a call is asked about where a rule fits it that did not fit the call, and nowhere else", async () => {
  const text = `version: "1.0"
approvals:
  - { approve: [get], when: { url: "https://a.example/*" } }
  - { approve: [get], when: { url: "https://*.example/admin" } }
`;
  const policy = await parsePolicy(text, { file: "policy.yaml" });
  const approvals = new Approvals({ now: () => 0 } as never);
  const asked = vi.spyOn(approvals, "consent").mockReturnValue(undefined);
  const underway = { guarded: { terms: { policy } } } as never;
  const call = (url: string): never => ({ tool: "get", destructive: false, arguments: { url } }) as never;
  const isAsked = (from: string, to: string): boolean => {
    asked.mockClear();
    void approvals.step(call(to), call(from), underway);
    return asked.mock.calls.length === 1;
  };
  expect(isAsked("https://a.example/x", "https://a.example/y")).toBe(false);
  expect(isAsked("https://a.example/x", "https://a.example/admin")).toBe(true);
  expect(isAsked("https://b.example/x", "https://a.example/y")).toBe(true);
  expect(isAsked("https://a.example/x", "https://b.example/y")).toBe(false);
  expect(isAsked("https://a.example/admin", "https://b.example/admin")).toBe(false);
});
