// Where a list of cases lies that is too large, or too much others' work, to be kept in the repository.
import { existsSync } from "node:fs";
import { resolve } from "node:path";

const SHARED = resolve(import.meta.dirname, "../../../../../shared/corpora");

/**
 * The folder or file of a list: in the folder that PUBLIC_LISTS names, or in `../shared/corpora`. Says which it is, and where
 * it is in neither how to get it; undefined then.
 */
export function publicList(name: string): string | undefined {
  const places = [process.env["PUBLIC_LISTS"], SHARED].flatMap((place) =>
    place === undefined ? [] : [resolve(place, name)],
  );
  const found = places.find((each) => existsSync(each));
  console.log(
    found === undefined
      ? `skipped: the list ${name} is not here; \`node scripts/fetch-lists.mjs FOLDER\` fetches what can be had, PUBLIC_LISTS=FOLDER has the tests use it`
      : `list: ${found}`,
  );
  return found;
}
