// Finds out whether the process has an OpenTelemetry SDK, and only then loads what makes spans.
import type { Middleware } from "@secure-local/mcp/server";

/** Where `@opentelemetry/api` keeps what an SDK registered, for every copy of it in the process. */
const REGISTRY = Symbol.for("opentelemetry.js.api.1");

/** As `import` and as `require` have it. */
const NOT_FOUND: ReadonlySet<string | undefined> = new Set(["ERR_MODULE_NOT_FOUND", "MODULE_NOT_FOUND"]);

/**
 * Middleware that makes a span of every request, for an SDK that was loaded before this program (`node --import …`).
 * Undefined without one, or without `@opentelemetry/api` beside this program; `say` is told of the latter.
 */
export async function tracing(version: string, say: (line: string) => void): Promise<Middleware | undefined> {
  const registry = (globalThis as Record<symbol, unknown>)[REGISTRY] as { readonly trace?: unknown } | undefined;
  if (registry?.trace === undefined) return undefined;
  try {
    const api = await import("@opentelemetry/api");
    const { traceRequests } = await import("./trace-requests.js");
    return traceRequests(api, version);
  } catch (error) {
    if (!NOT_FOUND.has((error as NodeJS.ErrnoException).code)) throw error;
    say("OpenTelemetry is set up, but @opentelemetry/api is not installed beside this program: there will be no spans");
    return undefined;
  }
}
