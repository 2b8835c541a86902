// All concepts that sentences are looked through for.
import type { Concept, ConceptName } from "./concept.js";
import { DEEDS } from "./deeds.js";
import { HIDING } from "./hiding.js";
import { PRESSURE } from "./pressure.js";
import { SOURCES } from "./sources.js";
import { TAKEOVER } from "./takeover.js";

export const VOCABULARY: Readonly<Record<ConceptName, Concept>> = {
  ...SOURCES,
  ...DEEDS,
  ...HIDING,
  ...TAKEOVER,
  ...PRESSURE,
};

export function isSource(name: ConceptName): boolean {
  return name in SOURCES;
}
