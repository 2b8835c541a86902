// Says of an IP address whether it is on the public internet, and if not what it is.
import { parseIp } from "./ip-address.js";

/** A row: the first `bits` of an address equal `bytes`. The first row that fits decides. */
interface Range {
  readonly bytes: readonly number[];
  readonly bits: number;
  readonly name: string;
}

// IANA special-purpose registries, and addresses at which clouds serve credentials.
const IPV4: readonly Range[] = table([
  ["169.254.169.254/32", "a cloud metadata address"],
  ["168.63.129.16/32", "a cloud metadata address"],
  ["192.0.0.192/32", "a cloud metadata address"],
  ["100.100.100.200/32", "a cloud metadata address"],
  ["0.0.0.0/8", "an unspecified address"],
  ["10.0.0.0/8", "a private address"],
  ["100.64.0.0/10", "a shared (carrier) address"],
  ["127.0.0.0/8", "a loopback address"],
  ["169.254.0.0/16", "a link-local address"],
  ["172.16.0.0/12", "a private address"],
  ["192.0.0.0/24", "a reserved address"],
  ["192.0.2.0/24", "a documentation address"],
  ["192.88.99.0/24", "a reserved address"],
  ["192.168.0.0/16", "a private address"],
  ["198.18.0.0/15", "a benchmarking address"],
  ["198.51.100.0/24", "a documentation address"],
  ["203.0.113.0/24", "a documentation address"],
  ["224.0.0.0/4", "a multicast address"],
  ["240.0.0.0/4", "a reserved address"],
]);

const IPV6: readonly Range[] = table([
  ["::/128", "an unspecified address"],
  ["::1/128", "a loopback address"],
  ["fd00:ec2::254/128", "a cloud metadata address"],
  ["fd20:ce::254/128", "a cloud metadata address"],
  ["fc00::/7", "a private address"],
  ["fe80::/10", "a link-local address"],
  ["fec0::/10", "a site-local address"],
  ["ff00::/8", "a multicast address"],
  ["2001:db8::/32", "a documentation address"],
  ["3fff::/20", "a documentation address"],
  ["2001:2::/48", "a benchmarking address"],
]);

/** IPv6 that carries IPv4 inside; `at` lists where, `flipped` the one written inverted. All must be public. */
const MAPPED: Range = range("::ffff:0:0/96", "");
const COMPATIBLE: Range = range("::/96", "");
const NAT64: Range = range("64:ff9b::/96", "");
const SIX_TO_FOUR: Range = range("2002::/16", "");
const TEREDO: Range = range("2001::/32", "");
const PROTOCOL_ASSIGNMENTS: Range = range("2001::/23", "");
const GLOBAL_UNICAST: Range = range("2000::/3", "");
const RESERVED = "a reserved address";

/**
 * Returns undefined for a public address, else what it is, as it reads in a sentence ("a loopback address"). An address inside
 * another (mapped, compatible, NAT64, 6to4, Teredo at both ends, ISATAP) is judged as itself. What is not an address is refused.
 */
export function nonPublicClass(address: string): string | undefined {
  const bytes = parseIp(address);
  if (bytes === undefined) return "not an address";
  return bytes.length === 4 ? find(IPV4, bytes) : nonPublicIpv6(bytes);
}

function nonPublicIpv6(bytes: readonly number[]): string | undefined {
  const named = find(IPV6, bytes);
  if (named !== undefined) return named;
  if (fits(MAPPED, bytes) || fits(NAT64, bytes)) return embedded(bytes, 12);
  if (fits(COMPATIBLE, bytes)) return embedded(bytes, 12) ?? RESERVED;
  if (isIsatap(bytes) && embedded(bytes, 12) !== undefined) return embedded(bytes, 12);
  if (fits(SIX_TO_FOUR, bytes)) return embedded(bytes, 2);
  if (fits(TEREDO, bytes))
    return (
      embedded(bytes, 4) ??
      embedded(
        bytes.map((byte) => byte ^ 0xff),
        12,
      )
    );
  if (fits(PROTOCOL_ASSIGNMENTS, bytes) || !fits(GLOBAL_UNICAST, bytes)) return RESERVED;
  return undefined;
}

function embedded(bytes: readonly number[], at: number): string | undefined {
  return find(IPV4, bytes.slice(at, at + 4));
}

/** The interface half is 0000:5efe or 0200:5efe and an IPv4 address. */
function isIsatap(bytes: readonly number[]): boolean {
  return ((bytes[8] as number) & 0xfd) === 0 && bytes[9] === 0 && bytes[10] === 0x5e && bytes[11] === 0xfe;
}

function find(ranges: readonly Range[], bytes: readonly number[]): string | undefined {
  return ranges.find((candidate) => fits(candidate, bytes))?.name;
}

function fits({ bytes, bits }: Range, address: readonly number[]): boolean {
  const whole = bits >> 3;
  for (let index = 0; index < whole; index += 1) if (bytes[index] !== address[index]) return false;
  const rest = bits & 7;
  return rest === 0 || ((bytes[whole] as number) ^ (address[whole] as number)) >> (8 - rest) === 0;
}

function table(rows: readonly (readonly [cidr: string, name: string])[]): readonly Range[] {
  return rows.map(([cidr, name]) => range(cidr, name));
}

function range(cidr: string, name: string): Range {
  const [address, bits] = cidr.split("/");
  return { bytes: parseIp(address as string) as readonly number[], bits: Number(bits), name };
}
