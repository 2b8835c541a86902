// Measures requests and sessions in OpenTelemetry histograms, by the semantic conventions for MCP.
import type { Attributes, Histogram } from "@opentelemetry/api";
import type { Call, EndedSession } from "@secure-local/mcp/server";
import { type OpenTelemetry, type RequestFailure, targetAttributes, transportAttributes } from "./span-attributes.js";

/** Seconds, as the conventions list them for both histograms. */
export const BUCKETS: readonly number[] = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300];

/** Names of tools and prompts told apart. They are ours, not a caller's, and more than anybody has. */
const MAX_NAMES = 200;

/** How a caller is told that what it named does not exist. */
const INVALID_PARAMS = "-32602";

export class Durations {
  readonly #operations: Histogram;
  readonly #sessions: Histogram;
  readonly #names = new Set<string>();

  constructor({ metrics }: OpenTelemetry, version: string) {
    const meter = metrics.getMeter("mcp-secure-local", version);
    const histogram = (name: string, description: string): Histogram =>
      meter.createHistogram(name, {
        unit: "s",
        description,
        advice: { explicitBucketBoundaries: [...BUCKETS] },
      });
    this.#operations = histogram("mcp.server.operation.duration", "How long requests took.");
    this.#sessions = histogram("mcp.server.session.duration", "How long sessions lasted.");
  }

  operation(call: Call, ms: number, failure: RequestFailure | undefined): void {
    const attributes: Attributes = {
      "mcp.method.name": call.method,
      "mcp.protocol.version": call.caller.codec.revision.date,
      ...transportAttributes(call.carrier.kind),
      ...this.#target(call, failure),
    };
    if (failure !== undefined) attributes["error.type"] = failure.type;
    if (failure?.code !== undefined) attributes["rpc.response.status_code"] = failure.code;
    this.#operations.record(ms / 1_000, attributes);
  }

  session({ revision, transport, durationMs }: EndedSession): void {
    const attributes = { "mcp.protocol.version": revision, ...transportAttributes(transport) };
    this.#sessions.record(durationMs / 1_000, attributes);
  }

  /** Nothing for a name that does not exist, or comes after too many others: an attribute must not grow without end. */
  #target(call: Call, failure: RequestFailure | undefined): Attributes {
    if (failure?.code === INVALID_PARAMS) return {};
    const name = String(call.params["name"]);
    if (!this.#names.has(name) && this.#names.size >= MAX_NAMES) return {};
    const target = targetAttributes(call);
    if (Object.keys(target).length > 0) this.#names.add(name);
    return target;
  }
}
