// A long list of calls: only the rows in view exist, and runs of equal calls are one row with their number.
import { useSignal } from "@preact/signals";
import { useMemo } from "preact/hooks";
import type { JSX } from "preact";
import type { CallRow } from "./api.js";
import { Brief, Moment, State, took } from "./parts.js";

/** Pixels of a row, and rows kept above and below the view. */
const ROW = 32;
const MARGIN = 10;

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
  const first = Math.max(0, Math.floor(top.value / ROW) - MARGIN);
  const last = Math.min(folds.length, Math.ceil((top.value + height.value) / ROW) + MARGIN);
  const scrolled = ({ currentTarget }: { readonly currentTarget: HTMLElement }): void => {
    top.value = currentTarget.scrollTop;
    height.value = currentTarget.clientHeight;
    if (currentTarget.scrollTop + currentTarget.clientHeight > folds.length * ROW - 200) onEnd?.();
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
        {["Time", "Tool", "Object", "Client", "Outcome", "Took"].map((name) => (
          <span key={name} role="columnheader">
            {name}
          </span>
        ))}
      </div>
      <div class="calls-body" role="rowgroup" style={{ height: `${folds.length * ROW}px` }}>
        {folds.slice(first, last).map(({ row, times }, index) => (
          <div
            key={row.n}
            role="row"
            aria-rowindex={first + index + 1}
            class={`call${row.n === chosen ? " chosen" : ""} call-${row.outcome}`}
            style={{ top: `${(first + index) * ROW}px` }}
            onClick={() => choose(row.n)}
          >
            <span role="cell">
              <Moment at={row.at} />
            </span>
            <span role="cell">
              <button type="button" class="link" onClick={() => choose(row.n)}>
                <Brief text={row.name === "" ? row.method : row.name} />
              </button>
              {times > 1 && <span class="times">×{times}</span>}
            </span>
            <span role="cell">
              <Brief text={row.object} />
            </span>
            <span role="cell">
              <Brief text={row.client} />
            </span>
            <span role="cell">
              <State of={row.outcome} />
            </span>
            <span role="cell">{took(row)}</span>
          </div>
        ))}
      </div>
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
