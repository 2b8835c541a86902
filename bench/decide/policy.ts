// What the bench of decisions uses of the product.
export { approvalNeed } from "../../packages/secure-local/src/policy/decide-command.js";
export { decide } from "../../packages/secure-local/src/policy/decide.js";
export { decideCommand } from "../../packages/secure-local/src/policy/decide-command.js";
export { parsePolicy } from "../../packages/secure-local/src/policy/parse-policy.js";
