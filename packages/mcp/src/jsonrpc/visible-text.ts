// Text of a stranger made fit for an error or a log: what would steer a terminal, or is not seen, is shown instead of obeyed.

/** Characters of a peer's words that an error repeats: enough to recognise them, too few to flood a log. */
const REPEATED = 200;
/** Characters of the message of an error: no sentence of a person is longer. */
const LONGEST_MESSAGE = 8_192;

/** What the quick look finds. */
const UNUSUAL = /[^\u0020-\u007e]/;
const SHORT: Record<string, string> = { "\n": "\\n", "\r": "\\r", "\t": "\\t" };

let steering: RegExp | undefined;

/**
 * Controls (line ends included), format and invisible characters, private ones and noncharacters, lone surrogates. Made at first
 * use: V8 looks classes up in Unicode's tables, which a start would wait for.
 */
function everySteering(): RegExp {
  const classes = ["Cc", "Cf", "Cs", "Co", "Zl", "Zp", "Default_Ignorable_Code_Point", "Noncharacter_Code_Point"];
  steering ??= new RegExp(`[${classes.map((name) => `\\p{${name}}`).join("")}\\u2800\\ufffc]`, "gu");
  return steering;
}

/** One line of at most `most` characters (and a mark where it was cut), without characters that act on a terminal. */
export function visibleText(text: string, most: number): string {
  const cut = text.length > most;
  const begin = cut ? text.slice(0, most) : text;
  const shown = UNUSUAL.test(begin) ? begin.replace(everySteering(), escape) : begin;
  return cut ? `${shown}… (${text.length} characters)` : shown;
}

/** What a peer said, as an error may repeat it. */
export function peerWords(said: unknown): string {
  return visibleText(typeof said === "string" ? said : (JSON.stringify(said) ?? String(said)), REPEATED);
}

/** The same between quotation marks. */
export function quotedWords(said: string): string {
  return visibleText(JSON.stringify(said.length > REPEATED ? `${said.slice(0, REPEATED)}…` : said), 4 * REPEATED);
}

/**
 * The message of an error as it may leave: bounded, and nothing in it hidden. Lines and tabs stay, since a handler may have
 * written them; who repeats a peer's words takes `peerWords`, which leaves none.
 */
export function errorMessage(message: string): string {
  if (message.length <= LONGEST_MESSAGE && !UNUSUAL.test(message)) return message;
  const cut = message.length > LONGEST_MESSAGE ? `${message.slice(0, LONGEST_MESSAGE)}…` : message;
  return cut.replace(everySteering(), (character) =>
    character === "\n" || character === "\t" ? character : escape(character),
  );
}

function escape(character: string): string {
  const short = SHORT[character];
  if (short !== undefined) return short;
  const code = character.codePointAt(0) as number;
  if (code < 256) return `\\x${code.toString(16).padStart(2, "0")}`;
  return code < 0x1_0000 ? `\\u${code.toString(16).padStart(4, "0")}` : `\\u{${code.toString(16)}}`;
}
