// Runs a workload on all its servers in turn, again and again, so that what disturbs the machine disturbs all alike.

/**
 * Returns a map from server id to `{ samples }` or `{ failed }`. Each repetition begins with another server, and every other
 * one goes backwards: what runs after something like itself finds the processor's memory warm. A server that fails is not asked again.
 */
export async function runInterleaved(servers, { repetitions, measure, onProgress }) {
  const outcomes = new Map(servers.map((server) => [server.id, { samples: [] }]));
  for (let repetition = 0; repetition < repetitions; repetition += 1) {
    const begun = [...servers.slice(repetition % servers.length), ...servers.slice(0, repetition % servers.length)];
    for (const server of repetition % 2 === 0 ? begun : begun.toReversed()) {
      const outcome = outcomes.get(server.id);
      if (outcome.failed !== undefined) continue;
      onProgress?.(`${repetition + 1}/${repetitions} ${server.id}`);
      try {
        await server.prepare?.();
        outcome.samples.push(await measure(server));
      } catch (error) {
        outcome.failed = error.message;
      }
    }
  }
  return outcomes;
}
