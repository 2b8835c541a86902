// The order in which test files are begun. A file runs from its begin to its end in one worker, so that what takes long
// and is begun last would run alone at the end while the other workers have nothing to do.
import { BaseSequencer } from "vitest/node";

/** Those that take longest by far, the longest first: each starts programs, browsers or servers and waits for them. */
export const LONGEST = [
  // With SOAK=1.
  "servers/undo.test.ts",
  "cluster/fleet.test.ts",
  "cli/every-command.test.ts",
  "console/page.test.ts",
  "sandbox/moved-trees.test.ts",
  "cluster/gateway-matrix.test.ts",
  "sandbox/environments.test.ts",
  "contract/contract.test.ts",
  "servers/pinned.test.ts",
  "servers/put-back.test.ts",
  "cluster/kept-streams.test.ts",
  "servers/profiles.test.ts",
  "console/behind.test.ts",
  "approvals/exchanged-places.test.ts",
  "console/decided-items.test.ts",
  "cluster/processes.test.ts",
  "cluster/rows.test.ts",
  "sandbox/behind-the-wall.test.ts",
  "console/screens.test.ts",
  "console/decisions.test.ts",
  "cluster/stores.test.ts",
  "cleaning/renewed-secrets.test.ts",
  "cluster/detours.test.ts",
  "servers/terminal.test.ts",
  "servers/ten-minutes.test.ts",
  "servers/running.test.ts",
  "databases/postgres.test.ts",
  "console/tasks.test.ts",
  "cluster/redis-faults.test.ts",
  "cluster/bad-redis.test.ts",
  "cluster/faults.test.ts",
  "cluster/alone.test.ts",
  "cli/interrupted.test.ts",
  "node-client/child-ending.test.ts",
  "servers/beside.test.ts",
  "test/mistakes.test.ts",
];

export default class LongestFirst extends BaseSequencer {
  async sort(files) {
    const placeOf = ({ moduleId }) => {
      const place = LONGEST.findIndex((end) => moduleId.endsWith(`/${end}`));
      return place < 0 ? LONGEST.length : place;
    };
    return (await super.sort(files)).toSorted((a, b) => placeOf(a) - placeOf(b));
  }
}
