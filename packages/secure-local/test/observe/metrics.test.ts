// What is counted of calls, and the text it becomes.
import { describe, expect, it } from "vitest";
import type { AuditEvent } from "../../src/audit/audit-event.js";
import { MemoryAudit } from "../../src/audit/event-text.js";
import { BOUNDS, CallMeter, DurationHistogram, metered, Metrics, PrometheusText } from "../../src/observe/metrics.js";

const LOAD = { sessions: 2, streams: 1, connections: 3, bytesIn: 1_000, bytesOut: 2_000 };

function ended(tool: string, outcome = "ok", duration_ms = 5): AuditEvent {
  return { kind: "call.result", method: "tools/call", tool, outcome, duration_ms };
}

function denied(tool: string, rule: string, outcome = "denied"): AuditEvent {
  return { kind: "denied", method: "tools/call", tool, outcome, decision: { allowed: false, rule } };
}

function countsOf(meter: CallMeter): Record<string, number> {
  const all = [...meter.counts()].flatMap(({ method, name, outcomes }) =>
    [...outcomes].map(([outcome, count]) => [`${method} ${name} ${outcome}`, count] as const),
  );
  return Object.fromEntries(all);
}

describe("the meter", () => {
  it("counts calls by name and outcome, and denials by the kind of rule", () => {
    const meter = new CallMeter();
    meter.add({ kind: "start" });
    meter.add({ kind: "call.intent", method: "tools/call", tool: "calculate" });
    for (const event of [ended("calculate"), ended("calculate"), ended("calculate", "error")]) meter.add(event);
    meter.add(denied("rude", "tools.denied: rude"));
    meter.add(denied("calculate", "rate limit: 60 a minute", "rate_limited"));
    meter.add(denied("other", "default deny"));
    expect(countsOf(meter)).toEqual({
      "tools/call calculate ok": 2,
      "tools/call calculate error": 1,
      "tools/call calculate rate_limited": 1,
      "tools/call rude denied": 1,
      "tools/call other denied": 1,
    });
    expect(Object.fromEntries(meter.denials)).toEqual({ "tools.denied": 1, "rate limit": 1, "default deny": 1 });
  });

  it("takes no label from a caller, and only so many from anybody", () => {
    const meter = new CallMeter();
    for (let index = 0; index < 1_000; index += 1) {
      meter.add(denied(`made-up-${index}`, "there is no such tool", "unknown"));
      meter.add({ kind: "call.result", method: "resources/read", tool: `file:///${index}`, outcome: "ok" });
      meter.add(ended(`tool-${index}`));
      meter.add(denied("tool-0", `rule ${index}: x`));
    }
    const names = new Set([...meter.counts()].map(({ name }) => name));
    expect(names.size).toBeLessThanOrEqual(202);
    expect(names).toContain("other");
    expect([...names].some((name) => name.startsWith("made-up") || name.startsWith("file:"))).toBe(false);
    expect(meter.denials.size).toBeLessThanOrEqual(65);
    expect(meter.denials.get("unknown")).toBe(1_000);
  });

  it("passes every record on, with its failure", async () => {
    const audit = new MemoryAudit();
    const meter = new CallMeter();
    const sink = metered(audit, meter);
    await sink.record(ended("calculate"));
    expect(audit.records()).toHaveLength(1);
    expect(sink.failure).toBeUndefined();
    audit.failure = new Error("disk full");
    expect(sink.failure).toBe(audit.failure);
    await expect(sink.record(ended("calculate"))).rejects.toThrow("disk full");
    await sink.close();
  });
});

describe("durations", () => {
  it("fall into the first bucket that is not below them", () => {
    const histogram = new DurationHistogram();
    for (const seconds of [0.000_1, 0.000_2, 0.01, 1_000]) histogram.add(seconds);
    const counts = histogram.cumulative();
    expect(counts).toHaveLength(BOUNDS.length + 1);
    expect(counts.slice(0, 3)).toEqual([1, 2, 3]);
    expect(counts.slice(-2)).toEqual([3, 4]);
    expect(histogram.sum).toBeCloseTo(1_000.010_3);
  });
});

describe("the text", () => {
  it("is what Prometheus reads", () => {
    const metrics = new Metrics("1.2.3");
    const audit = new MemoryAudit();
    const sink = metrics.listenTo(audit);
    void sink.record(ended("calculate"));
    metrics.unauthorized = 4;
    metrics.shed = 5;
    metrics.plugins = () => [
      { name: "words", state: "ready" },
      { name: "busy", state: "unresponsive" },
    ];
    const text = metrics.text(LOAD, audit);
    metrics.close();
    for (const line of text.trimEnd().split("\n")) {
      expect(line).toMatch(
        /^(?:# (?:HELP|TYPE) [a-z_0-9]+ .+|[a-z_0-9]+(?:\{[a-z]+="[^"]*"(?:,[a-z]+="[^"]*")*\})? [\d.e+-]+)$/,
      );
    }
    expect(text).toContain('mcp_secure_local_info{version="1.2.3"} 1\n');
    expect(text).toContain('mcp_secure_local_calls_total{method="tools/call",name="calculate",outcome="ok"} 1\n');
    expect(text).toContain('_duration_seconds_bucket{method="tools/call",name="calculate",le="0.01"} 1\n');
    expect(text).toContain('_duration_seconds_bucket{method="tools/call",name="calculate",le="+Inf"} 1\n');
    expect(text).toContain("mcp_secure_local_audit_up 1\n");
    expect(text).toContain("mcp_secure_local_unauthorized_total 4\n");
    expect(text).toContain("mcp_secure_local_shed_total 5\n");
    expect(text).toContain('_plugin_up{plugin="words"} 1\nmcp_secure_local_plugin_up{plugin="busy"} 0\n');
    expect(text).toContain("mcp_secure_local_sessions 2\n");
    expect(text).toContain("mcp_secure_local_sent_bytes_total 2000\n");
    expect(text).toMatch(/^process_resident_memory_bytes \d{7,}$/m);
    expect(text).toMatch(/^nodejs_eventloop_lag_p99_seconds [\d.]+$/m);
  });

  it("watches the event loop from its first text on: until then nothing wakes a process that idles", async () => {
    const lag = (text: string): number => Number(/^nodejs_eventloop_lag_max_seconds ([\d.]+)$/m.exec(text)?.[1]);
    const audit = { failure: undefined, checkpoints: undefined };
    const metrics = new Metrics("1.2.3");
    const turn = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 25));
    const block = (ms: number): void => {
      for (const until = performance.now() + ms; performance.now() < until;);
    };
    await turn();
    block(60);
    await turn();
    expect(lag(metrics.text(LOAD, audit))).toBe(0);
    await turn();
    block(60);
    await turn();
    expect(lag(metrics.text(LOAD, audit))).toBeGreaterThan(0.02);
    metrics.close();
  });

  it("says when the audit log is down", () => {
    const metrics = new Metrics("1.2.3");
    expect(metrics.text(LOAD, { failure: new Error("disk full") })).toContain("mcp_secure_local_audit_up 0\n");
    metrics.close();
  });

  it("escapes what would end a label", () => {
    const text = new PrometheusText().metric("a", "counter", "b").sample(1, { c: 'x"y\\z\nw' }).toString();
    expect(text).toBe('# HELP a b\n# TYPE a counter\na{c="x\\"y\\\\z\\nw"} 1\n');
  });
});
