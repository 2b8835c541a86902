// Matches hosts, ports and addresses: endpoints, where `*.a.b` names every host strictly below a.b, and ranges of
// addresses with all their forms.
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

// Knows both names of what is called by a shorter one outside, so that a rule may use either.

/** A tool or prompt whose whole name is too long, and the shorter one by which it is called. */
export type ShortName = readonly [short: string, whole: string];

/** By the file that says what was approved, shorter names by whole ones: nothing that a server says makes it grow. */
const APPROVED_NAMES = new Map<string, ReadonlyMap<string, string>>();
/** By name: the other names of the same tool or prompt. */
let otherNamesOf: ReadonlyMap<string, readonly string[]> = new Map();
const NO_NAMES: readonly string[] = Object.freeze([]);

/** From now on both names of each are one thing to every rule, in every policy; those noted for this file before stay known. */
export function noteShortNames(file: string, names: readonly ShortName[]): void {
  const known = APPROVED_NAMES.get(file) ?? new Map<string, string>();
  // The file is read again and again, and hardly ever says anything new.
  if (names.some(([, whole]) => !known.has(whole)))
    keepShortNames(file, [...[...known].map(([whole, short]) => [short, whole] as const), ...names]);
}

/** The same, and what was noted for this file before is forgotten: a rule about what is gone must not hold for what has its short name now. */
export function keepShortNames(file: string, names: readonly ShortName[]): void {
  APPROVED_NAMES.set(file, new Map(names.map(([short, whole]) => [whole, short])));
  const others = new Map<string, Set<string>>();
  const add = (name: string, other: string): unknown =>
    others.get(name)?.add(other) ?? others.set(name, new Set([other]));
  for (const [whole, short] of [...APPROVED_NAMES.values()].flatMap((each) => [...each])) {
    add(short, whole);
    add(whole, short);
  }
  const listOf = (name: string, all: ReadonlySet<string>): readonly string[] => {
    const known = otherNames(name);
    return known.length === all.size && known.every((each) => all.has(each)) ? known : [...all];
  };
  otherNamesOf = new Map([...others].map(([name, all]) => [name, listOf(name, all)]));
}

/** The same list until more is known of the name. */
export function otherNames(name: string): readonly string[] {
  return otherNamesOf.get(name) ?? NO_NAMES;
}

/** Numbers by the names of tools. A tool has what stands under any of its names, and the lowest where there are several. */
export class ValuesByName extends Map<string, number> {
  /** The name under which a tool has its number; undefined where it has none. */
  keyOf(tool: string): string | undefined {
    let key = super.has(tool) ? tool : undefined;
    for (const other of otherNames(tool)) {
      const value = super.get(other);
      if (value !== undefined && value < (key === undefined ? Infinity : super.get(key)!)) key = other;
    }
    return key;
  }

  override get(tool: string): number | undefined {
    const key = this.keyOf(tool);
    return key === undefined ? undefined : super.get(key);
  }

  override has(tool: string): boolean {
    return this.keyOf(tool) !== undefined;
  }
}

// Matches names of tools and prompts and URIs of resources: exactly, or by a prefix ending in `*`.

/** What it finds of one name of a tool it finds of the other. */
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

  /** The rule that allows this, if any: one name of two things, as while one takes the place of the other, is allowed by itself alone. */
  findAllowing(name: string): Rule | undefined {
    const others = otherNames(name);
    if (others.length < 2) return this.find(name);
    return this.#exact.get(name) ?? this.#prefixOf(name);
  }

  findExact(name: string): Rule | undefined {
    return this.#exact.get(name) ?? firstOf(otherNames(name), (other) => this.#exact.get(other));
  }

  findPrefix(name: string): Rule | undefined {
    return this.#prefixOf(name) ?? firstOf(otherNames(name), (other) => this.#prefixOf(other));
  }

  #prefixOf(name: string): Rule | undefined {
    for (const [length, prefixes] of this.#prefixes) {
      const rule = name.length >= length ? prefixes.get(name.slice(0, length)) : undefined;
      if (rule) return rule;
    }
    return undefined;
  }
}

function firstOf(names: readonly string[], find: (name: string) => Rule | undefined): Rule | undefined {
  for (const name of names) {
    const rule = find(name);
    if (rule !== undefined) return rule;
  }
  return undefined;
}

function addPrefix(prefixes: Map<number, Map<string, Rule>>, prefix: string, rule: Rule): void {
  const same = prefixes.get(prefix.length) ?? new Map<string, Rule>();
  if (!same.has(prefix)) same.set(prefix, rule);
  prefixes.set(prefix.length, same);
}

// Matches IP addresses, in every form they are written in, against ranges such as 10.0.0.0/8 and fe80::/10.

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
