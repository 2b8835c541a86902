// Answers the questions of `fetch` from the policy.
import { isIP } from "node:net";
import { deniedAddress } from "../policy/host-matcher.js";
import { decide, otherPorts } from "../policy/decide.js";
import type { Policy } from "../policy/policy.js";
import type { DecideEgress, EgressDecision, EgressEndpoint } from "./egress-target.js";

/** The port an endpoint has when the policy names none: it stands for https and nothing else. */
const HTTPS_PORT = 443;
const PLAIN_HTTP: EgressDecision = { allowed: false, rule: "plain http needs an endpoint with a port of its own" };

/**
 * Returns what the policy of the moment says: a reload counts from the next request on. Plain http is allowed at endpoints whose
 * port the policy names. A private address is allowed where the policy names the address itself, a range it lies in, or `localhost`.
 */
export function policyEgress(policy: () => Policy): DecideEgress {
  return (endpoint, address) => decideEndpoint(policy(), endpoint, address);
}

function decideEndpoint(
  policy: Policy,
  { host, port, scheme }: EgressEndpoint,
  address: string | undefined,
): EgressDecision {
  if (scheme === "http" && port === HTTPS_PORT) return PLAIN_HTTP;
  const request = { kind: "network", host, port } as const;
  const decision = decide(policy, address === undefined ? request : { ...request, address });
  const { text: rule, line } = decision.rule;
  const { network } = policy;
  if (address === undefined) {
    const advice = otherPorts(network, host, port);
    const allowed = decision.allowed || mayBeLookedUp(policy, host, port);
    return { allowed, rule, line, ...(advice === undefined ? {} : { advice }) };
  }
  const denied = deniedAddress(network.deniedEndpoints, address, port);
  if (denied !== undefined) return { allowed: false, rule: denied.text, line: denied.line };
  const named = network.allowedEndpoints.find(address, port) ?? network.allowedRanges.find(address);
  return { allowed: decision.allowed, rule, line, allowPrivate: named !== undefined || isLoopbackName(host, address) };
}

/** A name on the DNS list that is no endpoint may lead into an allowed range: only its address can tell. */
function mayBeLookedUp({ network }: Policy, host: string, port: number): boolean {
  if (network.offline !== undefined || isIP(host) !== 0) return false;
  if (network.dnsRefused !== undefined || network.dnsNames?.find(host, port) === undefined) return false;
  return network.blockedPorts.get(port) === undefined && network.deniedEndpoints.find(host, port) === undefined;
}

function isLoopbackName(host: string, address: string): boolean {
  return host === "localhost" && (address === "::1" || address.startsWith("127."));
}
