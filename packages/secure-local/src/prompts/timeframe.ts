// Reads how far back somebody wants to look: `15m`, `24h`, `7d`, `2w`.

export interface Timeframe {
  readonly ms: number;
  /** As in "the last 24 hours". */
  readonly words: string;
}

const FORM = /^([1-9][0-9]{0,3})\s*([mhdw])$/i;
const UNITS: Readonly<Record<string, readonly [ms: number, word: string]>> = {
  m: [60_000, "minute"],
  h: [3_600_000, "hour"],
  d: [86_400_000, "day"],
  w: [604_800_000, "week"],
};

/** Returns undefined for anything else. */
export function parseTimeframe(text: string): Timeframe | undefined {
  const [, digits, letter] = FORM.exec(text.trim()) ?? [];
  const unit = UNITS[letter?.toLowerCase() ?? ""];
  if (digits === undefined || unit === undefined) return undefined;
  const count = Number(digits);
  return { ms: count * unit[0], words: count === 1 ? unit[1] : `${count} ${unit[1]}s` };
}
