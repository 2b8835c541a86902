// The client under test: one scenario a process, named by the suite's environment; the URL is the last argument.
import { authorizerFor } from "./client/authorizers.mjs";
import { actFor } from "./client/acts.mjs";

const url = process.argv.at(-1);
const scenario = process.env.MCP_CONFORMANCE_SCENARIO ?? "";
const revision = process.env.MCP_CONFORMANCE_PROTOCOL_VERSION;
const context = JSON.parse(process.env.MCP_CONFORMANCE_CONTEXT ?? "{}");

try {
  await actFor(scenario)({ url, revision, context, authorizer: await authorizerFor(scenario, { url, context }) });
} catch (error) {
  console.error(error);
  process.exitCode = 1;
}
