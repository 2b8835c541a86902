// The pictures: bars and times over a time, the steps of a call, the chain of a log, and what a policy reaches. Plain SVG, with the numbers as text beside.
import type { JSX } from "preact";
import { useSignal } from "@preact/signals";
import type { Bucket, CallPart, Lane, Verification } from "./api.js";
import { Brief, clock, dayAndClock, duration, Moment, visible } from "./parts.js";
import { go } from "./router.js";

/** Parts of a picture that the keyboard goes through: Tab leads to one of them, the arrow keys from there, Enter chooses. */
function useRoving(
  count: number,
  rows: number,
): {
  readonly move: (event: KeyboardEvent) => void;
  readonly item: (index: number, label: string, choose: () => void) => JSX.IntrinsicElements["g"];
} {
  const at = useSignal(0);
  const columns = Math.max(1, count / rows);
  const current = Math.min(at.value, count - 1);
  const move = (event: KeyboardEvent): void => {
    const steps: Readonly<Record<string, number>> = {
      ArrowRight: 1,
      ArrowLeft: -1,
      ArrowDown: columns,
      ArrowUp: -columns,
    };
    const next = current + (steps[event.key] ?? 0);
    if (next === current || next < 0 || next >= count) return;
    event.preventDefault();
    at.value = next;
    const parts = (event.currentTarget as Element).querySelectorAll<SVGElement>("[role=button]");
    parts[next]?.focus();
  };
  const item = (index: number, label: string, choose: () => void): JSX.IntrinsicElements["g"] => ({
    role: "button",
    tabIndex: index === current ? 0 : -1,
    "aria-label": label,
    onClick: () => {
      at.value = index;
      choose();
    },
    onKeyDown: (event: KeyboardEvent) => {
      if (event.key === "Enter" || event.key === " ") choose();
    },
  });
  return { move, item };
}

function countsText({ ok, failed, denied }: Pick<Bucket, "ok" | "failed" | "denied">): string {
  return `${ok} well, ${failed} failed, ${denied} denied`;
}

const WIDTH = 600;
const HEIGHT = 90;
/** Milliseconds from which on a time of day alone does not say which day. */
const LONG_MS = 20 * 3_600_000;

/** How a moment of a picture is told: with its day where the picture is of more than one. */
function telling(buckets: readonly Bucket[]): (at: number) => string {
  return (buckets.at(-1)?.at ?? 0) - (buckets[0]?.at ?? 0) > LONG_MS ? dayAndClock : clock;
}

interface BarsProps {
  readonly buckets: readonly Bucket[];
  readonly label: string;
  /** Told which time was chosen. */
  readonly choose?: (from: number, to: number) => void;
}

/** Calls over a time: what went well below, failed and denied on top of it. */
export function Bars({ buckets, label, choose }: BarsProps): JSX.Element {
  const most = Math.max(1, ...buckets.map(({ ok, failed, denied }) => ok + failed + denied));
  const width = WIDTH / Math.max(1, buckets.length);
  const scale = (count: number): number => (count / most) * (HEIGHT - 4);
  const span = (buckets[1]?.at ?? 0) - (buckets[0]?.at ?? 0);
  const roving = useRoving(buckets.length, 1);
  const told = telling(buckets);
  return (
    <figure class="bars">
      <svg
        viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
        role="group"
        aria-label={`${label}; at most ${most} in one bar; arrow keys lead from bar to bar`}
        preserveAspectRatio="none"
        onKeyDown={roving.move}
      >
        {buckets.map(({ at, ok, failed, denied }, index) => {
          const parts = [
            ["ok", ok, 0],
            ["failed", failed, ok],
            ["denied", denied, ok + failed],
          ] as const;
          const title = `${told(at)}: ${countsText({ ok, failed, denied })}`;
          return (
            <g key={at} class="bar" {...roving.item(index, title, () => choose?.(at, at + span))}>
              <title>{title}</title>
              <rect class="bar-back" x={index * width} y={0} width={width} height={HEIGHT} />
              {parts.map(([kind, count, below]) => (
                <rect
                  key={kind}
                  class={`bar-${kind}`}
                  x={index * width + 1}
                  width={Math.max(1, width - 2)}
                  y={HEIGHT - scale(below + count)}
                  height={scale(count)}
                />
              ))}
            </g>
          );
        })}
      </svg>
      <figcaption>
        <span>{buckets[0] === undefined ? "" : told(buckets[0].at)}</span>
        <span>{label}</span>
        <span>now</span>
      </figcaption>
    </figure>
  );
}

/** How long calls took over a time: half of them at most the lower line, 99 of 100 at most the upper one. */
export function Latency({ buckets }: { readonly buckets: readonly Bucket[] }): JSX.Element {
  const most = Math.max(1, ...buckets.map(({ p99 = 0 }) => p99));
  const width = WIDTH / Math.max(1, buckets.length);
  // Most calls take a millisecond or a few, some a thousand times that: on a scale of powers both are seen.
  const y = (ms: number): number => HEIGHT - (Math.log10(1 + ms) / Math.log10(1 + most)) * (HEIGHT - 6) - 2;
  const dots = (of: "p50" | "p99"): JSX.Element[] =>
    buckets.flatMap(({ at, [of]: ms }, index) =>
      ms === undefined
        ? []
        : [
            <rect
              key={at}
              class={`latency-${of}`}
              x={index * width + 1}
              width={Math.max(2, width - 2)}
              y={y(ms)}
              height={3}
            >
              <title>{`${clock(at)}: ${of === "p50" ? "half" : "99 of 100"} took at most ${duration(ms)}`}</title>
            </rect>,
          ],
    );
  const last = buckets.findLast(({ p50 }) => p50 !== undefined);
  const words = `half of the calls took at most ${duration(last?.p50)}, 99 of 100 at most ${duration(last?.p99)}`;
  return (
    <figure class="bars">
      <svg
        viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
        role="img"
        aria-label={`how long calls took; at last ${words}`}
        preserveAspectRatio="none"
      >
        {dots("p99")}
        {dots("p50")}
      </svg>
      <figcaption>
        <span>{buckets[0] === undefined ? "" : clock(buckets[0].at)}</span>
        <span>
          <span class="key key-p50">half</span> and <span class="key key-p99">99 of 100</span> took at most, up to{" "}
          {duration(most)}
        </span>
        <span>now</span>
      </figcaption>
    </figure>
  );
}

/** Pixels of a lane, of a part in it, and the strengths in which a part is drawn. */
const LANE = 18;
const STRENGTHS = 4;

interface LanesProps {
  readonly title: string;
  readonly of: readonly Lane[];
  readonly buckets: readonly Bucket[];
  /** What stands for an empty name. */
  readonly none: string;
  readonly choose: (name: string, from: number, to: number) => void;
}

/** Who called, or what was called, over a time: a line for each, the stronger the more calls, and in colour where some were refused or failed. */
export function Lanes({ title, of, buckets, none, choose }: LanesProps): JSX.Element {
  const columns = buckets.length;
  const width = WIDTH / Math.max(1, columns);
  const span = (buckets[1]?.at ?? 0) - (buckets[0]?.at ?? 0);
  const most = Math.max(1, ...of.flatMap(({ parts }) => parts.map(callsIn)));
  // On a scale of powers, so that one call is seen beside a thousand.
  const strength = (count: number): number => Math.ceil((Math.log1p(count) / Math.log1p(most)) * STRENGTHS);
  const roving = useRoving(of.length * columns, of.length);
  const told = telling(buckets);
  return (
    <figure class="lanes">
      <figcaption>{title}</figcaption>
      <LaneNames of={of} none={none} />
      <svg
        viewBox={`0 0 ${WIDTH} ${of.length * LANE}`}
        style={{ height: `${of.length * LANE}px` }}
        role="group"
        aria-label={`${title} over the time; arrow keys lead from part to part`}
        preserveAspectRatio="none"
        onKeyDown={roving.move}
      >
        {of.flatMap(({ name, parts }, lane) =>
          parts.map((part, index) => {
            const at = buckets[index]?.at ?? 0;
            const label = `${visible(name === "" ? none : name)}, ${told(at)}: ${countsText(part)}`;
            return (
              <g
                key={`${lane} ${index}`}
                class="bar"
                {...roving.item(lane * columns + index, label, () => choose(name, at, at + span))}
              >
                <title>{label}</title>
                <LanePart
                  of={part}
                  strength={strength(callsIn(part))}
                  x={index * width}
                  y={lane * LANE}
                  width={width}
                />
              </g>
            );
          }),
        )}
      </svg>
    </figure>
  );
}

/** The names beside the lanes; whoever does not see them is told each with its parts. */
function LaneNames({ of, none }: Pick<LanesProps, "of" | "none">): JSX.Element {
  return (
    <ol aria-hidden="true">
      {of.map(({ name }) => (
        <li key={name}>
          <Brief text={name === "" ? none : name} />
        </li>
      ))}
    </ol>
  );
}

type PartOfLane = Lane["parts"][number];

function callsIn({ ok, failed, denied }: PartOfLane): number {
  return ok + failed + denied;
}

interface LanePartProps {
  readonly of: PartOfLane;
  readonly strength: number;
  readonly x: number;
  readonly y: number;
  readonly width: number;
}

/** The calls of a lane in one bucket; where there were none, only the place to press. */
function LanePart({ of, strength, x, y, width }: LanePartProps): JSX.Element {
  const kind = of.denied > 0 ? "denied" : of.failed > 0 ? "failed" : "ok";
  return (
    <>
      <rect class="bar-back" x={x} y={y} width={width} height={LANE} />
      {callsIn(of) > 0 && (
        <rect
          class={`bar-${kind} strength-${strength}`}
          x={x + 0.5}
          y={y + 2}
          width={Math.max(1, width - 1)}
          height={LANE - 4}
        />
      )}
    </>
  );
}

/** Width of a break and of what follows it, at least. */
const BROKEN = 40;

/** A log as a line of its records, with a mark where each signed checkpoint stands, broken where a record does not verify. */
export function Chain({ of }: { readonly of: Verification }): JSX.Element {
  const { ok, records, checkpoints, signed = [], reason = "", files, total = records } = of;
  // What stands behind a break is not known but by number; at least that much of the line is for it.
  const known = Math.max(1, ok ? records : total);
  const end = ok ? WIDTH - 20 : 8 + Math.min(1, records / known) * (WIDTH - BROKEN - 8);
  const x = (record: number): number => 4 + (record / Math.max(1, records)) * (end - 8);
  const last = signed.at(-1);
  const covered = last === undefined ? "" : `, the last one at record ${last}`;
  const words = ok
    ? `${records} records, every one follows the one before`
    : `broken after ${records} of ${known} records: ${reason}`;
  const about = checkpoints === undefined ? "" : `; ${checkpoints} signed checkpoints${covered}`;
  return (
    <figure class="chain-picture">
      <svg class="chain" viewBox={`0 0 ${WIDTH} 30`} role="img" aria-label={visible(`${words}${about}`)}>
        <line class="chain-good" x1={4} x2={end - 4} y1={12} y2={12} />
        {last !== undefined && <line class="chain-covered" x1={4} x2={x(last)} y1={12} y2={12} />}
        {signed.map((record) => (
          <path key={record} class="chain-signed" d={`M${x(record)} 5 v14`}>
            <title>{`signed checkpoint at record ${record}`}</title>
          </path>
        ))}
        {ok ? (
          <path class="chain-end" d={`M${end} 12 l4 5 l9 -11`} />
        ) : (
          <>
            <path class="chain-break" d={`M${end} 3 l6 9 l-6 5 l6 9`} />
            <line class="chain-lost" x1={end + 12} x2={WIDTH - 4} y1={12} y2={12} />
          </>
        )}
      </svg>
      <figcaption>
        <span>record 1</span>
        <span>
          {files > 1 && `${files} files; `}
          {signed.length > 0 ? `${checkpoints ?? 0} signed checkpoints` : "no signed checkpoint"}
        </span>
        <span>
          {ok ? "record" : "broken after"} {records}
          {!ok && total > records && ` of ${total}`}
        </span>
      </figcaption>
    </figure>
  );
}

interface StepsProps {
  readonly of: readonly CallPart[];
}

/** What happened when, each step with its place in the whole time of the call. */
export function Steps({ of }: StepsProps): JSX.Element {
  const whole = Math.max(1, ...of.map(({ ms, took = 0 }) => ms + took));
  return (
    <ol class="steps">
      {of.map(({ label, ms, took, answer }, index) => (
        <li key={index}>
          <span>
            {visible(label)}
            {answer !== undefined && <ByAnswer of={answer} />}
          </span>
          <span class="ms">
            {ms === 0 ? "at the start" : `after ${duration(ms)}`}
            {took !== undefined && `, took ${duration(took)}`}
          </span>
          <svg viewBox="0 0 100 6" preserveAspectRatio="none" aria-hidden="true">
            <rect class="step-back" x={0} y={0} width={100} height={6} />
            <rect
              class="step-bar"
              x={Math.min(99, (ms / whole) * 100)}
              y={0}
              width={Math.max(1, ((took ?? 0) / whole) * 100)}
              height={6}
            />
          </svg>
        </li>
      ))}
    </ol>
  );
}

/** Nobody was asked: whose answer to which call it was. */
function ByAnswer({ of: { at, by, n } }: { readonly of: NonNullable<CallPart["answer"]> }): JSX.Element {
  const whose = by === "client" ? "the answer that its client gave" : "your answer";
  return (
    <>
      {` by ${by === "" ? "an earlier answer" : whose}`}
      {at !== undefined && (
        <>
          {" of "}
          {n === undefined ? (
            <Moment at={at} />
          ) : (
            <button type="button" class="link" onClick={() => go("calls", { n })}>
              <Moment at={at} />
            </button>
          )}
        </>
      )}
      , which was remembered: nobody was asked
    </>
  );
}
