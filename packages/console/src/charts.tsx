// The pictures: bars over a time, the chain of a log, and what a policy reaches. Plain SVG, with the numbers as text beside.
import type { JSX } from "preact";
import type { Bucket, Verification } from "./api.js";
import { visible } from "./parts.js";

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
          const title = `${new Date(at).toLocaleTimeString()}: ${ok} well, ${failed} failed, ${denied} denied`;
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
        <span>{buckets[0] === undefined ? "" : new Date(buckets[0].at).toLocaleTimeString()}</span>
        <span>{label}</span>
        <span>now</span>
      </figcaption>
    </figure>
  );
}

/** A log as a chain: one link for each file, broken where a record does not verify. */
export function Chain({ of }: { readonly of: Verification }): JSX.Element {
  const links = Math.max(1, of.files);
  const words = of.ok ? `${of.records} records, every one follows the one before` : `broken: ${of.reason ?? ""}`;
  return (
    <svg class="chain" viewBox={`0 0 ${links * 44 + 30} 28`} role="img" aria-label={words}>
      {Array.from({ length: links }, (_, index) => {
        const broken = !of.ok && index === links - 1;
        return (
          <g key={index} class={broken ? "link-broken" : "link-whole"}>
            <rect x={index * 44 + 4} y={6} width={32} height={16} rx={8} />
            {index > 0 && <line x1={index * 44 - 8} x2={index * 44 + 4} y1={14} y2={14} />}
          </g>
        );
      })}
      <text x={links * 44 + 8} y={19} class={of.ok ? "chain-good" : "chain-bad"}>
        {of.ok ? "✓" : "✗"}
      </text>
    </svg>
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
