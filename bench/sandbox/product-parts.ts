// What the bench of the sandbox uses of the product.
export { EgressProxy } from "../../packages/secure-local/src/capabilities/egress-proxy.js";
export { createRun } from "../../packages/secure-local/src/capabilities/policy-run.js";
export { parsePolicy } from "../../packages/secure-local/src/policy/parse-policy.js";
export { findWall } from "../../packages/secure-local/src/sandbox/find-wall.js";
export { endWalled, startWalled } from "../../packages/secure-local/src/sandbox/start-walled.js";
