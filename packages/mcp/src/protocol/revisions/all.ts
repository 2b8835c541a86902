// Lists the revisions the library speaks and finds them by date.
import { REVISION_2024_11_05 } from "./2024-11-05.js";
import { REVISION_2025_03_26 } from "./2025-03-26.js";
import { REVISION_2025_06_18 } from "./2025-06-18.js";
import { REVISION_2025_11_25 } from "./2025-11-25.js";
import { REVISION_2026_07_28 } from "./2026-07-28.js";
import type { Revision } from "./revision.js";

/** Newest first. */
export const REVISIONS: readonly Revision[] = [
  REVISION_2026_07_28,
  REVISION_2025_11_25,
  REVISION_2025_06_18,
  REVISION_2025_03_26,
  REVISION_2024_11_05,
];

/** The newest revision that begins with `initialize`. */
export const NEWEST_HANDSHAKE: Revision = REVISION_2025_11_25;

const BY_DATE = new Map(REVISIONS.map((revision) => [revision.date, revision]));

export function revision(date: string): Revision | undefined {
  return BY_DATE.get(date);
}
