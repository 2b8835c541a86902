// Matches IP addresses, in every form they are written in, against ranges such as 10.0.0.0/8 and fe80::/10.

import { isIP } from "node:net";
import type { PatternRule, Rule } from "./faults.js";
import { type HostMatcher, plainHost } from "./host-matcher.js";

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

/** An address around another: `bits` of prefix, and how far from its right end the IPv4 address stands. */
interface Wrapping {
  readonly prefix: bigint;
  readonly bits: number;
  readonly shift: number;
  /** Written with every bit turned round, as Teredo does with its client's. */
  readonly inverted?: boolean;
}

const WRAPPINGS: readonly Wrapping[] = [
  { prefix: 0xffffn, bits: 96, shift: 0 }, // mapped
  { prefix: 0n, bits: 96, shift: 0 }, // compatible
  { prefix: 0xffff0000n, bits: 96, shift: 0 }, // translated (RFC 2765)
  { prefix: 0x64ff9bn << 64n, bits: 96, shift: 0 }, // NAT64
  { prefix: 0x2002n, bits: 16, shift: 80 }, // 6to4
  { prefix: 0x20010000n, bits: 32, shift: 64 }, // Teredo's server
  { prefix: 0x20010000n, bits: 32, shift: 0, inverted: true }, // Teredo's client
];
/** A network's own NAT64 (RFC 8215): prefixes of 48, 56, 64 and 96 bits put the address at other places (RFC 6052). */
const LOCAL_NAT64 = 0x64ff9b0001n;
/** The interface half of ISATAP: 0000:5efe or 0200:5efe, then the IPv4 address. */
const ISATAP: readonly bigint[] = [0x5efen, 0x2005efen];
const WHOLE = 0xffffffffn;

/** Of an address: itself in its one form first, then every address inside it, and for IPv4 those that hold just it. */
export function addressForms(address: string): readonly string[] {
  const plain = plainHost(address);
  if (plain === undefined || isIP(plain) === 0) return [];
  const value = addressValue(plain);
  if (isIP(plain) === 4) return [plain, ...WRAPPINGS.slice(0, 4).map(({ prefix }) => ipv6((prefix << 32n) | value))];
  const inside = WRAPPINGS.filter(({ prefix, bits }) => value >> BigInt(128 - bits) === prefix).map(
    ({ shift, inverted = false }) => ((value >> BigInt(shift)) & WHOLE) ^ (inverted ? WHOLE : 0n),
  );
  if (value >> 80n === LOCAL_NAT64) inside.push(...localNat64(value));
  if (ISATAP.includes((value >> 32n) & WHOLE)) inside.push(value & WHOLE);
  return [...new Set([plain, ...inside.map(ipv4)])];
}

/** The eight bits in the middle are left out, wherever the address stands. */
function localNat64(value: bigint): bigint[] {
  const part = (shift: number, mask: bigint): bigint => (value >> BigInt(shift)) & mask;
  return [
    (part(64, 0xffffn) << 16n) | part(40, 0xffffn),
    (part(64, 0xffn) << 24n) | part(32, 0xffffffn),
    part(24, WHOLE),
    part(0, WHOLE),
  ];
}

/** The denial that holds for an address in any of its forms. What is no address is looked for as it is. */
export function deniedAddress(denied: HostMatcher, address: string, port: number): Rule | undefined {
  if (denied.rules.length === 0) return undefined;
  for (const form of addressForms(address)) {
    const rule = denied.find(form, port);
    if (rule !== undefined) return rule;
  }
  return denied.find(address, port);
}

function ipv4(value: bigint): string {
  return [24n, 16n, 8n, 0n].map((shift) => (value >> shift) & 0xffn).join(".");
}

function ipv6(value: bigint): string {
  const groups = [112n, 96n, 80n, 64n, 48n, 32n, 16n, 0n].map((shift) => ((value >> shift) & 0xffffn).toString(16));
  return plainHost(groups.join(":")) ?? "";
}
