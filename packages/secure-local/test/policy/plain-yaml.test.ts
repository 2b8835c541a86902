// What is read without the YAML library is read as that reads it, places and all; what is anything but plain is left to it.
import fc from "fast-check";
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { plainTree } from "../../src/policy/policy-tree.js";
import { FRAGMENTS, WHOLE } from "./malformed-policies.js";
import { alike, CHOSEN, SERVERS } from "./read-alike.js";

it("reads the policies that people begin with", async () => {
  for (const text of [CHOSEN, SERVERS, SERVERS.trimEnd()]) expect(await alike(text), text).toBe(true);
});

it("reads every example and every malformed policy as the library does, or not at all", async () => {
  const folder = join(import.meta.dirname, "../../../../examples");
  const files = readdirSync(folder, { recursive: true }).map(String);
  const examples = files.filter((name) => /\.ya?ml$/.test(name) && !name.includes("node_modules"));
  for (const name of examples) await alike(readFileSync(join(folder, name), "utf8"));
  for (const [text] of [...WHOLE, ...FRAGMENTS]) await alike(text);
});

describe("what could be read in more than one way", () => {
  const values = [
    ...[
      "",
      "~",
      "null",
      "Null",
      "yes",
      "No",
      "on",
      "TRUE",
      ".5",
      ".inf",
      "0x1f",
      "0o7",
      "1e3",
      "01",
      "+1",
      "-1",
      "1_000",
      "1.0",
    ],
    ...["12345678901", "*a", "&a b", "!x y", "!!str a", "| ", ">", "a b", "a: b", "@a", "`a", "%a", "?a", "- a", "a:"],
    ...[
      '"a\\n"',
      '"a" b',
      "'a''b'",
      "[a, b",
      "{ a: 1",
      "{ a: 1, a: 2 }",
      "{ a: }",
      "[a, ]",
      "[a: b]",
      "{a}",
      "[a] b",
      '{"a":1}',
    ],
    ...[
      "a\u00a0b",
      "a\tb",
      "\u{1F600}",
      "a\r",
      "<<",
      "--- a",
      "...",
      "{ a: b:c }",
      "[http://x/y]",
      "[{ a: yes }]",
      "2026-01-01",
    ],
  ];
  it.each(values)("%j is left to the library", (value) => {
    expect(plainTree(`a: ${value}\n`)).toBeUndefined();
    expect(plainTree(`a:\n  b: ${value}\n`)).toBeUndefined();
  });

  const texts = [
    ...[
      "",
      "# only this\n",
      " a: 1\n",
      "a: 1\n  b: 2\n",
      "a:\n  b: 1\n c: 2\n",
      "a: b\n  c\n",
      "a: 1\na: 2\n",
      "a:\n- b\n",
    ],
    ...[
      "a:\nb: 1\n",
      "- a\n  b\n",
      "a:\n  - b: 1\n",
      "---\na: 1\n",
      "a: 1\n...\n",
      "a: 1\n---\nb: 2\n",
      "%YAML 1.1\n---\na: 1\n",
    ],
    ...[
      "yes: 1\n",
      "1: a\n",
      '"a": 1\n',
      "? a\n: b\n",
      "a : 1\n",
      "a:1\n",
      "\ufeffa: 1\n",
      "a:\r\n  b: 1\r\n",
      "[a]\n",
      "a\n",
    ],
    `${Array.from({ length: 12 }, (_, at) => `${" ".repeat(at)}a:`).join("\n")} 1\n`,
    `a: ${"[".repeat(12)}${"]".repeat(12)}\n`,
  ];
  it.each(texts)("%j is left to the library", (text) => expect(plainTree(text)).toBeUndefined());
});

it("reads whatever it reads as the library does", { timeout: 60_000 }, async () => {
  const pieces = [
    "a",
    "b1",
    "_c",
    "x-y",
    "~/d",
    "/e/**",
    "http://h:80/p",
    '"q r"',
    "'s'",
    '""',
    "0",
    "7",
    "443",
    "true",
    "false",
  ];
  const signs = [
    ": ",
    ":",
    "- ",
    "-",
    ", ",
    ",",
    "[",
    "]",
    "{",
    "}",
    "{ ",
    " }",
    " #",
    "#",
    " ",
    "  ",
    "\n",
    "\n  ",
    "\n    ",
    "\n  - ",
  ];
  const odd = ["*", "&", "!", "|", ">", "@", "%", "null", "yes", "~", "1.5", ".", "..", "\\", "\t", '"', "'", "?", "é"];
  const chaos = fc.array(fc.constantFrom(...pieces, ...signs, ...odd), { maxLength: 14 }).map((each) => each.join(""));
  const word = fc.constantFrom(...pieces);
  const { flow } = fc.letrec<{ flow: string }>((tie) => ({
    flow: fc.oneof(
      { maxDepth: 3 },
      word,
      fc.array(tie("flow"), { maxLength: 3 }).map((each) => `[${each.join(", ")}]`),
      fc.array(tie("flow"), { maxLength: 3 }).map((each) => `{ ${each.map((one, at) => `k${at}: ${one}`).join(",")} }`),
    ),
  }));
  const comment = fc.constantFrom("", "", " # c", "  ", "   # - x: y");
  const indent = fc.constantFrom("", "", "  ", "  ", "    ");
  const key = fc.constantFrom("a: ", "b:   ", "c-d: ", "_e: ", "f:", "- ", "-   ", "# g: ");
  const line = fc.tuple(indent, key, fc.oneof(flow, fc.constant("")), comment).map((parts) => parts.join(""));
  const lines = fc.array(line, { minLength: 1, maxLength: 7 }).map((each) => each.join("\n"));
  const deeper = (text: string): string => text.replaceAll(/^/gm, "  ");
  const { block } = fc.letrec<{ block: string }>((tie) => ({
    block: fc.oneof(
      { maxDepth: 4 },
      fc.array(flow, { minLength: 1, maxLength: 3 }).map((items) => items.map((each) => `- ${each}`).join("\n")),
      fc
        .array(fc.tuple(flow, comment, fc.option(tie("block"), { freq: 1 })), { minLength: 1, maxLength: 3 })
        .map((entries) =>
          entries.map(([value, said, below], at) =>
            below === null ? `k${at}: ${value}${said}` : `k${at}:${said}\n${deeper(below)}`,
          ),
        )
        .map((entries) => entries.join("\n")),
    ),
  }));
  const broken = fc.tuple(block, fc.nat(200), fc.constantFrom(...signs, ...odd)).map(([text, at, sign]) => {
    const place = at % (text.length + 1);
    return text.slice(0, place) + sign + text.slice(place);
  });
  let plain = 0;
  const property = fc.asyncProperty(fc.oneof(chaos, lines, block, broken), async (text) => {
    if (await alike(text)) plain++;
  });
  await fc.assert(property, { numRuns: 10_000 });
  expect(plain).toBeGreaterThan(2_000);
});
