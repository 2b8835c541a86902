// Starts the plugins of the policy for one command, mounts its servers, and waits until it is known what each offers.
import { setTimeout as wait } from "node:timers/promises";
import type { SecureServer } from "../server/secure-server.js";
import { clearProgress, complain, showProgress } from "./terminal.js";

/** As long as a plugin may take to say what it is, and a little more. */
const LONGEST_START_MS = 11_000;
const LOOK_MS = 20;
/** Who says nothing until it is asked has ended by then, if it ends at its start. */
const UNHEARD_MS = 600;

/** What a command that shows how plugins are says itself is not said twice. */
export function sayBesides(line: string, about?: "plugin"): void {
  if (about === undefined) complain(line);
}

/**
 * Resolves when each plugin is ready or is known not to become it; `thorough`: also of those that say nothing until they are
 * asked. Stop the server afterwards.
 */
export async function startPlugins(secure: SecureServer, thorough = false): Promise<void> {
  const wanted = [...secure.policy.plugins.load.values()].filter(({ enabled }) => enabled).length;
  const counted = (count: number, what: string): string[] =>
    count === 0 ? [] : [`${count} ${what}${count === 1 ? "" : "s"}`];
  const { size } = secure.policy.servers;
  showProgress(`starting ${[...counted(wanted, "plugin"), ...counted(size, "server")].join(" and ")}`);
  try {
    await settledPlugins(secure, wanted, thorough);
  } finally {
    clearProgress();
  }
}

async function settledPlugins(secure: SecureServer, wanted: number, thorough: boolean): Promise<void> {
  secure.start();
  await secure.serversReady;
  const settled = (): boolean => {
    const health = secure.pluginHealth();
    return health.length === wanted && health.every(({ state }) => state !== "starting");
  };
  for (let waited = 0; !settled() && waited < LONGEST_START_MS; waited += LOOK_MS) await wait(LOOK_MS);
  if (!thorough) return;
  const unheard = (): boolean => secure.pluginHealth().some(({ state, heard }) => state === "ready" && !heard);
  for (let waited = 0; unheard() && waited < UNHEARD_MS; waited += LOOK_MS) await wait(LOOK_MS);
}
