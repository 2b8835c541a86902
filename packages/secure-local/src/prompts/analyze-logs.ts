// The prompt `analyze_logs`: asks for an analysis of the log the policy names, and carries it.
import { type PromptDefinition, RpcError } from "@secure-local/mcp/server";
import type { Clock } from "../capabilities/clock.js";
import type { ReadLog } from "../capabilities/files/file-system.js";

interface AnalyzeLogsOptions {
  /** Undefined when the policy names no log. */
  readonly readLog: ReadLog | undefined;
  readonly clock: Clock;
}

/** Looked at; a busy day of a small service. */
const READ_BYTES = 4_194_304;
/** Embedded: about 60,000 tokens, which leaves a model room to think. */
const EMBEDDED_CHARACTERS = 262_144;
const INVALID_PARAMS = -32602;
const TIMEFRAMES: readonly string[] = ["15m", "1h", "6h", "24h", "7d", "30d"];

type Arguments = {
  readonly timeframe: { readonly description: string; readonly required: true; readonly complete: readonly string[] };
  readonly severity: { readonly description: string; readonly complete: readonly string[] };
};

/** @throws RpcError -32602 for a timeframe or severity that is none */
export function analyzeLogs({ readLog, clock }: AnalyzeLogsOptions): PromptDefinition<Arguments> {
  return {
    title: "Log analysis",
    description: "Analyze application logs for errors and anomalies",
    arguments: {
      timeframe: {
        description: "Time range to analyze (e.g., '1h', '24h', '7d')",
        required: true,
        complete: TIMEFRAMES,
      },
      severity: { description: "Minimum severity level to include", complete: SEVERITIES },
    },
    async run({ timeframe, severity }) {
      const range = parseTimeframe(timeframe);
      if (range === undefined) throw invalid("timeframe", timeframe, "a number and m, h, d or w, as in 24h");
      const least = severity?.trim().toLowerCase() || undefined;
      if (least !== undefined && severityRank(least) === undefined) {
        throw invalid("severity", least, `one of ${SEVERITIES.join(", ")}`);
      }
      const log = await embed(readLog, { since: clock.now() - range.ms, severity: least });
      const focus = least === undefined ? "" : ` Focus on errors with severity '${least}' or higher.`;
      const task = `Analyze the following application logs from the last ${range.words}.${focus} Identify patterns, root causes, and recommend fixes.`;
      return {
        description: `Analyze application logs for the last ${range.words}`,
        messages: [{ role: "user", content: `${task}\n\n${log}` }],
      };
    },
  };
}

async function embed(readLog: ReadLog | undefined, filter: Parameters<typeof pickLines>[1]): Promise<string> {
  if (readLog === undefined) {
    return "[No log is named in the policy: set prompts.analyze_logs.log_file, or paste the log here.]";
  }
  let log: string;
  try {
    log = await readLog(READ_BYTES);
  } catch (error) {
    const { code = "unknown fault", message } = error as { readonly code?: string; readonly message?: string };
    const why = code === "link" ? message : code;
    return `[The log that the policy names could not be read (${why}). Paste the log here.]`;
  }
  const lines = pickLines(log, filter);
  if (lines === "") return "[The log has no entries of that time and severity.]";
  if (lines.length <= EMBEDDED_CHARACTERS) return lines;
  const newest = lines.slice(lines.indexOf("\n", lines.length - EMBEDDED_CHARACTERS) + 1 || -EMBEDDED_CHARACTERS);
  return `[... ${lines.length - newest.length} characters of older entries left out ...]\n${newest}`;
}

function invalid(name: string, value: string, constraint: string): RpcError {
  const path = `/arguments/${name}`;
  return new RpcError(INVALID_PARAMS, `"${value}" is not a ${name}: give ${constraint}`, { path, constraint });
}

// Picks the lines of a log that are recent and grave enough.

/** From least to most grave, as in the protocol's logging levels. */
const SEVERITIES: readonly string[] = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];

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

interface LineFilter {
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

// Reads how far back somebody wants to look: `15m`, `24h`, `7d`, `2w`.

interface Timeframe {
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
