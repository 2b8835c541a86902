// Matches IP addresses against ranges such as 10.0.0.0/8 and fe80::/10.
import { isIP } from "node:net";
import type { PatternRule, Rule } from "./rule.js";

interface Range {
  readonly bits: 32 | 128;
  readonly prefix: number;
  readonly base: bigint;
}

/** Undefined when the text is a range; otherwise a sentence about what is wrong with it. */
export function rangeFault(text: string): string | undefined {
  const range = parseRange(text);
  if (!range) return `"${text}" is not an address range; write one like 10.0.0.0/8 or fe80::/10`;
  if (masked(range.base, range) !== range.base)
    return `"${text}" has bits beyond its /${range.prefix}; write the first address of the range`;
  return undefined;
}

export class RangeMatcher {
  readonly rules: readonly PatternRule[];
  /** Ranges by family and prefix length: an address is looked up once for each length that occurs. */
  readonly #groups: { readonly range: Range; readonly bases: Map<bigint, Rule> }[] = [];

  constructor(rules: readonly PatternRule[]) {
    this.rules = rules;
    for (const { pattern, rule } of rules) {
      const range = parseRange(pattern);
      if (!range) throw new RangeError(`not an address range: ${pattern}`);
      let group = this.#groups.find((known) => known.range.bits === range.bits && known.range.prefix === range.prefix);
      if (!group) this.#groups.push((group = { range, bases: new Map() }));
      if (!group.bases.has(range.base)) group.bases.set(range.base, rule);
    }
  }

  /** The rule whose range holds this address. An IPv4 address inside an IPv6 one is not looked at as IPv4. */
  find(address: string): Rule | undefined {
    const bits = familyBits(address);
    if (bits === undefined) return undefined;
    const value = addressValue(address);
    for (const { range, bases } of this.#groups) {
      const rule = range.bits === bits ? bases.get(masked(value, range)) : undefined;
      if (rule) return rule;
    }
    return undefined;
  }
}

function parseRange(text: string): Range | undefined {
  const [address = "", length, more] = text.split("/");
  const bits = familyBits(address);
  if (bits === undefined || more !== undefined) return undefined;
  if (length !== undefined && !/^(?:0|[1-9]\d{0,2})$/.test(length)) return undefined;
  const prefix = length === undefined ? bits : Number(length);
  return prefix <= bits ? { bits, prefix, base: addressValue(address) } : undefined;
}

function familyBits(address: string): 32 | 128 | undefined {
  if (address.includes("%")) return undefined;
  const family = isIP(address);
  return family === 4 ? 32 : family === 6 ? 128 : undefined;
}

function masked(value: bigint, range: Range): bigint {
  const rest = BigInt(range.bits - range.prefix);
  return (value >> rest) << rest;
}

/** The number an address is; the text must be one that `isIP` knows. */
export function addressValue(address: string): bigint {
  if (!address.includes(":")) return ipv4Value(address);
  const dotted = address.includes(".") ? address.lastIndexOf(":") + 1 : address.length;
  const tail = dotted < address.length ? ipv4Groups(address.slice(dotted)) : [];
  const [left = "", right] = address
    .slice(0, dotted)
    .replace(/(?<=[^:]):$/, "")
    .split("::");
  const before = groups(left);
  const after = [...groups(right ?? ""), ...tail];
  const zeros = Array.from({ length: 8 - before.length - after.length }, () => 0n);
  return [...before, ...zeros, ...after].reduce((value, group) => (value << 16n) | group, 0n);
}

function groups(text: string): bigint[] {
  return text === ""
    ? []
    : text
        .split(":")
        .filter(Boolean)
        .map((group) => BigInt(`0x${group}`));
}

function ipv4Value(address: string): bigint {
  return address.split(".").reduce((value, part) => (value << 8n) | BigInt(part), 0n);
}

function ipv4Groups(address: string): bigint[] {
  const value = ipv4Value(address);
  return [value >> 16n, value & 0xffffn];
}
