// Asks the policy about the network for a tool's `fetch`.
import type { DecideEgress, EgressDecision } from "../capabilities/egress-decision.js";
import { decide } from "../policy/decide.js";
import type { Policy } from "../policy/policy.js";

const HTTPS_PORT = 443;
const NO_PLAIN_TEXT: EgressDecision = { allowed: false, rule: "built-in rule: no plain http on port 443" };
const DEFAULT_DENY = "default deny";

/**
 * Egress decisions of one policy. Plain http goes only to ports the policy names. An address that is not public is reached
 * only where the policy names that very address or its range: a name it allows may come to stand for anything.
 */
export function egressOf(policy: Policy): DecideEgress {
  const { network } = policy;
  return ({ scheme, host, port }, address) => {
    if (scheme === "http" && port === HTTPS_PORT) return NO_PLAIN_TEXT;
    const request = { kind: "network", host, port } as const;
    const { allowed, rule } = decide(policy, address === undefined ? request : { ...request, address });
    if (address === undefined) {
      // What a listed name stands for decides; until then it may only be looked up.
      const listed = allowed || rule.text !== DEFAULT_DENY ? undefined : network.dnsNames?.find(host, port);
      const mayLookUp = listed !== undefined && network.dnsRefused === undefined;
      return { allowed: allowed || mayLookUp, rule: (mayLookUp ? listed : rule).text };
    }
    const named = network.allowedRanges.find(address) ?? network.allowedEndpoints.find(address, port);
    return { allowed, rule: rule.text, allowPrivate: named !== undefined };
  };
}
