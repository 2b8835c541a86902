// What the judge of the fault bench uses of the product.
export { verifyAudit } from "../../packages/secure-local/src/audit/verify-audit.js";
