// Matches a host and a port against endpoints; `*.a.b` names every host strictly below a.b, label by label.
import { isIP } from "node:net";
import type { PatternRule, Rule } from "./faults.js";

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

  /** The ports at which a host is named, if it is named at all. */
  portsOf(host: string): readonly number[] {
    const wild = host.includes(":") ? [] : [...host.matchAll(/\./g)].map(({ index }) => `*${host.slice(index)}`);
    const rules = [host, ...wild].flatMap((pattern) => this.#hosts.get(pattern) ?? []);
    return [...new Set(rules.flatMap(({ ports }) => [...(ports ?? [])]))].sort((a, b) => a - b);
  }

  #at(pattern: string, port: number): Rule | undefined {
    return this.#hosts.get(pattern)?.find(({ ports }) => ports === undefined || ports.has(port))?.rule;
  }
}

// Decides what is a host name, an address or a host pattern, and writes each in one form only.

/** Longest name the DNS carries. */
const MAX_HOST = 253;
const LABEL = /^[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?$/;
/** A last label that some resolver reads as part of an IPv4 address: `1`, `0x7f`. */
const NUMBER = /^(?:\d+|0x[0-9a-f]*)$/;

/**
 * The host in lower case without brackets, and a name without the dot of the root that may end it, which makes no other host of it.
 * Undefined when it is neither a plain host name nor an address.
 */
export function plainHost(text: string): string | undefined {
  const given = (text.startsWith("[") && text.endsWith("]") ? text.slice(1, -1) : text).toLowerCase();
  if (isIP(given) !== 0) return given.includes("%") ? undefined : canonicalAddress(given);
  const host = given.replace(/\.$/, "");
  if (host.length === 0 || host.length > MAX_HOST) return undefined;
  const labels = host.split(".");
  if (NUMBER.test(labels[labels.length - 1] ?? "")) return undefined;
  return labels.every((label) => LABEL.test(label)) ? host : undefined;
}

/** The pattern in its one form, or a sentence about what is wrong with it. */
export function hostPattern(text: string): { readonly pattern: string } | { readonly wrong: string } {
  if (text.startsWith("*.")) {
    const base = plainHost(text.slice(2));
    if (base === undefined || isIP(base) !== 0)
      return { wrong: `"${text}" is not a host pattern; write *. before a host name` };
    if (!base.includes("."))
      return {
        wrong: `"${text}" would name every host under "${base}"; give at least two labels, as in *.example.com`,
      };
    return { pattern: `*.${base}` };
  }
  const host = plainHost(text);
  if (host !== undefined) return { pattern: host };
  if (text.includes("://")) return { wrong: `"${text}" is a URL; write its host name only` };
  if (text.includes("*"))
    return {
      wrong: `"${text}" has * in a wrong place; only *.example.com is understood, for every host below example.com`,
    };
  if (/[^\u0000-\u007f]/.test(text)) return { wrong: `"${text}" is not ASCII; write the host name in its xn-- form` };
  return { wrong: `"${text}" is not a host name or an IP address` };
}

/** IPv6 has many spellings of one address; the URL parser knows the canonical one. */
function canonicalAddress(address: string): string {
  return address.includes(":") ? new URL(`http://[${address}]/`).hostname.slice(1, -1) : address;
}

// Matches names of tools and prompts and URIs of resources: exactly, or by a prefix ending in `*`.

export class NameMatcher {
  readonly rules: readonly PatternRule[];
  readonly #exact: Map<string, Rule> = new Map();
  /** Prefixes by their length, so that a name is looked up once for each length and not once for each rule. */
  readonly #prefixes: Map<number, Map<string, Rule>> = new Map();

  constructor(rules: readonly PatternRule[]) {
    this.rules = rules;
    for (const { pattern, rule } of rules) {
      if (pattern.endsWith("*")) addPrefix(this.#prefixes, pattern.slice(0, -1), rule);
      else if (!this.#exact.has(pattern)) this.#exact.set(pattern, rule);
    }
  }

  /** The rule that names this, if any. */
  find(name: string): Rule | undefined {
    return this.findExact(name) ?? this.findPrefix(name);
  }

  findExact(name: string): Rule | undefined {
    return this.#exact.get(name);
  }

  findPrefix(name: string): Rule | undefined {
    for (const [length, prefixes] of this.#prefixes) {
      const rule = name.length >= length ? prefixes.get(name.slice(0, length)) : undefined;
      if (rule) return rule;
    }
    return undefined;
  }
}

function addPrefix(prefixes: Map<number, Map<string, Rule>>, prefix: string, rule: Rule): void {
  const same = prefixes.get(prefix.length) ?? new Map<string, Rule>();
  if (!same.has(prefix)) same.set(prefix, rule);
  prefixes.set(prefix.length, same);
}
