// The prompt `analyze_logs`: asks for an analysis of the log the policy names, and carries it.
import { type PromptDefinition, RpcError } from "@secure-local/mcp/server";
import type { Clock } from "../capabilities/clock.js";
import { pickLines, SEVERITIES, severityRank } from "./log-lines.js";
import { parseTimeframe } from "./timeframe.js";

/** Reads the newest `maxBytes` bytes of the log, from the beginning of a line; rejects when it cannot be read. */
export type ReadLog = (maxBytes: number) => Promise<string>;

export interface AnalyzeLogsOptions {
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
    const { code = "unknown fault" } = error as { readonly code?: string };
    return `[The log that the policy names could not be read (${code}). Paste the log here.]`;
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
