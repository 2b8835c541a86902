// Judges the names of a host's servers: what can be shown, and cannot be taken for another one.
import { LocalError } from "../jsonrpc/local-error.js";
import { visibleText } from "../jsonrpc/visible-text.js";

/** Names come from files people write; what is longer is no name. */
const MOST_CHARACTERS = 64;

// Letters of other scripts, and digits, that look like the one they stand beside.
const LOOKS_LIKE: Readonly<Record<string, string>> = {
  "0": "o",
  "1": "l",
  i: "l",
  "|": "l",
  "5": "s",
  а: "a",
  в: "b",
  с: "c",
  ԁ: "d",
  е: "e",
  һ: "h",
  і: "l",
  ј: "j",
  к: "k",
  ӏ: "l",
  м: "m",
  н: "h",
  о: "o",
  р: "p",
  ԛ: "q",
  ѕ: "s",
  т: "t",
  у: "y",
  ԝ: "w",
  х: "x",
  α: "a",
  ε: "e",
  ι: "l",
  κ: "k",
  ν: "v",
  ο: "o",
  ρ: "p",
  τ: "t",
  υ: "u",
  χ: "x",
  ı: "l",
};

/** Throws `INVALID_NAME`, and `LOOK_ALIKE` for a name that is, or looks like, one of `others`. */
export function checkServerName(name: string, others: Iterable<string>): void {
  const shown = visibleText(name, MOST_CHARACTERS);
  if (name.trim() === "" || shown !== name) {
    const text = `A server's name must have 1 to ${MOST_CHARACTERS} visible characters: "${shown}" is none`;
    throw new LocalError("INVALID_NAME", text);
  }
  const mine = skeleton(name);
  for (const other of others) {
    if (skeleton(other) !== mine) continue;
    const why = other === name ? "there is one of that name" : `it looks like "${other}"`;
    throw new LocalError("LOOK_ALIKE", `The server "${name}" was not added: ${why}. Choose another name.`);
  }
}

/** The same for names that people take for one another. */
function skeleton(name: string): string {
  const letters = name
    .normalize("NFKC")
    .toLowerCase()
    .normalize("NFKD")
    .replace(/[\p{M}\s_.-]/gu, "");
  return Array.from(letters, (letter) => LOOKS_LIKE[letter] ?? letter)
    .join("")
    .replaceAll("rn", "m");
}
