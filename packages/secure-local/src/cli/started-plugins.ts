// Starts the plugins of the policy for one command, and waits until it is known what each offers.
import { setTimeout as wait } from "node:timers/promises";
import type { SecureServer } from "../server/secure-server.js";

/** As long as a plugin may take to say what it is, and a little more. */
const LONGEST_START_MS = 11_000;
const LOOK_MS = 20;

/** Resolves when each plugin is ready or is known not to become it. Stop the server afterwards. */
export async function startPlugins(secure: SecureServer): Promise<void> {
  const wanted = [...secure.policy.plugins.load.values()].filter(({ enabled }) => enabled).length;
  secure.start();
  const settled = (): boolean => {
    const health = secure.pluginHealth();
    return health.length === wanted && health.every(({ state }) => state !== "starting");
  };
  for (let waited = 0; !settled() && waited < LONGEST_START_MS; waited += LOOK_MS) await wait(LOOK_MS);
}
