// A `fetch` that keeps off addresses nobody else's metadata may lead to: it resolves, judges, and dials what it judged.
import { lookup as systemLookup, type LookupAddress, type LookupOptions } from "node:dns";
import { type IncomingMessage, request as httpRequest, type RequestOptions } from "node:http";
import { request as httpsRequest } from "node:https";
import { BlockList, isIP } from "node:net";
import { Readable } from "node:stream";
import type { FetchLike } from "../auth/fetch-json.js";
import { LocalError } from "../jsonrpc/errors.js";

/** Which hosts may be reached besides those on the internet, and how names are looked up. */
export interface GuardedFetchOptions {
  /** URLs the user gave: their hosts may be anywhere. Where one is of this machine, other ports of it may be fetched too. */
  readonly trusted: readonly (string | URL)[];
  /** Further host names that may be anywhere. */
  readonly allowHosts?: readonly string[];
  /** Default: the system's resolver. */
  readonly lookup?: (host: string) => Promise<readonly LookupAddress[]>;
}

/** Special-purpose IPv4 blocks (IANA registry, RFC 6890), none of which is a host on the internet. */
const IPV4_BLOCKS: readonly (readonly [string, number])[] = [
  ["0.0.0.0", 8],
  ["10.0.0.0", 8],
  ["100.64.0.0", 10],
  ["127.0.0.0", 8],
  // Where a cloud serves its machines their own secrets, beside the link-local block.
  ["168.63.129.16", 32],
  ["169.254.0.0", 16],
  ["172.16.0.0", 12],
  ["192.0.0.0", 24],
  ["192.0.2.0", 24],
  ["192.88.99.0", 24],
  ["192.168.0.0", 16],
  ["198.18.0.0", 15],
  ["198.51.100.0", 24],
  ["203.0.113.0", 24],
  ["224.0.0.0", 4],
  ["240.0.0.0", 4],
];
/** Blocks inside the global unicast space of IPv6 that lead elsewhere: protocol assignments, documentation, 6to4. */
const IPV6_BLOCKS: readonly (readonly [string, number])[] = [
  ["2001::", 23],
  ["2001:db8::", 32],
  ["2002::", 16],
  ["3fff::", 20],
];

const special = new BlockList();
for (const [net, prefix] of IPV4_BLOCKS) special.addSubnet(net, prefix, "ipv4");
for (const [net, prefix] of IPV6_BLOCKS) special.addSubnet(net, prefix, "ipv6");
const globalIpv6 = new BlockList();
globalIpv6.addSubnet("2000::", 3, "ipv6");
const loopback = new BlockList();
loopback.addSubnet("127.0.0.0", 8, "ipv4");
loopback.addAddress("::1", "ipv6");

/** Whether an address belongs to a host on the internet. */
export function isPublicAddress(address: string): boolean {
  const family = isIP(address);
  if (family === 4) return !special.check(address, "ipv4");
  return (
    family === 6 && globalIpv6.check(address, "ipv6") && !special.check(address, "ipv6") && !isTunnelInward(address)
  );
}

/** ISATAP (RFC 5214): an interface half of 0:5efe or 200:5efe is followed by the IPv4 address of the host it leads to. */
const ISATAP = /(?:::|:0:|:200:)5efe:(?:([\da-f]{1,4}):([\da-f]{1,4})|:)\]$/;

/** Whether an IPv6 address wraps one of IPv4 that is not on the internet. */
function isTunnelInward(address: string): boolean {
  const url = `http://[${address}]`;
  if (!URL.canParse(url)) return true;
  const found = ISATAP.exec(new URL(url).hostname);
  if (found === null) return false;
  const [high, low] = [found[1] ?? "0", found[2] ?? "0"].map((group) => Number.parseInt(group, 16)) as [number, number];
  return special.check([high >> 8, high & 255, low >> 8, low & 255].join("."), "ipv4");
}

function isLoopback(address: string): boolean {
  return loopback.check(address, isIP(address) === 6 ? "ipv6" : "ipv4");
}

/** Follows no redirects. Rejects with a LocalError of code `AUTH_DISCOVERY` for an address that must not be dialled. */
export function guardedFetch(options: GuardedFetchOptions): FetchLike {
  const hosts = options.trusted.map((one) => undotted(new URL(one).hostname));
  const free = new Set([...hosts, ...(options.allowHosts ?? []).map(undotted)]);
  const local = hosts.some((host) => host === "localhost" || (isIP(bare(host)) !== 0 && isLoopback(bare(host))));
  const resolve = options.lookup ?? systemResolve;
  const judge = (host: string, addresses: readonly LookupAddress[]): readonly LookupAddress[] => {
    if (free.has(host)) return addresses;
    const good = addresses.filter(({ address }) => isPublicAddress(address) || (local && isLoopback(address)));
    if (good.length > 0) return good;
    const found = addresses.map(({ address }) => address).join(", ");
    throw new LocalError(
      "AUTH_DISCOVERY",
      `${host} is ${found}, not an address on the internet; if you trust it, name it in allowHosts`,
    );
  };
  return async (url, init) => {
    const target = new URL(url);
    const host = undotted(target.hostname);
    if (host !== target.hostname) target.hostname = host;
    const literal = isIP(bare(host));
    const found = literal === 0 ? await resolve(host) : [{ address: bare(host), family: literal }];
    return send(target, judge(host, found), init);
  };
}

/** The dot of the root that may end a name makes no other host of it. */
function undotted(host: string): string {
  return host.replace(/\.$/, "");
}

function send(target: URL, addresses: readonly LookupAddress[], init: RequestInit): Promise<Response> {
  const request = target.protocol === "https:" ? httpsRequest : httpRequest;
  const settings: RequestOptions = {
    method: init.method ?? "GET",
    headers: { ...Object.fromEntries(new Headers(init.headers)), "accept-encoding": "identity" },
    // A connection of its own, to one of the addresses judged and no other.
    agent: false,
    lookup: (_host, wanted, answer) => giveAddress(addresses, wanted, answer),
    ...(init.signal ? { signal: init.signal } : {}),
  };
  return new Promise((resolve, reject) => {
    const sent = request(target, settings, (response) => resolve(toResponse(response)));
    sent.on("error", reject);
    // Also after a change of protocol (101), which brings neither a response nor an error.
    sent.on("close", () => reject(new Error(`${target.host} ended the connection without an answer`)));
    sent.end(typeof init.body === "string" ? init.body : undefined);
  });
}

type LookupAnswer = (error: NodeJS.ErrnoException | null, found: string | LookupAddress[], family?: number) => void;

function giveAddress(addresses: readonly LookupAddress[], wanted: LookupOptions, answer: LookupAnswer): void {
  const first = addresses[0] as LookupAddress;
  if (wanted.all === true) answer(null, [...addresses]);
  else answer(null, first.address, first.family);
}

function toResponse(message: IncomingMessage): Response {
  const headers = new Headers();
  for (const [name, values] of Object.entries(message.headersDistinct)) {
    for (const value of values ?? []) headers.append(name, value);
  }
  const status = message.statusCode ?? 0;
  const empty = status === 204 || status === 205 || status === 304;
  if (empty) message.resume();
  const body = empty ? null : (Readable.toWeb(message) as unknown as ReadableStream<Uint8Array>);
  return new Response(body, { status: status < 200 ? 502 : status, headers });
}

function systemResolve(host: string): Promise<readonly LookupAddress[]> {
  return new Promise((resolve, reject) => {
    systemLookup(host, { all: true }, (error, found) => (error === null ? resolve(found) : reject(error)));
  });
}

/** An address as `isIP` knows it: URLs put IPv6 in brackets. */
function bare(host: string): string {
  return host.startsWith("[") ? host.slice(1, -1) : host;
}
