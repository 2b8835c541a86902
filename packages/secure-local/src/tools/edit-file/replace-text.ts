// Replaces exact pieces of a text, each of which must be there once, or as often as it is meant to.

export interface Replacement {
  readonly old_text: string;
  readonly new_text: string;
  readonly replace_all?: boolean;
}

export interface Replaced {
  readonly text: string;
  /** How many places were changed. */
  readonly count: number;
}

/** One after the other, each in what the ones before have left. A sentence when one of them cannot be made. */
export function replaceText(text: string, replacements: readonly Replacement[]): Replaced | string {
  // Models see and write plain line ends; the file keeps its own.
  const windows = text.includes("\r\n") && !/(?<!\r)\n/.test(text);
  let current = text;
  let count = 0;
  for (const [index, replacement] of replacements.entries()) {
    const wanted = ends(replacement.old_text, windows);
    const which = replacements.length === 1 ? "old_text" : `old_text of edit ${index + 1}`;
    const parts = current.split(wanted);
    const found = parts.length - 1;
    if (found === 0) return `${which} is not in the file. It must be there to the letter, white space included.`;
    if (found > 1 && replacement.replace_all !== true) {
      return `${which} is ${found} times in the file. Give more of what stands around it, or set replace_all.`;
    }
    current = parts.join(ends(replacement.new_text, windows));
    count += found;
  }
  return { text: current, count };
}

function ends(text: string, windows: boolean): string {
  return windows ? text.replace(/\r?\n/g, "\r\n") : text;
}
