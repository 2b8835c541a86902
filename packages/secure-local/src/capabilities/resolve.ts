// Finds the addresses of a target once, has every one of them judged, and connects to one of those alone.
import type { Socket } from "node:net";
import { addressForms } from "../policy/host-matcher.js";
import { type DecideEgress, type EgressDecision, type EgressTarget, parseIp } from "./egress-target.js";
import { FetchError } from "./refusals.js";

/** Every address of a name, in the order in which to try them. */
export type Resolve = (host: string) => Promise<readonly string[]>;

/** The addresses of this machine, by interface. */
type Interfaces = () => Promise<Readonly<Record<string, readonly { readonly address: string }[] | undefined>>>;

/** A name with more answers than this is not worth trying to the end. */
const MAX_ADDRESSES = 8;
/** The one rule that another one can be added beside. */
const DEFAULT_DENY = "default deny";
const ADD_HOST = "add the host to network.allowed_endpoints to allow them.";
const NOT_PUBLIC = "built-in rule: private addresses have to be named";

export const resolveBySystem: Resolve = async (host) => {
  const { lookup } = await import("node:dns/promises");
  return (await lookup(host, { all: true, verbatim: true })).map(({ address }) => address);
};

/**
 * Returns the addresses to dial. The endpoint is decided before its name is looked up, then with every address it has; one
 * address that may not be reached refuses the whole name: honest names do not mix them, rebinding does.
 * @throws FetchError `denied`, `unresolvable`, `not-public`
 */
export async function resolveAllowed(
  target: EgressTarget,
  decide: DecideEgress,
  resolve: Resolve,
  interfaces: Interfaces = systemInterfaces,
): Promise<readonly string[]> {
  requireAllowed(target, decide(target));
  const addresses = target.literal ? [target.host] : await resolveName(target.host, resolve);
  const own = await ownAddresses(interfaces);
  for (const address of addresses) {
    const decision = decide(target, address);
    requireAllowed(target, decision);
    const kind = nonPublicClass(address) ?? (isOwn(address, own) ? "an address of this machine" : undefined);
    if (kind === undefined || decision.allowPrivate === true) continue;
    const found = target.literal ? `The host is ${kind}` : `${target.host} resolved to ${kind}`;
    throw new FetchError(
      "not-public",
      `${found}, which the policy does not allow; name the address itself with port ${target.port} in network.allowed_endpoints, or its range in network.allowed_ranges, to allow it.`,
      NOT_PUBLIC,
    );
  }
  return addresses.slice(0, MAX_ADDRESSES);
}

function requireAllowed(target: EgressTarget, { allowed, rule, line, advice }: EgressDecision): void {
  if (allowed) return;
  const endpoint = `${target.scheme}://${target.url.host}`;
  const place = line === undefined ? rule : `${rule}, line ${line}`;
  const remedy = rule === DEFAULT_DENY ? `; ${advice ?? ADD_HOST}` : ".";
  throw new FetchError("denied", `The policy does not allow requests to ${endpoint} (${place})${remedy}`, place);
}

async function resolveName(host: string, resolve: Resolve): Promise<readonly string[]> {
  let addresses: readonly string[];
  try {
    addresses = await resolve(host);
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? "no answer";
    throw new FetchError("unresolvable", `The name ${host} could not be resolved (${code}).`);
  }
  if (addresses.length === 0 || !addresses.every((address) => parseIp(address) !== undefined)) {
    throw new FetchError("unresolvable", `The name ${host} has no usable address.`);
  }
  return addresses;
}

/** In any of its forms: an IPv4 address inside an IPv6 one leads to the same services. */
function isOwn(address: string, own: ReadonlySet<string>): boolean {
  return own.has(address) || addressForms(address).some((form) => own.has(form));
}

/** Public addresses of this machine lead to its own services. Asked each time: laptops change networks. */
async function ownAddresses(interfaces: Interfaces): Promise<ReadonlySet<string>> {
  const own = new Set<string>();
  for (const list of Object.values(await interfaces())) {
    for (const { address } of list ?? []) for (const form of [address, ...addressForms(address)]) own.add(form);
  }
  return own;
}

const systemInterfaces: Interfaces = async () => (await import("node:os")).networkInterfaces();

// Says of an IP address whether it is on the public internet, and if not what it is.

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

// Connects to one of the checked addresses of a target and proves that the socket ended there.

/** An address that does not answer leaves the others their share of the time. */
const CONNECT_MS = 5_000;

/** What stands before an IPv4 address that is written as IPv6. */
const MAPPED_BYTES: readonly number[] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 255, 255];

/**
 * Returns a connected socket (TLS done and certificate checked for https). Addresses are dialled as literals, so nothing is
 * resolved a second time and no proxy is asked. @throws FetchError `connect`; the signal's reason when aborted
 */
export async function dial(target: EgressTarget, addresses: readonly string[], signal: AbortSignal): Promise<Socket> {
  let reason = "no address";
  for (const address of addresses) {
    signal.throwIfAborted();
    try {
      const socket = await connect(target, address, signal);
      if (sameAddress(socket.remoteAddress, address)) return socket;
      socket.destroy();
      reason = "connected elsewhere";
    } catch (error) {
      signal.throwIfAborted();
      reason = (error as NodeJS.ErrnoException).code ?? "no answer";
    }
  }
  throw new FetchError("connect", `Could not connect to ${target.host} on port ${target.port} (${reason}).`);
}

async function connect(target: EgressTarget, address: string, signal: AbortSignal): Promise<Socket> {
  const { socket, ready } = await open(target, address);
  return await new Promise((resolve, reject) => {
    const stopWaiting = (): void => {
      socket.setTimeout(0);
      socket.off("timeout", late);
      socket.off(ready, succeed);
      signal.removeEventListener("abort", abort);
    };
    const succeed = (): void => {
      stopWaiting();
      resolve(socket);
    };
    const fail = (error: Error): void => {
      stopWaiting();
      socket.destroy();
      reject(error);
    };
    const late = (): void => fail(Object.assign(new Error("no connection in time"), { code: "ETIMEDOUT" }));
    const abort = (): void => fail(new Error("aborted"));
    socket.on("error", fail); // stays: a socket that fails later must not end the process
    socket.setTimeout(CONNECT_MS, late);
    socket.once(ready, succeed);
    signal.addEventListener("abort", abort, { once: true });
  });
}

async function open(
  { scheme, host, port, literal }: EgressTarget,
  address: string,
): Promise<{ socket: Socket; ready: string }> {
  if (scheme === "http") {
    const net = await import("node:net");
    return { socket: net.connect({ host: address, port }), ready: "connect" };
  }
  const tls = await import("node:tls");
  // Names go into the handshake and are checked against the certificate; for a literal that is the address itself.
  const names = literal ? {} : { servername: host };
  return {
    socket: tls.connect({ host: address, port, ALPNProtocols: ["http/1.1"], ...names }),
    ready: "secureConnect",
  };
}

/** Compares bytes, since one address has several spellings; IPv4 may come back mapped into IPv6. */
function sameAddress(actual: string | undefined, dialled: string): boolean {
  const seen = parseIp(actual?.replace(/%.*$/, "") ?? "");
  const meant = parseIp(dialled);
  if (seen === undefined || meant === undefined) return false;
  return asIpv6(seen) === asIpv6(meant);
}

function asIpv6(bytes: readonly number[]): string {
  return (bytes.length === 4 ? [...MAPPED_BYTES, ...bytes] : bytes).join();
}
