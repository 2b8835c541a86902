// Brings a name into the one form in which protected names are compared, so that no spelling of them slips through.

/** Plain names, which most are: nothing but the case of their letters can vary. */
const PLAIN = /^[!-9;-}]*[!-,/-9;-}]$/;
/** Characters some file systems leave out when they compare names (HFS+), and others that cannot be seen. */
const IGNORABLE = /\p{Default_Ignorable_Code_Point}/gu;
/** Windows cuts these off, and takes what follows a colon for the name of a stream. */
const TAIL = /(?:(?<=.):.*|(?<![. ])[. ]+)$/su;

/** Case, Unicode form, invisible characters, trailing dots and spaces and stream names make no difference in it. */
export function foldName(name: string): string {
  if (PLAIN.test(name)) return name.toLowerCase();
  return name.normalize("NFKC").replace(IGNORABLE, "").toLowerCase().normalize("NFKC").replace(TAIL, "");
}
