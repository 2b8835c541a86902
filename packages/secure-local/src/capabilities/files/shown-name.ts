// Shows names of files in texts of one line each: whoever may name a file must not write lines of his own with it.

// Nearly every name is printable ASCII, and a start does not wait for Unicode's tables.
const PLAIN = /^(?!")[\x20-\x7e]*$/;
let steering: RegExp | undefined;

/** What breaks a line, steers a terminal, turns the direction of writing or is not seen; joiners of emoji and of words are none of it. */
function unshown(): RegExp {
  return (steering ??=
    /\u034f|\u17b4|\u17b5|[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}\p{Cs}\p{Co}\p{Noncharacter_Code_Point}\u00ad\u115f\u1160\u180e\u200b\u2060-\u2065\u2800\u3164\ufeff\uffa0\ufff0-\ufffb\u{1D159}\u{1D173}-\u{1D17A}\u{E0000}-\u{E007F}]/gu);
}

/**
 * A name or path as it stands. With a character in it that is not seen, or that begins a line, it is a JSON string with that character
 * escaped; so is a name that begins with a quote, so that no name passes for another.
 */
export function shownName(name: string): string {
  if (PLAIN.test(name) || (!name.startsWith('"') && name.search(unshown()) < 0)) return name;
  return JSON.stringify(name).replace(unshown(), escapedUnits);
}

/** The same for a name that a URI is made of: what is not seen is percent-encoded, so that the URI still leads to the file. */
export function completedName(name: string): string {
  return PLAIN.test(name) ? name : name.replace(unshown(), percentEncoded);
}

function escapedUnits(character: string): string {
  return character.replace(/[^]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

function percentEncoded(character: string): string {
  return [...new TextEncoder().encode(character)]
    .map((byte) => `%${byte.toString(16).toUpperCase().padStart(2, "0")}`)
    .join("");
}
