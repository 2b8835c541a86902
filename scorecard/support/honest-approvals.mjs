// The honest twins: a yes to the very call that was shown is enough, and who need not be asked is not.
import { approving, ASK, ASKED, askedOf, KEEP, keep, SESSION, STATEFUL } from "./approving.mjs";

const ARGUMENTS = {
  plain: ASKED,
  "every argument": { path: "/srv/a", text: "note", force: true },
  "the default said": { path: "/srv/a", force: true },
  "an empty text": { text: "" },
  "no arguments": {},
  "a long text": { path: "/srv/a", text: "word ".repeat(2_000) },
  lines: { path: "/srv/a", text: "one\ntwo\nthree" },
  "other scripts": { path: "/srv/Grüße/日本語/привет" },
  "an emoji": { text: "👩‍👩‍👧‍👦" },
  "an accent": { path: "/srv/a\u0301" },
  "odd characters": { text: "\x1b[31mred\x1b[0m \u202e \u0000" },
};

export async function honestConsents(report, parts) {
  for (const [what, args] of Object.entries(ARGUMENTS)) {
    await report.benign(`a form is answered with yes: ${what}`, async () => {
      const server = await approving(parts, ASK);
      return ranOnce(server, await parts.erase(await server.connect(parts.person(parts.yes)), args));
    });
    await report.benign(`a stateless client says yes: ${what}`, async () => {
      const server = await approving(parts, ASK);
      const peer = await server.connect({ revision: "2026-07-28", capabilities: { elicitation: {} } });
      const asked = await parts.erase(peer, args);
      return ranOnce(server, await peer.request("tools/call", parts.retry(asked, parts.yes(), args)));
    });
  }
  for (const revision of ["2024-11-05", "2025-03-26", "2025-06-18", STATEFUL, "2026-07-28"]) {
    await report.benign(`the terminal says yes in ${revision}`, async () => {
      const server = await approving(parts, ASK, async () => ({ answer: "approve" }));
      return ranOnce(server, await parts.erase(await server.connect({ revision }), ASKED));
    });
    for (const name of ["count", "look"])
      await report.benign(`${name} is not asked about in ${revision}`, async () => {
        const server = await approving(parts, ASK);
        const peer = await server.connect({ revision });
        return ranOnce(server, await peer.request("tools/call", { name, arguments: ASKED }));
      });
  }
  await kept(report, parts);
  await otherwise(report, parts);
}

/** A consent that is kept is enough for the same call however it is written. */
async function kept(report, parts) {
  const same = [ASKED, { force: true, ...ASKED }, { ...ASKED, force: true }];
  for (const [rules, span] of [
    [KEEP, "for 10 minutes"],
    [SESSION, "until this session ends"],
  ])
    for (const args of same)
      await report.benign(`kept ${span}: ${JSON.stringify(args)}`, async () => {
        const server = await approving(parts, rules);
        const forms = [];
        const peer = await server.connect(parts.person(() => keep(span), forms));
        await parts.erase(peer, ASKED);
        await parts.erase(peer, args);
        return (
          (server.ran.length === 2 && forms.length === 1) || `${server.ran.length} runs, ${forms.length} questions`
        );
      });
  await report.benign("kept for 10 minutes, used after nine", () => {
    let now = 0;
    const grants = new parts.Grants(() => now);
    const minutes = { kind: "minutes", minutes: 10 };
    grants.add({ digest: "digest", rules: ["a rule"] }, {}, minutes);
    now = 9 * 60_000;
    return grants.find({ digest: "digest", rules: ["a rule"] }, {}, minutes) !== undefined;
  });
}

async function otherwise(report, parts) {
  await report.benign("no, then yes to a new question", async () => {
    const server = await approving(parts, ASK);
    let answer = { action: "decline" };
    const peer = await server.connect(parts.person(() => answer));
    await parts.erase(peer, ASKED);
    answer = parts.yes();
    return ranOnce(server, await parts.erase(peer, ASKED));
  });
  await report.benign("the policy changed before the question", async () => {
    const server = await approving(parts, ASK);
    await server.reload(`${ASK} # changed`);
    const { peer, asked } = await askedOf(parts, server);
    return ranOnce(server, await peer.request("tools/call", parts.retry(asked, parts.yes(), ASKED)));
  });
  await report.benign("another caller's twenty questions", async () => {
    const server = await approving(parts, ASK, async () => ({ answer: "deny" }));
    const eve = await server.connect({ revision: STATEFUL, principal: "eve" });
    for (let count = 0; count < 25; count += 1) await parts.erase(eve, { path: `/srv/${count}` });
    const ada = await server.connect({ ...parts.person(parts.yes), principal: "ada" });
    return ranOnce(server, await parts.erase(ada, ASKED));
  });
  await report.benign("two questions at once: the yes is for the one that was shown", async () => {
    const server = await approving(parts, ASK);
    const peer = await server.connect(
      parts.person((message) => (message.includes("/srv/a") ? parts.yes() : { action: "decline" })),
    );
    await Promise.all([parts.erase(peer, ASKED), parts.erase(peer, { path: "/srv/b" })]);
    return (server.ran.length === 1 && server.ran[0].args.path === "/srv/a") || JSON.stringify(server.ran);
  });
}

function ranOnce(server, answer) {
  if (server.ran.length !== 1) return `ran ${server.ran.length} times: ${JSON.stringify(answer).slice(0, 300)}`;
  return answer.isError !== true || JSON.stringify(answer);
}
