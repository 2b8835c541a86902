// Which command lines the policy lets be run.
import { describe, expect, it } from "vitest";
import { decideCommand } from "../../src/policy/decide-command.js";
import { parsePolicy } from "../../src/policy/parse-policy.js";

const policy = await parsePolicy(
  `version: "1.0"
filesystem: { allowed_paths: ["/work/**"], readable_paths: ["/data/**"], denied_paths: ["**/.git/**"] }
commands:
  blocked: [curl, rm]
  allowed:
    - name: log
      executable: /usr/bin/git
      working_directory: /work/project
      flags: [--oneline, -n, { flag: --max-count, integer: [1, 100] }, { flag: --author, pattern: "[A-Za-z -]+" }, { flag: -o, path: read }]
      arguments: [{ fixed: log }, { pattern: "[A-Za-z0-9_./-]+", optional: true }, { path: read, optional: true, repeat: 2 }]
    - name: seek
      executable: /usr/bin/seek
      arguments: [{ enum: [--all, some] }, { integer: [-5, 5] }, { path: write }]
    - { name: date, executable: /bin/date }
    - { name: fetcher, executable: /usr/bin/CURL }
    - { name: rm, executable: /usr/bin/trash }
`,
  { file: "policy.yaml", environment: {} },
);

describe("a command", () => {
  it.each([
    ["date"],
    ["log log"],
    ["log log main"],
    ["log log --oneline main"],
    ["log log main --oneline -n --max-count 5"],
    ["log log --max-count=100"],
    ["log log main src/a.ts /data/b"],
    ["log log -- main"],
    ["log log -o /work/x"],
    ["seek --all -5 /work/x"],
    ["seek some 5 /work/x"],
  ])("%s is allowed", (text) => {
    const [name = "", ...given] = text.split(" ");
    expect(decideCommand(policy, name, given)).toMatchObject({ allowed: true, command: { name } });
  });

  it.each([
    ["ls", "does not name the command"],
    ["curl", "blocks the command"],
    ["rm", "blocks the command"],
    ["fetcher", "blocks the command"],
    ["date -u", 'no flag "-u"'],
    ["date now", "no further argument than 0"],
    ["log", 'lacks an argument: "log"'],
    ["log status", 'Argument 1 of "log" must be "log"'],
    ["log --oneline log", 'Argument 1 of "log" must be "log"'],
    ["log -- log", 'must be "log"'],
    ["log log --exec=x", 'no flag "--exec"'],
    ["log log --output /etc/x", 'no flag "--output"'],
    ["log log --oneline --oneline", "given twice"],
    ["log log --oneline=x", "takes no value"],
    ["log log -o=/work/x", 'without "="'],
    ["log log --max-count", "needs a whole number from 1 to 100"],
    ["log log --max-count 101", "needs a whole number"],
    ["log log --max-count=1e1", "needs a whole number"],
    ["log log --author --exec", "does not begin with -"],
    ["log log -- --exec", "does not begin with -"],
    ["log log $(id)", "must be a text that fits"],
    ["log log main ../../etc/passwd", "filesystem section allows to read"],
    ["log log main .git/config", "filesystem section allows to read"],
    ["log log main a b c", "no further argument than 4"],
    ["seek --all 6 /work/x", "from -5 to 5"],
    ["seek --all 5 /data/x", "allows to write"],
    ["seek --all 5", "lacks an argument: a path"],
    ["seek --all 5 ", "must be a path"],
  ])("%s is refused: %s", (text, why) => {
    const [name = "", ...given] = text.split(" ");
    const { allowed, reason, command, paths } = decideCommand(policy, name, given);
    expect({ allowed, command, paths }).toEqual({ allowed: false, command: undefined, paths: [] });
    expect(reason).toContain(why);
  });

  it("gets its paths in full, for whoever follows the links", () => {
    expect(decideCommand(policy, "log", ["log", "main", "src/../a", "/data/b"]).paths).toEqual([
      { path: "/work/project/a", access: "read", argument: 2, before: "" },
      { path: "/data/b", access: "read", argument: 3, before: "" },
    ]);
  });

  it("cannot hold a NUL", () => expect(decideCommand(policy, "log", ["log\0"]).allowed).toBe(false));
});
