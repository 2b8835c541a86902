// A long list of calls: only the rows in view exist, and runs of equal calls are one row with their number.
import { type Signal, signal, useSignal } from "@preact/signals";
import { useMemo } from "preact/hooks";
import type { JSX } from "preact";
import type { CallRow } from "./api.js";
import { Brief, Moment, Reached, State, took } from "./parts.js";

/** Pixels of a row in one line, and of one that is folded into three; rows kept above and below the view. */
const ROW = 28;
const FOLDED_ROW = 74;
const MARGIN = 10;

const NARROW = matchMedia("(max-width: 760px)");
/** Whether a row takes three lines: all of it is to be read without a way to the side. */
export const narrow: Signal<boolean> = signal(NARROW.matches);
NARROW.addEventListener("change", ({ matches }) => (narrow.value = matches));

interface Fold {
  readonly row: CallRow;
  readonly times: number;
}

interface CallsTableProps {
  /** The newest first. */
  readonly rows: readonly CallRow[];
  readonly chosen?: number | undefined;
  readonly choose: (n: number) => void;
  /** Told when the end is in view. */
  readonly onEnd?: () => void;
}

export function CallsTable({ rows, chosen, choose, onEnd }: CallsTableProps): JSX.Element {
  const top = useSignal(0);
  const height = useSignal(600);
  const folds = useMemo(() => folded(rows), [rows]);
  const row = narrow.value ? FOLDED_ROW : ROW;
  const first = Math.max(0, Math.floor(top.value / row) - MARGIN);
  const last = Math.min(folds.length, Math.ceil((top.value + height.value) / row) + MARGIN);
  const scrolled = ({ currentTarget }: { readonly currentTarget: HTMLElement }): void => {
    top.value = currentTarget.scrollTop;
    height.value = currentTarget.clientHeight;
    if (currentTarget.scrollTop + currentTarget.clientHeight > folds.length * row - 200) onEnd?.();
  };
  const move = (event: KeyboardEvent): void => {
    const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    if (step === 0) return;
    event.preventDefault();
    const at = folds.findIndex(({ row }) => row.n === chosen);
    const next = folds[Math.min(folds.length - 1, Math.max(0, at + step))];
    if (next !== undefined) choose(next.row.n);
  };
  return (
    <div
      class="calls"
      role="table"
      aria-label="Calls, the newest first"
      aria-rowcount={folds.length}
      tabIndex={0}
      onScroll={scrolled}
      onKeyDown={move}
    >
      <div class="calls-head" role="row">
        {["Time", "Tool", "Object", "Client", "Rule", "Outcome", "Took"].map((name) => (
          <span key={name} role="columnheader">
            {name}
          </span>
        ))}
      </div>
      <div class="calls-body" role="rowgroup" style={{ height: `${folds.length * row}px` }}>
        {folds.slice(first, last).map((fold, index) => (
          <Row
            key={fold.row.n}
            of={fold}
            index={first + index}
            top={(first + index) * row}
            isChosen={fold.row.n === chosen}
            choose={choose}
          />
        ))}
      </div>
    </div>
  );
}

interface RowProps {
  readonly of: Fold;
  readonly index: number;
  readonly top: number;
  readonly isChosen: boolean;
  readonly choose: (n: number) => void;
}

function Row({ of: { row, times }, index, top, isChosen, choose }: RowProps): JSX.Element {
  const { n, at, name, method, object, client, rule, line, outcome } = row;
  return (
    <div
      role="row"
      aria-rowindex={index + 1}
      class={`call${isChosen ? " chosen" : ""} call-${outcome}`}
      style={{ top: `${top}px` }}
      onClick={() => choose(n)}
    >
      <span role="cell">
        <Moment at={at} />
      </span>
      <span role="cell">
        <button type="button" class="link" onClick={() => choose(n)}>
          <Brief text={name === "" ? method : name} />
        </button>
        {times > 1 && <span class="times">×{times}</span>}
      </span>
      <span role="cell">
        <Reached text={object} />
      </span>
      <span role="cell">
        <Brief text={client} />
      </span>
      <span role="cell">
        <Brief text={line === undefined ? rule : `${line}: ${rule}`} />
      </span>
      <span role="cell">
        <State of={outcome} />
      </span>
      <span role="cell" class="number">
        {took(row)}
      </span>
    </div>
  );
}

/** Calls that follow each other and say the same; one that failed or waits always stands alone. */
function folded(rows: readonly CallRow[]): Fold[] {
  const folds: { row: CallRow; times: number }[] = [];
  for (const row of rows) {
    const last = folds.at(-1);
    const same = last !== undefined && row.outcome === "ok" && isLike(last.row, row);
    if (same) last.times += 1;
    else folds.push({ row, times: 1 });
  }
  return folds;
}

function isLike(a: CallRow, b: CallRow): boolean {
  return (
    a.outcome === b.outcome &&
    a.name === b.name &&
    a.object === b.object &&
    a.client === b.client &&
    a.method === b.method &&
    !a.asked &&
    !b.asked
  );
}
