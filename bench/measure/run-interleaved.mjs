// Runs a workload on all its servers in turn, again and again, so that what disturbs the machine disturbs all alike.

/**
 * Returns a map from server id to `{ samples }` or `{ failed }`. Each repetition begins with another server;
 * a server that fails is not asked again.
 */
export async function runInterleaved(servers, { repetitions, measure, onProgress }) {
  const outcomes = new Map(servers.map((server) => [server.id, { samples: [] }]));
  for (let repetition = 0; repetition < repetitions; repetition += 1) {
    for (let turn = 0; turn < servers.length; turn += 1) {
      const server = servers[(turn + repetition) % servers.length];
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
