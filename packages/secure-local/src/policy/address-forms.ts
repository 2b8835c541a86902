// The other addresses that one address stands for: IPv4 inside IPv6, and IPv6 around IPv4. A denial holds for all of them.
import { isIP } from "node:net";
import { addressValue } from "./address-range.js";
import { type HostMatcher, plainHost } from "./host-matcher.js";
import type { Rule } from "./rule.js";

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
