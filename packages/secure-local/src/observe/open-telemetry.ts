// Finds out whether the process has an OpenTelemetry SDK, and only then loads what makes spans and measures durations.
import type { EndedSession, Middleware } from "@secure-local/mcp/server";

/** What an SDK is told of. */
export interface Telemetry {
  /** Makes a span of every request and measures it; the outermost middleware. */
  readonly around: Middleware;
  readonly onSessionEnd: (ended: EndedSession) => void;
}

/** Where `@opentelemetry/api` keeps what an SDK registered, for every copy of it in the process. */
const REGISTRY = Symbol.for("opentelemetry.js.api.1");

/** As `import` and as `require` have it. */
const NOT_FOUND: ReadonlySet<string | undefined> = new Set(["ERR_MODULE_NOT_FOUND", "MODULE_NOT_FOUND"]);

/**
 * Spans and durations for an SDK that was loaded before this program (`node --import …`).
 * Undefined without one, or without `@opentelemetry/api` beside this program; `say` is told of the latter.
 */
export async function telemetry(version: string, say: (line: string) => void): Promise<Telemetry | undefined> {
  const registry = (globalThis as Record<symbol, unknown>)[REGISTRY] as Readonly<Record<string, unknown>> | undefined;
  if ((registry?.["trace"] ?? registry?.["metrics"]) === undefined) return undefined;
  try {
    const api = await import("@opentelemetry/api");
    const { Durations, traceRequests } = await import("./trace-requests.js");
    const durations = new Durations(api, version);
    return {
      around: traceRequests(api, version, durations),
      onSessionEnd: (ended) => durations.session(ended),
    };
  } catch (error) {
    if (!NOT_FOUND.has((error as NodeJS.ErrnoException).code)) throw error;
    say(
      "OpenTelemetry is set up, but @opentelemetry/api is not installed beside this program: it will be told nothing",
    );
    return undefined;
  }
}
