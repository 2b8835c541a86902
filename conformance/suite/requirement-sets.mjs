// Reads which scenarios a revision requires, and which the suite runs beside them, from the suite's own frozen lists.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";
import { SUITE } from "./suite-process.mjs";

/** The revisions that have a requirement set. */
export const SETS = ["2025-11-25", "2026-07-28"];

/** The scenarios of one leg ("server" or "client"): `{ name, unscored }`, where `unscored` says why a scenario is not scored. */
export function scenariosOf(set, leg) {
  const lists = parse(readFileSync(join(SUITE, "requirements", `${set}.yaml`), "utf8"));
  const required = lists[leg].map((name) => ({ name, unscored: undefined }));
  const beside = lists.not_scored.filter((entry) => entry.leg === leg);
  return [...required, ...beside.map(({ scenario, reason }) => ({ name: scenario, unscored: reason }))];
}
