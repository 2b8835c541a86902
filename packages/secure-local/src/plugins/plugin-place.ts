// Prepares the place a plugin runs in: what it is, the wall around it, and what it reaches from there.
import type { SecretBroker } from "../capabilities/secret-broker.js";
import { surround, type Surroundings } from "../capabilities/surround.js";
import type { PluginGrant } from "../policy/plugins-policy.js";
import type { Policy } from "../policy/policy.js";
import { findWall } from "../sandbox/find-wall.js";
import type { Wall } from "../sandbox/wall.js";
import { findPlugin, type PluginSource } from "./find-plugin.js";
import { hashPlugin } from "./hash-plugin.js";
import { PluginError } from "./plugin-error.js";

export interface PluginPlace {
  readonly wall: Wall;
  readonly source: PluginSource;
  readonly surroundings: Surroundings;
}

export interface PluginPlaceOptions {
  readonly grant: PluginGrant;
  /** The policy the plugin lives under. */
  readonly granted: Policy;
  readonly own: readonly string[];
  readonly secrets: SecretBroker;
  /** A connection of it was refused. */
  readonly refused?: ((plugin: string, what: string, rule: string) => void) | undefined;
}

/** @throws PluginError, WallError, SecretError */
export async function preparePlace({
  grant,
  granted,
  own,
  secrets,
  refused,
}: PluginPlaceOptions): Promise<PluginPlace> {
  const { name, path, sha256 } = grant;
  const source = findPlugin(path);
  if (sha256 !== undefined) {
    const actual = hashPlugin(path);
    if (actual !== sha256)
      throw new PluginError(
        `Its content is not the one the policy knows. If it was changed on purpose: sha256: ${actual}`,
      );
  }
  const wall = await findWall(granted.sandbox);
  const tell = refused && ((endpoint: string, rule: string): void => refused(name, endpoint, rule));
  const told = tell === undefined ? {} : { refused: tell };
  return {
    wall,
    source,
    surroundings: await surround(granted, { own, wall, owner: ["plugin", name], secrets, ...told }),
  };
}
