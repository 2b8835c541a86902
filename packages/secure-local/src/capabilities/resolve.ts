// Finds the addresses of a target once and has every one of them judged.
import { addressForms } from "../policy/address-forms.js";
import { nonPublicClass } from "./address-class.js";
import type { DecideEgress, EgressDecision } from "./egress-decision.js";
import type { EgressTarget } from "./egress-target.js";
import { FetchError } from "./fetch-error.js";
import { parseIp } from "./ip-address.js";

/** Every address of a name, in the order in which to try them. */
export type Resolve = (host: string) => Promise<readonly string[]>;

/** The addresses of this machine, by interface. */
export type Interfaces = () => Promise<Readonly<Record<string, readonly { readonly address: string }[] | undefined>>>;

/** A name with more answers than this is not worth trying to the end. */
const MAX_ADDRESSES = 8;
/** The one rule that another one can be added beside. */
const DEFAULT_DENY = "default deny";
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
    throw new FetchError("not-public", `${found}, which the policy does not allow.`, NOT_PUBLIC);
  }
  return addresses.slice(0, MAX_ADDRESSES);
}

function requireAllowed(target: EgressTarget, { allowed, rule, line }: EgressDecision): void {
  if (allowed) return;
  const endpoint = `${target.scheme}://${target.url.host}`;
  const place = line === undefined ? rule : `${rule}, line ${line}`;
  const remedy = rule === DEFAULT_DENY ? "; add the host to network.allowed_endpoints to allow them" : "";
  throw new FetchError("denied", `The policy does not allow requests to ${endpoint} (${place})${remedy}.`, place);
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
