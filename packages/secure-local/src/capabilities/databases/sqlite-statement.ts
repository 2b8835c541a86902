// Looks at an SQLite statement before anything runs it: one statement, beginning like a query, calling nothing dangerous.

interface Token {
  readonly kind: "word" | "name" | "sign" | "other";
  /** Lower case for words and names. */
  readonly text: string;
}

/** Longer statements are programs. */
export const MAX_SQL_LENGTH = 20_000;
const TOKEN =
  /\s+|--[^\n]*|\/\*[^]*?(?:\*\/|$)|'(?:[^']|'')*'|"((?:[^"]|"")*)"|`((?:[^`]|``)*)`|\[([^\]]*)\]|([A-Za-z_\u0080-\uffff][\w$\u0080-\uffff]*)|\d[\w.]*|[^]/y;
const QUERIES: ReadonlySet<string> = new Set(["select", "values", "with"]);
const CHANGES: ReadonlySet<string> = new Set(["insert", "update", "delete", "replace"]);
const REFUSED_CALLS: ReadonlySet<string> = new Set(
  "load_extension readfile writefile edit fts3_tokenizer eval zipfile fsdir sqlite_dbpage sqlite_log".split(" "),
);
/** Pragmas that can be read as tables and tell of the schema alone. */
const READABLE_PRAGMAS: ReadonlySet<string> = new Set(
  "table_info table_xinfo table_list index_list index_info index_xinfo foreign_key_list"
    .split(" ")
    .map((name) => `pragma_${name}`),
);

export interface ReadStatement {
  /** Without the semicolon at its end. */
  readonly sql: string;
  /** It asks how another statement would be run. */
  readonly explain: boolean;
}

/** The statement, or a sentence that says why it is refused. */
export function readStatement(text: string): ReadStatement | string {
  if (text.length > MAX_SQL_LENGTH)
    return `The statement has ${text.length} characters; at most ${MAX_SQL_LENGTH} are allowed.`;
  if (text.includes("\0")) return "The statement holds a NUL character.";
  const tokens: Token[] = [];
  let end = 0;
  for (const { token, from } of tokensOf(text)) {
    if (token === undefined) return "A quotation mark or comment in the statement is not closed.";
    if (token.text === ";" && token.kind === "sign") {
      end ||= from;
      continue;
    }
    if (end > 0) return "Only one statement is allowed.";
    tokens.push(token);
  }
  const explain = isWord(tokens[0], "explain");
  if (explain) tokens.splice(0, isWord(tokens[1], "query") && isWord(tokens[2], "plan") ? 3 : 1);
  const fault = faultOf(tokens);
  return fault ?? { sql: end > 0 ? text.slice(0, end) : text, explain };
}

function* tokensOf(text: string): Iterable<{ readonly token: Token | undefined; readonly from: number }> {
  TOKEN.lastIndex = 0;
  for (let match = TOKEN.exec(text); match !== null && match[0] !== ""; match = TOKEN.exec(text)) {
    const [all] = match;
    const from = match.index;
    TOKEN.lastIndex = from + all.length;
    if (/^(?:\s|--)/.test(all)) continue;
    if (all.startsWith("/*")) {
      if (!all.endsWith("*/") || all.length < 4) yield { token: undefined, from };
      continue;
    }
    if (/^['"`[]$/.test(all)) yield { token: undefined, from };
    const name = match[1] ?? match[2] ?? match[3];
    if (name !== undefined) yield { token: { kind: "name", text: name.toLowerCase() }, from };
    else if (match[4] !== undefined) yield { token: { kind: "word", text: all.toLowerCase() }, from };
    else yield { token: { kind: all.length === 1 ? "sign" : "other", text: all }, from };
    TOKEN.lastIndex = from + all.length;
  }
}

function isWord(token: Token | undefined, text: string): boolean {
  return token?.kind === "word" && token.text === text;
}

function faultOf(tokens: readonly Token[]): string | undefined {
  const [first] = tokens;
  if (first === undefined) return "The statement is empty.";
  if (first.kind !== "word" || !QUERIES.has(first.text))
    return "Only queries are allowed: begin with SELECT, VALUES, WITH or EXPLAIN.";
  let depth = 0;
  let verb: string | undefined;
  for (const [index, token] of tokens.entries()) {
    const { kind, text } = token;
    if (kind === "sign" && text === "(") depth += 1;
    if (kind === "sign" && text === ")") depth -= 1;
    if (depth < 0) return "The parentheses of the statement do not match.";
    if (verb === undefined && depth === 0 && kind === "word") verb = verbAt(text, tokens[index + 1]);
    if ((kind === "word" || kind === "name") && isRefusedName(text, tokens[index + 1]))
      return `The statement uses ${text.slice(0, 60)}, which is not allowed.`;
  }
  if (depth !== 0) return "The parentheses of the statement do not match.";
  if (verb === undefined || CHANGES.has(verb)) return "The statement would change the database.";
  return undefined;
}

/** What a statement does stands outside all parentheses, behind the queries it names. */
function verbAt(word: string, next: Token | undefined): string | undefined {
  if (word === "replace") return isWord(next, "into") ? word : undefined;
  return word === "select" || word === "values" || CHANGES.has(word) ? word : undefined;
}

function isRefusedName(name: string, next: Token | undefined): boolean {
  if (name.startsWith("pragma_")) return !READABLE_PRAGMAS.has(name);
  return REFUSED_CALLS.has(name) && next?.text === "(";
}
