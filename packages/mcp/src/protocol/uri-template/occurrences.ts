// Finds every place where a text stands in another, overlapping ones too, in one pass (Knuth, Morris, Pratt).

/** For each length of a match so far, how much of it may begin the next one. Made once for a text. */
export function fallbacksOf(text: string): Int32Array {
  const fallbacks = new Int32Array(text.length + 1);
  for (let at = 1, matched = 0; at < text.length; at++) {
    while (matched > 0 && text.charCodeAt(at) !== text.charCodeAt(matched)) matched = fallbacks[matched] as number;
    if (text.charCodeAt(at) === text.charCodeAt(matched)) matched++;
    fallbacks[at + 1] = matched;
  }
  return fallbacks;
}

/** Sets a 1 for each index of `whole` at which `text` begins. */
export function occurrences(whole: string, text: string, fallbacks: Int32Array): Uint8Array {
  const found = new Uint8Array(whole.length + 1);
  for (let at = 0, matched = 0; at < whole.length; at++) {
    const code = whole.charCodeAt(at);
    while (matched > 0 && code !== text.charCodeAt(matched)) matched = fallbacks[matched] as number;
    if (code === text.charCodeAt(matched)) matched++;
    if (matched === text.length) {
      found[at + 1 - matched] = 1;
      matched = fallbacks[matched] as number;
    }
  }
  return found;
}
