// What a policy reaches, as a picture: the client on the left, what it may reach on the right by kind, and apart what is denied of it.
import type { JSX } from "preact";
import type { ReachedKind } from "./api.js";
import { Brief, visible } from "./parts.js";

const WIDTH = 1_000;
const ROW = 22;
/** Characters of a name, and of a kind, that the picture has room for. */
const MAX_NAME = 86;

const MAX_KIND = 26;
const MAX_WHO = 16;

interface Line {
  readonly name: string;
  readonly isDenied: boolean;
  /** What stands before it: the kind, where it is the first one of it. */
  readonly label: string;
  readonly y: number;
}

function linesOf(kinds: readonly ReachedKind[]): Line[] {
  let y = 4;
  return kinds.flatMap(({ kind, reached, denied }) => {
    y += 8;
    const line = (label: string, isDenied: boolean) => (name: string, index: number) => ({
      ...{ name, isDenied, label: index === 0 ? label : "" },
      y: (y += ROW),
    });
    return [
      ...reached.map(line(kind, false)),
      ...denied.map(line(reached.length === 0 ? `${kind}: denied` : "denied", true)),
    ];
  });
}

interface ReachProps {
  readonly of: readonly ReachedKind[];
  /** Whose reach it is, in a word or two. */
  readonly who: string;
}

export function Reach({ of, who }: ReachProps): JSX.Element {
  const lines = linesOf(of);
  const height = Math.max(60, (lines.at(-1)?.y ?? 0) + 12);
  const words = of.map(
    ({ kind, reached, denied }) =>
      `${kind}: ${reached.join(", ") || "nothing"}${denied.length === 0 ? "" : `; denied: ${denied.join(", ")}`}`,
  );
  return (
    <>
      <ReachList of={of} />
      <svg class="reach" viewBox={`0 0 ${WIDTH} ${height}`} role="img" aria-label={visible(words.join("; "))}>
        <rect class="reach-self" x={4} y={height / 2 - 20} width={120} height={40} rx={6} />
        <text x={64} y={height / 2 + 4} text-anchor="middle">
          {visible(shortened(who, MAX_WHO))}
        </text>
        {lines.map(({ name, isDenied, label, y }, index) => (
          <g key={index} class={isDenied ? "reach-never" : "reach-may"}>
            {isDenied ? (
              // Nothing leads to it.
              <path d={`M392 ${y - 12} l8 8 m0 -8 l-8 8`} />
            ) : (
              <path d={`M124 ${height / 2} C 180 ${height / 2}, 180 ${y - 8}, 220 ${y - 8}`} />
            )}
            <text class="reach-kind" x={226} y={y - 4}>
              {visible(shortened(label, MAX_KIND))}
            </text>
            <text x={410} y={y - 4}>
              {visible(shortened(name, MAX_NAME))}
              <title>{visible(name)}</title>
            </text>
          </g>
        ))}
      </svg>
    </>
  );
}

/** The same as the picture, for a narrow page. */
function ReachList({ of }: Pick<ReachProps, "of">): JSX.Element {
  return (
    <dl class="reach-list">
      {of.map(({ kind, reached, denied }) => (
        <div key={kind}>
          <dt>
            <Brief text={kind} />
          </dt>
          {reached.map((name) => (
            <dd key={name}>
              <Brief text={name} />
            </dd>
          ))}
          {denied.map((name) => (
            <dd key={`denied ${name}`} class="bad">
              denied: <Brief text={name} />
            </dd>
          ))}
        </div>
      ))}
    </dl>
  );
}

/** Without its middle where it is long: the end of a path says the most. */
function shortened(text: string, most: number): string {
  const characters = [...text];
  if (characters.length <= most) return text;
  const half = Math.floor((most - 1) / 2);
  return `${characters.slice(0, half).join("")}…${characters.slice(-half).join("")}`;
}
