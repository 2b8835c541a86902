// A command line as people may see it: quoted where needed, cut, and without what looks like a secret.
import { visibleText } from "../jsonrpc/visible-text.js";

const PLAIN = /^[\w@%+=:,./\\-]+$/;
const SECRET_NAME = /key|token|secret|passw|credential|auth|cookie/i;
// `--token=…`, `API_KEY=…`, `Authorization: Bearer …`: the name, and what follows it.
const ASSIGNMENT = /((?:key|token|secret|passw|credential|auth|cookie)[\w.-]*\s*[=:]\s*).+/is;
const OPTION = /^--?[\w.-]+$/;
const USER_INFO = /(\w:\/\/)[^/@\s]+@/g;
// Two lines of a terminal.
const MOST_CHARACTERS = 160;
const HIDDEN = "***";
// A shorter value is found in any text.
const SHORTEST_SECRET = 6;

export function commandText(command: string, args: readonly string[]): string {
  const words: string[] = [command];
  let hideNext = false;
  for (const arg of args) {
    const option = OPTION.test(arg);
    if (hideNext && !option) words.push(HIDDEN);
    else words.push(arg.replace(ASSIGNMENT, `$1${HIDDEN}`).replace(USER_INFO, `$1${HIDDEN}@`));
    hideNext = option && SECRET_NAME.test(arg);
  }
  const shown = words.map((word) => (PLAIN.test(word) || word === HIDDEN ? word : quoted(word)));
  return visibleText(shown.join(" "), MOST_CHARACTERS);
}

function quoted(word: string): string {
  return `'${word.replaceAll("'", "'\\''")}'`;
}

/** Replaces, in what is shown, the values of variables whose names say that they are secrets. */
export function secretHider(env: Readonly<Record<string, string | undefined>> = {}): (text: string) => string {
  const secrets = Object.entries(env).filter(
    ([name, value]) => SECRET_NAME.test(name) && value !== undefined && value.length >= SHORTEST_SECRET,
  ) as [string, string][];
  return (text) => secrets.reduce((shown, [name, value]) => shown.replaceAll(value, `[${name}]`), text);
}
