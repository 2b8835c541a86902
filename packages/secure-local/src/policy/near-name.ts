// Finds the name a person probably meant.

/** Names longer than this are not compared: nobody mistypes a key that long, and the comparison is quadratic. */
const MAX_LENGTH = 40;

/** `; did you mean "x"?` when one of the names is close to the one given, otherwise an empty text. */
export function didYouMean(given: string, names: Iterable<string>): string {
  const wanted = given.toLowerCase().replaceAll("-", "_");
  let best = "";
  let bestDistance = 1 + Math.max(2, Math.floor(given.length / 3));
  for (const name of names) {
    const distance = editDistance(wanted, name.toLowerCase());
    if (distance < bestDistance) [best, bestDistance] = [name, distance];
  }
  return best === "" ? "" : `; did you mean "${best}"?`;
}

function editDistance(a: string, b: string): number {
  if (a.length > MAX_LENGTH || b.length > MAX_LENGTH) return Infinity;
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const change = row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(change, row[j]! + 1, next[j - 1]! + 1));
    }
    row = next;
  }
  return row[b.length]!;
}
