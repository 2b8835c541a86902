// T23: every regular expression of our sources: linear, or measured at the longest text it is ever given; and users' patterns.
import { BOUNDED, MADE } from "../support/bounded-patterns.mjs";
import { regularExpressions } from "../support/regex-literals.mjs";

process.env.RECHECK_BACKEND = "pure";
const { checkSync } = await import("recheck");

export const goal = { id: "T23", title: "Regular expressions that take too long", atLeast: 350, refusalMs: 500 };

const SAFE_MS = 20_000;
const ATTACK_MS = 300;
/** A hostile text of the greatest length takes no longer. */
const MATCH_MS = 5;
const SEED = 7;
/** Repeated up to the bound, each makes some expression look far. */
const PUMPS = [
  " ",
  "a",
  "0",
  '"',
  "'",
  "/",
  "\\",
  "-",
  "=",
  ":",
  "*",
  "[",
  "<meta ",
  "key",
  "secret=",
  "password",
  "\t",
  "\n",
  ".",
  "%",
  "a0",
  "fn a{",
  "//",
  "/*",
  '"a"',
  ",\n",
  "charset",
  "lang-",
  "opacity:0",
  "2026-01-01 ",
  "-eyJ",
  "-sk-",
  "bearer ",
  ".basic a ",
];

export async function run(report, parts) {
  const { literals, made } = regularExpressions();
  report.kind("our own expressions on the worst texts");
  for (const literal of literals) await judge(report, literal);
  report.kind("expressions made of text");
  for (const { file, text } of made) await report.attack(`${file}: ${text.slice(0, 60)}`, () => isKnown(file, text));
  await usersPatterns(report, parts);
}

/** What cannot be read from the file is known one by one; how a line is broken makes no difference. */
function isKnown(file, text) {
  const how = text.replace(/^(?:new )?RegExp\(\s*/, "");
  return MADE.some(([name, beginning]) => file === name && how.startsWith(beginning)) || "made of text";
}

async function judge(report, { file, pattern, flags }) {
  const bound = BOUNDED.find(([name, beginning]) => file.startsWith(name) && pattern.startsWith(beginning));
  const verdict = verdictOn({ pattern, flags }, bound);
  await report.attack(`${file}: /${pattern}/${flags}`.slice(0, 200), () => verdict);
}

/** `true` for a linear expression, and for one that is quick enough at its bound. */
function verdictOn({ pattern, flags }, bound) {
  const found = checkSync(pattern, flags, { timeout: bound === undefined ? SAFE_MS : ATTACK_MS, seed: SEED });
  if (found.status === "safe") return true;
  if (bound === undefined) return `${found.status} ${found.complexity?.summary ?? ""}`;
  const slowest = measured(new RegExp(pattern, flags), texts(found, bound[2]));
  return slowest <= (bound[4] ?? MATCH_MS) || `${slowest.toFixed(1)} ms at ${bound[2]} characters`;
}

/** Texts of the length that make it slow, as the checker found them and as one would try. */
function texts({ attack }, length) {
  const fill = (prefix, pump, suffix) =>
    prefix + pump.repeat(Math.max(1, Math.floor((length - prefix.length - suffix.length) / pump.length))) + suffix;
  const found = attack?.pumps?.length > 0 ? [fill(attack.pumps[0].prefix, attack.pumps[0].pump, attack.suffix)] : [];
  return [...found, ...PUMPS.flatMap((pump) => [fill("", pump, "\0"), fill("x", pump, "!\n")])];
}

/** The slowest of the texts, each in its quickest of three. */
function measured(expression, list) {
  return Math.max(
    ...list.map((text) =>
      Math.min(
        ...[0, 1, 2].map(() => {
          expression.lastIndex = 0;
          const started = performance.now();
          text.replace(expression, "");
          return performance.now() - started;
        }),
      ),
    ),
  );
}

/** Patterns of policies run in linear time on whatever they are given. */
async function usersPatterns(report, { parsePolicy, decideCommand }) {
  const patterns = [
    "(a+)+",
    "(a|a)*b",
    "([a-z]+)*!",
    "(.*)*x",
    "(a|aa)+c",
    "(x+x+)+y",
    "^(([a-z])+.)+[A-Z]([a-z])+$",
    "(.*){1,20}z",
  ];
  report.kind("patterns of a policy on the worst texts");
  for (const [index, pattern] of patterns.entries()) {
    const text = `version: "1.0"\ncommands:\n  allowed: [{ name: go, executable: /bin/true, arguments: [{ pattern: ${JSON.stringify(pattern)} }] }]\n`;
    const policy = await parsePolicy(text, { file: "p.yaml" });
    for (const hostile of ["a", "x", "ab", "aaa", "z"])
      await report.attack(`the pattern ${index} on ${hostile}`, () => {
        const started = performance.now();
        decideCommand(policy, "go", [`${hostile.repeat(5_000)}!?`]);
        const time = performance.now() - started;
        return time < 500 || `${time.toFixed(0)} ms`;
      });
  }
  const policy = await parsePolicy(
    'version: "1.0"\ncommands:\n  allowed: [{ name: go, executable: /bin/true, arguments: [{ pattern: "[a-z]+" }] }]\n',
    { file: "p.yaml" },
  );
  await report.benign("an honest pattern", () => decideCommand(policy, "go", ["abc"]).allowed);
}
