// Which screen is shown, and what it shows: kept in the fragment of the address, so that back and reload work.
import { type Signal, signal } from "@preact/signals";

export interface Place {
  readonly screen: string;
  readonly query: URLSearchParams;
}

export const place: Signal<Place> = signal(placeOf(location.hash));

/** @param isSame the same view goes on: the way back does not lead through each letter that was typed */
export function go(
  screen: string,
  query: Readonly<Record<string, string | number | undefined>> = {},
  isSame = false,
): void {
  const pairs = Object.entries(query).flatMap(([name, value]) =>
    value === undefined || value === "" ? [] : [[name, `${value}`]],
  );
  const rest = pairs.length === 0 ? "" : `?${new URLSearchParams(pairs).toString()}`;
  if (isSame) location.replace(`#/${screen}${rest}`);
  else {
    // Another screen is read from its beginning; what leads to one thing of it goes there afterwards.
    if (screen !== place.peek().screen) scrollTo(0, 0);
    location.hash = `/${screen}${rest}`;
  }
}

export function watchAddress(): void {
  addEventListener("hashchange", () => {
    // An address with a new code was opened in this tab: it signs in as any page does that is opened by it.
    if (location.hash.startsWith("#code=")) location.reload();
    else place.value = placeOf(location.hash);
  });
}

function placeOf(hash: string): Place {
  const [path = "", query = ""] = hash.replace(/^#\/?/, "").split("?", 2);
  return { screen: path === "" ? "now" : path, query: new URLSearchParams(query) };
}
