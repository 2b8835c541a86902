// A rule's memory that another rule leaves nothing of is told by `policy check`; the file that `policy init` writes has none.
import { expect, it } from "vitest";
import { parsePolicy } from "../../src/policy/parse-policy.js";
import { approvalNeed } from "../../src/policy/decide-command.js";
import { policyText } from "../../src/policy/policy-text.js";
import { reviewPolicy } from "../../src/policy/review-policy.js";

const KNOWN = [
  { name: "write_file", destructive: true },
  { name: "read_file", destructive: false },
  { name: "run_command", destructive: true },
];
const REMEMBERS = ["none", "session", 5, 10] as const;
const APPROVES = [
  "destructive",
  "all",
  ["write_file"],
  ["write_file", "run_command"],
  ["write_*"],
  ["read_file"],
] as const;
const RULES = APPROVES.flatMap((approve) => REMEMBERS.map((remember) => ({ approve, remember })));

async function read(approvals: readonly object[]) {
  return parsePolicy(JSON.stringify({ version: "1.0", approvals }), { file: "policy.yaml" });
}

it("is noted where no call of the known tools is ever remembered for as long", async () => {
  const wrong: string[] = [];
  for (const one of RULES)
    for (const other of RULES) {
      const policy = await read([one, other]);
      const [first] = policy.approvals;
      const isNoted = reviewPolicy(policy, KNOWN).some(
        ({ rule, message }) => rule === first?.rule && message.includes('"remember" says here never counts'),
      );
      const meant = KNOWN.filter(
        (tool) =>
          approvalNeed({ ...policy, approvals: [first!] }, { tool: tool.name, arguments: {}, ...tool }) !== undefined,
      );
      const counts = meant.some(
        ({ name, destructive }) =>
          approvalNeed(policy, { tool: name, arguments: {}, destructive })?.remember === first?.remember,
      );
      // Beginnings, `destructive` and `all` stand for tools of servers and plugins as well, which nobody knows here.
      const isClosed = Array.isArray(one.approve) && !JSON.stringify(one.approve).includes("*");
      const isWrong = isNoted ? counts || one.remember === "none" : isClosed && !counts && one.remember !== "none";
      if (isWrong) wrong.push(JSON.stringify([one, other, isNoted]));
    }
  expect(wrong).toEqual([]);
});

it("is in no file that policy init writes", async () => {
  const text = policyText({ readable: [], writable: ["/srv/notes"], search: false, hosts: [], ask: true });
  const policy = await parsePolicy(text, { file: "policy.yaml" });
  const need = approvalNeed(policy, { tool: "write_file", arguments: {}, destructive: true });
  expect(need?.remember).toEqual({ kind: "session" });
});
