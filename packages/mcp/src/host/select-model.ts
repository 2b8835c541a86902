// Chooses a model by what a server would like. Its wishes are advice: only what is available is ever chosen.
import type { ModelPreferences } from "../protocol/features/sampling.js";

/** A model that can be used. The figures go from 0 to 1; one that is missing counts as 0.5. */
export interface AvailableModel {
  readonly name: string;
  /** 0: free, 1: the dearest. */
  readonly cost?: number;
  /** 1: the fastest. */
  readonly speed?: number;
  /** 1: the most capable. */
  readonly intelligence?: number;
}

/**
 * What stands in for models that are not available: when a hint contains the key (`sonnet`), models whose names contain
 * one of the values, the first that is available.
 */
export type ModelMapping = Readonly<Record<string, readonly string[]>>;

const UNKNOWN = 0.5;

/**
 * The model for these preferences: hints in their order, each by substring whatever the case, then by `mapping`; among
 * several that fit, and where no hint does, the best by the priorities; among equals the first. Undefined: none is available.
 */
export function selectModel<M extends AvailableModel>(
  preferences: ModelPreferences | undefined,
  available: readonly M[],
  mapping: ModelMapping = {},
): M | undefined {
  const { hints = [] } = preferences ?? {};
  for (const { name } of hints) {
    if (typeof name !== "string" || name === "") continue;
    const fitting = namedLike(name, available);
    const found = fitting.length > 0 ? fitting : standIns(name, available, mapping);
    if (found.length > 0) return best(preferences, found);
  }
  return best(preferences, available);
}

function namedLike<M extends AvailableModel>(text: string, available: readonly M[]): readonly M[] {
  const wanted = text.toLowerCase();
  return available.filter(({ name }) => name.toLowerCase().includes(wanted));
}

function standIns<M extends AvailableModel>(
  hint: string,
  available: readonly M[],
  mapping: ModelMapping,
): readonly M[] {
  for (const [key, names] of Object.entries(mapping)) {
    if (key === "" || !hint.toLowerCase().includes(key.toLowerCase())) continue;
    for (const name of names) {
      const found = namedLike(name, available);
      if (found.length > 0) return found;
    }
  }
  return [];
}

function best<M extends AvailableModel>(
  { costPriority, speedPriority, intelligencePriority }: ModelPreferences = {},
  models: readonly M[],
): M | undefined {
  const score = ({ cost = UNKNOWN, speed = UNKNOWN, intelligence = UNKNOWN }: M): number =>
    within(costPriority) * (1 - cost) + within(speedPriority) * speed + within(intelligencePriority) * intelligence;
  let chosen: M | undefined;
  for (const model of models) if (chosen === undefined || score(model) > score(chosen)) chosen = model;
  return chosen;
}

// What a server writes there may be anything.
function within(priority: unknown): number {
  return typeof priority === "number" && priority > 0 ? Math.min(1, priority) : 0;
}
