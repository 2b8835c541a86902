// Prepares the place a plugin runs in: what it is, the wall around it, and what it reaches from there.
import type { SecretBroker } from "../capabilities/secret-broker.js";
import { surround, type Surroundings } from "../capabilities/surround.js";
import type { PluginGrant } from "../policy/plugins-policy.js";
import type { Policy } from "../policy/policy.js";
import { findWall } from "../sandbox/find-wall.js";
import type { Wall } from "../sandbox/wall.js";
import { findPlugin, type PluginSource } from "./find-plugin.js";
import type { KeptPlugin, KeptPlugins } from "./kept-plugins.js";

export interface PluginPlace {
  readonly wall: Wall;
  readonly source: PluginSource;
  /** The copy of its content that is started. */
  readonly kept: KeptPlugin;
  readonly surroundings: Surroundings;
}

export interface PluginPlaceOptions {
  readonly grant: PluginGrant;
  /** The policy the plugin lives under. */
  readonly granted: Policy;
  readonly own: readonly string[];
  /** Where copies of plugins are kept. */
  readonly copies: KeptPlugins;
  readonly secrets: SecretBroker;
  /** A connection of it was refused. */
  readonly refused?: ((plugin: string, what: string, rule: string) => void) | undefined;
}

/**
 * Takes the plugin's content once: every start from here is of what was taken, whatever becomes of the files it came from.
 * @throws PluginError, WallError, SecretError
 */
export async function preparePlace(options: PluginPlaceOptions): Promise<PluginPlace> {
  const { grant, granted, own, copies, secrets, refused } = options;
  const { name, path, sha256 } = grant;
  const kept = await copies.take(path, { sha256, own });
  try {
    const source = findPlugin(kept);
    const wall = await findWall(granted.sandbox);
    const tell = refused && ((endpoint: string, rule: string): void => refused(name, endpoint, rule));
    const told = tell === undefined ? {} : { refused: tell };
    const surroundings = await surround(granted, { own, wall, owner: ["plugin", name], secrets, ...told });
    return { wall, source, kept, surroundings };
  } catch (error) {
    kept.release();
    throw error;
  }
}
