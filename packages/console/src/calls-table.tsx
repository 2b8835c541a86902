// A long list of calls: only the rows in view exist, and runs of equal calls are one row with their number.
import { type Signal, signal, useSignal } from "@preact/signals";
import { useMemo } from "preact/hooks";
import type { JSX } from "preact";
import type { CallRow } from "./api.js";
import { type Fold, folded, type Line, linesOf, longest } from "./folds.js";
import { Brief, duration, Moment, Reached, State, took, visible } from "./parts.js";

/** Pixels of a row in one line, and of one that is folded into three; rows kept above and below the view. */
const ROW = 28;
const FOLDED_ROW = 74;
const MARGIN = 10;

const NARROW = matchMedia("(max-width: 760px)");
/** Whether a row takes three lines: all of it is to be read without a way to the side. */
export const narrow: Signal<boolean> = signal(NARROW.matches);
NARROW.addEventListener("change", ({ matches }) => (narrow.value = matches));

interface CallsTableProps {
  /** The newest first, unless they are sorted by the time they took. */
  readonly rows: readonly CallRow[];
  readonly chosen?: number | undefined;
  readonly choose: (n: number) => void;
  /** Told when the end is in view. */
  readonly onEnd?: () => void;
  /** Lines shown; all of them where it is absent. A run is counted to its end. */
  readonly most?: number;
  /** Whether older calls may follow, so that the last run may be longer than it is known to be. */
  readonly hasMore?: boolean;
  /** Whether the longest come first, which folds nothing; and what changes that. */
  readonly longestFirst?: boolean | undefined;
  readonly sort?: ((longestFirst: boolean) => void) | undefined;
}

export function CallsTable({ rows, chosen, choose, onEnd, sort, ...shown }: CallsTableProps): JSX.Element {
  const { most = Infinity, hasMore = false, longestFirst = false } = shown;
  const { lines, unfold } = useLines(rows, longestFirst, most);
  const row = narrow.value ? FOLDED_ROW : ROW;
  const { first, last, scrolled } = useRowsInView(lines.length, row, onEnd);
  const move = (event: KeyboardEvent): void => {
    const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    if (step === 0) return;
    event.preventDefault();
    const at = lines.findLastIndex((line) => isAt(line, chosen));
    const next = lines[Math.min(lines.length - 1, Math.max(0, at + step))];
    if (next !== undefined) choose(next.row.n);
  };
  const end = rows.at(-1)?.n;
  return (
    <div
      class="calls"
      role="table"
      aria-label={`Calls, the ${longestFirst ? "longest" : "newest"} first`}
      aria-rowcount={lines.length}
      tabIndex={0}
      onScroll={scrolled}
      onKeyDown={move}
    >
      <Head longestFirst={longestFirst} sort={sort} />
      <div class="calls-body" role="rowgroup" style={{ height: `${lines.length * row}px` }}>
        {lines.slice(first, last).map((line, index) => (
          <Row
            key={line.isPart ? `part ${line.row.n}` : line.row.n}
            of={line}
            index={first + index}
            top={(first + index) * row}
            isChosen={isAt(line, chosen)}
            isCut={hasMore && line.fold?.at(-1)?.n === end}
            choose={choose}
            unfold={unfold}
          />
        ))}
      </div>
    </div>
  );
}

/** The lines of the list, and what opens or closes a run of equal calls. */
function useLines(
  rows: readonly CallRow[],
  longestFirst: boolean,
  most: number,
): { readonly lines: readonly Line[]; readonly unfold: (line: Line) => void } {
  const opened = useSignal<ReadonlySet<number>>(new Set());
  const folds = useMemo(
    () => (longestFirst ? rows.map((row) => [row]) : folded(rows).slice(0, most)),
    [rows, longestFirst, most],
  );
  const lines = useMemo(() => linesOf(folds, opened.value), [folds, opened.value]);
  const unfold = ({ fold = [], isOpen }: Line): void => {
    const numbers = fold.map(({ n }) => n);
    // The oldest stays the oldest while newer ones come.
    opened.value = isOpen
      ? new Set([...opened.value].filter((n) => !numbers.includes(n)))
      : new Set([...opened.value, ...numbers.slice(-1)]);
  };
  return { lines, unfold };
}

interface RowsInView {
  readonly first: number;
  readonly last: number;
  readonly scrolled: (event: { readonly currentTarget: HTMLElement }) => void;
}

/** Which of `count` rows, each of `row` pixels, are in view or near it; `onEnd` is told when the last ones are. */
function useRowsInView(count: number, row: number, onEnd: (() => void) | undefined): RowsInView {
  const top = useSignal(0);
  const height = useSignal(600);
  const first = Math.max(0, Math.floor(top.value / row) - MARGIN);
  const last = Math.min(count, Math.ceil((top.value + height.value) / row) + MARGIN);
  const scrolled = ({ currentTarget }: { readonly currentTarget: HTMLElement }): void => {
    top.value = currentTarget.scrollTop;
    height.value = currentTarget.clientHeight;
    if (currentTarget.scrollTop + currentTarget.clientHeight > count * row - 200) onEnd?.();
  };
  return { first, last, scrolled };
}

/** Whether a line is, or hides, the call that is open beside the list. */
function isAt({ row, fold, isOpen }: Line, chosen: number | undefined): boolean {
  return fold === undefined ? row.n === chosen : !isOpen && fold.some(({ n }) => n === chosen);
}

function Head({ longestFirst = false, sort }: Pick<CallsTableProps, "longestFirst" | "sort">): JSX.Element {
  return (
    <div class="calls-head" role="row">
      {["Time", "Tool", "Object", "Client", "Rule", "Outcome"].map((name) => (
        <span key={name} role="columnheader">
          {name}
        </span>
      ))}
      <span role="columnheader" aria-sort={longestFirst ? "descending" : "none"}>
        {sort === undefined ? (
          "Took"
        ) : (
          <button type="button" class="link" title="the longest first" onClick={() => sort(!longestFirst)}>
            Took{longestFirst && " ▾"}
          </button>
        )}
      </span>
    </div>
  );
}

interface RowProps {
  readonly of: Line;
  readonly index: number;
  readonly top: number;
  readonly isChosen: boolean;
  /** Whether older calls may belong to its run. */
  readonly isCut: boolean;
  readonly choose: (n: number) => void;
  readonly unfold: (line: Line) => void;
}

function Row({ of, index, top, isChosen, isCut, choose, unfold }: RowProps): JSX.Element {
  const { row, fold, isPart } = of;
  const { n, at, name, method, object, client, rule, line, outcome, waitedMs } = row;
  const ruled = line === undefined ? rule : `${line}: ${rule}`;
  return (
    <div
      role="row"
      aria-rowindex={index + 1}
      class={`call${isChosen ? " chosen" : ""}${isPart ? " part" : ""} call-${outcome}`}
      style={{ top: `${top}px` }}
      onClick={() => choose(n)}
    >
      <span role="cell">
        <Moment at={at} short />
      </span>
      <span role="cell" class="tool" title={titleOf(name)}>
        <button type="button" class="link" onClick={() => choose(n)}>
          <Brief text={name === "" ? method : name} />
        </button>
        {fold !== undefined && <Times of={fold} line={of} isCut={isCut} unfold={unfold} />}
      </span>
      <span role="cell" title={titleOf(object)}>
        <Reached text={object} />
      </span>
      <span role="cell" title={titleOf(client)}>
        <Brief text={client} />
      </span>
      <span role="cell" title={titleOf(ruled)}>
        <Brief text={ruled} />
      </span>
      <span role="cell">
        <State of={outcome} />
      </span>
      <span
        role="cell"
        class="number"
        title={waitedMs === undefined ? undefined : `waited ${duration(waitedMs)} for an answer`}
      >
        {fold === undefined ? took(row) : longest(fold) !== undefined && `≤ ${duration(longest(fold))}`}
      </span>
    </div>
  );
}

interface TimesProps {
  readonly of: Fold;
  readonly line: Line;
  readonly isCut: boolean;
  readonly unfold: (line: Line) => void;
}

/** How many calls a row stands for; it opens to them. */
function Times({ of, line, isCut, unfold }: TimesProps): JSX.Element {
  const count = `${of.length}${isCut ? "+" : ""}`;
  return (
    <button
      type="button"
      class="times"
      aria-expanded={line.isOpen}
      aria-label={`×${count} equal calls, show each`}
      title={`${isCut ? "at least " : ""}${of.length} equal calls: show each`}
      onClick={(event) => {
        event.stopPropagation();
        unfold(line);
      }}
    >
      ×{count} {line.isOpen ? "▾" : "▸"}
    </button>
  );
}

/** What is cut in the row, as a text that the pointer shows. */
function titleOf(text: string): string | undefined {
  return text === "" ? undefined : visible(text.slice(0, MAX_TITLE));
}

const MAX_TITLE = 400;
