// Expressions that can take longer than linear time, or that the checker cannot judge, with the longest text each is ever given
// and why. The scorecard measures them at that length; one that is not named here has to be linear.

/**
 * File, beginning of the pattern, longest text in characters, who bounds it; and milliseconds it may take where the text is the
 * user's own and nobody else's.
 */
export const BOUNDED = [
  [
    "packages/secure-local/src/audit/secret-shapes.ts",
    "((?:secret|token",
    16_384,
    "any text; every repetition in it is counted, so that it is linear though the checker cannot tell",
  ],
  [
    "packages/secure-local/src/audit/secret-shapes.ts",
    "(?<![A-Za-z0-9_])(?:AGE-",
    16_384,
    "any text; every shape has a beginning of its own and counts its repetitions, so that it is linear though the checker cannot tell",
  ],
  [
    "packages/secure-local/src/audit/secret-shapes.ts",
    "(?<![\\w-])((?:bearer|basic)",
    16_384,
    "any text; what stands behind the word is counted or taken, but the checker guesses otherwise on a busy machine",
  ],
  ["packages/secure-local/src/audit/secret-shapes.ts", "^(?:pass", 200, "a password of a URL, bounded by its pattern"],
  [
    "packages/mcp/src/node/child-output.ts",
    "((?:key|token",
    4_096,
    "one argument of a command its user wrote, cut before it is shown",
    50,
  ],
  [
    "packages/mcp/src/schema/json-schema/formats.ts",
    "^([a-z][a-z\\d+.-]*:)?(?:\\/\\/",
    8_192,
    "one value of format uri in a message",
  ],
  ["packages/mcp-tools/src/doctor/", "", 4_096, "a message of a server under examination, whose user waits for it", 50],
  ["packages/mcp/src/schema/json-schema/pattern.ts", "^(?:[*+?]|", 2_000, "one pattern of a schema"],
  [
    "packages/secure-local/src/audit/secret-shapes.ts",
    "((?:authorization|cookie)",
    16_384,
    "one text of a record, cut before it is redacted",
  ],
  [
    "packages/secure-local/src/audit/secret-shapes.ts",
    "((?:pass(?:word",
    16_384,
    "one text of a record, cut before it is redacted",
  ],
  [
    "packages/secure-local/src/audit/secret-shapes.ts",
    "(?<![A-Za-z0-9])",
    16_384,
    "one text of a record, cut before it is redacted",
  ],
  ["packages/secure-local/src/capabilities/resolve.ts", "%.*$", 64, "an address as the system writes it"],
  [
    "packages/secure-local/src/capabilities/files/protection-of.ts",
    "(?:(?<=.):",
    4_096,
    "one path the system can open",
  ],
  ["packages/secure-local/src/cli/", "", 4_096, "what the user of the terminal typed, or their own settings", 50],
  ["packages/secure-local/src/policy/", "", 4_096, "one line of the operator's own policy", 50],
  ["packages/secure-local/src/prompts/analyze-logs.ts", "", 4_096, "one line of a log, cut before it is read"],
  ["packages/secure-local/src/prompts/code-review.ts", "^[ \\t]*(?:pub )", 4_096, "the beginning of the code given"],
  ["packages/secure-local/src/tools/calculate/calculate.ts", "", 2_000, "an expression, refused when it is longer"],
  ["packages/mcp-tools/src/remote/", "", 4_096, "what the user of the terminal typed, or their own settings", 50],
  ["packages/secure-local/src/tools/web-fetch/", "", 4_096, "one header, or the beginning of a page"],
  ["packages/secure-local/src/tools/web-search/web-search.ts", "(?<=^|", 2_048, "one query, refused when it is longer"],
  [
    "packages/secure-local/src/tools/web-search/web-search.ts",
    "(?:\\/search)?",
    2_048,
    "the endpoint the operator's policy names",
    50,
  ],
];

const VALUES = "values of secrets as they are, one or the other";
const NAMES = "one name of the source, quoted, as a whole word";

/** File, how it is made, and of what: expressions that no file alone says. */
export const MADE = [
  [
    "packages/mcp/src/schema/json-schema/formats.ts",
    'text, "u"',
    "a text of format regex, which is made and never run",
  ],
  ["packages/mcp/src/schema/json-schema/pattern.ts", 'source, "u"', "a schema's own pattern, judged before it runs"],
  ["packages/secure-local/src/audit/encoded-secrets.ts", "sorted.map(escaped)", VALUES],
  ["packages/secure-local/src/audit/secret-shapes.ts", "sorted.map(escaped)", VALUES],
  ["packages/secure-local/src/audit/secret-spellings.ts", "[...this.#values]", VALUES],
  ["packages/secure-local/src/capabilities/secret-exchange.ts", "sorted.map(escaped)", VALUES],
  ["packages/secure-local/src/cli/audit-lines.ts", '`^${value.split("*")', "what a user asks their own log for"],
  ["packages/secure-local/src/cli/likely-secrets.ts", "`(?<!\\\\w)(?:${escaped.join", VALUES],
  ["packages/secure-local/src/cli/migrate/imports.ts", "String.raw`(?<!\\.)${asWord(each.local)}`", NAMES],
  ["packages/secure-local/src/cli/migrate/own-api.ts", "String.raw`^\\??\\s*:\\s*${asWord(local)}`", NAMES],
  ["packages/secure-local/src/cli/migrate/own-api.ts", 'asWord(local), "g"', NAMES],
  [
    "packages/inspection/src/characters/hidden-characters.ts",
    "`(?=[\\\\p{L}\\\\p{M}])[${scripts()}]`",
    "one character of one of many scripts",
  ],
];
