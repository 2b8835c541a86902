// The keeper's texts, of which the longer one is read when something in it is needed: nothing may be missing then.
import { describe, expect, test } from "vitest";
import { PERL_KEEPER, PERL_KEEPING } from "../../src/sandbox/keeper-in-perl.js";
import { PERL_REST } from "../../src/sandbox/keeper-rest-in-perl.js";
import { FirstPrograms } from "../../src/sandbox/first-program.js";
import { keptCallNames, servedCalls } from "../../src/sandbox/seccomp-filter.js";
import { LIMITS } from "./walls.js";

const ALL = [PERL_KEEPER, PERL_KEEPING, PERL_REST].map((text) => text.replace(/^\s*#.*$/gm, "")).join("\n");
/** Functions of Perl's own, and what the text before these has. */
const KNOWN =
  "chmod close fcntl fork index leave lstat oct open opendir ord pack readlink sprintf stat substr syscall sysopen sysread sysseek syswrite umask unpack waitpid".split(
    " ",
  );

describe("the texts of the keeper", () => {
  test("have each function that they call, once", () => {
    const made = [...ALL.matchAll(/^sub (\w+)/gm)].map(([, name]) => name);
    const called = [...ALL.matchAll(/(?<![$@%\w{>/-])([a-z_]+)\(/g)].map(([, name]) => name);
    expect(new Set(made).size).toBe(made.length);
    expect(called.filter((name) => !made.includes(name) && !KNOWN.includes(name ?? ""))).toEqual([]);
  });

  test("name system calls that have a number on each processor", () => {
    const named = [...ALL.matchAll(/\$call\{(\w+)\}/g)].map(([, name]) => name ?? "");
    for (const processor of ["x64", "arm64"] as const)
      expect(named.filter((name) => !Object.hasOwn(servedCalls(processor), name))).toEqual([]);
  });

  test("do something for each call that is handed over", () => {
    for (const name of Object.keys(keptCallNames("x64"))) expect(ALL).toContain(name.replace(/at2?$/, ""));
  });

  test("end no pattern before a line break at the end of a name", () => {
    const programs = new FirstPrograms({ sh: "/bin/sh", perl: "/usr/bin/perl" }, "x64");
    const words = [true, false].flatMap((keeper) =>
      programs.words({ limits: LIMITS, egress: "/s", keeper, kept: ["/k"], command: ["true"] }),
    );
    expect(words.join("\n")).toContain(PERL_REST.slice(0, 80));
    // "$" fits before a last line break, too, and so do "\Z" and "$" with /m: all but "\z".
    const ends = words.flatMap((text) => text.match(/[^\n]*(?:(?<![\\$])\$(?:[)|}]|\/[a-z]*[\s;)])|\\Z)[^\n]*/g) ?? []);
    expect(ends).toEqual([]);
  });
});
