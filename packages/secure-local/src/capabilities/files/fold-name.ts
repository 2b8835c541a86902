// Brings a name into the one form in which protected names are compared, so that no spelling of them slips through.

/** Plain names, which most are: nothing but the case of their letters can vary. */
const PLAIN = /^[!-9;-}]*[!-,/-9;-}]$/;
/** Windows cuts these off, and takes what follows a colon for the name of a stream. */
const TAIL = /(?:(?<=.):.*|(?<![. ])[. ]+)$/su;

/** Case, Unicode form, invisible characters, trailing dots and spaces and stream names make no difference in it. */
export function foldName(name: string): string {
  if (PLAIN.test(name)) return name.toLowerCase();
  return withoutIgnorable(name.normalize("NFKC")).toLowerCase().normalize("NFKC").replace(TAIL, "");
}

/** Characters some file systems leave out when they compare names (HFS+), and others that cannot be seen. */
function withoutIgnorable(name: string): string {
  // Not at the top of the file: there this pattern would have every start look up Unicode's tables.
  return name.replace(/\p{Default_Ignorable_Code_Point}/gu, "");
}
