// The pictures: bars and times over a time, the steps of a call, the chain of a log, and what a policy reaches. Plain SVG, with the numbers as text beside.
import type { JSX } from "preact";
import type { Bucket, Verification } from "./api.js";
import { clock, duration, visible } from "./parts.js";

const WIDTH = 600;
const HEIGHT = 90;

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
  return (
    <figure class="bars">
      <svg
        viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
        role="img"
        aria-label={`${label}; at most ${most} in one bar`}
        preserveAspectRatio="none"
      >
        {buckets.map(({ at, ok, failed, denied }, index) => {
          const parts = [
            ["ok", ok, 0],
            ["failed", failed, ok],
            ["denied", denied, ok + failed],
          ] as const;
          const title = `${clock(at)}: ${ok} well, ${failed} failed, ${denied} denied`;
          return (
            <g key={at} class="bar" onClick={() => choose?.(at, at + span)}>
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
        <span>{buckets[0] === undefined ? "" : clock(buckets[0].at)}</span>
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

/** Links of a chain that are drawn; of more files the first ones are left out. */
const MAX_LINKS = 12;

/** A log as a chain: one link for each file, with its signed checkpoints below, broken where a record does not verify. */
export function Chain({ of }: { readonly of: Verification }): JSX.Element {
  const links = Math.min(MAX_LINKS, Math.max(1, of.files));
  const marks = Math.min(of.checkpoints ?? 0, links * 4);
  const left = of.files > links ? `${of.files - links} files before; ` : "";
  const signed = of.checkpoints === undefined ? "" : `; ${of.checkpoints} signed checkpoints`;
  const words = of.ok
    ? `${of.records} records, every one follows the one before${signed}`
    : `broken: ${of.reason ?? ""}`;
  return (
    <svg class="chain" viewBox={`0 0 ${links * 44 + 30} 40`} role="img" aria-label={visible(`${left}${words}`)}>
      {Array.from({ length: links }, (_, index) => {
        const broken = !of.ok && index === links - 1;
        return (
          <g key={index} class={broken ? "link-broken" : "link-whole"}>
            <rect x={index * 44 + 4} y={6} width={32} height={16} rx={8} />
            {index > 0 && <line x1={index * 44 - 8} x2={index * 44 + 4} y1={14} y2={14} />}
            {broken && <path d={`M${index * 44 + 14} 2 l6 10 l-6 6 l6 10`} />}
          </g>
        );
      })}
      {Array.from({ length: marks }, (_, index) => (
        <circle key={index} class="chain-signed" cx={8 + ((index + 0.5) * (links * 44 - 8)) / marks} cy={32} r={3} />
      ))}
      <text x={links * 44 + 8} y={19} class={of.ok ? "chain-good" : "chain-bad"}>
        {of.ok ? "✓" : "✗"}
      </text>
    </svg>
  );
}

interface StepsProps {
  readonly of: readonly { readonly label: string; readonly ms: number; readonly took?: number | undefined }[];
}

/** What happened when, each step with its place in the whole time of the call. */
export function Steps({ of }: StepsProps): JSX.Element {
  const whole = Math.max(1, ...of.map(({ ms, took = 0 }) => ms + took));
  return (
    <ol class="steps">
      {of.map(({ label, ms, took }, index) => (
        <li key={index}>
          <span>{visible(label)}</span>
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

/** What a policy reaches: the program on the left, what may be reached on the right, by kind. */
export function Reach({ of }: { readonly of: Readonly<Record<string, readonly string[]>> }): JSX.Element {
  const kinds = Object.entries(of).filter(([, names]) => names.length > 0);
  const lines = kinds.flatMap(([kind, names]) => names.map((name) => [kind, name] as const));
  const height = Math.max(60, lines.length * 22 + kinds.length * 8 + 10);
  let y = 4;
  let last = "";
  return (
    <svg
      class="reach"
      viewBox={`0 0 700 ${height}`}
      role="img"
      aria-label={kinds.map(([kind, names]) => `${kind}: ${names.join(", ")}`).join("; ")}
    >
      <rect class="reach-self" x={4} y={height / 2 - 20} width={120} height={40} rx={6} />
      <text x={64} y={height / 2 + 4} text-anchor="middle">
        AI client
      </text>
      {lines.map(([kind, name], index) => {
        if (kind !== last) y += 8;
        const first = kind !== last;
        last = kind;
        y += 22;
        const middle = y - 8;
        const never = kind === "files never";
        return (
          <g key={index} class={never ? "reach-never" : "reach-may"}>
            <path d={`M124 ${height / 2} C 180 ${height / 2}, 180 ${middle}, 230 ${middle}`} />
            {first && (
              <text class="reach-kind" x={236} y={y - 4}>
                {kind}
              </text>
            )}
            <text x={400} y={y - 4}>
              {visible(name.length > 48 ? `${name.slice(0, 47)}…` : name)}
              <title>{visible(name)}</title>
            </text>
          </g>
        );
      })}
    </svg>
  );
}
