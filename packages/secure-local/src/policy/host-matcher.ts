// Matches a host and a port against endpoints; `*.a.b` names every host strictly below a.b, label by label.
import type { PatternRule, Rule } from "./rule.js";

/** One endpoint of the policy. Without ports it stands for every port. */
export interface EndpointRule extends PatternRule {
  readonly ports: ReadonlySet<number> | undefined;
  readonly description?: string;
}

export class HostMatcher {
  readonly rules: readonly EndpointRule[];
  readonly #hosts: Map<string, EndpointRule[]> = new Map();

  constructor(rules: readonly EndpointRule[]) {
    this.rules = rules;
    for (const rule of rules) {
      const same = this.#hosts.get(rule.pattern);
      if (same) same.push(rule);
      else this.#hosts.set(rule.pattern, [rule]);
    }
  }

  /** The rule that names this host (in the form `plainHost` gives) at this port, if any. */
  find(host: string, port: number): Rule | undefined {
    const exact = this.#at(host, port);
    if (exact || host.includes(":")) return exact;
    for (let dot = host.indexOf("."); dot >= 0; dot = host.indexOf(".", dot + 1)) {
      const rule = this.#at(`*${host.slice(dot)}`, port);
      if (rule) return rule;
    }
    return undefined;
  }

  #at(pattern: string, port: number): Rule | undefined {
    return this.#hosts.get(pattern)?.find(({ ports }) => ports === undefined || ports.has(port))?.rule;
  }
}
