// Where a public list of cases lies that is too large, or too much others' work, to be kept in the repository.
import { existsSync } from "node:fs";
import { resolve } from "node:path";

const SHARED = resolve(import.meta.dirname, "../../../../../shared/corpora");

/**
 * The folder of a list: in the one that PUBLIC_LISTS names, which holds checkouts by their names, or in `../shared/corpora`.
 * Undefined where it is in neither, which is said with where it comes from: no package of the registry has these.
 */
export function publicList(name: string, from: string): string | undefined {
  const places = [process.env["PUBLIC_LISTS"], SHARED].flatMap((place) =>
    place === undefined ? [] : [resolve(place, name)],
  );
  const found = places.find((each) => existsSync(each));
  if (found === undefined)
    console.log(`skipped: ${name} is not here (PUBLIC_LISTS=<folder with a checkout of ${from}>)`);
  return found;
}
