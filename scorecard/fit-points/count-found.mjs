// Counts what is found in samples with given points, by the inspection itself.
import { findingsOf } from "./heard-samples.mjs";

/** How many samples of each kind there are, and in how many something is found: `intents` by the intents, `serious` something serious. */
export function countFound(product, points, samples) {
  // The table that the bundle weighs with: a bundle made for this alone.
  Object.assign(product.WEIGHTS, points);
  const none = { of: 0, found: 0, intents: 0, serious: 0 };
  const counts = { poisoned: { ...none }, honest: { ...none } };
  for (const sample of samples) {
    const findings = findingsOf(product, sample);
    const count = counts[sample.poisoned ? "poisoned" : "honest"];
    count.of += 1;
    count.found += findings.length > 0;
    count.intents += findings.some(({ id }) => id === "intent.order");
    count.serious += findings.some(({ tier }) => tier === "hard");
  }
  return counts;
}

/** The samples in so many parts, each with samples of all kinds: pairs of what is fitted to and what is kept apart. */
export function folds(samples, parts) {
  return Array.from({ length: parts }, (_, part) => [
    samples.filter((_sample, index) => index % parts !== part),
    samples.filter((_sample, index) => index % parts === part),
  ]);
}

export function added(all) {
  const sum = (kind, key) => all.reduce((total, counts) => total + counts[kind][key], 0);
  const of = (kind) => Object.fromEntries(Object.keys(all[0][kind]).map((key) => [key, sum(kind, key)]));
  return { poisoned: of("poisoned"), honest: of("honest") };
}

export function shown({ poisoned, honest }) {
  return (
    `poisoned ${poisoned.found}/${poisoned.of} found (${poisoned.intents} by intents, ${poisoned.serious} serious), ` +
    `honest ${honest.found}/${honest.of} (${honest.intents} by intents, ${honest.serious} serious)`
  );
}
