// Logs as a forger leaves them who knows how records are sealed: every change of lines, with hashes made to fit so far.
import { bodyHash, GENESIS, sealText } from "../../src/audit/event-text.js";

/** One line, taken apart. `changed`: the forger had it in hand. */
interface Line {
  readonly seq: number;
  readonly prev: string;
  /** From the time on, without the hash. */
  readonly fields: string;
  readonly hash: string;
  readonly changed: boolean;
}

const PARTS = /^\{"seq":(\d+),"prev":"([0-9a-f]{64})"(,.*),"hash":"([0-9a-f]{64})"\}$/;

function take(text: string): Line {
  const [, seq, prev = "", fields = "", hash = ""] = PARTS.exec(text) ?? [];
  return { seq: Number(seq), prev, fields, hash, changed: false };
}

function textOf({ seq, prev, fields, hash }: Line): string {
  return `{"seq":${seq},"prev":"${prev}"${fields}${sealText(hash).trimEnd()}`;
}

/** The same line with a hash that fits. */
function sealed(line: Line): Line {
  return { ...line, hash: bodyHash(`{"seq":${line.seq},"prev":"${line.prev}"${line.fields}`) };
}

type Change = (lines: Line[], at: number, others: Line[]) => Line[];

const touched = (line: Line, change: Partial<Line> = {}): Line => ({ ...line, ...change, changed: true });
const edited =
  (from: RegExp, to: string): Change =>
  (lines, at) =>
    lines.with(at, touched(lines[at]!, { fields: lines[at]!.fields.replace(from, to) }));

/** What is done to the lines; `at` is well inside of them, `others` are those of another log. */
const CHANGES: Readonly<Record<string, Change>> = {
  "a text edited": edited(/"t(\d+)"/, '"x$1"'),
  "a time edited": edited(/"time":"2/, '"time":"1'),
  "a kind edited": edited(/"call\.intent"/, '"call.result"'),
  "a member added": edited(/$/, ',"decision":{"allowed":true,"rule":"calculate"}'),
  "a line emptied": edited(/,"kind".*$/, ',"kind":"stop"'),
  "a line dropped": (lines, at) => lines.toSpliced(at, 1, touched(lines[at + 1]!)).toSpliced(at + 1, 1),
  "five lines dropped": (lines, at) => lines.toSpliced(at, 6, touched(lines[at + 5]!)),
  "the first line dropped": (lines) => lines.toSpliced(0, 2, touched(lines[1]!)),
  "the end cut off": (lines, at) => lines.slice(0, at),
  "the last line dropped": (lines) => lines.slice(0, -1),
  "a line repeated": (lines, at) => lines.toSpliced(at, 0, touched(lines[at]!)),
  "an early line repeated late": (lines, at) => lines.toSpliced(at, 0, touched(lines[1]!)),
  "a line of another log inserted": (lines, at, others) => lines.toSpliced(at, 0, touched(others[at]!)),
  "a line put in the place of another": (lines, at) => lines.with(at, touched(lines[at - 2]!)),
  "a line of another log in its place": (lines, at, others) => lines.with(at, touched(others[at]!)),
  "two neighbours exchanged": (lines, at) => lines.with(at, touched(lines[at + 1]!)).with(at + 1, touched(lines[at]!)),
  "two far lines exchanged": (lines, at) => lines.with(2, touched(lines[at]!)).with(at, touched(lines[2]!)),
  "a line moved to the end": (lines, at) => [...lines.toSpliced(at, 1), touched(lines[at]!)],
  "the beginning of another log": (lines, at, others) => [
    ...others.slice(0, at).map((line) => touched(line)),
    ...lines.slice(at),
  ],
  "the end of another log": (lines, at, others) => [
    ...lines.slice(0, at),
    ...others.slice(at).map((line) => touched(line)),
  ],
  "a range of another log": (lines, at, others) => [
    ...lines.slice(0, at),
    ...others.slice(at, at + 4).map((line) => touched(line)),
    ...lines.slice(at + 4),
  ],
};

type Repair = (lines: Line[]) => Line[];

/** Goes through the lines; `whose` says which are sealed anew, as the forger links them. */
function relinked(lines: Line[], whose: (line: Line, before: Line | undefined) => boolean): Line[] {
  const out: Line[] = [];
  for (const line of lines) {
    const before = out.at(-1);
    const link = { seq: (before?.seq ?? 0) + 1, prev: before?.hash ?? GENESIS };
    out.push(whose(line, before) ? sealed({ ...line, ...link }) : line);
  }
  return out;
}

/** How far the forger goes to make it fit. All but the last leave a line that does not follow. */
const REPAIRS: Readonly<Record<string, Repair>> = {
  "nothing made to fit": (lines) => lines,
  "its own hash made to fit": (lines) => lines.map((line) => (line.changed ? sealed(line) : line)),
  "numbers and hashes made to fit, links not": (lines) =>
    lines.map((line, index) => sealed({ ...line, seq: index + 1 })),
  "links as they should be, hashes not": (lines) => {
    const right = relinked(lines, () => true);
    return lines.map((line, index) => ({ ...line, seq: right[index]!.seq, prev: right[index]!.prev }));
  },
  "linked to the line before": (lines) => relinked(lines, ({ changed }) => changed),
  "linked to both neighbours": (lines) => relinked(lines, (line, before) => line.changed || before?.changed === true),
  "the chain made anew to its end": (lines) => relinked(lines, () => true),
};

export interface Forgery {
  readonly name: string;
  readonly lines: readonly string[];
  /** The chain holds from its first line to its last: only a second witness can tell. */
  readonly sound: boolean;
}

/** Every change with every repair that leaves something else than was there. */
export function forgeries(original: readonly string[], other: readonly string[], at: number): Forgery[] {
  const found: Forgery[] = [];
  const seen = new Set([original.join("\n")]);
  for (const [change, make] of Object.entries(CHANGES))
    for (const [repair, mend] of Object.entries(REPAIRS)) {
      const made = mend(make(original.map(take), at, other.map(take)));
      const lines = made.map(textOf);
      const text = lines.join("\n");
      if (seen.has(text)) continue;
      seen.add(text);
      const sound = relinked(made, () => true).every((line, index) => textOf(line) === lines[index]);
      found.push({ name: `${change}, ${repair}`, lines, sound });
    }
  return found;
}

/** The head file that fits these lines. */
export function headOf(lines: readonly string[]): string {
  const { seq, hash } = take(lines.at(-1) ?? "");
  return `{"records":${seq},"hash":"${hash}"}\n`;
}
