// Counts calls, their durations and denials as the audit trail tells of them: each guarded request passes there, whatever its end.
import type { AuditEvent, AuditSink } from "../audit/audit-event.js";
import { DurationHistogram } from "./duration-histogram.js";

/** Tools and prompts counted by name. The names are ours, not a caller's, and more than anybody has. */
const MAX_NAMES = 200;
/** Rules counted by kind; the policy has a dozen sections. */
const MAX_RULES = 64;
/** Stands for the names beyond those. */
const OTHER = "other";

/** What was counted of one method and name. */
export interface CallCount {
  readonly method: string;
  /** Empty where names are not counted: resources, and what does not exist. */
  readonly name: string;
  readonly outcomes: ReadonlyMap<string, number>;
  /** Of the calls that were run. */
  readonly durations: DurationHistogram;
}

interface Count extends CallCount {
  readonly outcomes: Map<string, number>;
}

/**
 * Adding costs a few map look-ups and no allocation. What a policy leaves out of its records (`audit.include`) is not
 * told apart here either.
 */
export class CallMeter {
  readonly #counts = new Map<string, Map<string, Count>>();
  readonly #denials = new Map<string, number>();
  #names = 0;

  /** Counts what an event says of a call; other events are nothing to count. */
  add(event: AuditEvent): void {
    if (event.kind === "call.result") {
      const count = this.#count(event);
      increase(count.outcomes, event.outcome ?? "");
      if (event.duration_ms !== undefined) count.durations.add(event.duration_ms / 1_000);
    } else if (event.kind === "denied") {
      increase(this.#count(event).outcomes, event.outcome ?? "");
      this.#denied(event);
    }
  }

  *counts(): Iterable<CallCount> {
    for (const byName of this.#counts.values()) yield* byName.values();
  }

  /** Denials by the kind of rule: `tools.denied`, `default deny`, `rate limit`, … */
  get denials(): ReadonlyMap<string, number> {
    return this.#denials;
  }

  #count(event: AuditEvent): Count {
    const method = event.method ?? "";
    let byName = this.#counts.get(method);
    if (byName === undefined) this.#counts.set(method, (byName = new Map()));
    const name = nameOf(event);
    return byName.get(name) ?? this.#newCount(byName, method, name);
  }

  #newCount(byName: Map<string, Count>, method: string, wanted: string): Count {
    const name = wanted === "" || this.#names < MAX_NAMES ? wanted : OTHER;
    const known = byName.get(name);
    if (known !== undefined) return known;
    this.#names += 1;
    const count: Count = { method, name, outcomes: new Map(), durations: new DurationHistogram() };
    byName.set(name, count);
    return count;
  }

  #denied({ decision, outcome }: AuditEvent): void {
    const text = decision?.rule ?? "";
    const colon = text.indexOf(":");
    const kind = outcome === "unknown" ? outcome : colon < 0 ? text : text.slice(0, colon);
    increase(this.#denials, this.#denials.has(kind) || this.#denials.size < MAX_RULES ? kind : OTHER);
  }
}

/** The sink, with everything it is given counted by the meter as well. */
export function metered(sink: AuditSink, meter: CallMeter): AuditSink {
  return {
    record(event) {
      meter.add(event);
      return sink.record(event);
    },
    close: () => sink.close(),
    get failure() {
      return sink.failure;
    },
  };
}

/** Names a caller made up, and URIs, would be labels without end. */
function nameOf({ method, tool, outcome }: AuditEvent): string {
  const named = method === "tools/call" || method === "prompts/get";
  return named && tool !== undefined && outcome !== undefined && outcome !== "unknown" ? tool : "";
}

function increase(counts: Map<string, number>, key: string): void {
  counts.set(key, (counts.get(key) ?? 0) + 1);
}
