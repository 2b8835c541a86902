// Runs of equal calls as one line with their number, which opens to the single calls.
import type { CallRow } from "./api.js";

/** Equal calls that follow each other, the newest first; most often one alone. */
export type Fold = readonly CallRow[];

/** A line of the list: a call, a run of them, or one of a run that is open. */
export interface Line {
  readonly row: CallRow;
  /** The run that this line stands for; undefined where it is one call. */
  readonly fold?: Fold | undefined;
  readonly isOpen: boolean;
  /** Of a run that is open. */
  readonly isPart: boolean;
}

/** A call that took so many times as long as the others of its run, and that long at least, is to be seen by itself. */
const SLOW_TIMES = 10;
const SLOW_MS = 50;

/** Nothing happened by these, or what was asked for: a run of them is one line. What failed is looked at one by one. */
const FOLDED: readonly CallRow["outcome"][] = ["ok", "denied", "unanswered"];

/** Calls that follow each other and say the same; one that failed, waits or was slow always stands alone. */
export function folded(rows: readonly CallRow[]): Fold[] {
  const runs: CallRow[][] = [];
  for (const row of rows) {
    const run = runs.at(-1);
    const last = run?.at(-1);
    if (last !== undefined && FOLDED.includes(row.outcome) && isLike(last, row)) run?.push(row);
    else runs.push([row]);
  }
  return runs.flatMap((run) => (run.length === 1 ? [run] : withoutSlow(run)));
}

/** @param opened numbers of calls whose run is open */
export function linesOf(folds: readonly Fold[], opened: ReadonlySet<number>): Line[] {
  return folds.flatMap((fold): Line[] => {
    const [row] = fold;
    if (row === undefined) return [];
    if (fold.length === 1) return [{ row, isOpen: false, isPart: false }];
    const isOpen = fold.some(({ n }) => opened.has(n));
    const parts = isOpen ? fold.map((each) => ({ row: each, isOpen: false, isPart: true })) : [];
    return [{ row, fold, isOpen, isPart: false }, ...parts];
  });
}

/** Milliseconds of the one that took longest. */
export function longest(fold: Fold): number | undefined {
  const times = fold.flatMap(({ ms }) => ms ?? []);
  return times.length === 0 ? undefined : Math.max(...times);
}

function withoutSlow(run: readonly CallRow[]): Fold[] {
  const times = run.flatMap(({ ms }) => ms ?? []).sort((a, b) => a - b);
  const usual = times[(times.length - 1) >> 1] ?? 0;
  const isSlow = ({ ms = 0 }: CallRow): boolean => ms >= SLOW_MS && ms > usual * SLOW_TIMES;
  const folds: CallRow[][] = [];
  let before = true;
  for (const row of run) {
    const slow = isSlow(row);
    if (slow || before) folds.push([row]);
    else folds.at(-1)?.push(row);
    before = slow;
  }
  return folds;
}

function isLike(a: CallRow, b: CallRow): boolean {
  const all = (["outcome", "name", "object", "client", "method", "server", "rule", "line", "log"] as const).every(
    (of) => a[of] === b[of],
  );
  // What a person has answered was one call, whatever it is like.
  return all && ((!a.asked && !b.asked) || a.outcome === "unanswered");
}
