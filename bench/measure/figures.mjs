// The figures of one run: medians, and ratios to a base taken pair by pair.
import { median, pairedRatio } from "./statistics.mjs";

export class Figures {
  #leadingField;
  #outcomes = new Map();

  /** `leadingField` names, for each workload, the field by which it compares servers. */
  constructor(leadingField) {
    this.#leadingField = leadingField;
  }

  /** Takes the outcomes of one workload, as `runInterleaved` returns them. */
  add(workload, outcomes) {
    this.#outcomes.set(workload, outcomes);
  }

  has(workload) {
    return this.#outcomes.has(workload);
  }

  failure(workload, server) {
    return this.#outcomes.get(workload)?.get(server)?.failed;
  }

  /** Every `[workload, server, reason]` that did not work. */
  failures() {
    return [...this.#outcomes].flatMap(([workload, outcomes]) =>
      [...outcomes]
        .filter(([, { failed }]) => failed !== undefined)
        .map(([server, { failed }]) => [workload, server, failed]),
    );
  }

  /** The median of a field, undefined when the server failed or was not measured. */
  value(workload, server, field) {
    const samples = this.#samples(workload, server, field);
    return samples === undefined ? undefined : median(samples);
  }

  /** The server's leading field over that of `base`, undefined when one of them is missing. */
  ratio(workload, server, base) {
    const values = this.#samples(workload, server, this.#leadingField[workload]);
    const bases = this.#samples(workload, base, this.#leadingField[workload]);
    return values === undefined || bases === undefined ? undefined : pairedRatio(values, bases);
  }

  #samples(workload, server, field) {
    const outcome = this.#outcomes.get(workload)?.get(server);
    if (outcome === undefined || outcome.failed !== undefined || outcome.samples.length === 0) return undefined;
    return outcome.samples.map((sample) => sample[field]);
  }
}
