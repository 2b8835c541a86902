// T16: a consent is for one call, of one caller, under one policy, once: everything else that is tried with it runs nothing.
import { crashes } from "../support/approval-crashes.mjs";
import {
  approving,
  ASK,
  ASKED,
  askedOf,
  KEEP,
  keep,
  NO,
  nothingRan,
  OTHER_CALLS,
  outcome,
  SESSION,
} from "../support/approving.mjs";
import { exchangedExecutors } from "../support/exchanged-executors.mjs";
import { honestConsents } from "../support/honest-approvals.mjs";
import { livesCases } from "../support/lives.mjs";
import { otherPrograms, otherRules } from "../support/narrow-consents.mjs";
import { questionsShown } from "../support/questions-shown.mjs";
import { nobodyAnswers, terminals } from "../support/unanswered-approvals.mjs";
import {
  goneCallers,
  otherCallers,
  otherPolicies,
  rememberedNarrowly,
  tiredPeople,
} from "../support/approval-fatigue.mjs";

/** A program that is exchanged is read anew first, and a plugin started: that is no part of a refusal. */
export const goal = { id: "T16", title: "Approval integrity", atLeast: 650, refusalMs: 2_000 };

export const defences = [
  {
    name: "a remembered consent covers the rules it was asked for",
    file: "secure-local/src/guard/approvals/shown-call.ts",
    find: "asking.every((rule) => given.includes(rule))",
    replace: "(asking.every((rule) => given.includes(rule)), true)",
  },
  {
    name: "a reload ends what was asked, also where its policy comes back",
    file: "secure-local/src/guard/approvals/approvals.ts",
    find: "if (this.#options.current() !== guarded.terms)",
    replace: "if (this.#options.current().policy.hash !== guarded.terms.policy.hash)",
  },
  {
    name: "a reload ends what is remembered, also where its policy comes back",
    file: "secure-local/src/guard/guard.ts",
    find: "this.approvals.reloaded();",
    replace: "",
  },
  {
    name: "what is read while a question waits is looked at",
    file: "secure-local/src/guard/approvals/approvals.ts",
    find: "call.taintNow === undefined ? call.taint : await call.taintNow()",
    replace: "call.taint",
  },
  {
    name: "states of who may not call any more are refused",
    file: "mcp/src/server/parking.ts",
    // What is parked is given up, and what was sealed is refused: either is enough.
    find: "endOf(principal: string): number {",
    replace: "endOf(principal: string): number {\n    if (principal !== undefined) return 0;",
  },
  {
    name: "a consent is one program's",
    file: "secure-local/src/guard/approvals/approvals.ts",
    find: "asker: [carrier.principal, identity?.program, actor]",
    replace: "asker: [carrier.principal, identity && undefined, actor]",
  },
  {
    name: "what is kept by a name is its owner's of then",
    file: "secure-local/src/guard/taints.ts",
    find: "return life === undefined && ends === undefined ? principal",
    replace: "return life !== `${ends}` ? principal",
  },
  {
    name: "a consent is for the program that would have done it",
    file: "secure-local/src/guard/approvals/approvals.ts",
    find: "[this.#callers.of(asked), this.#options.executor?.(policy, call)]",
    replace:
      "[this.#callers.of(asked), policy.hash === call.tool ? this.#options.executor?.(policy, call) : undefined]",
  },
];

/** Questions wait for people and sockets: what takes longer is tried again, since others use the machine. */
const AGAIN = { again: true, slowMs: 25 };

export async function run(whole, parts) {
  const report = {
    attack: (name, ask) => whole.attack(name, ask, AGAIN),
    benign: (name, ask) => whole.benign(name, ask),
    kind: (name, options) => whole.kind(name, options),
  };
  await changedCalls(report, parts);
  await replays(report, parts);
  await otherCallers(report, parts);
  await goneCallers(report, parts);
  await lives(report, parts);
  await exchanged(report, parts);
  await otherPolicies(report, parts);
  await rememberedNarrowly(report, parts);
  await otherRules(report, parts);
  await otherPrograms(report, parts);
  await tiredPeople(report, parts);
  await nobodyAnswers(report, parts);
  await terminals(report, parts);
  await questionsShown(report, parts);
  await crashes(report, parts);
  await honestConsents(report, parts);
}

/** Somebody leaves, and whoever has the name next finds nothing of theirs. */
async function lives(report, parts) {
  report.kind("what was kept of somebody who had the name before", { found: "attack" });
  for (const { name, isAttack, run } of livesCases(parts)) await (isAttack ? report.attack : report.benign)(name, run);
}

/** Agreed to was one program, done would it be by another that took its place. */
async function exchanged(report, parts) {
  report.kind("a consent used by another program than it was given for", { found: "attack" });
  const household = await exchangedExecutors(parts);
  for (const { name, isAttack, run } of household.cases) await (isAttack ? report.attack : report.benign)(name, run);
  household.remove();
}

/** Approved is one call, sent is another: by the retry of a stateless client, and against a consent that is remembered. */
async function changedCalls(report, parts) {
  report.kind("approved is one call, sent another");
  for (const [what, args] of Object.entries(OTHER_CALLS)) {
    await report.attack(`approved, then sent with ${what}`, async () => {
      const server = await approving(parts, ASK);
      const { peer, asked } = await askedOf(parts, server);
      const got = await outcome(peer.request("tools/call", parts.retry(asked, parts.yes(), args)));
      return nothingRan(server, got);
    });
    for (const [rules, span] of [
      [KEEP, "for 10 minutes"],
      [SESSION, "until this session ends"],
    ])
      await report.attack(`remembered ${span}, then sent with ${what}`, async () => {
        const server = await approving(parts, rules);
        let answer = keep(span);
        const peer = await server.connect(parts.person(() => answer));
        await parts.erase(peer, ASKED);
        answer = NO;
        return nothingRan(server, await outcome(parts.erase(peer, args)), 1);
      });
  }
  await report.attack("approved, then sent to another tool", async () => {
    const server = await approving(parts, "  - { approve: all, timeout: 5 }");
    const { peer, asked } = await askedOf(parts, server);
    const params = { ...parts.retry(asked, parts.yes(), ASKED), name: "count" };
    return nothingRan(server, await outcome(peer.request("tools/call", params)));
  });
}

async function replays(report, parts) {
  const twice = {
    "the same answer twice": (answer) => [answer, answer],
    "the same answer ten times at once": (answer) => Array.from({ length: 10 }, () => answer),
    "yes, then keep": (answer) => [answer, { ...answer, inputResponses: only(answer, keep("for 10 minutes")) }],
  };
  report.kind("an answer used twice");
  for (const [what, requests] of Object.entries(twice))
    await report.attack(`${what} runs it once at most`, async () => {
      const server = await approving(parts, ASK);
      const { peer, asked } = await askedOf(parts, server);
      const all = requests(parts.retry(asked, parts.yes(), ASKED));
      await Promise.all(all.map((params) => outcome(peer.request("tools/call", params))));
      return server.ran.length <= 1 || `ran ${server.ran.length} times`;
    });
  const forged = {
    "no, then yes": async ({ peer, answer }) => {
      await outcome(peer.request("tools/call", { ...answer, inputResponses: only(answer, NO) }));
      return peer.request("tools/call", answer);
    },
    "an answer without its state": ({ peer, answer: { requestState: _gone, ...rest } }) =>
      peer.request("tools/call", { ...rest, requestState: "" }),
    "a state nobody gave": ({ peer, answer }) =>
      peer.request("tools/call", { ...answer, requestState: "x".repeat(99) }),
    "a state cut short": ({ peer, answer }) =>
      peer.request("tools/call", { ...answer, requestState: answer.requestState.slice(0, -1) }),
    "the state of another call": async ({ peer, answer }) => {
      const other = await parts.erase(peer, { path: "/srv/b" });
      return peer.request("tools/call", {
        ...answer,
        arguments: { path: "/srv/b" },
        requestState: other.requestState + "x",
      });
    },
    "an answer to a question that was not put": ({ peer, answer }) =>
      peer.request("tools/call", { ...answer, inputResponses: { "ask-9": parts.yes() } }),
    "an answer that says nothing": ({ peer, answer }) => peer.request("tools/call", { ...answer, inputResponses: {} }),
  };
  for (let at = 0; at < 24; at += 1)
    forged[`a state with a wrong character at ${at}`] = ({ peer, answer }) => {
      const state = answer.requestState;
      const place = Math.floor((state.length * at) / 24);
      const wrong = state[place] === "A" ? "B" : "A";
      return peer.request("tools/call", {
        ...answer,
        requestState: state.slice(0, place) + wrong + state.slice(place + 1),
      });
    };
  report.kind("answers and states that are forged");
  for (const [what, send] of Object.entries(forged))
    await report.attack(what, async () => {
      const server = await approving(parts, ASK);
      const { peer, asked } = await askedOf(parts, server);
      const got = await outcome(send({ peer, answer: parts.retry(asked, parts.yes(), ASKED) }));
      return server.ran.length > 0 ? `ran: ${JSON.stringify(server.ran)}` : got.refused || isAskedAgain(got);
    });
}

function only({ inputResponses }, answer) {
  return Object.fromEntries(Object.keys(inputResponses).map((key) => [key, answer]));
}

/** A new question is no harm. */
function isAskedAgain({ answer }) {
  return answer.resultType === "input_required" || JSON.stringify(answer);
}
