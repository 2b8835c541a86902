// Picks the lines of a log that are recent and grave enough.

/** From least to most grave, as in the protocol's logging levels. */
export const SEVERITIES: readonly string[] = [
  "debug",
  "info",
  "notice",
  "warning",
  "error",
  "critical",
  "alert",
  "emergency",
];

const RANKS: ReadonlyMap<string, number> = new Map([
  ...SEVERITIES.map((name, rank) => [name, rank] as const),
  ...([
    ["trace", 0],
    ["warn", 3],
    ["err", 4],
    ["severe", 4],
    ["crit", 5],
    ["fatal", 5],
    ["panic", 7],
    ["emerg", 7],
  ] as const),
]);
// Where loggers put them: at the start or behind the time, not in the message.
const TIME =
  /^\W{0,3}(?:"(?:time|timestamp|ts|@timestamp)"\s*:\s*"?)?(\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:[.,]\d{1,9})?)?)\s?(Z|[+-]\d\d:?\d\d)?/;
const JSON_TIME = /"(?:time|timestamp|ts|@timestamp)"\s*:\s*(?:"([^"]{10,40})"|(\d{13}))/;
const JSON_LEVEL = /"(?:level|severity|lvl)"\s*:\s*(?:"(\w+)"|(\d{2}))/;
const WORD =
  /\b(debug|info|notice|warning|error|critical|alert|emergency|trace|warn|err|severe|crit|fatal|panic|emerg)\b/i;
/** The part of a line in which a level may stand. */
const HEAD_LENGTH = 96;
/** Levels of pino and bunyan, in tens. */
const TENS = [0, 0, 0, 1, 3, 4, 5];

export interface LineFilter {
  /** Milliseconds since 1970: earlier lines go. */
  readonly since: number;
  /** At least this grave. Undefined: all. */
  readonly severity: string | undefined;
}

/** Returns a level's place among `SEVERITIES`, its short forms included; undefined for other words. */
export function severityRank(name: string): number | undefined {
  return RANKS.get(name.trim().toLowerCase());
}

/**
 * Returns the lines of `log` that fit. A line without time or level goes with the line before it (stack traces); where nothing
 * has been recognised yet, it stays. Times without a zone are taken as UTC.
 */
export function pickLines(log: string, { since, severity }: LineFilter): string {
  const least = severity === undefined ? 0 : (severityRank(severity) ?? 0);
  let recent = true;
  let grave = true;
  const kept: string[] = [];
  for (const line of log.split("\n")) {
    const time = timeOf(line);
    const rank = rankOf(line, time !== undefined);
    if (time !== undefined) recent = time >= since;
    if (rank !== undefined) grave = rank >= least;
    else if (time !== undefined) grave = true;
    if (recent && grave) kept.push(line);
  }
  return kept.join("\n").trim();
}

function timeOf(line: string): number | undefined {
  const found = TIME.exec(line);
  const json = found === null && line.startsWith("{") ? JSON_TIME.exec(line) : null;
  if (json?.[2] !== undefined) return Number(json[2]);
  const text = found === null ? json?.[1] : `${found[1]?.replace(" ", "T").replace(",", ".") ?? ""}${found[2] ?? "Z"}`;
  const time = text === undefined ? Number.NaN : Date.parse(text);
  return Number.isNaN(time) ? undefined : time;
}

function rankOf(line: string, dated: boolean): number | undefined {
  if (line.startsWith("{")) {
    const [, word, number] = JSON_LEVEL.exec(line) ?? [];
    return number === undefined ? RANKS.get(word?.toLowerCase() ?? "") : TENS[Math.floor(Number(number) / 10)];
  }
  // An undated line that only mentions an error is part of the entry above it.
  const word = dated || /^\W{0,2}[A-Z]+\b/.test(line) ? WORD.exec(line.slice(0, HEAD_LENGTH))?.[1] : undefined;
  return word === undefined ? undefined : RANKS.get(word.toLowerCase());
}
