// Consents that are remembered, used where other rules ask, after the session has read more, and by another program.

const WHO = [["client"], ["terminal"], ["client", "terminal"]];

/** Each time a person said yes before anything was read; then the session reads both, and the same call is made again. */
export async function otherRules(report, parts) {
  report.kind("a remembered consent, used where another rule asks", { found: "attack" });
  for (const first of WHO)
    for (const second of WHO)
      for (const remember of [10, "session"])
        for (const order of [
          ["own", "strange"],
          ["strange", "own"],
        ]) {
          const name = `a yes by ${first.join(" or ")}, kept for ${remember}, then ${order.join(" and ")} are read`;
          const rules = [
            { approve: ["send"], answer_by: first, remember },
            { approve: "tainted", answer_by: second, remember },
          ];
          const both = second.filter((who) => first.includes(who));
          await report.attack(`${name}, for ${second.join(" or ")}`, async () => {
            const one = await parts.senders(rules);
            await one.step("send");
            for (const step of order) await one.step(step);
            return isJudgedAnew(await one.step("send"), both);
          });
          await report.attack(`${name} while the question waits`, async () => {
            const one = await parts.senders(rules);
            one.meanwhile = async () => {
              for (const step of order) await one.step(step);
            };
            const { text } = await one.step("send");
            return text !== "sent" || "it was sent";
          });
        }
}

function isJudgedAnew({ text, askedAt }, who) {
  if (who.length === 0) return text !== "sent" || "it was sent though nobody may agree to it";
  return who.includes(askedAt) || `asked at ${askedAt}: ${text}`;
}

/** The clients of `attach` are one user's, and each is a caller by itself. */
export async function otherPrograms(report, parts) {
  report.kind("a remembered consent, used by another client of attach", { found: "attack" });
  for (const names of [
    ["alice", "bob"],
    ["alice", "Alice"],
    ["alice", ""],
    ["", "alice"],
  ])
    for (const remember of [1, 10, 60, "session"])
      await report.attack(`${JSON.stringify(names)}, kept for ${remember}`, async () => {
        const one = await parts.senders([{ approve: ["send"], remember }]);
        for (const name of names) {
          const { askedAt } = await one.stepOf(name, "send");
          if (askedAt === undefined) return `${name} was not asked`;
        }
        return true;
      });
  await report.benign("the same client again", async () => {
    const one = await parts.senders([{ approve: ["send"], remember: 10 }]);
    await one.stepOf("alice", "send");
    const { text, askedAt } = await one.stepOf("alice", "send");
    return (text === "sent" && askedAt === undefined) || `asked at ${askedAt}: ${text}`;
  });
}
