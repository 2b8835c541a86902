// What is said of a text that YAML reads in another way than its writer meant, or not at all: a sentence for people, at its line.
import { expect, it } from "vitest";
import { PolicyError } from "../../src/policy/faults.js";
import { parsePolicy } from "../../src/policy/parse-policy.js";

const FIRST = 'version: "1.0"\n';

async function faultsOf(text: string): Promise<string> {
  const error: unknown = await parsePolicy(text, { file: "p" }).catch((reason: unknown) => reason);
  return error instanceof PolicyError ? error.message : "none";
}

it.each([
  [
    "filesystem:\n  denied_paths: [**/*.pem]",
    '3:18: **/*.pem begins with *, which YAML takes for an alias; put it in quotes: "**/*.pem"',
  ],
  [
    "tools:\n  allowed:\n    - *",
    '4:7: this is not valid YAML: a value that begins with * must stand in quotes, as in "*"',
  ],
  ["tools: { allowed: [& a] }", "2:20: this is not valid YAML: a value that begins with & must stand in quotes"],
  [
    "tools: { allowed: [&a] }",
    "2:22: the anchor &a is not understood in a policy; remove it, or put text that begins with & in quotes",
  ],
  [
    "tools: { allowed: [!a] }",
    "2:22: the tag !a is not understood in a policy; remove it, or put text that begins with ! in quotes",
  ],
  ["tools:\n  allowed: [@a]", "3:13: this is not valid YAML: a value that begins with @, ` or % must stand in quotes"],
  [
    'tools:\n  allowed: ["C:\\Users"]',
    "3:16: this is not valid YAML: \\ has a meaning of its own in double quotes; use single quotes, or write \\\\ for each \\",
  ],
  [
    "tools:\n  allowed:\n    - a\n   - b",
    "5:1: this is not valid YAML: this line is not in the column of those that it belongs to; give each of them the same number of spaces",
  ],
  [
    "tools:\n  allowed: []\n   denied: []",
    "4:1: this is not valid YAML: this line is not in the column of those that it belongs to; give each of them the same number of spaces",
  ],
  [
    "audit: log_file: /x",
    "2:8: this is not valid YAML: a second colon with a space in one line; put the value in quotes, or begin a new line for what belongs below",
  ],
  [
    "tools",
    "2:1: this is not valid YAML: this is no key with a value; write KEY: VALUE, or - VALUE in a list, with the space",
  ],
  [
    "tools:\n  allowed:\n  -a\n  -b",
    "4:3: this is not valid YAML: this is no key with a value; write KEY: VALUE, or - VALUE in a list, with the space",
  ],
  [
    'tools:\n  allowed: ["a]',
    "4:1: this is not valid YAML: a text in quotes, here or in a line above, has no end; write the missing quote",
  ],
  [
    "tools:\n  allowed: [a\naudit: {}",
    "4:1: this is not valid YAML: a list that was begun with [, here or in a line above, has no end; write the missing ]",
  ],
  [
    "tools: { allowed: [a]",
    "3:1: this is not valid YAML: a section that was begun with {, here or in a line above, has no end; write the missing }",
  ],
  [
    'tools:\n  allowed: ["a" "b"]',
    "3:17: this is not valid YAML: two values stand beside each other; write a comma between them",
  ],
  [
    "tools:\n  allowed: [a,,b]",
    "3:15: this is not valid YAML: there is no value before this comma; take the comma out",
  ],
  [
    "tools:\n  allowed: [a]]",
    "3:15: this is not valid YAML: nothing was begun that this ends; take it out, or put the value in quotes",
  ],
  [
    "tools: {\n  allowed:\n  - a\n}",
    "4:3: this is not valid YAML: a value with a colon and a space, or lines that begin with -, cannot stand in [ ] or { }; use quotes, and commas",
  ],
  ["tools:\n\tallowed: [a]", "3:1: this is not valid YAML: Tabs cannot stand at the beginning of a line; write spaces"],
  [
    "tools:\n  allowed: - a",
    "3:12: this is not valid YAML: - begins a list in a line of its own; write it below the key",
  ],
  [
    'tools: "a" b',
    "2:12: this is not valid YAML: more follows behind the end of a value; take it out, or put the whole value in quotes",
  ],
  ['tools: "a"#b', "2:11: this is not valid YAML: a comment needs a space before its #"],
  [
    `---\n${FIRST}`,
    "2:1: this is not valid YAML: a second document begins here; keep one and remove the rest, and each line --- or ...",
  ],
  ["tools: | x\n a", "2:10: this is not valid YAML: Not a YAML token: x; correct it, or put the value in quotes"],
])("of %j is said: %s", async (text, said) => {
  expect(await faultsOf(`${FIRST}${text}\n`)).toBe(`p:${said}`);
});

it.each(["%YAML 1.1", "%YAML 2.0", "%TAG ! tag:x,2000:", "%OTHER x"])(
  "refuses %s before the document: it would be read in another way than policies are",
  async (line) => {
    expect(await faultsOf(`# a policy\n${line}\n---\n${FIRST}`)).toBe(
      `p:2:1: "${line}" is not understood: a policy is YAML 1.2; remove this line`,
    );
  },
);

it("takes the one that says what is so, and what looks like one within the document", async () => {
  expect(await faultsOf(`%YAML 1.2 # as it is\n---\n${FIRST}`)).toBe("none");
  expect(await faultsOf(`${FIRST}tools: { allowed: ["a",\n%YAML 1.1] }\n`)).not.toContain("is not understood");
});
