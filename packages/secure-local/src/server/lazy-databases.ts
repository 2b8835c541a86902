// The databases under the policy, loaded with the first statement: most sessions never ask one, and all want to start fast.
import type { Databases } from "../capabilities/databases/databases.js";
import type { PolicyDatabases } from "../capabilities/databases/policy-databases.js";
import type { Policy } from "../policy/policy.js";

/** `policy` is asked at every operation; `own` are the program's own files, which no database is. */
export function lazyDatabases(policy: () => Policy, own: readonly string[]): Databases {
  let loading: Promise<PolicyDatabases> | undefined;
  const load = (): Promise<PolicyDatabases> => (loading ??= start(policy, own));
  return {
    list: () =>
      [...policy().databases.values()].map(({ name, store, readOnly }) => ({ name, kind: store.kind, readOnly })),
    query: async (options) => (await load()).query(options),
    schema: async (database, signal) => (await load()).schema(database, signal),
    watchSchema(database, table, changed) {
      let stop: (() => void) | undefined;
      let stopped = false;
      void load().then((databases) => {
        if (!stopped) stop = databases.watchSchema(database, table, changed);
      });
      return () => {
        stopped = true;
        stop?.();
      };
    },
    importTable: async (options) => (await load()).importTable(options),
  };
}

async function start(policy: () => Policy, own: readonly string[]): Promise<PolicyDatabases> {
  const module = await import("../capabilities/databases/policy-databases.js");
  return new module.PolicyDatabases(policy, { own });
}
