// A tool's `fetch`, loaded with the first request: most sessions never make one, and all of them want to start fast.
import type { PolicyFetch } from "../capabilities/fetch.js";
import { policyEgress } from "../capabilities/policy-egress.js";
import type { Policy } from "../policy/policy.js";

/** `policy` is asked at every request and redirect. */
export function lazyFetch(policy: () => Policy): PolicyFetch {
  let loading: Promise<PolicyFetch> | undefined;
  return async (url, request) => {
    loading ??= load(policy);
    return (await loading)(url, request);
  };
}

async function load(policy: () => Policy): Promise<PolicyFetch> {
  const { createFetch } = await import("../capabilities/fetch.js");
  return createFetch(policyEgress(policy));
}
