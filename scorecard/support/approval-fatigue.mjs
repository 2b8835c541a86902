// Consents in other hands, under other policies, after their time, and asked for too often.
import {
  approving,
  ASK,
  ASKED,
  askedOf,
  FORMS,
  KEEP,
  keep,
  NO,
  nothingRan,
  outcome,
  SESSION,
  STATEFUL,
  STATELESS,
} from "./approving.mjs";

export async function otherCallers(report, parts) {
  report.kind("another caller's consent");
  const pairs = [
    ["ada", "eve"],
    ["ada", "Ada"],
    ["ada", "ada "],
    ["ada", "ad\u0430"],
    ["ada", undefined],
    [undefined, "ada"],
    ["ada", "null"],
    ["ada", "__proto__"],
  ];
  for (const [one, other] of pairs) {
    await report.attack(`the consent of ${one}, used by ${other}`, async () => {
      const server = await approving(parts, ASK);
      const { asked } = await askedOf(parts, server, principal(one));
      const peer = await server.connect({ revision: STATELESS, capabilities: FORMS, ...principal(other) });
      return nothingRan(server, await outcome(peer.request("tools/call", parts.retry(asked, parts.yes(), ASKED))));
    });
    await report.attack(`the remembered consent of ${one}, used by ${other}`, async () => {
      const server = await approving(parts, KEEP);
      const options = parts.person(() => keep("for 10 minutes"));
      await parts.erase(await server.connect({ ...options, ...principal(one) }), ASKED);
      const peer = await server.connect({ ...parts.person(() => NO), ...principal(other) });
      return nothingRan(server, await outcome(parts.erase(peer, ASKED)), 1);
    });
  }
}

/** Whoever had the name lost the token with a question open; whoever has the name now has the state and an answer. */
export async function goneCallers(report, parts) {
  report.kind("a question of somebody who may not call any more", { found: "attack" });
  // The product ends what is kept by a name, the library what is parked and sealed: each of them is enough.
  for (const [by, end] of [
    ["all of it", ({ secure }, name) => secure.endWorkOf(name)],
    ["the library alone", ({ secure }, name) => secure.server.endWorkOf(name)],
  ])
    for (const name of ["ada", "Ada", "ad\u0430", "ada.lovelace@example.org"])
      for (const rules of [ASK, KEEP, SESSION])
        await report.attack(`of ${name}, ended by ${by}, by ${rules.trim()}`, async () => {
          const server = await approving(parts, rules);
          const { asked } = await askedOf(parts, server, principal(name));
          await end(server, name);
          const peer = await server.connect({ revision: STATELESS, capabilities: FORMS, ...principal(name) });
          return nothingRan(server, await outcome(peer.request("tools/call", parts.retry(asked, parts.yes(), ASKED))));
        });
  await report.benign("a question of another, and one that the next of the name is asked", async () => {
    const server = await approving(parts, ASK);
    const one = await askedOf(parts, server, principal("ben"));
    await server.secure.endWorkOf("ada");
    await new Promise((resolve) => setTimeout(resolve, 5));
    const other = await askedOf(parts, server, principal("ada"));
    for (const { peer, asked } of [one, other]) {
      const { refused } = await outcome(peer.request("tools/call", parts.retry(asked, parts.yes(), ASKED)));
      if (refused) return "refused";
    }
    return true;
  });
}

const principal = (name) => (name === undefined ? {} : { principal: name });

/** The policy is exchanged between question and answer, while the answer is on its way, and after a remembered consent. */
export async function otherPolicies(report, parts) {
  report.kind("a consent from before another policy");
  const others = {
    "a comment": `${ASK} # changed`,
    "a longer time": "  - { approve: destructive, timeout: 60 }",
    "no approvals at all": "  []",
    "another tool named": "  - { approve: [count], timeout: 5 }",
    "everything named": "  - { approve: all, timeout: 5 }",
  };
  for (const [what, rules] of Object.entries(others)) {
    await report.attack(`approved before ${what}`, async () => {
      const server = await approving(parts, ASK);
      const { peer, asked } = await askedOf(parts, server);
      await server.reload(rules);
      return nothingRan(server, await outcome(peer.request("tools/call", parts.retry(asked, parts.yes(), ASKED))));
    });
    await report.attack(`being approved during ${what}`, async () => {
      const server = await approving(parts, ASK);
      const peer = await server.connect(parts.person(async () => (await server.reload(rules), parts.yes())));
      return nothingRan(server, await outcome(parts.erase(peer, ASKED)));
    });
  }
  report.kind("a consent after its policy came back", { found: "attack" });
  for (const [what, rules] of Object.entries(others)) {
    await report.attack(`approved before and after ${what}`, async () => {
      const server = await approving(parts, ASK);
      const { peer, asked } = await askedOf(parts, server);
      await server.reload(rules);
      await server.reload(ASK);
      return nothingRan(server, await outcome(peer.request("tools/call", parts.retry(asked, parts.yes(), ASKED))));
    });
    await report.attack(`remembered before and after ${what}`, async () => {
      const server = await approving(parts, KEEP);
      let answer = keep("for 10 minutes");
      const peer = await server.connect(parts.person(() => answer));
      await parts.erase(peer, ASKED);
      await server.reload(rules);
      await server.reload(KEEP);
      answer = NO;
      return nothingRan(server, await outcome(parts.erase(peer, ASKED)), 1);
    });
  }
  report.kind("a consent from before another policy");
  for (const rules of [`${KEEP} # changed`, ASK, SESSION])
    await report.attack(`remembered before the policy was ${rules}`, async () => {
      const server = await approving(parts, KEEP);
      let answer = keep("for 10 minutes");
      const peer = await server.connect(parts.person(() => answer));
      await parts.erase(peer, ASKED);
      await server.reload(rules);
      answer = NO;
      return nothingRan(server, await outcome(parts.erase(peer, ASKED)), 1);
    });
}

/** A remembered consent ends with its time, its session, and its rule. */
export async function rememberedNarrowly(report, parts) {
  report.kind("a remembered consent used for more");
  const [caller, other] = [{}, {}];
  const minutes = { kind: "minutes", minutes: 10 };
  for (const [what, minute] of [
    ["a moment too late", 10],
    ["a day too late", 1_440],
    ["for ever", Number.MAX_SAFE_INTEGER / 60_000],
  ])
    await report.attack(`kept for 10 minutes, used ${what}`, () => {
      let now = 1_000;
      const grants = new parts.Grants(() => now);
      grants.add({ digest: "digest", rules: ["a rule"] }, caller, minutes);
      now += minute * 60_000;
      return grants.find({ digest: "digest", rules: ["a rule"] }, caller, minutes) === undefined;
    });
  const kinds = { none: { kind: "none" }, session: { kind: "session" } };
  for (const [name, remember] of Object.entries(kinds))
    await report.attack(`kept for 10 minutes, used where ${name} is kept`, () => {
      const grants = new parts.Grants(() => 0);
      grants.add({ digest: "digest", rules: ["a rule"] }, caller, minutes);
      return grants.find({ digest: "digest", rules: ["a rule"] }, caller, remember) === undefined;
    });
  await report.attack("kept for one session, used in another", async () => {
    const server = await approving(parts, SESSION);
    await parts.erase(await server.connect(parts.person(() => keep("until this session ends"))), ASKED);
    const peer = await server.connect(parts.person(() => NO));
    return nothingRan(server, await outcome(parts.erase(peer, ASKED)), 1);
  });
  await report.attack("kept by one connection, looked up by another", () => {
    const grants = new parts.Grants(() => 0);
    grants.add({ digest: "digest", rules: ["a rule"] }, caller, kinds.session);
    return grants.find({ digest: "digest", rules: ["a rule"] }, other, kinds.session) === undefined;
  });
  await report.attack("kept although nothing is kept", async () => {
    const server = await approving(parts, ASK);
    const peer = await server.connect(parts.person(() => keep("for 10 minutes")));
    return nothingRan(server, await outcome(parts.erase(peer, ASKED)));
  });
}

/** Who is asked too often stops reading: questions have a rate, and few are open at once. */
export async function tiredPeople(report, parts) {
  report.kind("more questions than a person can answer");
  const server = await approving(parts, ASK, async () => ({ answer: "approve" }));
  const peer = await server.connect({ revision: STATEFUL });
  for (let count = 0; count < 20; count += 1) await parts.erase(peer, { path: `/srv/${count}` });
  for (let count = 20; count < 30; count += 1)
    await report.attack(`question ${count + 1} of a minute`, async () => {
      const got = await outcome(parts.erase(peer, { path: `/srv/${count}` }));
      return server.questions.length > 20 ? "it was asked" : nothingRan(server, got, 20);
    });
  const crowd = await approving(parts, ASK, () => new Promise(() => undefined));
  const other = await crowd.connect({ revision: STATEFUL });
  for (let count = 0; count < 8; count += 1) void outcome(parts.erase(other, { path: `/srv/${count}` }));
  await report.attack("question 9 while 8 are open", async () =>
    nothingRan(crowd, await outcome(parts.erase(other, { path: "/srv/9" }))),
  );
  await other.close();
}
