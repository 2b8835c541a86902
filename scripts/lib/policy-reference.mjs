// Writes docs/policy-reference.md: which keys there are and what they take is asked of the parser, what they mean comes from policy-keys.mjs.
import { SECTIONS } from "./policy-keys.mjs";
import { wrapProse } from "./wrap-prose.mjs";

/** A key and a name that are near to none there is. */
const STRANGE = "zzqqzzqqzzqq";
const HEAD = `# Policy reference

<!-- Written by scripts/policy-reference.mjs; change scripts/lib/policy-keys.mjs and run it again. -->

A policy is one file that says what an AI client may do through \`mcp-secure-local\`. **What no line allows is denied; deny rules always win, in any order.** Adding a denial never allows more. The file must belong to you and be writable by nobody else.

| command | what it does |
| --- | --- |
| \`mcp-secure-local policy init [FILE]\` | asks what a client may do, and writes the policy that allows it |
| \`mcp-secure-local policy check [FILE]\` | tells every fault with its line, and what is probably not meant |
| \`mcp-secure-local policy show [FILE]\` | the policy in full, presets and defaults written out |
| \`mcp-secure-local policy explain CALL\` | which rule decides, at which line: \`web_search '{"query":"x"}'\`, \`fetch URL\`, \`read PATH\`, \`run COMMAND ARGUMENT…\`, \`prompt NAME ARGUMENTS\`, \`resource URI\`, and whether a person is asked |
| \`mcp-secure-local policy test FILE\` | holds cases against the policy, and exits with 1 where one fails |

A server reads its policy again when the file changes (and has rested for a second) and at SIGHUP. A file that cannot be used changes nothing: the policy
before stays in force, and stderr, the log messages and the audit log say so. A server of the policy that does not run yet is started when the file can be used
again.
`;
const CASES = `## Cases for \`policy test\`

\`\`\`yaml
policy: policy.yaml # beside this file; else --policy
cases:
  - allow: read /home/ada/notes/a.md
  - deny: fetch http://169.254.169.254/
  - deny: web_search
    arguments: { query: x }
    rule: tools.denied # a part of the rule that must decide
  - approve: 'write_file {"path": "/etc/hosts"}'
\`\`\`
`;

/**
 * The whole page, in Markdown.
 *
 * @param parse Parses the text of a policy; rejects with an error whose `errors` have messages.
 * @param presets The presets: name and one sentence.
 * @throws Error naming every key that only one of parser and table knows, and every example that is refused
 */
export async function policyReference(parse, presets) {
  const faults = [];
  const parts = [HEAD, presetTable(presets)];
  for (const [path, section] of Object.entries(SECTIONS)) {
    faults.push(...(await sectionFaults(parse, path, section)));
    parts.push(await sectionText(parse, path, section));
  }
  if (faults.length > 0) throw new Error(faults.join("\n"));
  return `${wrapProse([...parts, CASES].join("\n")).trimEnd()}\n`;
}

function presetTable(presets) {
  const rows = presets.map(({ name, about }) => `| \`${name}\` | ${about} |`);
  return `## Presets\n\n| \`extends:\` | |\n| --- | --- |\n${rows.join("\n")}\n`;
}

async function sectionFaults(parse, path, { keys, example }) {
  const faults = [];
  const name = path === "" ? "the whole file" : path;
  const known = await knownKeys(parse, path);
  const told = Object.keys(keys);
  if (told.length > 0) {
    for (const key of known) if (!told.includes(key)) faults.push(`policy-keys.mjs says nothing of ${key} in ${name}`);
    for (const key of told)
      if (!known.includes(key)) faults.push(`${name} has no key ${key}; remove it from policy-keys.mjs`);
  }
  if (example !== undefined) {
    for (const message of await messages(parse, example)) faults.push(`the example of ${name} is refused: ${message}`);
  }
  return faults;
}

async function sectionText(parse, path, { title, about, example, keys }) {
  const depth = path.includes("[]") || path.includes(".") ? "###" : "##";
  const lines = [`${depth} ${title ?? `\`${path}\``}`, ""];
  if (about !== "") lines.push(about, "");
  const rows = [];
  for (const [key, [fallback, meaning, words]] of Object.entries(keys)) {
    const takes = words ?? (await valueWords(parse, path, key));
    rows.push(`| \`${key}\` | ${cell(takes)} | ${cell(fallback)} | ${cell(meaning)} |`);
  }
  if (rows.length > 0) lines.push("| key | takes | default | meaning |", "| --- | --- | --- | --- |", ...rows, "");
  if (example !== undefined) lines.push("```yaml", example, "```", "");
  return lines.join("\n");
}

function cell(text) {
  return text.replaceAll("|", "\\|");
}

/** The keys of a mapping, as the parser lists them beside one it does not know. */
async function knownKeys(parse, path) {
  const found = await messages(parse, nested(path, { [STRANGE]: 1 }));
  const list = found.map((message) => /has no key "zz.*; known keys are (.*)$/.exec(message)?.[1]).find(Boolean);
  return list === undefined ? [] : list.split(", ");
}

/** What a key takes, in the words with which the parser refuses something else. */
async function valueWords(parse, path, key) {
  const name = (value) => nested(path, { [key]: value });
  const found = await messages(parse, name({ [STRANGE]: [] }));
  const own = found.map((message) => /must be (.*); it is a mapping/.exec(message)?.[1]).find(Boolean);
  if (own !== undefined && own !== "a list") return own;
  if (own === undefined) {
    const each = found.map((message) => /zz\w+ must be (.*); it is a list/.exec(message)?.[1]).find(Boolean);
    return each === undefined || each.startsWith("a mapping") ? "a mapping" : `a mapping of names to ${each}`;
  }
  const items = await messages(parse, name([[]]));
  const item = items.map((message) => /^each item of .* must be (.*); it is a list/.exec(message)?.[1]).find(Boolean);
  return item === undefined ? "a list of mappings" : `a list; each item ${item}`;
}

/** A policy with a value at a path. */
function nested(path, value) {
  const parts = path === "" ? [] : path.split(".");
  const body = parts.reduceRight((inner, part) => {
    if (part === "NAME") return { name: inner };
    return part.endsWith("[]") ? { [part.slice(0, -2)]: [inner] } : { [part]: inner };
  }, value);
  return JSON.stringify(body).slice(1, -1);
}

/** The faults of a policy with this body: YAML, or the inside of an object. */
async function messages(parse, body) {
  const text = body.startsWith('"') ? `{"version": "1.0", ${body}}` : `version: "1.0"\n${body}\n`;
  try {
    await parse(text);
    return [];
  } catch (error) {
    if (!Array.isArray(error.errors)) throw error;
    return error.errors.map(({ message }) => message);
  }
}
