// Brings names and paths into one form that is the same for all spellings which some file system takes for one another.

/** Nothing but ASCII, as most paths are: only the case of letters can vary. */
const PLAIN = /^[\u0020-\u007e]*$/;

/**
 * Case, Unicode form and characters that nobody sees make no difference in it, as on file systems that fold names (APFS, NTFS, FAT,
 * folders of ext4 that are told to): for them `\u00df` is `ss` as well. Slashes stay where they are.
 */
export function foldCase(text: string): string {
  if (PLAIN.test(text)) return text.toLowerCase();
  return withoutIgnorable(foldLetters(text.normalize("NFC"))).normalize("NFC");
}

/** Letters that have no small or no capital form of one character need all three steps. */
export function foldLetters(text: string): string {
  return text.toLowerCase().toUpperCase().toLowerCase();
}

/** Characters some file systems leave out when they compare names (HFS+), and others that cannot be seen. */
export function withoutIgnorable(text: string): string {
  // Not at the top of the file: there this pattern would have every start look up Unicode's tables.
  return text.replace(/\p{Default_Ignorable_Code_Point}/gu, "");
}
