// Writes the Prometheus text exposition format, version 0.0.4: https://prometheus.io/docs/instrumenting/exposition_formats/

export const PROMETHEUS_TYPE = "text/plain; version=0.0.4; charset=utf-8";

export type Labels = Readonly<Record<string, string>>;

const NO_LABELS: Labels = Object.freeze({});

/** Metrics one after the other, each with its samples at once. */
export class PrometheusText {
  #text = "";
  #name = "";

  /** Begins a metric; the samples that follow are its own. `help` is one line without backslashes. */
  metric(name: string, type: "counter" | "gauge" | "histogram", help: string): this {
    this.#name = name;
    this.#text += `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n`;
    return this;
  }

  sample(value: number, labels: Labels = NO_LABELS): this {
    return this.#line(this.#name, value, labels);
  }

  /** The samples of one histogram. `cumulative` has one count more than there are bounds. */
  histogram(
    bounds: readonly number[],
    counted: { readonly cumulative: readonly number[]; readonly sum: number },
    labels: Labels,
  ): this {
    const { cumulative, sum } = counted;
    for (const [index, count] of cumulative.entries()) {
      const le = index < bounds.length ? String(bounds[index]) : "+Inf";
      this.#line(`${this.#name}_bucket`, count, { ...labels, le });
    }
    this.#line(`${this.#name}_sum`, sum, labels);
    return this.#line(`${this.#name}_count`, cumulative.at(-1) ?? 0, labels);
  }

  toString(): string {
    return this.#text;
  }

  #line(name: string, value: number, labels: Labels): this {
    const pairs = Object.entries(labels).map(([key, text]) => `${key}="${escaped(text)}"`);
    this.#text += `${name}${pairs.length === 0 ? "" : `{${pairs.join(",")}}`} ${value}\n`;
    return this;
  }
}

function escaped(text: string): string {
  return text.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n");
}
