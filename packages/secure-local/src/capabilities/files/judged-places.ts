// Remembers, for the length of a call, where its paths led when it was judged, so that a link exchanged since leads to nothing.
//
// Rules about arguments (consent, denied URIs) are compared before anything is opened. What is opened is compared with what they saw.
import { AsyncLocalStorage } from "node:async_hooks";
import { boundTo, leadsTo } from "./leads-to.js";
import { join, liesIn, namesOf, plainPath } from "./plain-path.js";
import { parentOf } from "./root-folders.js";

/** A file opened in a repository that was named: links of git's own do not lead out of it. */
const OF_GIT = /^\/\.git(?:\/|$)/;

/** By the path as it was given: where it led, and where it would be made. */
type Places = ReadonlyMap<string, { readonly real: string; readonly made: string | undefined }>;

const judged = new AsyncLocalStorage<Places>();

/** Finds out where the paths of a call lead now; undefined where there are none. To be called before they are judged. */
export function placesIn(paths: readonly { readonly path: string }[]): Places | undefined {
  const places = new Map<string, { real: string; made: string | undefined }>();
  for (const { path: given } of paths) {
    const path = plain(given);
    if (path === undefined) continue;
    // Where it cannot be told, whoever judges it does so for a path that cannot be told, and nothing that can be is opened by it.
    const real = leadsTo(path, [])?.real ?? boundTo(path) ?? "";
    const above = leadsTo(parentOf(path), [])?.real;
    places.set(path, { real, made: above && join(above, namesOf(path).at(-1) ?? "") });
  }
  return places.size === 0 ? undefined : places;
}

/** Runs `work`, in which `isWhereJudged` goes by `places`. */
export function atPlaces<T>(places: Places | undefined, work: () => T): T {
  return places === undefined ? work() : judged.run(places, work);
}

/** Whether what a path was found to lead to is where it led when the call was judged, or the call was not judged by it. */
export function isWhereJudged(given: string, found: string): boolean {
  const places = judged.getStore();
  if (places === undefined) return true;
  const path = plain(given);
  if (path === undefined) return true;
  const place = places.get(path);
  if (place !== undefined) return found === place.real || found === place.made;
  for (const [folder, { real }] of places)
    if (liesIn(path, folder) && OF_GIT.test(path.slice(folder.length)) && !liesIn(found, real)) return false;
  return true;
}

function plain(path: string): string | undefined {
  try {
    return plainPath(path);
  } catch {
    return undefined;
  }
}
