// A tool whose calls can be routed by a header: over HTTP its region is repeated where a load balancer can read it.

/** The pretend database: one table a region. */
const ORDERS = new Map([
  ["us-west1", [{ id: 1, item: "lamp" }]],
  ["europe-west4", [{ id: 2, item: "desk" }]],
]);

const SELECT = /^\s*select\s+\*\s+from\s+orders\s*;?\s*$/i;

/** Registers `execute_sql`. */
export function registerSqlTool(server) {
  server.tool("execute_sql", {
    description: "Execute SQL on Google Cloud Spanner",
    input: {
      type: "object",
      properties: {
        region: { type: "string", description: "The region to execute the query in", "x-mcp-header": "Region" },
        query: { type: "string", description: "The SQL query to execute" },
      },
      required: ["region", "query"],
    },
    annotations: { readOnlyHint: true },
    run({ region, query }, ctx) {
      const rows = ORDERS.get(region);
      if (rows === undefined)
        return ctx.fail(`There is no region "${region}": use ${[...ORDERS.keys()].join(" or ")}.`);
      if (!SELECT.test(query)) return ctx.fail("Only SELECT * FROM orders is understood here.");
      return { rows };
    },
  });
}
